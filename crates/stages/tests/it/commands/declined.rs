//! Findings that people dismiss in their threads.

use std::sync::Arc;

use mirilla_domain::code::DropReason;
use mirilla_domain::job::JobState;
use mirilla_domain::plan::KeptInput;
use mirilla_domain::signal::Signal;
use mirilla_domain::snapshot::Keys;
use mirilla_ports::Artifacts as _;
use mirilla_sim::{Commit, Role};

use super::{WRITER, reviewed};
use crate::support::{Ended, Gate, Host, REPO};

impl Host {
    /// Somebody answers our comment on a file.
    fn answers(&self, path: &str, by: &str, body: &str) -> u64 {
        let reviews = self.sim.github().reviews(REPO, self.pr).unwrap();
        let mut ours = reviews.iter().flat_map(|review| &review.comments);
        let about = ours.find(|comment| comment.path == path).unwrap();
        self.sim.github().reply(REPO, about.id, by, body).unwrap()
    }

    /// Pushes something else, lets it be read, and returns how many findings were dropped as declined.
    async fn declined_after_a_push(&self) -> u64 {
        let said = self.comments();
        let earlier = self.seen().len();
        self.push("more", &[("c/more.txt", &format!("{earlier}\n"))]);
        let pushed = self.deliveries().remove(0);
        let gate = Arc::new(Gate::open());
        assert_eq!(self.deliver_and_run(&gate, &pushed).await, Ended::Quiet);
        assert_eq!(self.job().await.unwrap().state, JobState::Posted);
        let ours = |all: &[(String, Option<u64>, String)]| {
            all.iter().filter(|one| !one.2.contains("/mirilla")).count()
        };
        assert_eq!(ours(&self.comments()), ours(&said), "nothing is said again");
        let seen = self.seen().split_off(earlier);
        let dropped = seen.iter().map(|signal| match signal {
            Signal::Dropped {
                reason: DropReason::Declined,
                count,
            } => *count,
            _ => 0,
        });
        dropped.sum()
    }
}

const REASON: &str = "/mirilla dismiss the caller retries";

#[tokio::test]
async fn finding_that_a_writer_dismisses_is_declined_and_the_plan_can_be_made_again() {
    let host = reviewed().await;
    host.answers("a/Pay.java", WRITER, REASON);
    assert_eq!(host.declined_after_a_push().await, 1);
    assert_eq!(host.calls("/permission"), 1);
    let job = host.job().await.unwrap();
    let (input, diff, review, plan) = (
        kept(&host, "plan-input.json").await,
        kept(&host, "diff.patch").await,
        kept(&host, "review.json").await,
        kept(&host, "plan.json").await,
    );
    let input = KeptInput::read(&input).unwrap();
    assert_eq!(input.existing.dismissals[0].by, WRITER);
    let (_, again) = input.replay(&diff, Some(&review)).unwrap();
    assert_eq!(again, plan, "{}", job.id);
}

async fn kept(host: &Host, name: &str) -> Vec<u8> {
    let job = host.job().await.unwrap();
    let key = Keys::kept(&job.id, job.attempt, name);
    host.artifacts().get(&key, 1 << 20).await.unwrap()
}

#[tokio::test]
async fn people_with_a_part_in_the_change_or_without_rights_decline_nothing() {
    let host = reviewed().await;
    let github = host.sim.github();
    github.set_role(REPO, "dana", Role::Admin).unwrap();
    github.set_role(REPO, "cory", Role::Write).unwrap();
    let commit = Commit::by("cory", "help").write("c/help.txt", "x\n");
    github.commit(REPO, "change", &commit).unwrap();
    for by in ["dana", "cory", "stranger"] {
        host.answers("a/Pay.java", by, REASON);
    }
    assert_eq!(host.declined_after_a_push().await, 0);
}

#[tokio::test]
async fn switch_of_the_operator_lets_authors_decline() {
    let mut host = reviewed().await;
    host.policy.self_dismiss = true;
    host.sim
        .github()
        .set_role(REPO, "dana", Role::Write)
        .unwrap();
    host.answers("a/Pay.java", "dana", REASON);
    assert_eq!(host.declined_after_a_push().await, 1);
}

#[tokio::test]
async fn somebody_elses_words_cannot_be_turned_into_a_dismissal() {
    let host = reviewed().await;
    let answer = host.answers("a/Pay.java", WRITER, "I see the problem.");
    host.advance(std::time::Duration::from_secs(60));
    host.sim
        .github()
        .edit_comment(REPO, answer, "dana", REASON)
        .unwrap();
    assert_eq!(host.declined_after_a_push().await, 0);
}

#[tokio::test]
async fn crowd_that_dismisses_costs_ten_questions() {
    let host = reviewed().await;
    for n in 0..30 {
        host.answers("a/Pay.java", &format!("crowd-{n}"), REASON);
    }
    assert_eq!(host.declined_after_a_push().await, 0);
    assert_eq!(host.calls("/permission"), 10);
}

#[tokio::test]
async fn threads_without_a_dismissal_cost_no_call() {
    let host = reviewed().await;
    host.answers("a/Pay.java", WRITER, "won't fix");
    host.declined_after_a_push().await;
    assert_eq!(host.calls("/permission") + host.calls("/commits"), 0);
}
