//! What can be seen of a life at one moment: on the forge, in the ledger, in the stores.

use std::collections::{BTreeMap, BTreeSet};

use mirilla_domain::ids::{
    BranchName, CommitSha, Fingerprint, Forge, JobId, PrNumber, PullRequestRef, RepoId,
};
use mirilla_domain::job::{Job, JobKey, PullRequestRecord};
use mirilla_domain::marker::{self, Marker, ReviewMarker};
use mirilla_domain::money::{PicoUsd, Purse};
use mirilla_domain::plan::Plan;
use mirilla_domain::review::Review;
use mirilla_domain::snapshot::Keys;
use mirilla_ports::{Artifacts as _, Ledger as _, Meter as _};
use mirilla_sim::{CheckView, IssueCommentView, ReviewView, ThreadView};

use crate::commands::Said;
use crate::gate::Passed;
use crate::support::{Host, REPO, marker_key};

/// Largest file that is read here.
const LIMIT_BYTES: u64 = 8 << 20;

/// The job of the live head, and what was written for it.
#[derive(Debug, Clone)]
pub(crate) struct LiveJob {
    pub(crate) job: Job,
    pub(crate) review: Option<Review>,
    pub(crate) plan: Option<Plan>,
}

/// One moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    /// Reviews of ours.
    pub(crate) reviews: Vec<ReviewView>,
    /// All threads.
    pub(crate) threads: Vec<ThreadView>,
    /// The conversation.
    pub(crate) talk: Vec<IssueCommentView>,
    /// Checks of every head there was, oldest first for each.
    pub(crate) checks: Vec<CheckView>,
    /// Comments of people with a reaction of ours.
    pub(crate) obeyed: BTreeSet<u64>,
    pub(crate) record: Option<PullRequestRecord>,
    pub(crate) jobs: BTreeMap<JobId, Job>,
    pub(crate) live: Option<LiveJob>,
    /// Purses with what is taken from them and what may be.
    pub(crate) purses: Vec<(Purse, PicoUsd, PicoUsd)>,
}

/// The pull request of a host.
pub(crate) fn pull_request(host: &Host) -> PullRequestRef {
    PullRequestRef {
        forge: Forge::Github,
        repo: RepoId::new(host.sim.github().repo_id(REPO).unwrap()),
        pr: PrNumber::new(host.pr),
    }
}

/// Returns what a comment of ours is about.
pub(crate) fn finding_of(place: &PullRequestRef, body: &str) -> Option<Fingerprint> {
    match marker::read(&marker_key(), place, body)? {
        Marker::Finding(said) => Some(said.fingerprint),
        Marker::Review(_) => None,
    }
}

/// Returns which job a body of ours answers.
pub(crate) fn job_of(place: &PullRequestRef, body: &str) -> Option<ReviewMarker> {
    match marker::read(&marker_key(), place, body)? {
        Marker::Review(said) => Some(said),
        Marker::Finding(_) => None,
    }
}

impl Seen {
    /// Looks at a host whose pull request has this head and base, had these heads, and on which this was said.
    pub(crate) async fn look(
        host: &Host,
        (head, base): (&str, &str),
        heads: &BTreeSet<String>,
        said: &[Said],
    ) -> Self {
        let github = host.sim.github();
        let bot = github.bot();
        let reviews = github.reviews(REPO, host.pr).unwrap();
        let place = pull_request(host);
        let ledger = host.ledger();
        let known: BTreeSet<JobId> = host.jobs();
        let mut jobs = BTreeMap::new();
        for id in known {
            if let Some(job) = ledger.job(&id).await.unwrap() {
                jobs.insert(id, job);
            }
        }
        let record = ledger.pull_request(&place).await.unwrap();
        let live = live(host, record.as_ref(), head, base).await;
        let checks = heads
            .iter()
            .flat_map(|head| github.check_runs(REPO, head).unwrap());
        let answered = |one: &&Said| {
            let reactions = github.reactions(REPO, one.id).unwrap();
            reactions.iter().any(|(by, _)| *by == bot)
        };
        let there = said.iter().filter(|one| !one.gone);
        if let Some(live) = &live {
            jobs.insert(live.job.id.clone(), live.job.clone());
        }
        Self {
            reviews: reviews.into_iter().filter(|r| r.author == bot).collect(),
            threads: github.threads(REPO, host.pr).unwrap(),
            talk: github.comments(REPO, host.pr).unwrap(),
            checks: checks.collect(),
            obeyed: there.filter(answered).map(|one| one.id).collect(),
            record,
            live,
            purses: purses(host, &place, jobs.keys()).await,
            jobs,
        }
    }

    /// Threads that our account opened.
    pub(crate) fn ours<'s>(&'s self, bot: &'s str) -> impl Iterator<Item = &'s ThreadView> {
        let opened = move |thread: &&ThreadView| thread.comments[0].author == bot;
        self.threads.iter().filter(opened)
    }
}

async fn live(
    host: &Host,
    record: Option<&PullRequestRecord>,
    head: &str,
    base: &str,
) -> Option<LiveJob> {
    let place = pull_request(host);
    let key = JobKey {
        forge: place.forge,
        repo: place.repo,
        pr: place.pr,
        head: CommitSha::parse(head).unwrap(),
        base_ref: BranchName::parse(base).unwrap(),
        generation: record?.generation,
    };
    let job = host.ledger().job(&key.id()).await.unwrap()?;
    let (review, plan) = written(host, &job).await;
    Some(LiveJob { job, review, plan })
}

/// What was found for a job, and what was decided to post.
async fn written(host: &Host, job: &Job) -> (Option<Review>, Option<Plan>) {
    let artifacts = host.artifacts();
    let review = artifacts
        .get(&Keys::findings(&job.id, job.attempt), LIMIT_BYTES)
        .await
        .ok();
    let plan = artifacts
        .get(&Keys::kept(&job.id, job.attempt, "plan.json"), LIMIT_BYTES)
        .await
        .ok();
    (
        review.and_then(|bytes| serde_json::from_slice(&bytes).ok()),
        plan.map(|bytes| serde_json::from_slice(&bytes).unwrap()),
    )
}

/// Returns the checks that pass and did not before, with what their jobs were posted from.
pub(crate) async fn passed_since(host: &Host, before: &Seen, now: &Seen) -> Vec<Passed> {
    let passes = |one: &&CheckView| one.conclusion.as_deref() == Some("success");
    let known: BTreeSet<u64> = before
        .checks
        .iter()
        .filter(passes)
        .map(|one| one.id)
        .collect();
    let new = now.checks.iter().filter(passes);
    let mut all = Vec::new();
    for check in new.filter(|one| !known.contains(&one.id)) {
        let job = JobId::parse(&check.external_id).ok();
        let job = job.and_then(|id| now.jobs.get(&id)).cloned();
        let (review, plan) = match &job {
            Some(job) => written(host, job).await,
            None => (None, None),
        };
        let check = check.clone();
        all.push(Passed {
            check,
            job,
            review,
            plan,
        });
    }
    all
}

async fn purses<'j>(
    host: &Host,
    place: &PullRequestRef,
    jobs: impl Iterator<Item = &'j JobId>,
) -> Vec<(Purse, PicoUsd, PicoUsd)> {
    let day = u32::try_from(host.now().get() / 86_400_000).unwrap();
    let mut all: Vec<(Purse, PicoUsd)> = jobs
        .map(|job| (Purse::Review(job.clone()), host.policy.max_usd))
        .collect();
    let daily = Purse::RepositoryDay(place.repo, day);
    all.push((daily, host.policy.repository_day_usd));
    let meter = host.meter();
    let mut purses = Vec::new();
    for (purse, cap) in all {
        let taken = meter.spent(&purse).await.unwrap();
        purses.push((purse, taken, cap));
    }
    purses
}
