//! Made-up rows.

use mirilla_domain::ids::{
    Account, BranchName, CommitSha, DeliveryId, Forge, Generation, InstallationId, PrNumber,
    PullRequestRef, RepoId, RepoName, Timestamp, sha256,
};
use mirilla_domain::job::{Job, JobKey, PullRequestRecord};
use mirilla_domain::request::{Delivery, Origin, Repository, Request, Trigger};

/// Returns the moment `seconds` after the epoch.
pub fn at(seconds: i64) -> Timestamp {
    Timestamp::new(seconds * 1000)
}

/// Returns a commit id made of one hex digit.
pub fn sha(digit: char) -> CommitSha {
    CommitSha::parse(&digit.to_string().repeat(40)).unwrap()
}

/// Returns pull request `pr` of a made-up repository.
pub const fn pull_request(pr: u64) -> PullRequestRef {
    PullRequestRef {
        forge: Forge::Github,
        repo: RepoId::new(2),
        pr: PrNumber::new(pr),
    }
}

/// Returns a job for a head of pull request 7, recorded at `now`.
pub fn job(head: char, now: Timestamp) -> Job {
    let key = JobKey {
        forge: Forge::Github,
        repo: RepoId::new(2),
        pr: PrNumber::new(7),
        head: sha(head),
        base_ref: BranchName::parse("main").unwrap(),
        generation: Generation::new(0),
    };
    let name = RepoName::parse("acme/shop").unwrap();
    Job::accepted(key, name, Some(InstallationId::new(31)), now, now)
}

/// Returns a delivery that asks for a review of pull request 7; another id, another body.
pub fn delivery(id: &str, forge: Forge) -> Delivery {
    Delivery {
        id: DeliveryId::parse(id).unwrap(),
        body: sha256(id.as_bytes()),
        origin: Origin {
            forge,
            account: Account::parse("acme").unwrap(),
            installation: Some(InstallationId::new(31)),
            repository: Some(Repository {
                id: RepoId::new(2),
                name: RepoName::parse("acme/shop").unwrap(),
            }),
        },
        event: "pull_request".to_owned(),
        action: "opened".to_owned(),
        request: Request::Review {
            pr: PrNumber::new(7),
            head: sha('b'),
            base_ref: BranchName::parse("main").unwrap(),
            trigger: Trigger::Opened,
        },
    }
}

/// Returns the record of a pull request, never written before.
pub fn record(pr: u64, touched_at: Timestamp) -> PullRequestRecord {
    let name = RepoName::parse("acme/shop").unwrap();
    PullRequestRecord::new(pull_request(pr), name, None, touched_at)
}
