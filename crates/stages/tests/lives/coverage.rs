//! What has happened and what was judged over many lives.

use std::collections::BTreeMap;
use std::fmt;

use crate::event::Kind;
use crate::invariants::INVARIANTS;

/// Counts of everything that must not stay at nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Coverage {
    pub(crate) lives: u64,
    pub(crate) happened: BTreeMap<Kind, u64>,
    pub(crate) judged: BTreeMap<&'static str, u64>,
    pub(crate) reviews: u64,
    pub(crate) kills: u64,
    pub(crate) faults: BTreeMap<&'static str, u64>,
}

impl Coverage {
    /// Adds what another run saw.
    pub(crate) fn add(&mut self, other: &Self) {
        self.lives += other.lives;
        self.reviews += other.reviews;
        self.kills += other.kills;
        for (kind, count) in &other.happened {
            *self.happened.entry(*kind).or_default() += count;
        }
        for (name, count) in &other.judged {
            *self.judged.entry(name).or_default() += count;
        }
        for (name, count) in &other.faults {
            *self.faults.entry(name).or_default() += count;
        }
    }

    /// Returns the kinds that never happened, the invariants that never had something to judge, and the
    /// faults that never struck.
    pub(crate) fn missing(&self) -> Vec<String> {
        let kinds = Kind::ALL.iter().map(|(kind, _)| kind);
        let kinds = kinds
            .filter(|kind| !self.happened.contains_key(kind))
            .map(|kind| format!("{kind:?} never happened"));
        let judged = INVARIANTS
            .iter()
            .filter(|one| self.judged.get(one.name).copied().unwrap_or(0) == 0)
            .map(|one| format!("{} never had anything to judge", one.name));
        let faults = crate::trouble::NAMES
            .iter()
            .filter(|name| !self.faults.contains_key(*name))
            .map(|name| format!("the fault {name} never struck"));
        kinds.chain(judged).chain(faults).collect()
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let events: u64 = self.happened.values().sum();
        writeln!(
            f,
            "{} lives, {events} events with an effect, {} reviews of ours written, {} processes killed",
            self.lives, self.reviews, self.kills
        )?;
        let list = |counts: Vec<String>| counts.join(", ");
        let happened = self.happened.iter();
        writeln!(
            f,
            "events: {}",
            list(happened.map(|(k, n)| format!("{k:?} {n}")).collect())
        )?;
        let judged = self.judged.iter();
        writeln!(
            f,
            "judged: {}",
            list(judged.map(|(k, n)| format!("{k} {n}")).collect())
        )?;
        let faults = self.faults.iter();
        write!(
            f,
            "faults: {}",
            list(faults.map(|(k, n)| format!("{k} {n}")).collect())
        )
    }
}
