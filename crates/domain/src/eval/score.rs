//! Sums over many changes, and the figures made of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{LabelFate, Verdict};
use crate::money::{PicoUsd, Usage};

/// What reading a change took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cost {
    /// Tokens of all calls.
    pub usage: Usage,
    /// Their price.
    pub cost: PicoUsd,
    /// Calls.
    pub calls: u32,
    /// Time in conversations, in milliseconds.
    pub millis: u64,
}

impl Cost {
    /// Returns the sum of two.
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            usage: self.usage.plus(&other.usage),
            cost: self.cost.plus(other.cost),
            calls: self.calls.saturating_add(other.calls),
            millis: self.millis.saturating_add(other.millis),
        }
    }
}

/// A sum over changes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Score {
    /// Changes.
    pub cases: u32,
    /// Known defects.
    pub labels: u32,
    /// Of those, ones that a comment points at.
    pub found_on_line: u32,
    /// Of those, ones that the review's text names.
    pub found_in_text: u32,
    /// Of those, ones that an answer named and our own code lost, by reason.
    pub lost: BTreeMap<String, u32>,
    /// Of those, ones in files that no answer counts for.
    pub unread: u32,
    /// Of those, ones that were read and not named.
    pub missed: u32,
    /// Findings of the model that were reported.
    pub reported: u32,
    /// Of those, further ones about a label.
    pub repeated: u32,
    /// Of those, ones about no label.
    pub unmatched: u32,
    /// Changes without a known defect.
    pub clean_cases: u32,
    /// Of those, ones with a finding.
    pub clean_cases_flagged: u32,
    /// Findings on them: all false by the label.
    pub clean_findings: u32,
    /// Hits of the deterministic checks about a label.
    pub floor_on_labels: u32,
    /// Other hits of the deterministic checks.
    pub floor_elsewhere: u32,
    /// Other hits of the deterministic checks, on changes without a known defect.
    pub floor_on_clean: u32,
    /// What it took.
    pub took: Cost,
}

impl Score {
    /// Adds one change.
    pub fn add(&mut self, verdict: &Verdict, took: &Cost) {
        add(&mut self.cases, 1);
        for fate in &verdict.labels {
            add(&mut self.labels, 1);
            match fate {
                LabelFate::Found => add(&mut self.found_on_line, 1),
                LabelFate::FoundInText => add(&mut self.found_in_text, 1),
                LabelFate::Lost(loss) => {
                    add(self.lost.entry(loss.as_str().to_owned()).or_default(), 1);
                }
                LabelFate::Unread => add(&mut self.unread, 1),
                LabelFate::Missed => add(&mut self.missed, 1),
            }
        }
        add(&mut self.reported, verdict.reported);
        add(&mut self.repeated, verdict.repeated);
        add(&mut self.unmatched, verdict.unmatched);
        add(&mut self.floor_on_labels, verdict.floor_on_labels);
        add(&mut self.floor_elsewhere, verdict.floor_elsewhere);
        if verdict.labels.is_empty() {
            add(&mut self.clean_cases, 1);
            add(
                &mut self.clean_cases_flagged,
                u32::from(verdict.reported > 0),
            );
            add(&mut self.clean_findings, verdict.reported);
            add(&mut self.floor_on_clean, verdict.floor_elsewhere);
        }
        self.took = self.took.plus(took);
    }

    /// Returns how many labels were reported.
    pub const fn found(&self) -> u32 {
        self.found_on_line.saturating_add(self.found_in_text)
    }

    /// Returns how many labels our own code lost.
    pub fn lost_in_all(&self) -> u32 {
        self.lost
            .values()
            .fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Returns whether every label and every finding is counted exactly once.
    pub fn reconciles(&self) -> bool {
        let labels = [self.found(), self.lost_in_all(), self.unread, self.missed];
        let findings = [self.found(), self.repeated, self.unmatched];
        sum(&labels) == self.labels && sum(&findings) == self.reported
    }

    /// Returns the share of reported findings that are about a label, each label once.
    pub fn precision(&self) -> Option<f64> {
        share(self.found(), self.reported)
    }

    /// Returns the share of labels that were reported.
    pub fn recall(&self) -> Option<f64> {
        share(self.found(), self.labels)
    }

    /// Returns the harmonic mean of precision and recall.
    pub fn f1(&self) -> Option<f64> {
        let both = self.reported.saturating_add(self.labels);
        share(self.found().saturating_mul(2), both)
    }

    /// Returns the share of changes without a known defect that have a finding.
    pub fn clean_flagged(&self) -> Option<f64> {
        share(self.clean_cases_flagged, self.clean_cases)
    }
}

const fn add(to: &mut u32, count: u32) {
    *to = to.saturating_add(count);
}

fn sum(parts: &[u32]) -> u32 {
    parts
        .iter()
        .fold(0, |sum, part| u32::saturating_add(sum, *part))
}

/// A share of nothing is no figure.
fn share(part: u32, whole: u32) -> Option<f64> {
    (whole > 0).then(|| f64::from(part) / f64::from(whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::DropReason;
    use crate::eval::Loss;

    fn bug() -> Verdict {
        Verdict {
            labels: vec![
                LabelFate::Found,
                LabelFate::FoundInText,
                LabelFate::Lost(Loss::Dropped(DropReason::OverCap)),
                LabelFate::Missed,
                LabelFate::Unread,
            ],
            reported: 4,
            repeated: 1,
            unmatched: 1,
            floor_on_labels: 1,
            floor_elsewhere: 2,
        }
    }

    #[test]
    fn figures_follow_from_the_sums() {
        let clean = Verdict {
            reported: 1,
            unmatched: 1,
            floor_elsewhere: 1,
            ..Verdict::default()
        };
        let mut score = Score::default();
        score.add(&bug(), &Cost::default());
        score.add(&clean, &Cost::default());
        score.add(&Verdict::default(), &Cost::default());
        assert!(score.reconciles());
        assert_eq!(score.precision(), Some(0.4));
        assert_eq!(score.recall(), Some(0.4));
        assert_eq!(score.f1(), Some(0.4));
        assert_eq!(score.clean_flagged(), Some(0.5));
        assert_eq!((score.floor_elsewhere, score.floor_on_clean), (3, 1));
        assert_eq!(score.lost, BTreeMap::from([("over-cap".to_owned(), 1)]));
    }

    #[test]
    fn a_share_of_nothing_is_no_figure() {
        let score = Score::default();
        let figures = [
            score.precision(),
            score.recall(),
            score.f1(),
            score.clean_flagged(),
        ];
        assert_eq!(figures, [None; 4]);
        assert!(score.reconciles());
    }

    #[test]
    fn a_sum_that_lost_a_label_does_not_reconcile() {
        let mut score = Score::default();
        score.add(&bug(), &Cost::default());
        score.labels = score.labels.saturating_add(1);
        assert!(!score.reconciles());
    }
}
