//! Keeps emphasis from hiding a word: what is harmless in two pieces may be a reference in one.
//!
//! A forge reads `[_[x_` as `[[x`, and `_www_.host` as an address, whatever is emphasised inside.
//! **Invariant:** after [`whole_words`], no word that emphasis divides is active once its active
//! pieces are code.

use std::collections::BTreeSet;

use super::neutral::{Event, around_active, is_active};

/// Takes away the emphasis that divides an active word, so that the word is judged whole.
pub(super) fn whole_words(events: Vec<Event>) -> Vec<Event> {
    let dropped = dividing(&events);
    if dropped.is_empty() {
        return events;
    }
    let mut out: Vec<Event> = Vec::with_capacity(events.len());
    for (at, event) in events.into_iter().enumerate() {
        if dropped.contains(&at) {
            continue;
        }
        match (out.last_mut(), &event) {
            (Some(Event::Text(last)), Event::Text(next)) => last.push_str(next),
            _ => out.push(event),
        }
    }
    out
}

/// The events that open or close emphasis inside an active word, each with its partner.
fn dividing(events: &[Event]) -> BTreeSet<usize> {
    let partners = partners(events);
    let mut found = BTreeSet::new();
    let mut word = Word::default();
    for (at, event) in events.iter().enumerate() {
        match event {
            Event::Text(text) => {
                let mut pieces = text.split(char::is_whitespace);
                word.pieces.extend(pieces.next());
                for piece in pieces {
                    found.extend(std::mem::take(&mut word).hides());
                    word.pieces.push(piece);
                }
            }
            Event::Open(_) | Event::Close(_) => word.inside.push(at),
            _ => found.extend(std::mem::take(&mut word).hides()),
        }
    }
    found.extend(word.hides());
    let with: Vec<usize> = found
        .iter()
        .filter_map(|at| partners.get(*at).copied())
        .collect();
    found.extend(with);
    found
}

/// The pieces of one word, and where the emphasis stands that divides them.
#[derive(Default)]
struct Word<'a> {
    pieces: Vec<&'a str>,
    inside: Vec<usize>,
}

impl Word<'_> {
    /// The emphasis to take away: all of it if the word would still be active.
    fn hides(self) -> Vec<usize> {
        let left: String = self
            .pieces
            .iter()
            .map(|piece| without_active(piece))
            .collect();
        if self.pieces.len() > 1 && is_active(&left) {
            self.inside
        } else {
            Vec::new()
        }
    }
}

/// What of a piece stays text; its active part becomes code, which ends a word.
fn without_active(piece: &str) -> String {
    if !is_active(piece) {
        return piece.to_owned();
    }
    let (before, _, after) = around_active(piece, is_active);
    format!("{before} {after}")
}

/// For each event that opens or closes emphasis, the place of the one that closes or opens it; for
/// all others their own place.
fn partners(events: &[Event]) -> Vec<usize> {
    let mut partners: Vec<usize> = (0..events.len()).collect();
    let mut open = Vec::new();
    for (at, event) in events.iter().enumerate() {
        match event {
            Event::Open(_) => open.push(at),
            Event::Close(_) => {
                if let Some(start) = open.pop() {
                    if let Some(partner) = partners.get_mut(start) {
                        *partner = at;
                    }
                    if let Some(partner) = partners.get_mut(at) {
                        *partner = start;
                    }
                }
            }
            _ => {}
        }
    }
    partners
}
