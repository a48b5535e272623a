//! The same finding said twice, once.
//!
//! **Invariant:** nothing is lost: what is merged into another keeps its title there.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::Source;
use super::draft::Draft;
use crate::code::DropReason;
use crate::ids::Fingerprint;
use crate::review::Category;

/// The same finding twice becomes one, which keeps the other titles.
///
/// Findings without a place have no code to tell them apart by, so only equal titles are the same there.
/// What a fixed check found on a line is not said again by the model.
pub(super) fn duplicates(drafts: &mut [Draft<'_>]) {
    let mut first: BTreeMap<(Fingerprint, String), usize> = BTreeMap::new();
    let mut hits: Vec<usize> = Vec::new();
    let mut also: Vec<(usize, usize)> = Vec::new();
    for (at, draft) in drafts.iter().enumerate().filter(|(_, d)| d.is_open()) {
        let Some(identity) = draft.identity() else {
            continue;
        };
        let said = hits
            .iter()
            .find(|hit| drafts.get(**hit).is_some_and(|hit| covers(hit, draft)));
        if let Some(hit) = said {
            also.push((*hit, at));
            continue;
        }
        let title = match draft.place {
            Ok(_) => String::new(),
            Err(_) => same_words(draft.title),
        };
        match first.entry((identity.clone(), title)) {
            Entry::Vacant(slot) => {
                slot.insert(at);
                if draft.source == Source::Floor {
                    hits.push(at);
                }
            }
            Entry::Occupied(slot) => also.push((*slot.get(), at)),
        }
    }
    for (kept, dropped) in also {
        let Some(other) = drafts.get_mut(dropped) else {
            continue;
        };
        other.drop_for(DropReason::Duplicate, None);
        let title = other.title;
        if let Some(draft) = drafts.get_mut(kept) {
            let is_new = std::iter::once(draft.title)
                .chain(draft.also.iter().copied())
                .all(|known| same_words(known) != same_words(title));
            if is_new {
                draft.also.push(title);
            }
        }
    }
}

/// Whether a hit of the floor says what the model's finding says, about the same lines.
fn covers(hit: &Draft<'_>, finding: &Draft<'_>) -> bool {
    let is_same_matter = match hit.category {
        "added-secret" => finding.category == Category::SecretExposure.as_str(),
        "test-removed" | "test-skipped" => finding.category == Category::TestRemoved.as_str(),
        _ => false,
    };
    let shares_lines = match (&hit.place, &finding.place) {
        (Ok(one), Ok(other)) => one.overlaps(other),
        _ => false,
    };
    finding.source == Source::Model
        && is_same_matter
        && shares_lines
        && hit.path == finding.path
        && hit.severity >= finding.severity
}

fn same_words(title: &str) -> String {
    crate::fingerprint::normalise(title.as_bytes()).to_lowercase()
}
