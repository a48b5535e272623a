use super::*;
use crate::code::{DropReason, FailReason, SkipReason};
use crate::plan::FileState;
use crate::review::Severity;

/// What `block` and `allow` make of it.
type Row = (Conclusion, Conclusion);

const PASSES: Row = (Conclusion::Success, Conclusion::Success);
const OPEN_ENDED: Row = (Conclusion::Failure, Conclusion::Neutral);
const FAILS: Row = (Conclusion::Failure, Conclusion::Failure);

fn policy(on_inconclusive: OnInconclusive) -> GatePolicy {
    GatePolicy {
        gate: Gate::High,
        on_inconclusive,
        ..GatePolicy::default()
    }
}

/// A change of one file that passes.
fn clean() -> GateFacts {
    GateFacts {
        files: vec![FileFact {
            state: FileState::Reviewed,
            by_rule: false,
        }],
        findings: Vec::new(),
        addressing: 0,
        floor_cut: false,
        comments_cut: false,
        outcome: Outcome::Complete,
    }
}

fn judged(facts: &GateFacts) -> Row {
    let [block, allow] = [OnInconclusive::Block, OnInconclusive::Allow].map(|on_inconclusive| {
        let verdict = judge(facts, &policy(on_inconclusive)).unwrap();
        verdict.ruling.conclusion(on_inconclusive)
    });
    (block, allow)
}

fn with_file(state: FileState, by_rule: bool) -> Row {
    let mut facts = clean();
    facts.files.push(FileFact { state, by_rule });
    judged(&facts)
}

/// The row of each reason: a new one does not compile without.
const fn of_skip(reason: SkipReason, by_rule: bool) -> Row {
    match reason {
        SkipReason::Lockfile | SkipReason::Ignored => {
            if by_rule {
                PASSES
            } else {
                OPEN_ENDED
            }
        }
        SkipReason::Generated => OPEN_ENDED,
        SkipReason::Minified => OPEN_ENDED,
        SkipReason::Vendored => OPEN_ENDED,
        SkipReason::Binary => OPEN_ENDED,
        SkipReason::Submodule => OPEN_ENDED,
        SkipReason::NoContentChange => OPEN_ENDED,
        SkipReason::LineEndingsOnly => OPEN_ENDED,
        SkipReason::DeletionOnly => OPEN_ENDED,
        SkipReason::SettingsBroken => OPEN_ENDED,
        SkipReason::PatchUnavailable => OPEN_ENDED,
        SkipReason::TooLarge => OPEN_ENDED,
        SkipReason::CostCap => OPEN_ENDED,
        SkipReason::OutsidersShare => OPEN_ENDED,
        SkipReason::Deadline => OPEN_ENDED,
        SkipReason::UnusablePath => OPEN_ENDED,
        SkipReason::NoModel => OPEN_ENDED,
        SkipReason::Malformed => OPEN_ENDED,
    }
}

const fn of_failure(reason: FailReason) -> Row {
    match reason {
        FailReason::Refusal => OPEN_ENDED,
        FailReason::Truncated => OPEN_ENDED,
        FailReason::MalformedAnswer => OPEN_ENDED,
        FailReason::EmptyAnswer => OPEN_ENDED,
        FailReason::PromptTooLong => OPEN_ENDED,
        FailReason::ModelUnavailable => OPEN_ENDED,
        FailReason::AnswerLost => OPEN_ENDED,
        FailReason::ModelRejected => OPEN_ENDED,
        FailReason::ReviewerDied => OPEN_ENDED,
    }
}

const fn of_end(reason: EndReason) -> Row {
    match reason {
        EndReason::HeadMoved => OPEN_ENDED,
        EndReason::BaseChanged => OPEN_ENDED,
        EndReason::Closed => OPEN_ENDED,
        EndReason::Draft => OPEN_ENDED,
        EndReason::Paused => OPEN_ENDED,
        EndReason::AskedAgain => OPEN_ENDED,
        EndReason::Empty => OPEN_ENDED,
        EndReason::Gone => OPEN_ENDED,
        EndReason::AttemptsExhausted => OPEN_ENDED,
        EndReason::WriteForbidden => OPEN_ENDED,
    }
}

/// Of a critical finding that was not posted.
const fn of_drop(reason: DropReason) -> Row {
    match reason {
        DropReason::OverCap => FAILS,
        DropReason::UnknownPath => OPEN_ENDED,
        DropReason::Invalid => OPEN_ENDED,
        DropReason::Stale => OPEN_ENDED,
        DropReason::OffDiff => OPEN_ENDED,
        DropReason::BelowThreshold => PASSES,
        DropReason::Duplicate => PASSES,
        DropReason::Declined => PASSES,
    }
}

#[test]
fn every_reason_has_its_conclusion_under_block_and_under_allow() {
    assert_eq!(judged(&clean()), PASSES);
    for reason in SkipReason::ALL.iter().copied() {
        for by_rule in [false, true] {
            let found = with_file(FileState::Skipped(reason), by_rule);
            assert_eq!(found, of_skip(reason, by_rule), "{reason}, rule: {by_rule}");
        }
    }
    for reason in FailReason::ALL.iter().copied() {
        let found = with_file(FileState::Failed(reason), true);
        assert_eq!(found, of_failure(reason), "{reason}");
    }
    for reason in EndReason::ALL.iter().copied() {
        let ruling = Verdict::ended(reason).ruling;
        let found = (
            ruling.conclusion(OnInconclusive::Block),
            ruling.conclusion(OnInconclusive::Allow),
        );
        assert_eq!(found, of_end(reason), "{reason}");
    }
    for reason in DropReason::ALL.iter().copied() {
        let mut facts = clean();
        facts.findings.push(FindingFact {
            severity: Some(Severity::Critical),
            standing: Standing::of_dropped(reason),
            doubted: false,
        });
        assert_eq!(judged(&facts), of_drop(reason), "{reason}");
    }
    assert_eq!(with_file(FileState::Carried, false), PASSES);
    assert_eq!(with_file(FileState::Stale, true), OPEN_ENDED);
    assert_eq!(with_file(FileState::NotCovered, true), OPEN_ENDED);
}

#[test]
fn whatever_else_stands_in_the_way_of_a_pass_is_inconclusive() {
    type Change = (&'static str, fn(&mut GateFacts));
    let changes: [Change; 7] = [
        ("text for the reviewer", |facts| facts.addressing = 1),
        ("too many hits", |facts| facts.floor_cut = true),
        ("too many comments", |facts| facts.comments_cut = true),
        ("nothing changed", |facts| facts.files.clear()),
        ("partial", |facts| facts.outcome = Outcome::Partial),
        ("failed", |facts| facts.outcome = Outcome::Failed),
        ("superseded", |facts| facts.outcome = Outcome::Superseded),
    ];
    for (what, change) in changes {
        let mut facts = clean();
        change(&mut facts);
        assert_eq!(judged(&facts), OPEN_ENDED, "{what}");
    }
    for broken in [BrokenSettings::IgnoreKnown, BrokenSettings::IgnoreUnknown] {
        let policy = GatePolicy {
            broken_settings: Some(broken),
            ..policy(OnInconclusive::Block)
        };
        assert_eq!(
            judge(&clean(), &policy).unwrap().ruling,
            Ruling::Inconclusive
        );
    }
}

#[test]
fn open_finding_fails_from_the_threshold_on_and_a_doubted_one_is_for_a_person() {
    let thresholds = [
        (Gate::High, Severity::High),
        (Gate::Medium, Severity::Medium),
        (Gate::Low, Severity::Low),
    ];
    for (gate, threshold) in thresholds {
        for severity in Severity::ALL {
            for doubted in [false, true] {
                let mut facts = clean();
                facts.findings.push(FindingFact {
                    severity: Some(severity),
                    standing: Standing::Open,
                    doubted,
                });
                let policy = GatePolicy {
                    gate,
                    ..GatePolicy::default()
                };
                let expected = match (severity >= threshold, doubted) {
                    (false, _) => Ruling::Pass,
                    (true, false) => Ruling::Fail,
                    (true, true) => Ruling::Inconclusive,
                };
                let found = judge(&facts, &policy).unwrap().ruling;
                assert_eq!(found, expected, "{gate:?} {severity:?} {doubted}");
            }
        }
    }
    assert_eq!(judge(&clean(), &GatePolicy::default()), None, "off");
}

#[test]
fn only_a_pass_is_ever_a_success() {
    for ruling in Ruling::ALL {
        for on_inconclusive in [OnInconclusive::Block, OnInconclusive::Allow] {
            let is_success = ruling.conclusion(on_inconclusive) == Conclusion::Success;
            assert_eq!(is_success, ruling == Ruling::Pass);
        }
    }
    let failing = Verdict::of(vec![
        Counted::once(Cause::Stale),
        Counted::once(Cause::Open(Severity::High)),
    ]);
    assert_eq!(failing.ruling, Ruling::Fail, "the worst cause decides");
    let other = failing.and(Counted::once(Cause::Other(Ruling::Pass)));
    assert_eq!((other.ruling, other.causes.len()), (Ruling::Fail, 2));
}

#[test]
fn file_that_no_rule_names_under_each_of_its_names_is_not_left_out() {
    let rules = crate::settings::IgnoreRules::new(&["docs/**".to_owned()], 0);
    let fact =
        |reason, path, old| FileFact::new(FileState::Skipped(reason), path, old, &rules).by_rule;
    assert!(fact(SkipReason::Ignored, "docs/a.md", None));
    assert!(!fact(SkipReason::Ignored, "src/a.rs", None));
    assert!(!fact(SkipReason::Ignored, "docs/a.rs", Some("src/a.rs")));
    assert!(fact(SkipReason::Lockfile, "sub/Cargo.lock", None));
    assert!(!fact(SkipReason::Lockfile, "src/a.lock", None));
    assert!(!fact(SkipReason::Generated, "docs/a.md", None));
}
