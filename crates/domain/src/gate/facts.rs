//! What the gate looks at: the outcome of a plan, without any text.

use std::collections::BTreeMap;

use super::{Cause, Counted, GatePolicy};
use crate::anchor::OffDiff;
use crate::chunk::is_lockfile;
use crate::code::{DropReason, SkipReason};
use crate::plan::{FileState, ItemFate};
use crate::review::{Outcome, Severity};
use crate::settings::IgnoreRules;

/// What became of one changed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFact {
    /// Its state, as the poster sees it.
    pub state: FileState,
    /// Whether a trusted rule really leaves it out, under each name that it has or had.
    pub by_rule: bool,
}

impl FileFact {
    /// Holds a review file's word against the rules themselves.
    pub fn new(state: FileState, path: &str, old_path: Option<&str>, rules: &IgnoreRules) -> Self {
        let every_name = |holds: &dyn Fn(&str) -> bool| holds(path) && old_path.is_none_or(holds);
        let by_rule = match state {
            FileState::Skipped(SkipReason::Lockfile) => every_name(&is_lockfile),
            // Rules that cannot be compiled hold back every file, and let none pass.
            FileState::Skipped(SkipReason::Ignored) => {
                rules.is_sound() && every_name(&|name| rules.matches(name))
            }
            _ => false,
        };
        Self { state, by_rule }
    }
}

/// Whether a finding counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It does.
    Open,
    /// Nobody knows what it says.
    Unusable,
    /// It does not.
    Settled,
}

impl Standing {
    /// Returns how a finding stands. A thread that somebody resolved stays open here: only a decline by a
    /// person who may settles it.
    pub const fn of(fate: &ItemFate) -> Self {
        match fate {
            ItemFate::Posted | ItemFate::AlreadyThere { .. } | ItemFate::InBody { .. } => {
                Self::Open
            }
            ItemFate::Dropped { reason, .. } => Self::of_dropped(*reason),
        }
    }

    /// Returns how a finding stands that was not posted.
    pub const fn of_dropped(reason: DropReason) -> Self {
        match reason {
            // Named in the body.
            DropReason::OverCap => Self::Open,
            DropReason::UnknownPath
            | DropReason::Invalid
            | DropReason::Stale
            | DropReason::OffDiff => Self::Unusable,
            // Trusted settings, its twin, and a person who may.
            DropReason::BelowThreshold | DropReason::Duplicate | DropReason::Declined => {
                Self::Settled
            }
        }
    }
}

/// One finding, of this run or standing from an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindingFact {
    /// How bad; `None` if that could not be read.
    pub severity: Option<Severity>,
    /// Whether it counts.
    pub standing: Standing,
    /// Whether the second look calls it wrong or mild.
    pub doubted: bool,
}

impl FindingFact {
    /// Returns how a finding of a plan stands.
    pub fn of(severity: Option<Severity>, fate: &ItemFate) -> Self {
        let place = OffDiff::Doubted;
        Self {
            severity,
            standing: Standing::of(fate),
            doubted: matches!(fate, ItemFate::InBody { place: found, .. } if *found == place),
        }
    }

    /// Returns a finding that stands on the pull request, and about which this run says nothing.
    pub const fn from_earlier(severity: Severity) -> Self {
        Self {
            severity: Some(severity),
            standing: Standing::Open,
            doubted: false,
        }
    }
}

/// Everything the gate looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateFacts {
    /// Every changed file.
    pub files: Vec<FileFact>,
    /// Every finding.
    pub findings: Vec<FindingFact>,
    /// Hits of fixed checks that are about the reviewer.
    pub addressing: usize,
    /// Whether more hits were found than are listed.
    pub floor_cut: bool,
    /// Whether more comments stand there than are listed.
    pub comments_cut: bool,
    /// What the review amounts to.
    pub outcome: Outcome,
}

impl GateFacts {
    /// Returns everything that may stand in the way of a pass.
    pub(super) fn causes(&self, threshold: Severity, policy: &GatePolicy) -> Vec<Counted> {
        let mut causes = Causes::default();
        for finding in &self.findings {
            // What cannot be read may be as bad as anything.
            let severity = finding.severity.unwrap_or(Severity::Critical);
            if severity < threshold {
                continue;
            }
            match finding.standing {
                Standing::Settled => {}
                Standing::Unusable => causes.add(Cause::Unusable),
                Standing::Open if finding.doubted => causes.add(Cause::Doubted(severity)),
                Standing::Open => causes.add(Cause::Open(severity)),
            }
        }
        for file in &self.files {
            if let Some(cause) = Cause::of_file(file.state, file.by_rule) {
                causes.add(cause);
            }
        }
        causes.add(Cause::Outcome(self.outcome));
        for _ in 0..self.addressing {
            causes.add(Cause::AddressesReviewer);
        }
        let flags = [
            (self.floor_cut, Cause::FloorCut),
            (self.comments_cut, Cause::CommentsCut),
            (policy.broken_settings.is_some(), Cause::SettingsBroken),
            (self.files.is_empty(), Cause::NothingChanged),
        ];
        for (holds, cause) in flags {
            if holds {
                causes.add(cause);
            }
        }
        causes.0.into_values().collect()
    }
}

/// Causes by their code and kind, each once.
#[derive(Default)]
struct Causes(BTreeMap<(bool, &'static str), Counted>);

impl Causes {
    fn add(&mut self, cause: Cause) {
        let left_out = matches!(cause, Cause::LeftOut(_));
        let one = self
            .0
            .entry((left_out, cause.code()))
            .or_insert(Counted { cause, count: 0 });
        one.count = one.count.saturating_add(1);
    }
}
