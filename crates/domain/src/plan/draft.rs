//! A finding on its way through the plan: checked, placed and named.
//!
//! **Invariant:** a draft that is not dropped has a path that the fresh diff has, and a place that is
//! either an anchor in that diff or the body.

use super::known::Known;
use super::validate::{cut, out_of_bounds};
use super::{CoverageReport, FileState, FloorHit, Item, ItemFate, PlanInput, Source};
use crate::anchor::{self, Anchor, FileLines, OffDiff, Wanted};
use crate::code::DropReason;
use crate::fingerprint::{self, Subject};
use crate::ids::Fingerprint;
use crate::render::Words;
use crate::review::{Finding, Severity, Side};

/// Titles that are kept for the record are cut to this.
const MAX_RECORDED_CHARS: usize = 400;
/// Explanations that are kept for the record are cut to this.
const MAX_RECORDED_MESSAGE_CHARS: usize = 4_000;

/// A finding under decision. Texts are untrusted.
#[derive(Debug, Clone)]
pub(crate) struct Draft<'a> {
    pub(crate) source: Source,
    pub(crate) category: &'a str,
    pub(crate) severity: Severity,
    pub(crate) confidence: u8,
    /// What the diff calls the file.
    pub(crate) path: String,
    /// The old name, if it was renamed.
    pub(crate) old_path: Option<String>,
    /// The line it names; 0 if there is none.
    pub(crate) line: u32,
    pub(crate) title: &'a str,
    pub(crate) message: &'a str,
    pub(crate) rule: Option<&'a str>,
    /// Replacement for exactly the anchored lines, checked.
    pub(crate) suggestion: Option<&'a str>,
    pub(crate) place: Result<Anchor, OffDiff>,
    /// Its identity first, then what it was under earlier names of the file.
    pub(crate) identities: Vec<Fingerprint>,
    /// How many of them are under names that the diff itself gives to the file.
    pub(crate) own_identities: usize,
    /// Titles of findings that were merged into this one.
    pub(crate) also: Vec<&'a str>,
    pub(crate) fate: Option<ItemFate>,
}

impl<'a> Draft<'a> {
    /// Makes the draft of a floor hit.
    pub(super) fn of_hit(input: &PlanInput<'a>, known: &Known<'_>, hit: &'a FloorHit) -> Self {
        let wanted = Wanted {
            side: hit.side,
            line: hit.line,
            end_line: hit.end_line,
            quote: None,
        };
        let subject = Subject {
            category: &hit.kind,
            symbol: None,
        };
        let mut draft = Self {
            source: Source::Floor,
            category: &hit.kind,
            severity: hit.severity,
            confidence: 100,
            path: hit.path.clone(),
            old_path: None,
            line: hit.line,
            title: &hit.title,
            message: &hit.message,
            rule: None,
            suggestion: None,
            place: Err(OffDiff::NoLine),
            identities: Vec::new(),
            own_identities: 0,
            also: Vec::new(),
            fate: None,
        };
        draft.settle(input, known, &wanted, subject);
        draft
    }

    /// Makes the draft of a finding of the review file, dropped if the file or a field is wrong.
    pub(super) fn of_finding(
        input: &PlanInput<'a>,
        known: &Known<'_>,
        coverage: &CoverageReport,
        finding: &'a Finding,
    ) -> Self {
        let mut draft = Self {
            source: Source::Model,
            category: finding.category.as_str(),
            severity: finding.severity,
            confidence: finding.confidence,
            path: finding.path.clone(),
            old_path: None,
            line: finding.line,
            title: &finding.title,
            message: &finding.message,
            rule: finding.rule.as_deref(),
            suggestion: None,
            place: Err(OffDiff::NoLine),
            identities: Vec::new(),
            own_identities: 0,
            also: Vec::new(),
            fate: None,
        };
        if let Some(why) = out_of_bounds(finding) {
            draft.drop_for(DropReason::Invalid, Some(why));
            return draft;
        }
        let Some(path) = input.diff.resolve(&finding.path) else {
            draft.drop_for(DropReason::UnknownPath, None);
            return draft;
        };
        path.clone_into(&mut draft.path);
        if let Some(FileState::Stale | FileState::NotCovered) = coverage.state(path) {
            draft.drop_for(DropReason::Stale, None);
            return draft;
        }
        let wanted = Wanted {
            side: finding.side,
            line: finding.line,
            end_line: finding.end_line,
            quote: finding.quote.as_deref(),
        };
        let subject = Subject {
            category: finding.category.as_str(),
            symbol: finding.symbol.as_deref(),
        };
        let lines = draft.settle(input, known, &wanted, subject);
        if let (Some(lines), Ok(anchor), Some(text)) = (lines, &draft.place, &finding.suggestion) {
            if super::suggest::is_exact(&wanted, anchor)
                && super::suggest::may_offer(&draft.path, lines, anchor, &finding.message, text)
            {
                draft.suggestion = Some(text);
            }
        }
        draft
    }

    /// Finds place and identities; returns the lines of the file it is anchored in.
    fn settle<'i>(
        &mut self,
        input: &PlanInput<'i>,
        known: &Known<'_>,
        wanted: &Wanted<'_>,
        subject: Subject<'_>,
    ) -> Option<&'i FileLines> {
        let files = input.diff.lines(&self.path);
        let mut placed = Err(OffDiff::OutsideDiff);
        for lines in files {
            self.old_path.clone_from(&lines.old_path);
            match anchor::place(lines, wanted) {
                Ok(anchor) => {
                    placed = Ok((lines, anchor));
                    break;
                }
                Err(why) => placed = Err(why),
            }
        }
        let mut names = vec![self.path.as_str()];
        names.extend(self.old_path.as_deref());
        self.own_identities = names.len();
        names.extend(known.gone_paths(|path| input.diff.stands(path)));
        self.identities = match &placed {
            Ok((lines, anchor)) => fingerprint::anchored(names, subject, lines, anchor),
            Err(_) => names
                .into_iter()
                .map(|name| fingerprint::unanchored(name, subject, wanted.quote))
                .collect(),
        };
        self.place = placed.map(|(_, anchor)| anchor);
        placed.ok().map(|(lines, _)| lines)
    }

    /// Returns the identity that its marker carries.
    pub(super) fn identity(&self) -> Option<&Fingerprint> {
        self.identities.first()
    }

    /// Returns whether nothing is decided yet.
    pub(super) const fn is_open(&self) -> bool {
        self.fate.is_none()
    }

    pub(super) fn drop_for(&mut self, reason: DropReason, detail: Option<&str>) {
        self.fate = Some(ItemFate::Dropped {
            reason,
            detail: detail.map(str::to_owned),
        });
    }

    /// Returns the record of it. What is still open by then was not posted for a reason of our own.
    pub(super) fn into_item(self, words: &Words<'_>) -> Item {
        let fingerprint = self.identities.into_iter().next();
        Item {
            source: self.source,
            category: self.category.to_owned(),
            severity: Some(self.severity),
            path: words.unsanitised(&cut(&self.path, MAX_RECORDED_CHARS)),
            line: self.line,
            title: words.unsanitised(&cut(self.title, MAX_RECORDED_CHARS)),
            message: words.unsanitised(&cut(self.message, MAX_RECORDED_MESSAGE_CHARS)),
            anchor: self.place.ok(),
            fingerprint,
            fate: self.fate.unwrap_or(ItemFate::Dropped {
                reason: DropReason::Invalid,
                detail: None,
            }),
        }
    }

    /// Returns the side and line a reader finds it at, for the body: `None` if it names none.
    pub(crate) fn shown_line(&self) -> Option<(Side, u32)> {
        match (&self.place, self.line) {
            (Ok(anchor), _) => Some((anchor.side, anchor.first())),
            (Err(_), 0) => None,
            (Err(_), line) => Some((Side::Right, line)),
        }
    }
}
