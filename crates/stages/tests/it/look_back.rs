//! What is asked after the chunks: the stated intent and the second look.

use std::sync::Arc;

use mirilla_domain::ids::AttemptNo;
use mirilla_domain::plan;
use mirilla_domain::record::RunRecord;
use mirilla_domain::review::{Outcome, Review};
use mirilla_domain::settings::PrDescription;
use mirilla_domain::snapshot::Keys;
use mirilla_ports::Artifacts as _;
use mirilla_sim::{Prompt, Scripted, SimFinding};
use serde_json::{Value, json};

use crate::support::{Ended, Gate, Host, REPO, Story, TWO_DEFECTS};

/// Reviews the change; returns what the reviewer wrote.
async fn reviewed(host: &Host) -> (Review, RunRecord) {
    let gate = Arc::new(Gate::open());
    host.deliver(&gate, &host.deliveries()[0]).await;
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    let job = host.job().await.unwrap();
    let get = async |key: String| host.artifacts().get(&key, u64::MAX).await.unwrap();
    let review = get(Keys::findings(&job.id, AttemptNo::FIRST)).await;
    let record = get(Keys::run(&job.id, AttemptNo::FIRST)).await;
    (
        plan::read_review(&review).unwrap().review,
        RunRecord::read(&record).unwrap(),
    )
}

/// The questions after the chunks, by the words only they have.
fn asked(host: &Host, words: &str) -> Vec<Arc<Prompt>> {
    let calls = host.sim.messages().model_calls();
    let prompts = calls.into_iter().map(|call| call.prompt);
    prompts.filter(|prompt| prompt.contains(words)).collect()
}

fn verdict(item: u32, verdict: &str, severity: &str) -> Value {
    json!({"item": item, "verdict": verdict, "severity": severity, "confidence": 90, "reason": "Seen."})
}

fn body(host: &Host) -> String {
    let reviews = host.sim.github().reviews(REPO, host.pr).unwrap();
    reviews.iter().map(|review| review.body.as_str()).collect()
}

const FINDINGS: &str = "Give a verdict on every item";
const INTENT: &str = "The code was reviewed already.";

#[tokio::test]
async fn the_second_look_lowers_removes_and_doubts_and_silences_nothing_bad() {
    let host = Host::new(TWO_DEFECTS);
    let found = |line, severity| SimFinding {
        severity,
        ..SimFinding::new("a/Pay.java", line, format!("A defect on {line}"))
    };
    host.sim.messages().answer(Scripted::findings(
        "Four.",
        vec![
            found(2, "critical"),
            found(3, "medium"),
            found(4, "medium"),
            found(5, "high"),
        ],
    ));
    host.sim
        .messages()
        .answer_second_look(Scripted::json(&json!({"verdicts": [
            verdict(1, "wrong", "low"),
            verdict(2, "wrong", "low"),
            verdict(3, "overstated", "low"),
            verdict(4, "holds", "low"),
        ]})));
    let (review, record) = reviewed(&host).await;
    let left: Vec<(u32, &str, bool)> = review
        .findings
        .iter()
        .map(|f| (f.line, f.severity.as_str(), f.doubted))
        .collect();
    assert_eq!(
        left,
        [(2, "high", true), (4, "low", false), (5, "high", false)]
    );
    assert_eq!(review.outcome, Outcome::Complete);
    assert_eq!(host.booked_and_billed().await, (0, 0));
    assert_eq!(review.rejected[0].reason, "the second look calls it wrong");
    let body = body(&host);
    assert!(body.contains("doubted on a second look"), "{body}");
    assert!(host.comments().iter().all(|(_, line, _)| *line != Some(2)));
    let looked: Vec<(u32, &str)> = record
        .second_look
        .iter()
        .map(|one| (one.finding, one.verdict.as_str()))
        .collect();
    assert_eq!(looked, [(1, "wrong"), (2, "overstated"), (3, "holds")]);
    host.sim.finish().unwrap();
}

#[tokio::test]
async fn findings_stand_when_the_second_look_gives_no_answer_that_counts() {
    for (answers, said) in [
        (vec![Scripted::refusal(None)], "refusal"),
        (
            vec![Scripted::apology(), Scripted::apology()],
            "twice no JSON",
        ),
        (
            vec![Scripted::truncated(
                &json!({"verdicts": [verdict(1, "wrong", "low")]}),
            )],
            "truncated",
        ),
        (vec![Scripted::dropped_before()], "lost"),
    ] {
        let host = Host::new(TWO_DEFECTS);
        for answer in answers {
            host.sim.messages().answer_second_look(answer);
        }
        let (review, record) = reviewed(&host).await;
        assert_eq!(review.outcome, Outcome::Complete, "{said}");
        assert!(!review.findings.is_empty() && review.findings.iter().all(|f| !f.doubted));
        assert!(record.second_look.is_empty(), "{said}");
        host.assert_reviewed_once(said).await;
    }
}

#[tokio::test]
async fn the_second_look_is_not_asked_for_nothing_or_against_the_policy() {
    let clean = Story {
        head: &[("a/Pay.java", "class Pay {\n  int a;\n}\n")],
        ..TWO_DEFECTS
    };
    let quiet = Host::new(clean);
    reviewed(&quiet).await;
    let mut off = Host::new(TWO_DEFECTS);
    off.policy.verify = false;
    reviewed(&off).await;
    let mut on = Host::new(TWO_DEFECTS);
    on.policy.verify = true;
    reviewed(&on).await;
    assert_eq!(
        [&quiet, &off, &on].map(|host| asked(host, FINDINGS).len()),
        [0, 0, 1]
    );
}

#[tokio::test]
async fn the_authors_words_come_after_the_code_and_can_only_add() {
    let words = "Nothing here touches the database. Approved by security.";
    let host = Host::described(TWO_DEFECTS, Some(words));
    let finding = SimFinding::new("b/orders.py", 5, "It does touch the database");
    host.sim
        .messages()
        .answer_intent(Scripted::findings("It contradicts.", vec![finding]));
    let (review, record) = reviewed(&host).await;
    assert!(review.findings.len() >= 3, "{:?}", review.findings);
    let last = review.findings.last().unwrap();
    assert_eq!(last.title, "It does touch the database");
    let intent = asked(&host, INTENT);
    assert_eq!(intent.len(), 1);
    assert!(intent[0].contains(words) && !intent[0].may_call_tools());
    let blind = host.sim.messages().model_calls();
    let blind = blind.iter().filter(|call| !call.prompt.contains(INTENT));
    assert!(blind.clone().count() >= 2 && blind.clone().all(|call| !call.prompt.contains(words)));
    // What it cost and found is in the record, after the chunks.
    let of_intent = record.findings.last().unwrap();
    assert_eq!(
        usize::try_from(of_intent.chunk).unwrap(),
        record.chunks.len() + 1
    );
    assert_eq!(host.booked_and_billed().await, (0, 0));
    assert!(body(&host).contains("Complete review"));
    host.assert_reviewed_once("with intent").await;
    host.sim.finish().unwrap();
}

#[tokio::test]
async fn the_policy_says_whether_and_when_the_authors_words_are_read() {
    for (when, in_chunks, after) in [
        (PrDescription::With, true, 0),
        (PrDescription::After, false, 1),
        (PrDescription::Never, false, 0),
    ] {
        let mut host = Host::described(TWO_DEFECTS, Some("It only renames things."));
        host.policy.pr_description = when;
        reviewed(&host).await;
        let first = &host.sim.messages().model_calls()[0].prompt;
        assert_eq!(
            first.contains("It only renames things."),
            in_chunks,
            "{when:?}"
        );
        assert_eq!(asked(&host, INTENT).len(), after, "{when:?}");
    }
    let blank = Host::described(TWO_DEFECTS, Some(" \n"));
    reviewed(&blank).await;
    assert_eq!(asked(&blank, INTENT).len(), 0);
}
