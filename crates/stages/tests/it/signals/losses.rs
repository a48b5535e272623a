//! What is counted when something is lost, dies or costs more than it may.

use std::sync::Arc;
use std::time::Duration;

use mirilla_domain::job::{JobState, MAX_TRIES};
use mirilla_domain::signal::Signal;
use mirilla_ports::queue::QueueName;
use mirilla_sim::Fault;
use serde_json::json;

use super::runs::reviewed;
use crate::support::{Ended, Gate, Host, TWO_DEFECTS};

pub(super) async fn an_answer_that_is_lost() -> Host {
    let host = Host::new(TWO_DEFECTS);
    let faults = host.sim.messages().faults();
    faults.on("POST /v1/messages", 1, Fault::DropAfterEffect);
    reviewed(&host).await;
    host
}

pub(super) async fn a_call_dearer_than_its_bound() -> Host {
    let host = Host::new(TWO_DEFECTS);
    let dear = json!({
        "id": "msg_dear", "type": "message", "role": "assistant", "model": "claude-sonnet-5-5",
        "stop_reason": "end_turn", "stop_sequence": null,
        "content": [{"type": "text", "text": "{\"summary\": \"Nothing.\", \"findings\": []}"}],
        "usage": {"input_tokens": 400_000, "output_tokens": 10},
    });
    let faults = host.sim.messages().faults();
    faults.on("POST /v1/messages", 1, Fault::status(200, dear.to_string()));
    reviewed(&host).await;
    host
}

pub(super) async fn a_job_that_nobody_works_on() -> Host {
    let host = Host::new(TWO_DEFECTS);
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, &host.deliveries()[0]).await;
    host.advance(Duration::from_secs(31 * 60));
    host.sweep(&gate, false).await;
    host
}

pub(super) async fn a_head_that_nobody_announced() -> Host {
    let host = Host::new(TWO_DEFECTS);
    reviewed(&host).await;
    host.push("unheard of", &[("c/extra.txt", "more\n")]);
    drop(host.deliveries());
    let gate = Arc::new(Gate::open());
    host.sweep(&gate, true).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    host.assert_reviewed_once("unannounced head").await;
    host
}

/// The message of every try is lost before a reviewer has written anything.
pub(super) async fn a_reviewer_that_always_dies() -> Host {
    let host = Host::new(TWO_DEFECTS);
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, &host.deliveries()[0]).await;
    for tries in 1..=MAX_TRIES {
        let job = host.until(&gate, JobState::Collected).await;
        assert_eq!(job.tries, tries);
        host.lose(QueueName::Review).await;
        host.advance(Duration::from_secs(60));
        host.sweep(&gate, false).await;
        // The collector hands the snapshot over again, but for the last time.
        host.one_step(&gate).await;
    }
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    host.assert_reviewed_once("a dying reviewer").await;
    let count = |wanted: Signal| host.seen().iter().filter(|s| **s == wanted).count();
    assert_eq!(
        (count(Signal::Restarted), count(Signal::GivenUp)),
        (2, 1),
        "three tries in all"
    );
    assert!(
        host.review_body().to_lowercase().contains("fail"),
        "{}",
        host.review_body()
    );
    host
}

/// One push is lost and never gets through, one is too large for the front door.
pub(super) async fn webhooks_that_are_lost() -> Host {
    let host = Host::new(TWO_DEFECTS);
    let gate = Arc::new(Gate::open());
    let github = host.sim.github();
    github.record_answer(host.deliveries()[0].id, 413).unwrap();
    host.push("lost", &[("c/extra.txt", "more\n")]);
    github.record_answer(host.deliveries()[0].id, 502).unwrap();
    for _ in 0..6 {
        host.sweep_deliveries(&gate, &["acme"]).await;
        for delivery in host.deliveries() {
            github.record_timeout(delivery.id).unwrap();
        }
        host.advance(Duration::from_secs(60 * 60));
    }
    host
}

pub(super) async fn a_token_that_cannot_be_given_back() -> Host {
    let host = Host::that_resolves(TWO_DEFECTS);
    let faults = host.sim.github().faults();
    // It is tried twice.
    for call in [1, 2] {
        let fault = Fault::status(503, "{}");
        faults.on("DELETE /installation/token", call, fault);
    }
    reviewed(&host).await;
    host.push("mend", &[("a/Pay.java", "class Pay {\n}\n// mended\n")]);
    reviewed(&host).await;
    host.assert_reviewed_once("not revoked").await;
    host
}
