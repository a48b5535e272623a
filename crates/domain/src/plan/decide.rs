//! The decision: from findings to what is written.
//!
//! ```text
//! compare coverage → draft (check, place, name) → threshold → merge → identity → cap → render → act
//! ```
//!
//! **Invariant:** the same input gives the same plan, and a plan made after an earlier one was applied
//! to the same input writes nothing.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::draft::Draft;
use super::known::Known;
use super::{
    CoverageReport, FileCoverage, Item, ItemFate, NewComment, NewReview, Plan, PlanInput,
    ReadReview, ReviewAction, Source, Tally, merge, resolve,
};
use crate::anchor::OffDiff;
use crate::checks;
use crate::code::DropReason;
use crate::gate::{self, CheckReport, FileFact, FindingFact, GateFacts};
use crate::ids::Fingerprint;
use crate::marker::{self, FindingMarker, MAX_REMEMBERED, Marker, ReviewMarker};
use crate::render::{self, MAX_BODY_BYTES, ReviewBody, Words};
use crate::review::{Outcome, Severity, Side};
use crate::settings::IgnoreRules;

/// A reason from the file is cut to this.
const MAX_REASON_CHARS: usize = 200;

/// Decides what to post, where, what to skip and why.
pub fn plan(input: &PlanInput<'_>) -> Plan {
    let review = input.review.filter(|read| answers(read, input));
    let coverage = CoverageReport::compare(input.diff, review);
    let outcome = coverage.outcome(review);
    let known = Known::read(input);

    let mut drafts = gather(input, review, &known, &coverage);
    let current: BTreeSet<Fingerprint> = drafts
        .iter()
        .filter(|draft| draft.is_open())
        .flat_map(|draft| draft.identities.iter().cloned())
        .collect();
    apply_thresholds(input, &mut drafts);
    drafts.sort_by_cached_key(|draft| importance(input, draft));
    merge::duplicates(&mut drafts);
    place(input, &known, &mut drafts);
    // From here on the order is the one people read in.
    drafts.sort_by_cached_key(|draft| reading_order(input, draft));

    let words = Words::new(input.redactor, input.public, &input.policy.link_hosts);
    let gone = resolve::threads(input, &known, &coverage, outcome, &current);
    let (resolve, left_open) = resolve::split(gone, input.policy);
    let comments = comments(input, &drafts, &words);
    let mut items: Vec<Item> = drafts
        .iter()
        .map(|draft| draft.clone().into_item(&words))
        .collect();
    items.extend(unusable(review, &words));
    let tally = Tally::of(&items);
    debug_assert!(tally.reconciles(), "{}", tally.equation());

    let said = Marker::Review(ReviewMarker {
        job: input.job.job.clone(),
        attempt: input.job.attempt,
        in_body: in_body(&drafts),
    });
    let line = marker::write(input.key, &input.job.pull_request, &said);
    let text = render::review_body(&ReviewBody {
        job: input.job,
        outcome,
        review,
        coverage: &coverage,
        drafts: &drafts,
        tally: &tally,
        max_comments: input.policy.max_comments,
        words: &words,
        notes: input.notes,
        max_bytes: MAX_BODY_BYTES.saturating_sub(line.len()).saturating_sub(2),
    });
    let body = format!("{text}\n\n{line}");
    let declined = declined(&known, &drafts, &current);
    let said = (items.as_slice(), declined.as_slice());
    let check = check(input, &known, &coverage, outcome, said, &current, &words);

    let action = act(input, &known, &items, comments, &body);
    let delete_pending = match action {
        ReviewAction::Create { .. } => known.pending.clone(),
        ReviewAction::Edit { .. } | ReviewAction::Nothing { .. } => Vec::new(),
    };
    Plan {
        job: input.job.clone(),
        outcome,
        tally,
        items,
        coverage,
        delete_pending,
        review: action,
        body,
        resolve,
        left_open,
        check,
        redacted: words.redacted(),
    }
}

/// Judges what was read and found, and says it in the words of a check; nothing if the gate is off.
fn check(
    input: &PlanInput<'_>,
    known: &Known<'_>,
    coverage: &CoverageReport,
    outcome: Outcome,
    (items, declined): (&[Item], &[render::Declined<'_>]),
    current: &BTreeSet<Fingerprint>,
    words: &Words<'_>,
) -> Option<CheckReport> {
    let policy = &input.policy.gate;
    let rules = IgnoreRules::new(&policy.ignore, policy.operator_ignore);
    let file = |one: &FileCoverage| {
        let old = input.diff.file(&one.path);
        let old = old.and_then(|file| file.old_path.as_deref());
        FileFact::new(one.state, &one.path, old, &rules)
    };
    let earlier = known
        .standing(current)
        .map(|comment| FindingFact::from_earlier(comment.severity));
    let facts = GateFacts {
        files: coverage.files().iter().map(file).collect(),
        findings: items
            .iter()
            .map(|item| FindingFact::of(item.severity, &item.fate))
            .chain(earlier)
            .collect(),
        addressing: input
            .floor
            .iter()
            .filter(|hit| hit.addresses_reviewer())
            .count(),
        floor_cut: input.floor.len() >= checks::MAX_HITS,
        comments_cut: input.existing.truncated,
        outcome,
    };
    let verdict = gate::judge(&facts, policy)?;
    Some(render::check(&render::CheckWords {
        verdict,
        on_inconclusive: policy.on_inconclusive,
        threshold: policy.gate.fails_at(),
        coverage,
        items,
        declined,
        words,
    }))
}

/// Returns what people who may do so declined: findings of this run, then those of earlier ones that still
/// stand and about which this run says nothing.
fn declined<'d>(
    known: &'d Known<'_>,
    drafts: &'d [Draft<'_>],
    current: &BTreeSet<Fingerprint>,
) -> Vec<render::Declined<'d>> {
    let said_now = drafts.iter().filter_map(|draft| {
        let own = draft.identities.get(..draft.own_identities)?;
        let dropped = matches!(
            draft.fate,
            Some(ItemFate::Dropped {
                reason: DropReason::Declined,
                ..
            })
        );
        let decline = known.decline(own, draft.severity).filter(|_| dropped)?;
        let line = draft.shown_line().map_or(0, |(_, line)| line);
        Some(render::Declined {
            severity: draft.severity,
            title: draft.title,
            category: draft.category,
            path: &draft.path,
            line: (line > 0).then_some(line),
            by: decline.by,
            reason: decline.reason,
        })
    });
    let said_before = known
        .standing_declined(current)
        .map(|(comment, decline)| render::Declined {
            severity: comment.severity,
            title: "",
            category: "an earlier finding",
            path: comment.path,
            line: comment.line,
            by: decline.by,
            reason: decline.reason,
        });
    said_now.chain(said_before).collect()
}

/// A file that answers another job, try or head says nothing about this one.
fn answers(read: &ReadReview, input: &PlanInput<'_>) -> bool {
    let (review, job) = (&read.review, input.job);
    review.job == job.job && review.attempt == job.attempt && review.head == job.head
}

fn gather<'a>(
    input: &PlanInput<'a>,
    review: Option<&'a ReadReview>,
    known: &Known<'_>,
    coverage: &CoverageReport,
) -> Vec<Draft<'a>> {
    let hits = input
        .floor
        .iter()
        .map(|hit| Draft::of_hit(input, known, hit));
    let findings = review
        .map_or(&[][..], |read| &read.review.findings)
        .iter()
        .map(|finding| {
            let mut draft = Draft::of_finding(input, known, coverage, finding);
            if finding.doubted {
                draft.place = Err(OffDiff::Doubted);
            }
            draft
        });
    let mut drafts: Vec<Draft<'a>> = hits.chain(findings).collect();
    if !input.policy.comment_on_lines {
        for draft in &mut drafts {
            draft.place = Err(OffDiff::LinesRefused);
        }
    }
    drafts
}

fn apply_thresholds(input: &PlanInput<'_>, drafts: &mut [Draft<'_>]) {
    for draft in drafts.iter_mut().filter(|draft| draft.is_open()) {
        let is_low = draft.severity < input.policy.min_severity
            || draft.confidence < input.policy.min_confidence;
        if draft.source == Source::Model && is_low {
            draft.drop_for(DropReason::BelowThreshold, None);
        }
    }
}

/// No two findings that differ in anything a reader sees are equal, so that their order in the file decides
/// nothing.
type Rank = (
    Source,
    Reverse<(Severity, u8)>,
    usize,
    u32,
    Option<Place>,
    [String; 3],
);

/// Whether it is on the old side, and the last line.
type Place = (bool, u32);

/// Who gets a comment if there are too many: the floor first, then the worst, the surest, the diff's
/// order.
fn importance(input: &PlanInput<'_>, draft: &Draft<'_>) -> Rank {
    (
        draft.source,
        Reverse((draft.severity, draft.confidence)),
        input.diff.position(&draft.path),
        draft.shown_line().map_or(0, |(_, line)| line),
        (draft.place.as_ref().ok()).map(|anchor| (anchor.side == Side::Left, anchor.line)),
        [
            draft.title,
            draft.message,
            draft.suggestion.unwrap_or_default(),
        ]
        .map(str::to_owned),
    )
}

fn reading_order(input: &PlanInput<'_>, draft: &Draft<'_>) -> (Reverse<Severity>, Rank) {
    (Reverse(draft.severity), importance(input, draft))
}

/// Decides comment, body or nothing. `drafts` are in the order of importance.
///
/// The cap counts what is there already, so that a second run does not post what the first held back.
fn place(input: &PlanInput<'_>, known: &Known<'_>, drafts: &mut [Draft<'_>]) {
    let max = usize::try_from(input.policy.max_comments).unwrap_or(usize::MAX);
    let mut slots = 0_usize;
    for draft in drafts.iter_mut().filter(|draft| draft.is_open()) {
        // Not under names of files that are gone: what was declined as a fixture is not declined elsewhere.
        let own = draft.identities.get(..draft.own_identities);
        if known.is_declined(own.unwrap_or_default(), draft.severity) {
            draft.drop_for(DropReason::Declined, None);
            continue;
        }
        let there = known.comment_on(&draft.identities, draft.severity);
        let is_placed = draft.place.is_ok();
        if is_placed && slots < max {
            slots = slots.saturating_add(1);
        } else if is_placed && there.is_none() {
            draft.drop_for(DropReason::OverCap, None);
            continue;
        }
        draft.fate = Some(match (there, draft.place) {
            (Some(there), _) => there,
            (None, Ok(_)) if input.existing.truncated => {
                // Our comment may be among those that were not listed.
                draft.place = Err(OffDiff::TooManyComments);
                in_body_fate(known, draft, OffDiff::TooManyComments)
            }
            (None, Ok(_)) => ItemFate::Posted,
            (None, Err(why)) => in_body_fate(known, draft, why),
        });
    }
}

fn in_body_fate(known: &Known<'_>, draft: &Draft<'_>, place: OffDiff) -> ItemFate {
    ItemFate::InBody {
        place,
        new: !known.in_body(&draft.identities),
    }
}

fn comments(input: &PlanInput<'_>, drafts: &[Draft<'_>], words: &Words<'_>) -> Vec<NewComment> {
    let posted = |draft: &&Draft<'_>| draft.fate == Some(ItemFate::Posted);
    drafts
        .iter()
        .filter(posted)
        .filter_map(|draft| {
            let (Ok(anchor), Some(identity)) = (&draft.place, draft.identity()) else {
                return None;
            };
            let said = Marker::Finding(FindingMarker {
                fingerprint: identity.clone(),
                severity: draft.severity,
                job: input.job.job.clone(),
            });
            let line = marker::write(input.key, &input.job.pull_request, &said);
            Some(NewComment {
                path: draft.path.clone(),
                line: anchor.line,
                start_line: anchor.start_line,
                side: anchor.side,
                old_path: draft.old_path.clone(),
                other_line: anchor.other_line,
                range: input.diff.range(&draft.path, anchor),
                body: format!(
                    "{}\n\n{line}",
                    render::comment(draft, anchor, words, input.job)
                ),
            })
        })
        .collect()
}

/// Findings whose fields could not be read: counted, never shown.
fn unusable(review: Option<&ReadReview>, words: &Words<'_>) -> Vec<Item> {
    let refused = review.map_or(&[][..], |read| &read.refused);
    let rejected = review.map_or(&[][..], |read| &read.review.rejected);
    let item = |path: &str, title: &str, why: &str| Item {
        source: Source::Model,
        category: String::new(),
        severity: None,
        path: words.unsanitised(path),
        line: 0,
        title: words.unsanitised(title),
        message: String::new(),
        anchor: None,
        fingerprint: None,
        fate: ItemFate::Dropped {
            reason: DropReason::Invalid,
            detail: Some(words.unsanitised(&super::validate::cut(why, MAX_REASON_CHARS))),
        },
    };
    let refused = refused
        .iter()
        .map(|one| item(&one.path, &one.title, one.why));
    let rejected = rejected.iter().map(|one| item("", "", &one.reason));
    refused.chain(rejected).collect()
}

/// What the body's marker remembers.
fn in_body(drafts: &[Draft<'_>]) -> Vec<Fingerprint> {
    let set: BTreeSet<&Fingerprint> = drafts
        .iter()
        .filter(|draft| matches!(draft.fate, Some(ItemFate::InBody { .. })))
        .filter_map(Draft::identity)
        .take(MAX_REMEMBERED)
        .collect();
    set.into_iter().cloned().collect()
}

fn act(
    input: &PlanInput<'_>,
    known: &Known<'_>,
    items: &[Item],
    comments: Vec<NewComment>,
    body: &str,
) -> ReviewAction {
    // More than the marker remembers cannot be told from new ones.
    let is_new_in_body = items
        .iter()
        .filter(|item| matches!(item.fate, ItemFate::InBody { .. }))
        .take(MAX_REMEMBERED)
        .any(|item| matches!(item.fate, ItemFate::InBody { new: true, .. }));
    let create = |comments| ReviewAction::Create {
        review: NewReview {
            commit: input.job.head.clone(),
            body: body.to_owned(),
            comments,
        },
    };
    if !comments.is_empty() {
        return create(comments);
    }
    let answered = known
        .reviews
        .iter()
        .rfind(|one| one.marker.job == input.job.job && one.marker.attempt == input.job.attempt);
    if is_new_in_body && !input.existing.truncated {
        // One run has one review: what its own review does not say yet is added to it.
        return match answered {
            Some(review) => ReviewAction::Edit {
                review_id: review.id,
                body: body.to_owned(),
            },
            None => create(comments),
        };
    }
    if let Some(review) = answered {
        return ReviewAction::Nothing {
            review_id: review.id,
        };
    }
    match known.reviews.last() {
        Some(latest) if same_text(latest.body, body) => ReviewAction::Nothing {
            review_id: latest.id,
        },
        Some(latest) => ReviewAction::Edit {
            review_id: latest.id,
            body: body.to_owned(),
        },
        // The list was cut before our latest review: the ledger knows it.
        None => match input.last_review.filter(|_| input.existing.truncated) {
            Some(review_id) => ReviewAction::Edit {
                review_id,
                body: body.to_owned(),
            },
            None => create(comments),
        },
    }
}

/// Forges may change line ends and drop blanks at the ends.
fn same_text(one: &str, other: &str) -> bool {
    let lines = |text: &str| -> Vec<String> {
        text.trim()
            .lines()
            .map(|line| line.trim_end().to_owned())
            .collect()
    };
    lines(one) == lines(other)
}
