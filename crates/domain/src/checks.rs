//! The floor: checks that no model can be talked out of.
//!
//! A pure function over the parsed, freshly fetched diff. It runs in the poster, sees every file (those
//! skipped for the model too), and its hits are posted whatever the reviewer said or did. Each check
//! prefers to miss an odd case over crying wolf; what it must not miss is in
//! `tests/fixtures/checks/<kind>/hit`, what it must leave alone in `…/miss`.
//!
//! **Invariant:** no hit's title or message contains a secret that was found; hits are bounded in number
//! and length whatever the diff contains; and the result depends on the diff alone.

mod attributes;
mod ci;
mod conflict;
mod hints;
mod instructions;
mod owners;
mod path;
mod reviewer;
mod secrets;
mod skipped;
mod source;
mod subject;
mod test_names;
mod tests_removed;
mod unicode;

use std::collections::BTreeSet;

use mirilla_diff::FileDiff;

use crate::digest;
use crate::plan::FloorHit;
use crate::review::{Severity, Side};
use source::Source;

/// Most hits of one kind in one file; the last one says how many more there are.
const MAX_HITS_PER_FILE: usize = 20;
/// Most hits in all.
pub(crate) const MAX_HITS: usize = 500;

macro_rules! checks {
    ($($variant:ident => $code:literal, $addresses:literal, $doc:literal;)*) => {
        /// A deterministic check.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Check {
            $(#[doc = $doc] $variant,)*
        }

        impl Check {
            /// Every check.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the stable kebab-case code.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// Returns what the check looks for, in one line.
            #[must_use]
            pub const fn explain(self) -> &'static str {
                match self { $(Self::$variant => $doc,)* }
            }

            /// Returns whether a hit means that the change works on the reviewer rather than on the
            /// program, so that what a model says about it proves nothing and the gate is inconclusive.
            #[must_use]
            pub const fn addresses_reviewer(self) -> bool {
                match self { $(Self::$variant => $addresses,)* }
            }

            /// Returns the check with this code.
            #[must_use]
            pub fn parse(code: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|check| check.as_str() == code)
            }
        }
    };
}

checks! {
    AddedSecret => "added-secret", false, "A credential was added.";
    ConflictMarker => "conflict-marker", false, "A merge conflict was committed unresolved.";
    BidirectionalUnicode => "bidirectional-unicode", true, "Characters make code read in another order than it runs.";
    InvisibleUnicode => "invisible-unicode", true, "Characters that nobody sees were added.";
    TestRemoved => "test-removed", false, "A test, or what it asserts, is gone without replacement.";
    TestSkipped => "test-skipped", false, "A test no longer runs.";
    ReviewerText => "reviewer-text", true, "Text is addressed to whoever, or whatever, reviews the change.";
    ReviewerInstructions => "reviewer-instructions", true, "Instructions for reviewers were edited.";
    CodeOwners => "code-owners", false, "Who must approve what was edited.";
    CiSecrets => "ci-secrets", false, "A CI file that can reach secrets was edited.";
    HiddenByAttributes => "hidden-by-attributes", true, "Attributes hide files from diffs, archives or language statistics.";
}

/// Returns the hits of all checks over a diff, in the order of the diff.
#[must_use]
pub fn floor(files: &[FileDiff<'_>]) -> Vec<FloorHit> {
    let mut floor = Floor::default();
    for file in files {
        floor.file(file);
    }
    floor.finish()
}

/// Returns the files that hold something which works on the reviewer rather than on the program: nothing that
/// a model said about them outlives the text. Not bounded as [`floor`] is, so that no flood of hits hides one.
#[must_use]
pub fn addressed(files: &[FileDiff<'_>]) -> BTreeSet<String> {
    let mut addressed = BTreeSet::new();
    for file in files {
        let source = Source::of(file);
        let mut out = Hits {
            context: &source.context,
            hits: Vec::new(),
        };
        unicode::check(&source, &mut out);
        reviewer::check(&source, &mut out);
        instructions::check(&source, &mut out);
        attributes::check(&source, &mut out);
        if out.hits.iter().any(FloorHit::addresses_reviewer) {
            addressed.insert(digest::name(file));
        }
    }
    addressed
}

/// The checks over a diff that is read file by file.
///
/// What depends on other files (a test that moved, a secret that was there before) is settled by
/// [`Floor::finish`]. Memory grows with the hits and the names of changed tests, not with the diff.
#[derive(Debug, Default)]
pub struct Floor {
    hits: Vec<FloorHit>,
    secrets: secrets::Secrets,
    tests: tests_removed::Tests,
}

impl Floor {
    /// Runs the checks over one file of the diff.
    pub fn file(&mut self, file: &FileDiff<'_>) {
        let source = Source::of(file);
        let mut out = Hits {
            context: &source.context,
            hits: Vec::new(),
        };
        conflict::check(&source, &mut out);
        unicode::check(&source, &mut out);
        reviewer::check(&source, &mut out);
        skipped::check(&source, &mut out);
        instructions::check(&source, &mut out);
        owners::check(&source, &mut out);
        ci::check(&source, &mut out);
        attributes::check(&source, &mut out);
        self.secrets.file(&source);
        self.tests.file(&source);
        self.hits.extend(out.bounded());
    }

    /// Returns all hits, those of one file together.
    #[must_use]
    pub fn finish(self) -> Vec<FloorHit> {
        let mut hits = self.hits;
        hits.extend(self.secrets.finish());
        hits.extend(self.tests.finish());
        hits.sort_by(|a, b| {
            b.severity
                .cmp(&a.severity)
                .then_with(|| (&a.path, a.line).cmp(&(&b.path, b.line)))
        });
        hits.truncate(MAX_HITS);
        hits
    }
}

/// Collects the hits of one file.
struct Hits<'a> {
    context: &'a path::Context,
    hits: Vec<FloorHit>,
}

/// What a check found, without what is the same for its file.
struct Found {
    check: Check,
    side: Side,
    line: u32,
    end_line: Option<u32>,
    severity: Severity,
    title: String,
    message: String,
}

impl Found {
    /// A hit on a line of the new side; 0 is the whole file.
    fn at(
        check: Check,
        line: u32,
        severity: Severity,
        title: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            check,
            side: Side::Right,
            line,
            end_line: None,
            severity,
            title: title.into(),
            message: message.into(),
        }
    }

    fn into_hit(self, path: &str) -> FloorHit {
        FloorHit {
            kind: self.check.as_str().to_owned(),
            path: path.to_owned(),
            side: self.side,
            line: self.line,
            end_line: self.end_line.filter(|end| *end > self.line),
            severity: self.severity,
            title: self.title,
            message: self.message,
        }
    }
}

impl Hits<'_> {
    fn push(&mut self, found: Found) {
        self.hits.push(found.into_hit(&self.context.path));
    }

    /// The hits, at most [`MAX_HITS_PER_FILE`] of each kind.
    fn bounded(self) -> Vec<FloorHit> {
        bounded(&self.hits)
    }
}

/// Cuts each kind's hits in one file to [`MAX_HITS_PER_FILE`]; the last one kept says how many were cut.
fn bounded(hits: &[FloorHit]) -> Vec<FloorHit> {
    let mut out: Vec<FloorHit> = Vec::with_capacity(hits.len().min(MAX_HITS_PER_FILE));
    for check in Check::ALL {
        let of_kind: Vec<&FloorHit> = hits
            .iter()
            .filter(|hit| hit.kind == check.as_str())
            .collect();
        let cut = of_kind.len().saturating_sub(MAX_HITS_PER_FILE);
        out.extend(of_kind.into_iter().take(MAX_HITS_PER_FILE).cloned());
        if cut > 0
            && let Some(last) = out.last_mut()
        {
            last.message.push_str(" This file has ");
            last.message.push_str(&cut.to_string());
            last.message.push_str(" more such places.");
        }
    }
    out
}
