//! A run's record: it adds up to what the review says, whatever the model does, and the kept run can be
//! repeated.

use std::sync::Arc;
use std::time::Duration;

use mirilla_domain::ids::{AttemptNo, sha256};
use mirilla_domain::plan::{self, KeptInput};
use mirilla_domain::record::{CallFate, RunRecord, check_answers};
use mirilla_domain::redact;
use mirilla_domain::snapshot::Keys;
use mirilla_local::DirArtifacts;
use mirilla_ports::Artifacts as _;
use mirilla_sim::{Fault, Scripted};
use mirilla_stages::post::KeepRuns;

use crate::support::{Ended, Gate, Host, KEEP_RUNS, TWO_DEFECTS};

async fn get(artifacts: &DirArtifacts, key: &str) -> Vec<u8> {
    artifacts.get(key, u64::MAX).await.unwrap()
}

/// Holds a finished run's record against its review; returns the record.
async fn assert_adds_up(host: &Host) -> RunRecord {
    let job = host.job().await.unwrap();
    let (artifacts, first) = (host.artifacts(), AttemptNo::FIRST);
    let review_bytes = get(artifacts, &Keys::findings(&job.id, first)).await;
    let review = plan::read_review(&review_bytes).unwrap().review;
    let bytes = get(artifacts, &Keys::run(&job.id, first)).await;
    let record = RunRecord::read(&bytes).unwrap();
    let sums = record.sums();
    assert_eq!(sums.calls, review.turns);
    assert_eq!(sums.look_ups, review.tool_calls);
    assert_eq!(sums.usage, review.usage);
    assert_eq!(sums.cost, review.cost);
    assert_eq!(record.findings.len(), review.findings.len());
    assert_eq!(record.rejected.len(), review.rejected.len());
    assert_eq!(record.review_sha256, sha256(&review_bytes));
    assert_eq!(record.prompt_version, review.prompt_version);
    let diff = get(artifacts, &Keys::kept(&job.id, first, "diff.patch")).await;
    assert_eq!(record.inputs.diff_sha256, sha256(&diff));
    let masked = redact::mask_diff(&diff);
    let shown = mirilla_diff::parse(&masked.diff);
    let (wrong, unread) = check_answers(&record, &review, &shown.files);
    assert_eq!((wrong, unread), (Vec::new(), Vec::new()));
    record
}

async fn finished(host: &Host) {
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, &host.deliveries()[0]).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet);
}

#[tokio::test]
async fn a_record_adds_up_to_its_review_with_look_ups() {
    let host = Host::new(TWO_DEFECTS).looking(2);
    finished(&host).await;
    let record = assert_adds_up(&host).await;
    let calls = record.calls.kept();
    assert!(calls.iter().all(|call| call.fate == CallFate::Answered));
    let looks: Vec<&str> = calls
        .iter()
        .flat_map(|call| &call.look_ups)
        .filter_map(|look_up| look_up.tool.as_deref())
        .collect();
    assert!(looks.len() >= 4, "{calls:?}");
    assert!(looks.iter().all(|tool| *tool == "read_file"));
    assert!(!record.findings.is_empty());
    for origin in &record.findings {
        let call = record.calls.get(origin.call).unwrap();
        assert_eq!((call.chunk, call.turn), (origin.chunk, 3));
    }
}

#[tokio::test]
async fn a_record_adds_up_when_an_answer_is_lost_and_another_is_no_answer() {
    let host = Host::new(TWO_DEFECTS);
    let messages = host.sim.messages();
    messages.answer(Scripted::text("I see nothing wrong here."));
    messages
        .faults()
        .on("POST /v1/messages", 2, Fault::DropAfterEffect);
    finished(&host).await;
    let record = assert_adds_up(&host).await;
    let calls = record.calls.kept();
    assert!(calls[0].objection.is_some(), "{calls:?}");
    assert_eq!(calls[1].fate, CallFate::Lost);
    assert!(calls[1].answer.is_none());
}

#[tokio::test]
async fn a_kept_run_is_repeated_byte_for_byte_and_outlives_its_job_for_a_while() {
    let host = Host::new(TWO_DEFECTS);
    finished(&host).await;
    let job = host.job().await.unwrap();
    let (artifacts, first) = (host.artifacts(), AttemptNo::FIRST);
    let file = |name| Keys::kept(&job.id, first, name);
    let input = get(artifacts, &file("plan-input.json")).await;
    let input = KeptInput::read(&input).unwrap();
    let diff = get(artifacts, &file("diff.patch")).await;
    let review = get(artifacts, &file("review.json")).await;
    let (plan, bytes) = input.replay(&diff, Some(&review)).unwrap();
    assert_eq!(bytes, get(artifacts, &file("plan.json")).await);
    assert_eq!(plan.tally.posted, host.comments().len());
    let record = get(artifacts, &file("run.json")).await;
    assert_eq!(input.run_sha256, Some(sha256(&record)));

    let gate = Arc::new(Gate::open());
    host.sweep(&gate, false).await;
    let there = |keys: Vec<String>| !keys.is_empty();
    let snapshot = artifacts.list(&Keys::snapshot(&job.id)).await.unwrap();
    assert!(!there(snapshot), "the job has ended");
    let work = artifacts.list(&Keys::work(&job.id)).await.unwrap();
    assert_eq!(work, [Keys::run(&job.id, first)]);
    assert!(there(artifacts.list(&Keys::runs(&job.id)).await.unwrap()));

    host.advance(KEEP_RUNS + Duration::from_secs(1));
    host.sweep(&gate, false).await;
    for prefix in [Keys::work(&job.id), Keys::runs(&job.id)] {
        assert!(!there(artifacts.list(&prefix).await.unwrap()), "{prefix}");
    }
}

#[tokio::test]
async fn a_run_is_kept_as_the_host_says() {
    for (keep, wanted) in [
        (KeepRuns::No, &[][..]),
        (
            KeepRuns::WithoutRecord,
            &["diff.patch", "plan-input.json", "plan.json", "review.json"],
        ),
        (
            KeepRuns::Whole,
            &[
                "diff.patch",
                "plan-input.json",
                "plan.json",
                "review.json",
                "run.json",
            ],
        ),
    ] {
        let mut host = Host::new(TWO_DEFECTS);
        host.keep_runs = keep;
        finished(&host).await;
        let job = host.job().await.unwrap();
        let (artifacts, first) = (host.artifacts(), AttemptNo::FIRST);
        let kept = artifacts.list(&Keys::runs(&job.id)).await.unwrap();
        let file = |name: &str| Keys::kept(&job.id, first, name);
        let wanted: Vec<String> = wanted.iter().map(|name| file(name)).collect();
        assert_eq!(kept, wanted, "{keep:?}");
        if keep == KeepRuns::No {
            continue;
        }
        let input = get(artifacts, &file("plan-input.json")).await;
        let input = KeptInput::read(&input).unwrap();
        assert_eq!(input.run_sha256.is_some(), keep == KeepRuns::Whole);
        let diff = get(artifacts, &file("diff.patch")).await;
        let review = get(artifacts, &file("review.json")).await;
        let (plan, bytes) = input.replay(&diff, Some(&review)).unwrap();
        assert_eq!(bytes, get(artifacts, &file("plan.json")).await);
        assert_eq!(plan.tally.posted, host.comments().len());
    }
}
