//! What follows from a command of somebody with write access.

use std::sync::Arc;
use std::time::Duration;

use mirilla_domain::code::EndReason;
use mirilla_domain::ids::Generation;
use mirilla_domain::job::JobState;
use mirilla_ports::queue::QueueName;
use mirilla_sim::Fault;

use super::{WRITER, opened, reviewed};
use crate::support::{Ended, Gate, Host, KillAt, REPO, When};

#[tokio::test]
async fn review_by_hand_reads_everything_again_and_says_nothing_twice() {
    let host = reviewed().await;
    let (said, asked) = (host.comments(), host.sim.messages().model_calls().len());
    let comment = host.hears(WRITER, "please\n\n/mirilla review").await;
    let job = host.job_of(1).await.unwrap();
    assert_eq!(job.state, JobState::Posted);
    assert!(job.sponsored, "who asked may write");
    assert!(
        host.sim.messages().model_calls().len() >= asked + 2,
        "nothing was carried"
    );
    assert_eq!(host.comments(), said, "nothing is said twice");
    assert!(host.is_acknowledged(comment));
}

#[tokio::test]
async fn first_word_of_a_pull_request_may_be_a_command() {
    // It was opened before the App came, so that no webhook ever told of it.
    let host = opened();
    drop(host.deliveries());
    let comment = host.hears(WRITER, "/mirilla review").await;
    assert_eq!(host.job_of(1).await.unwrap().state, JobState::Posted);
    assert!(host.is_acknowledged(comment));
    assert_eq!(host.comments().len(), 2);
}

#[tokio::test]
async fn each_comment_is_obeyed_once_however_often_it_comes() {
    let host = reviewed().await;
    let (delivery, comment) = host.said(WRITER, "/mirilla review");
    let gate = Arc::new(Gate::open());
    for round in 0..3 {
        let answer = host.deliver(&gate, &delivery).await;
        let expected = if round == 0 { "queued" } else { "duplicate" };
        assert_eq!(answer.text, expected);
        assert_eq!(host.run(&gate).await, Ended::Quiet);
    }
    // Another body about the same comment, under an id of its own.
    let github = host.sim.github();
    github
        .edit_comment(REPO, comment, WRITER, "/mirilla review now")
        .unwrap();
    let edited = github.take_deliveries().remove(0);
    assert_eq!(host.deliver(&gate, &edited).await.text, "ignored");
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    assert_eq!(host.generation().await, Generation::new(1));
}

#[tokio::test]
async fn review_that_waits_gives_way_to_one_asked_for() {
    let host = opened();
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, &host.deliveries().remove(0)).await;
    // Within the debounce, so that nobody began.
    host.hears(WRITER, "/mirilla review").await;
    let waited = host.job_of(0).await.unwrap();
    assert_eq!(waited.state, JobState::Superseded);
    assert_eq!(waited.end_reason, Some(EndReason::AskedAgain));
    assert_eq!(host.job_of(1).await.unwrap().state, JobState::Posted);
    assert_eq!(host.sim.github().reviews(REPO, host.pr).unwrap().len(), 1);
}

#[tokio::test]
async fn draft_is_read_when_somebody_asks() {
    let host = opened();
    host.sim
        .github()
        .set_draft(REPO, host.pr, true, "dana")
        .unwrap();
    let comment = host.hears(WRITER, "/mirilla review").await;
    assert_eq!(host.job_of(1).await.unwrap().state, JobState::Posted);
    assert!(host.is_acknowledged(comment));
}

#[tokio::test]
async fn paused_pull_request_is_left_alone_until_it_is_resumed() {
    let host = reviewed().await;
    let gate = Arc::new(Gate::open());
    let pause = host.hears(WRITER, "/mirilla pause").await;
    assert!(host.is_acknowledged(pause));
    host.push("more", &[("c/more.txt", "one\n")]);
    let pushed = host.deliveries().remove(0);
    assert_eq!(host.deliver_and_run(&gate, &pushed).await, Ended::Quiet);
    let job = host.job_of(0).await.unwrap();
    assert_eq!(job.state, JobState::Skipped);
    assert_eq!(job.end_reason, Some(EndReason::Paused));
    // The sweeper takes it for what it is, and not for a lost push.
    host.sweep(&gate, true).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    assert_eq!(host.job_of(0).await.unwrap().attempt, job.attempt);

    // By hand it is read all the same, once.
    host.hears(WRITER, "/mirilla review").await;
    assert_eq!(host.job_of(1).await.unwrap().state, JobState::Posted);
    assert!(host.record().await.paused);

    host.push("even more", &[("c/more.txt", "two\n")]);
    let resume = host.hears(WRITER, "/mirilla resume").await;
    assert!(host.is_acknowledged(resume));
    assert_eq!(host.job_of(1).await.unwrap().state, JobState::Posted);
    assert!(!host.job_of(1).await.unwrap().sponsored);
}

#[tokio::test]
async fn pause_stops_what_is_under_way() {
    let host = opened();
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, &host.deliveries().remove(0)).await;
    let job = host.until(&gate, JobState::Collected).await;
    host.hears(WRITER, "/mirilla pause").await;
    let job = host.ledger_state(&job.id).await;
    assert_eq!(job, Some(JobState::Skipped));
    assert!(host.comments().is_empty());
}

#[tokio::test]
async fn help_is_given_once_and_holds_no_command() {
    let host = reviewed().await;
    let first = host.hears(WRITER, "/mirilla help").await;
    let second = host.hears(WRITER, "/mirilla help").await;
    assert!(host.is_acknowledged(first) && host.is_acknowledged(second));
    let comments = host.sim.github().comments(REPO, host.pr).unwrap();
    let ours: Vec<_> = comments
        .iter()
        .filter(|one| one.author == "mirilla[bot]")
        .collect();
    assert_eq!(ours.len(), 1);
    assert!(ours[0].body.contains("`/mirilla pause`"));
    assert_eq!(mirilla_domain::webhook::find_command(&ours[0].body), None);
}

#[tokio::test]
async fn deleted_comment_is_obeyed_and_owed_nothing() {
    let host = reviewed().await;
    let (delivery, comment) = host.said(WRITER, "/mirilla pause");
    let github = host.sim.github().clone();
    host.sim.github().faults().on_next(
        "POST /repos/{o}/{r}/issues/comments/{id}/reactions",
        Fault::before(move || github.delete_comment(REPO, comment, WRITER).unwrap()),
    );
    let gate = Arc::new(Gate::open());
    assert_eq!(host.deliver_and_run(&gate, &delivery).await, Ended::Quiet);
    assert!(host.record().await.paused);
    assert!(!host.record().await.commands.owes_an_answer());
}

#[tokio::test]
async fn lost_message_is_sent_again_by_the_sweeper() {
    let host = reviewed().await;
    let gate = Arc::new(Gate::open());
    let (delivery, comment) = host.said(WRITER, "/mirilla pause");
    host.deliver(&gate, &delivery).await;
    host.lose(QueueName::Collect).await;
    host.advance(Duration::from_secs(11 * 60));
    host.sweep(&gate, true).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    assert!(host.record().await.paused);
    assert!(host.is_acknowledged(comment));
}

/// A command on a pull request that nobody heard of, run undisturbed: the calls it makes.
async fn calls_of(text: &str) -> Vec<&'static str> {
    let host = opened();
    let (delivery, _) = host.said(WRITER, text);
    let gate = Arc::new(Gate::open());
    assert_eq!(host.deliver_and_run(&gate, &delivery).await, Ended::Quiet);
    gate.names()
}

/// Whether a call changes something: between two that do not, a crash is the same crash.
fn changes_something(name: &str) -> bool {
    !["ledger.job", "ledger.pull_request", "queue.receive"].contains(&name)
}

/// Kills the same at one call, starts the host again, and lets the forge redeliver.
async fn killed_at(text: &str, kill: KillAt) -> (Host, u64) {
    let host = opened();
    let (delivery, comment) = host.said(WRITER, text);
    let gate = Arc::new(Gate::killing(kill));
    let ended = host.deliver_and_run(&gate, &delivery).await;
    assert_eq!(ended, Ended::Killed, "{kill:?} was never reached");
    host.restart();
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, &delivery).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    (host, comment)
}

#[tokio::test]
async fn command_killed_at_any_call_is_obeyed_once() {
    let names = calls_of("/mirilla pause").await;
    assert!(names.contains(&"forge.acknowledge"), "{names:?}");
    for (call, name) in names
        .iter()
        .enumerate()
        .filter(|(_, name)| changes_something(name))
    {
        for when in [When::Before, When::After] {
            let kill = KillAt {
                call: call as u64,
                when,
            };
            let (host, comment) = killed_at("/mirilla pause", kill).await;
            let context = format!("killed {when:?} {name} ({call})");
            assert!(host.record().await.paused, "{context}");
            assert!(host.is_acknowledged(comment), "{context}");
        }
    }
}

#[tokio::test]
async fn review_by_hand_killed_before_its_job_is_read_is_asked_for_once() {
    let names = calls_of("/mirilla review").await;
    // What comes after the collector took the job is like every other review.
    let taken = names
        .iter()
        .position(|name| *name == "ledger.claim")
        .unwrap();
    let before = names.iter().enumerate().take(taken);
    for (call, name) in before.filter(|(_, name)| changes_something(name)) {
        for when in [When::Before, When::After] {
            let kill = KillAt {
                call: call as u64,
                when,
            };
            let (host, comment) = killed_at("/mirilla review", kill).await;
            let context = format!("killed {when:?} {name} ({call})");
            assert_eq!(host.generation().await, Generation::new(1), "{context}");
            let job = host.job_of(1).await.unwrap();
            assert_eq!(job.state, JobState::Posted, "{context}");
            assert!(host.is_acknowledged(comment), "{context}");
        }
    }
}
