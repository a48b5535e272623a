//! Findings in the formats that other tools show: SARIF for code scanning, and GitLab's code quality report.
//!
//! Both hold what would reach a reader of the review and nothing else, under the fingerprints that the
//! poster uses, so that a tool which compares two runs sees the same finding in both.
//!
//! **Invariant:** text of a stranger or a model stands in these files as data alone; [`crate::escape::json`]
//! makes the finished file safe to print.

mod codequality;
mod sarif;

pub use codequality::codequality;
pub use sarif::sarif;

use crate::anchor::Anchor;
use crate::ids::hash_fields;
use crate::plan::{Item, ItemFate};
use crate::review::{Review, Side};

/// What an export is made of.
#[derive(Debug, Clone, Copy)]
pub struct Export<'a> {
    /// Everything that was found, and what became of it.
    pub items: &'a [Item],
    /// The review it came from: its coverage and its outcome.
    pub review: &'a Review,
    /// Our version.
    pub version: &'a str,
}

impl<'a> Export<'a> {
    /// Returns what reaches a reader: on a line, or in the review's body.
    pub fn reported(&self) -> impl Iterator<Item = &'a Item> + use<'a> {
        reported(self.items)
    }
}

/// Returns the items that reach a reader, on a line or in the review's body.
pub fn reported(items: &[Item]) -> impl Iterator<Item = &Item> {
    items
        .iter()
        .filter(|item| matches!(item.fate, ItemFate::Posted | ItemFate::InBody { .. }))
}

/// Returns the items that stand on the pull request once a plan is carried out: what reaches a reader now, and
/// what an earlier run said in a thread that nobody resolved.
pub fn standing(items: &[Item]) -> impl Iterator<Item = &Item> {
    items.iter().filter(|item| {
        matches!(
            item.fate,
            ItemFate::Posted
                | ItemFate::InBody { .. }
                | ItemFate::AlreadyThere {
                    resolved: false,
                    ..
                }
        )
    })
}

/// Returns the first and the last line of the file as it is now; `None` for what stands in the old file, or
/// nowhere.
fn lines(item: &Item) -> Option<(u32, u32)> {
    let (first, last) = match &item.anchor {
        Some(Anchor {
            side: Side::Left, ..
        }) => return None,
        Some(anchor) => (anchor.first(), anchor.line),
        None => (item.line, item.line),
    };
    (first > 0).then_some((first, last))
}

/// Returns the finding's identity. One that got none, because it fits no place in the diff, is known by its
/// category, file and title.
fn fingerprint(item: &Item) -> String {
    item.fingerprint.as_ref().map_or_else(
        || {
            let fields = [&item.category, &item.path, &item.title].map(String::as_bytes);
            hash_fields(&fields)
        },
        ToString::to_string,
    )
}
