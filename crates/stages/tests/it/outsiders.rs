//! What authors who are new to a repository share of its money, and what is left for the others.

use std::sync::Arc;
use std::time::Duration;

use mirilla_domain::job::JobState;
use mirilla_domain::money::{PicoUsd, Purse};
use mirilla_domain::signal::{PurseKind, Signal};
use mirilla_ports::Meter as _;
use mirilla_sim::{Commit, OpenPull, Role};

use crate::support::{Ended, Gate, Host, REPO, TWO_DEFECTS};

const UNREAD: &str = "Authors who are new here share a part of the budget, and it is used up";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A host whose repository may spend so much a day, and outsiders a fifth of it.
fn host(day: &str) -> Host {
    let mut host = Host::new(TWO_DEFECTS);
    drop(host.deliveries());
    host.policy.repository_day_usd = PicoUsd::parse(day).unwrap();
    host.policy.verify = false;
    host
}

/// Opens a pull request and lets everything happen.
async fn opened(host: &Host, author: &str, branch: &str) -> u64 {
    let github = host.sim.github();
    let text = format!("fn pay() {{ let token = \"{branch}\"; }}\n");
    let commit = Commit::by(author, "change").write("src/pay.rs", &text);
    github.commit(REPO, branch, &commit).unwrap();
    drop(host.deliveries());
    let open = OpenPull::new(author, branch, "A change");
    let pr = github.open_pull(REPO, open).unwrap();
    let gate = Arc::new(Gate::open());
    for delivery in host.deliveries() {
        assert_eq!(host.deliver_and_run(&gate, &delivery).await, Ended::Quiet);
    }
    pr
}

/// Returns the body of the last review of a pull request.
fn body(host: &Host, pr: u64) -> String {
    let reviews = host.sim.github().reviews(REPO, pr).unwrap();
    reviews.last().unwrap().body.clone()
}

/// Opens a pull request, lets everything happen, and returns the body of its review.
async fn reviewed(host: &Host, author: &str, branch: &str) -> String {
    let pr = opened(host, author, branch).await;
    body(host, pr)
}

/// Lets an outsider open pull requests until one is not read; returns how many were.
async fn outsider_runs_dry(host: &Host) -> u32 {
    for opened in 0..200 {
        let body = reviewed(host, "mallory", &format!("m{opened}")).await;
        if body.contains(UNREAD) {
            assert!(body.starts_with("**Partial review**"), "{body}");
            assert!(body.contains("0 of 1 changed file read"), "{body}");
            assert!(body.contains("`/mirilla review`"), "{body}");
            return opened;
        }
        assert!(body.starts_with("**Complete review**"), "{body}");
    }
    panic!("two hundred pull requests of one outsider were read");
}

#[tokio::test]
async fn an_outsider_who_floods_leaves_the_rest_of_the_day_to_members() {
    let host = host("0.38");
    assert!(
        outsider_runs_dry(&host).await > 0,
        "the share is not nothing"
    );
    let asked = host.sim.messages().model_calls().len();
    // Another newcomer shares with the first; nothing is asked for either.
    assert!(reviewed(&host, "trudy", "t").await.contains(UNREAD));
    assert_eq!(host.sim.messages().model_calls().len(), asked);
    let stopped = Signal::CapHit {
        purse: PurseKind::OutsidersDay,
    };
    assert!(host.seen().contains(&stopped));
    let body = reviewed(&host, "dana", "d").await;
    assert!(body.starts_with("**Complete review**"), "{body}");
}

#[tokio::test]
async fn the_share_is_a_part_of_the_day_and_begins_anew_with_it() {
    let host = host("0.38");
    outsider_runs_dry(&host).await;
    let key = host.key(0);
    let today = u32::try_from(host.now().get() / 86_400_000).unwrap();
    let meter = host.meter();
    let spent = async |purse: Purse| meter.spent(&purse).await.unwrap();
    let share = spent(Purse::OutsidersDay(key.repo, today)).await;
    assert_eq!(share, spent(Purse::RepositoryDay(key.repo, today)).await);
    assert!(PicoUsd::ZERO < share && share <= PicoUsd::parse("0.076").unwrap());
    host.advance(DAY);
    assert!(!reviewed(&host, "mallory", "next").await.contains(UNREAD));
}

#[tokio::test]
async fn who_has_contributed_before_is_no_outsider() {
    let mut host = host("0.38");
    host.policy.outsider_percent = 0;
    let github = host.sim.github();
    assert!(reviewed(&host, "newcomer", "n").await.contains(UNREAD));
    let earlier = Commit::by("helper", "earlier").write("notes.md", "One.\n");
    github.commit(REPO, "main", &earlier).unwrap();
    assert!(!reviewed(&host, "helper", "h").await.contains(UNREAD));
    github.hide_membership("acme", "vera");
    github.set_role(REPO, "vera", Role::Write).unwrap();
    assert!(!reviewed(&host, "vera", "v").await.contains(UNREAD));
    host.policy.outsider_percent = 100;
    assert!(!reviewed(&host, "other", "o").await.contains(UNREAD));
}

#[tokio::test]
async fn a_maintainer_has_an_outsiders_change_read_at_the_repositorys_expense() {
    let mut host = host("0.38");
    host.policy.outsider_percent = 0;
    let github = host.sim.github();
    github.set_role(REPO, "wanda", Role::Write).unwrap();
    let pr = opened(&host, "newcomer", "n").await;
    assert!(body(&host, pr).contains(UNREAD));
    drop(github.take_deliveries());
    github
        .comment(REPO, pr, "wanda", "/mirilla review")
        .unwrap();
    let gate = Arc::new(Gate::open());
    for said in github.take_deliveries() {
        assert_eq!(host.deliver_and_run(&gate, &said).await, Ended::Quiet);
    }
    let body = body(&host, pr);
    assert!(body.starts_with("**Complete review**"), "{body}");
    let ended = Signal::Ended {
        state: JobState::Posted,
    };
    assert_eq!(host.seen().iter().filter(|one| **one == ended).count(), 2);
}
