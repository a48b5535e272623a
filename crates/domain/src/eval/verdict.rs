//! What becomes of each label of one change, and of each finding.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Label, TOLERANCE_LINES};
use crate::answer::Seen;
use crate::code::DropReason;
use crate::plan::{Item, ItemFate, Source};
use crate::review::{Coverage, Fate, Side};

/// A defect that the model named and our own code did not report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// The plan dropped the finding.
    Dropped(DropReason),
    /// The item stood in an answer and never became a finding at that place: it was refused, or its quote
    /// moved it elsewhere.
    Refused,
}

impl Loss {
    /// Returns the reason as one kebab-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dropped(reason) => reason.as_str(),
            Self::Refused => "refused",
        }
    }
}

/// What became of a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "fate", content = "reason")]
pub enum LabelFate {
    /// A comment on the change points at it.
    Found,
    /// The review's text names it, without a comment on a line.
    FoundInText,
    /// An answer named it, and our own code lost it.
    Lost(Loss),
    /// No answer about its file counts.
    Unread,
    /// It was read and not named.
    Missed,
}

/// What a review of one change consists of, as far as it is judged.
#[derive(Debug, Clone, Copy)]
pub struct Read<'a> {
    /// Every finding and what the plan made of it.
    pub items: &'a [Item],
    /// Every place that the raw answers name.
    pub seen: &'a [Seen],
    /// What became of each file.
    pub coverage: &'a [Coverage],
}

/// What came of one change.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Verdict {
    /// What became of each label, in their order.
    pub labels: Vec<LabelFate>,
    /// Findings of the model that were reported.
    pub reported: u32,
    /// Of those, ones about a label that another one had already been counted for.
    pub repeated: u32,
    /// Of those, ones about no label.
    pub unmatched: u32,
    /// Hits of the deterministic checks about a label.
    pub floor_on_labels: u32,
    /// Other hits of the deterministic checks.
    pub floor_elsewhere: u32,
}

/// Judges a review by the labels of the change.
pub fn judge(labels: &[Label], read: Read<'_>) -> Verdict {
    let by_model = |item: &&Item| item.source == Source::Model;
    let reported: Vec<&Item> = (read.items.iter().filter(by_model))
        .filter(|item| is_reported(item))
        .collect();
    let pairs = pair_up(labels, &reported);
    let fate = |at: usize, label: &Label| -> LabelFate {
        let item = pairs.iter().find(|(label, _)| *label == at);
        if let Some(item) = item.and_then(|(_, item)| reported.get(*item)) {
            return match item.fate {
                ItemFate::InBody { .. } => LabelFate::FoundInText,
                _ => LabelFate::Found,
            };
        }
        let dropped = (read.items.iter().filter(by_model)).find_map(|item| match item.fate {
            ItemFate::Dropped { reason, .. } => near(label, item).map(|_| reason),
            _ => None,
        });
        if let Some(reason) = dropped {
            return LabelFate::Lost(Loss::Dropped(reason));
        }
        let is_seen = |seen: &Seen| {
            seen.path == label.path && label.distance(seen.line, seen.end_line) <= TOLERANCE_LINES
        };
        if read.seen.iter().any(is_seen) {
            return LabelFate::Lost(Loss::Refused);
        }
        let is_read = read.coverage.iter().any(|file| {
            file.path == label.path && matches!(file.fate, Fate::Reviewed | Fate::Carried)
        });
        if is_read {
            LabelFate::Missed
        } else {
            LabelFate::Unread
        }
    };
    let fates: Vec<LabelFate> = (0..)
        .zip(labels)
        .map(|(at, label)| fate(at, label))
        .collect();
    let is_about_one = |item: &Item| labels.iter().any(|label| near(label, item).is_some());
    let used: BTreeSet<usize> = pairs.iter().map(|(_, item)| *item).collect();
    let (mut repeated, mut unmatched) = (0_u32, 0_u32);
    for (at, item) in reported.iter().enumerate() {
        if used.contains(&at) {
            continue;
        }
        let slot = if is_about_one(item) {
            &mut repeated
        } else {
            &mut unmatched
        };
        *slot = slot.saturating_add(1);
    }
    let (on_labels, elsewhere): (Vec<&Item>, Vec<&Item>) = read
        .items
        .iter()
        .filter(|item| item.source == Source::Floor && is_reported(item))
        .partition(|item| is_about_one(item));
    Verdict {
        labels: fates,
        reported: count(reported.len()),
        repeated,
        unmatched,
        floor_on_labels: count(on_labels.len()),
        floor_elsewhere: count(elsewhere.len()),
    }
}

const fn is_reported(item: &Item) -> bool {
    !matches!(item.fate, ItemFate::Dropped { .. })
}

/// Pairs labels with findings, each at most once, the nearest first.
fn pair_up(labels: &[Label], reported: &[&Item]) -> Vec<(usize, usize)> {
    let mut all: Vec<(u32, usize, usize)> = Vec::new();
    for (at, label) in labels.iter().enumerate() {
        for (item_at, item) in reported.iter().enumerate() {
            all.extend(near(label, item).map(|distance| (distance, at, item_at)));
        }
    }
    all.sort_unstable();
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (_, label, item) in all {
        if !pairs
            .iter()
            .any(|(one, other)| *one == label || *other == item)
        {
            pairs.push((label, item));
        }
    }
    pairs
}

/// Returns how far a finding is from a label, if it is about it: by the line it names, or by the lines that
/// its comment would stand on.
fn near(label: &Label, item: &Item) -> Option<u32> {
    if item.path != label.path {
        return None;
    }
    let named = (item.line > 0).then(|| label.distance(item.line, item.line));
    let placed = item
        .anchor
        .filter(|anchor| anchor.side == Side::Right)
        .map(|anchor| label.distance(anchor.first(), anchor.line));
    named
        .into_iter()
        .chain(placed)
        .min()
        .filter(|distance| *distance <= TOLERANCE_LINES)
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anchor::OffDiff;
    use crate::ids::sha256;

    fn label(line: u32) -> Label {
        Label {
            path: "a.rs".to_owned(),
            line,
            end_line: None,
            category: None,
            what: "wrong".to_owned(),
        }
    }

    fn item(source: Source, line: u32, fate: ItemFate) -> Item {
        Item {
            source,
            category: "correctness".to_owned(),
            severity: None,
            path: "a.rs".to_owned(),
            line,
            title: "t".to_owned(),
            message: String::new(),
            anchor: None,
            fingerprint: None,
            fate,
        }
    }

    fn dropped(reason: DropReason) -> ItemFate {
        ItemFate::Dropped {
            reason,
            detail: None,
        }
    }

    fn coverage(fate: Fate) -> [Coverage; 1] {
        [Coverage {
            path: "a.rs".to_owned(),
            fate,
            digest: sha256(b""),
        }]
    }

    fn verdict(labels: &[Label], items: &[Item], seen: &[Seen], fate: Fate) -> Verdict {
        let coverage = coverage(fate);
        judge(
            labels,
            Read {
                items,
                seen,
                coverage: &coverage,
            },
        )
    }

    #[test]
    fn a_label_counts_once_and_the_nearest_finding_is_its_own() {
        let items = [13, 11, 40].map(|line| item(Source::Model, line, ItemFate::Posted));
        let verdict = verdict(&[label(10)], &items, &[], Fate::Reviewed);
        assert_eq!(verdict.labels, [LabelFate::Found]);
        assert_eq!(
            (verdict.reported, verdict.repeated, verdict.unmatched),
            (3, 1, 1)
        );
    }

    #[test]
    fn two_labels_near_each_other_need_two_findings() {
        let labels = [label(10), label(12)];
        let one = [item(Source::Model, 11, ItemFate::Posted)];
        let judged = verdict(&labels, &one, &[], Fate::Reviewed);
        assert_eq!(judged.labels, [LabelFate::Found, LabelFate::Missed]);
        let two = [11, 12].map(|line| item(Source::Model, line, ItemFate::Posted));
        let judged = verdict(&labels, &two, &[], Fate::Reviewed);
        assert_eq!(judged.labels, [LabelFate::Found, LabelFate::Found]);
        assert_eq!(judged.repeated, 0);
    }

    #[test]
    fn what_our_own_code_lost_is_told_from_what_the_model_missed() {
        let labels = [label(10), label(30), label(50), label(70)];
        let items = [
            item(Source::Model, 10, dropped(DropReason::BelowThreshold)),
            item(
                Source::Model,
                50,
                ItemFate::InBody {
                    place: OffDiff::OutsideDiff,
                    new: true,
                },
            ),
        ];
        let seen = [Seen {
            path: "a.rs".to_owned(),
            line: 27,
            end_line: 27,
        }];
        let judged = verdict(&labels, &items, &seen, Fate::Reviewed);
        assert_eq!(
            judged.labels,
            [
                LabelFate::Lost(Loss::Dropped(DropReason::BelowThreshold)),
                LabelFate::Lost(Loss::Refused),
                LabelFate::FoundInText,
                LabelFate::Missed,
            ]
        );
        assert_eq!(judged.reported, 1);
    }

    #[test]
    fn a_file_without_an_answer_was_not_missed_by_the_model() {
        let fate = Fate::Skipped(crate::code::SkipReason::Generated);
        let judged = verdict(&[label(10)], &[], &[], fate);
        assert_eq!(judged.labels, [LabelFate::Unread]);
    }

    #[test]
    fn the_floor_is_counted_apart() {
        let items = [10, 60].map(|line| item(Source::Floor, line, ItemFate::Posted));
        let judged = verdict(&[label(10)], &items, &[], Fate::Reviewed);
        assert_eq!(judged.labels, [LabelFate::Missed]);
        assert_eq!((judged.floor_on_labels, judged.floor_elsewhere), (1, 1));
        assert_eq!(judged.reported, 0);
    }

    #[test]
    fn a_finding_in_another_file_is_about_no_label() {
        let mut other = item(Source::Model, 10, ItemFate::Posted);
        other.path = "b.rs".to_owned();
        let judged = verdict(&[label(10)], &[other], &[], Fate::Reviewed);
        assert_eq!(judged.labels, [LabelFate::Missed]);
        assert_eq!(judged.unmatched, 1);
    }
}
