//! What is kept of a run, and that it can be believed.

use std::collections::BTreeSet;

use mirilla_domain::checks;
use mirilla_domain::ids::*;
use mirilla_domain::marker::{self, FindingMarker, Marker, MarkerKey};
use mirilla_domain::money::{PicoUsd, Usage};
use mirilla_domain::plan::{
    self, FreshDiff, INSPECT_KEY, JobFacts, KeptInput, KeptPlan, PlanInput, PlanPolicy, ReplayError,
};
use mirilla_domain::record::*;
use mirilla_domain::redact::{Haystack, Redactor};
use mirilla_domain::review::{Fate, Review, Severity, Side};
use mirilla_domain::thread::{Existing, ExistingComment};
use mirilla_domain::{answer, schema};
use serde_json::json;

const DIFF: &[u8] = b"diff --git a/src/Pay.java b/src/Pay.java
--- a/src/Pay.java
+++ b/src/Pay.java
@@ -1,2 +1,6 @@
 class Pay {
+  void pay() {
+    try { charge(); }
+    catch (Exception e) { }
+  }
 }
";
/// A key of tests; it protects nothing.
const KEY: &[u8] = b"a marker key that only the poster of this test knows";

fn id<T: std::str::FromStr>(digit: &str, length: usize) -> T
where
    T::Err: std::fmt::Debug,
{
    digit.repeat(length).parse().unwrap()
}

fn answer_text() -> String {
    let finding = |line: u32, quote: &str, title: &str| {
        json!({"path": "src/Pay.java", "line": line, "end_line": 0,
            "quote": quote, "title": title,
            "message": "When the charge fails, nobody is told.", "category": "error-handling",
            "severity": "high", "confidence": 90, "symbol": "Pay.pay", "rule": "", "suggestion": ""})
    };
    json!({"findings": [finding(4, "catch (Exception e) { }", "The failure is swallowed"), finding(3, "try { charge(); }", "The charge may repeat"),
        {"line": 1}], "summary": "One method."})
    .to_string()
}

fn call(calls: &mut Calls, number: u32, turn: u32, text: Option<&str>) -> CallRecord {
    let redactor = Redactor::default();
    CallRecord {
        call: number,
        chunk: 1,
        turn,
        fate: if text.is_some() {
            CallFate::Answered
        } else {
            CallFate::Lost
        },
        usage: Usage {
            input_tokens: 1_000,
            output_tokens: 50,
            ..Usage::default()
        },
        cost: PicoUsd::from_micro(2_000),
        stop: text.map(|_| "end-turn".to_owned()),
        model: text.map(|_| "claude-sonnet-5-5".to_owned()),
        request_id: text.map(|_| "req_1".to_owned()),
        answer: text.map(|text| calls.answer(text, &redactor)),
        objection: None,
        look_ups: Vec::new(),
    }
}

fn look_up() -> LookUpRecord {
    LookUpRecord {
        tool: Some("read_file".to_owned()),
        arguments: RecordedText::of(
            r#"{"path":"src/Pay.java"}"#,
            MAX_ARGUMENTS_BYTES,
            &Redactor::default(),
        ),
        result_bytes: 12,
        result_sha256: sha256(b"class Pay {}"),
        is_error: false,
    }
}

/// A review of [`DIFF`] and its record: a look, a call of a process that died, and the answer.
fn run() -> (RunRecord, Review) {
    let parsed = mirilla_diff::parse(DIFF);
    let answered = answer::read(&answer_text(), &parsed.files).unwrap();
    assert_eq!((answered.findings.len(), answered.rejected.len()), (2, 1));
    let mut calls = Calls::default();
    let first = call(&mut calls, 1, 1, Some("I will look."));
    calls.push(first);
    calls.looked_up(1, look_up());
    calls.push(CallRecord {
        fate: CallFate::Unknown,
        usage: Usage::default(),
        cost: PicoUsd::ZERO,
        ..call(&mut Calls::default(), 2, 2, None)
    });
    let last = call(&mut calls, 3, 2, Some(&answer_text()));
    calls.push(last);
    let sums = calls.sums();
    let files = FreshDiff::of(&parsed.files, &[], None);
    let review = Review {
        schema: "mirilla.review.v1".to_owned(),
        job: id("a", 32),
        attempt: AttemptNo::FIRST,
        head: id("b", 40),
        summary: answered.summary,
        findings: answered.findings,
        coverage: vec![mirilla_domain::review::Coverage {
            path: "src/Pay.java".to_owned(),
            fate: Fate::Reviewed,
            digest: files.files()[0].digest.clone(),
        }],
        rejected: answered.rejected.clone(),
        usage: sums.usage,
        cost: sums.cost,
        model: "claude-sonnet-5-5".to_owned(),
        prompt_version: "1".to_owned(),
        turns: sums.calls,
        tool_calls: sums.look_ups,
        outcome: mirilla_domain::review::Outcome::Complete,
        sight: None,
    };
    let record = RunRecord {
        schema: RUN_SCHEMA.to_owned(),
        job: id("a", 32),
        attempt: AttemptNo::FIRST,
        written_at: Timestamp::new(1_700_000_000_000),
        inputs: Inputs {
            head: id("b", 40),
            merge_base: id("c", 40),
            diff_sha256: sha256(DIFF),
            diff_bytes: DIFF.len() as u64,
            meta_sha256: sha256(b"meta"),
            rules_commit: id("c", 40),
            rules_sha256: sha256(b"rules"),
            policy_sha256: sha256(b"policy"),
            archive: None,
            prior: None,
            missing_files: 0,
        },
        prompt_version: "1".to_owned(),
        model: "claude-sonnet-5-5".to_owned(),
        review_sha256: sha256(&serde_json::to_vec(&review).unwrap()),
        chunks: vec![ChunkRecord {
            chunk: 1,
            files: vec!["src/Pay.java".to_owned()],
            fate: Fate::Reviewed,
        }],
        calls,
        findings: [1, 2]
            .map(|finding| Origin {
                finding,
                chunk: 1,
                call: 3,
            })
            .to_vec(),
        rejected: vec![RejectedItem {
            chunk: 1,
            call: 3,
            item: answered.rejected[0].item,
            reason: answered.rejected[0].reason.clone(),
        }],
        carried: 0,
        second_look: Vec::new(),
        redacted: 0,
    };
    (record, review)
}

fn wrong(record: &RunRecord, review: &Review) -> Vec<Mismatch> {
    check_answers(record, review, &mirilla_diff::parse(DIFF).files).0
}

#[test]
fn a_text_that_was_cut_or_redacted_says_so() {
    let secret = "sk-test-5f1e0c7b9a3d4e2f"; // made up
    let redactor = Redactor::new([("model-key", secret)]);
    let whole = RecordedText::of("plain", 100, &redactor);
    assert!(whole.is_whole() && whole.is_intact());
    let hidden = RecordedText::of(&format!("the key is {secret}"), 100, &redactor);
    assert!(hidden.text.contains("[redacted: model-key]"), "{hidden:?}");
    assert!(!hidden.text.contains("5f1e0c7b"), "{hidden:?}");
    assert!(!hidden.is_whole() && hidden.is_intact());
    // The cut falls into a character: it is left out.
    let cut = RecordedText::of("aé", 2, &redactor);
    assert_eq!((cut.text.as_str(), cut.cut_from_bytes), ("a", Some(3)));
    assert!(!cut.is_whole());
}

#[test]
fn what_is_left_out_is_counted() {
    let mut calls = Calls::default();
    let (long, short) = ("x".repeat(MAX_ANSWER_BYTES + 1), "yy");
    let many = MAX_ANSWERS_BYTES / MAX_ANSWER_BYTES;
    let count = MAX_CALLS + 7;
    for number in 1..=count {
        let text = if number <= many { &long } else { short };
        let one = call(&mut calls, number as u32, 1, Some(text));
        calls.push(one);
        for _ in 0..3 {
            calls.looked_up(number as u32, look_up());
        }
    }
    assert_eq!(calls.kept().len(), MAX_CALLS);
    assert_eq!(calls.left_out().calls, 7);
    let sums = calls.sums();
    assert_eq!(
        (sums.calls, sums.look_ups),
        (count as u32, count as u32 * 3)
    );
    assert_eq!(sums.cost, PicoUsd::from_micro(2_000 * count as u64));
    assert_eq!(sums.usage.output_tokens, 50 * count as u64);
    let mut bytes = 0;
    for kept in calls.kept() {
        let text = if kept.call as usize <= many {
            &long
        } else {
            short
        };
        let answer = kept.answer.as_ref().unwrap();
        assert_eq!(answer.cut_from_bytes, Some(text.len() as u64));
        bytes += answer.text.len();
    }
    assert_eq!(bytes, MAX_ANSWERS_BYTES);
    let looks: usize = calls.kept().iter().map(|call| call.look_ups.len()).sum();
    assert_eq!(looks, MAX_LOOK_UPS);
}

#[test]
fn a_record_is_valid_by_the_published_schema_and_reads_back() {
    let (record, _) = run();
    let value = serde_json::to_value(&record).unwrap();
    if let Err(error) = jsonschema::validate(&schema::run_schema(), &value) {
        panic!("{error}");
    }
    let bytes = serde_json::to_vec(&record).unwrap();
    assert_eq!(RunRecord::read(&bytes).unwrap(), record);
    let mut other = value;
    other["schema"] = json!("mirilla.run.v2");
    let newer = RunRecord::read(&serde_json::to_vec(&other).unwrap());
    assert!(matches!(newer, Err(RecordError::Schema)));
    assert!(matches!(RunRecord::read(b"[]"), Err(RecordError::Json(_))));
}

#[test]
fn answers_that_are_read_once_more_must_say_what_the_review_says() {
    let (record, review) = run();
    assert_eq!(wrong(&record, &review), []);

    let tampered = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut value = serde_json::to_value(&record).unwrap();
        change(&mut value);
        serde_json::from_value::<RunRecord>(value).unwrap()
    };
    let text = answer_text();
    let forged = tampered(&|value| {
        value["calls"][2]["answer"]["text"] = json!(text.replace("swallowed", "Swallowed"));
    });
    let found = wrong(&forged, &review);
    assert!(
        found.contains(&Mismatch::Text {
            call: 3,
            what: "answer"
        }),
        "{found:?}"
    );
    let finding = Some(1);
    assert!(
        found.contains(&Mismatch::Findings { call: 3, finding }),
        "{found:?}"
    );
    let cheap = tampered(&|value| value["calls"][0]["cost"] = json!(1));
    assert_eq!(wrong(&cheap, &review), [Mismatch::Sum { what: "cost" }]);
    let asked = tampered(&|value| {
        value["calls"][0]["look_ups"][0]["arguments"]["text"] = json!("{}");
    });
    assert_eq!(
        wrong(&asked, &review),
        [Mismatch::Text {
            call: 1,
            what: "look-up"
        }]
    );
    let lost = tampered(&|value| value["findings"] = json!([]));
    assert_eq!(wrong(&lost, &review), [Mismatch::Origins]);

    let mut fewer = review.clone();
    fewer.findings.pop();
    let mut origins = record.clone();
    origins.findings.pop();
    let finding = None;
    assert_eq!(
        wrong(&origins, &fewer),
        [Mismatch::Findings { call: 3, finding }]
    );
}

#[test]
fn a_finding_that_the_second_look_lowered_is_still_the_answers() {
    let (mut record, mut review) = run();
    review.findings[0].severity = Severity::Low;
    review.findings[0].confidence = 40;
    let finding = Some(1);
    assert_eq!(
        wrong(&record, &review),
        [Mismatch::Findings { call: 3, finding }]
    );
    record.second_look.push(SecondLooked {
        finding: 1,
        call: 4,
        verdict: "overstated".to_owned(),
        was: Severity::High,
    });
    assert_eq!(wrong(&record, &review), []);
}

#[test]
fn wanted_is_a_fingerprint_a_marker_or_a_place() {
    let fingerprint = |text: &str| Wanted::Fingerprint(text.to_owned());
    for (text, wanted) in [
        ("3F2A9c", Some(fingerprint("3f2a9c"))),
        (
            "<!-- mirilla v1 finding=ab12 severity=high job=0 mac=00 -->",
            Some(fingerprint("ab12")),
        ),
        (
            "src/a:b.rs:12",
            Some(Wanted::Place {
                path: "src/a:b.rs".to_owned(),
                line: 12,
            }),
        ),
        ("abc", None),
        ("nonsense", None),
        ("src/a.rs:x", None),
        (":3", None),
        ("", None),
    ] {
        assert_eq!(Wanted::parse(text).ok(), wanted, "{text}");
    }
}

/// Plans the review with the poster's key; returns what is kept and the plan that is posted.
fn planned(redactor: &Redactor, review: &Review) -> (Result<KeptPlan, ReplayError>, plan::Plan) {
    let parsed = mirilla_diff::parse(DIFF);
    let key = MarkerKey::new(KEY).unwrap();
    let job = JobFacts {
        job: id("a", 32),
        attempt: AttemptNo::FIRST,
        pull_request: PullRequestRef {
            forge: Forge::Github,
            repo: RepoId::new(7),
            pr: PrNumber::new(3),
        },
        head: id("b", 40),
        merge_base: id("c", 40),
    };
    // One of ours, whose finding is gone; one that somebody forged with the public key.
    let comment = |number: u64, key: &MarkerKey| ExistingComment {
        edited: false,
        id: CommentId::new(number),
        in_reply_to: None,
        review: None,
        author: Some("mirilla[bot]".to_owned()),
        ours: true,
        path: "src/Pay.java".to_owned(),
        line: Some(2),
        original_line: Some(2),
        side: Side::Right,
        body: format!(
            "old\n\n{}",
            marker::write(
                key,
                &job.pull_request,
                &Marker::Finding(FindingMarker {
                    fingerprint: id("d", 32),
                    severity: Severity::Low,
                    job: id("e", 32),
                })
            )
        ),
    };
    let existing = Existing {
        comments: vec![
            comment(1, &key),
            comment(2, &MarkerKey::new(INSPECT_KEY).unwrap()),
        ],
        ..Existing::default()
    };
    let bytes = serde_json::to_vec(review).unwrap();
    let read = plan::read_review(&bytes).unwrap();
    let input = PlanInput {
        job: &job,
        diff: &FreshDiff::of(&parsed.files, &[], None),
        review: Some(&read),
        floor: &checks::floor(&parsed.files),
        existing: &existing,
        recorded: &BTreeSet::new(),
        last_review: Some(ReviewId::new(9)),
        policy: &PlanPolicy::default(),
        notes: &["A note.".to_owned()],
        redactor,
        public: &Haystack::new([DIFF]),
        key: &key,
    };
    let posted = plan::plan(&input);
    let kept = plan::keep(&input, (DIFF, &[]), Some(&bytes), None, &posted);
    (kept, posted)
}

#[test]
fn a_kept_plan_is_made_again_byte_for_byte_without_the_key() {
    let (_, review) = run();
    let (kept, posted) = planned(&Redactor::default(), &review);
    let kept = kept.unwrap();
    let input = KeptInput::read(&kept.input).unwrap();
    if let Err(error) = jsonschema::validate(
        &schema::plan_input_schema(),
        &serde_json::from_slice(&kept.input).unwrap(),
    ) {
        panic!("{error}");
    }
    let bytes = serde_json::to_vec(&review).unwrap();
    let (again, file) = input.replay(DIFF, Some(&bytes)).unwrap();
    assert_eq!(file, kept.plan);
    assert_eq!(again.tally, posted.tally);
    assert_eq!(again.resolve, posted.resolve);
    assert_ne!(again.body, posted.body, "the MAC is another key's");
    assert_eq!(
        marker::without_macs(&again.body),
        marker::without_macs(&posted.body)
    );
    let written = String::from_utf8(kept.input).unwrap();
    assert!(!written.contains("only the poster"), "{written}");
    // A marker is believed exactly if the poster believed it.
    let key = MarkerKey::new(INSPECT_KEY).unwrap();
    let read = |at: usize| {
        marker::read(
            &key,
            &input.job.pull_request,
            &input.existing.comments[at].body,
        )
    };
    assert!(read(0).is_some());
    assert_eq!(read(1), None);
}

#[test]
fn a_plan_is_not_made_from_other_files() {
    let (_, review) = run();
    let kept = planned(&Redactor::default(), &review).0.unwrap();
    let input = KeptInput::read(&kept.input).unwrap();
    let bytes = serde_json::to_vec(&review).unwrap();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        let error = input.replay(DIFF, Some(&changed)).unwrap_err();
        assert!(
            matches!(error, ReplayError::OtherFile { what: "review", .. }),
            "{at}"
        );
    }
    let error = input.replay(b"", Some(&bytes)).unwrap_err();
    assert!(matches!(error, ReplayError::OtherFile { what: "diff", .. }));
    let error = input.replay(DIFF, None).unwrap_err();
    assert!(matches!(error, ReplayError::Review { wanted: true }));
}

#[test]
fn a_run_that_holds_a_secret_of_the_poster_is_not_kept() {
    let secret = "ghs_made0up1for2this3test4only5"; // made up
    let redactor = Redactor::new([("forge-token", secret)]);
    let (_, mut review) = run();
    assert!(planned(&redactor, &review).0.is_ok());
    review.findings[0].message = format!("Look: {secret}");
    let kept = planned(&redactor, &review).0;
    assert!(matches!(kept, Err(ReplayError::Secret)), "{kept:?}");
}

#[test]
fn a_finding_is_explained_from_its_answer_to_its_fate() {
    let (record, review) = run();
    let kept = planned(&Redactor::default(), &review).0.unwrap();
    let plan: plan::Plan = serde_json::from_slice(&kept.plan).unwrap();
    let wanted = Wanted::parse("Pay.java:4").unwrap();
    let found = explain(&wanted, Some(&record), &review, Some(&plan));
    assert_eq!(found.len(), 1, "{found:?}");
    let one = &found[0];
    let item = one.item.unwrap();
    assert_eq!(item.title, "The failure is swallowed");
    assert_eq!(one.finding.unwrap().0, 1);
    assert_eq!(one.origin.unwrap().call, 3);
    assert_eq!(one.chunk.unwrap().files, ["src/Pay.java"]);
    // Not the call of the process that died.
    let calls: Vec<u32> = one.calls.iter().map(|call| call.call).collect();
    assert_eq!(calls, [1, 3]);
    assert_eq!(one.look_ups().count(), 1);
    assert_eq!(one.cost(), PicoUsd::from_micro(4_000));
    assert_eq!(one.named_together, 2);

    let fingerprint = item.fingerprint.as_ref().unwrap().as_str();
    let wanted = Wanted::parse(&fingerprint[..10]).unwrap();
    let by_name = explain(&wanted, Some(&record), &review, Some(&plan));
    assert_eq!(by_name.len(), 1);
    assert_eq!(by_name[0].item, one.item);
    // Without a plan or a record the rest is still told.
    let bare = explain(
        &Wanted::parse("src/Pay.java:4").unwrap(),
        None,
        &review,
        None,
    );
    assert_eq!(bare.len(), 1);
    assert_eq!(bare[0].finding, one.finding);
    assert!(bare[0].origin.is_none() && bare[0].item.is_none());
    assert!(explain(&Wanted::parse("ay.java:4").unwrap(), None, &review, None).is_empty());
}
