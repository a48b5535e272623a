//! The prompt cache: what a request reads from it and writes to it.
//!
//! A prompt is a row of blocks: tools, then system, then messages. An entry is a beginning of that
//! row up to a marked block, told by the exact bytes of everything before it, the model, and the
//! answer schema. A marked block finds an entry at itself or at most 20 blocks before it. A marked
//! beginning under the model's minimum is neither read nor written, silently.
//!
//! **Invariant:** tokens read, written and neither add up to the prompt's.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use sha2::{Digest as _, Sha256};

/// How far before a marked block an entry is looked for.
const LOOK_BACK: usize = 20;

/// How long an entry lives after it was last used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetime {
    FiveMinutes,
    Hour,
}

impl Lifetime {
    fn span(self) -> TimeDelta {
        match self {
            Self::FiveMinutes => TimeDelta::minutes(5),
            Self::Hour => TimeDelta::hours(1),
        }
    }
}

/// One block of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CacheBlock {
    /// The block as it was sent, without its mark.
    pub(crate) bytes: String,
    pub(crate) tokens: u64,
    pub(crate) mark: Option<Lifetime>,
}

/// How a prompt's tokens are charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Split {
    pub(crate) read: u64,
    pub(crate) written_5m: u64,
    pub(crate) written_1h: u64,
    pub(crate) uncached: u64,
}

type Key = [u8; 32];

#[derive(Debug, Clone, Copy)]
struct Entry {
    lifetime: Lifetime,
    until: DateTime<Utc>,
}

/// The entries of one provider.
#[derive(Debug, Default)]
pub(crate) struct Cache(HashMap<Key, Entry>);

impl Cache {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes one processed request into account.
    ///
    /// `scope` is what an entry belongs to beside its blocks. `overhead` tokens stand before the
    /// first block and are cached with it.
    pub(crate) fn visit(
        &mut self,
        scope: &str,
        overhead: u64,
        blocks: &[CacheBlock],
        minimum: u64,
        now: DateTime<Utc>,
    ) -> Split {
        self.0.retain(|_, entry| entry.until > now);
        let prefixes = prefixes(scope, overhead, blocks);
        let total = prefixes.last().map_or(overhead, |p| p.tokens);
        let marked: Vec<(usize, Prefix, Lifetime)> = blocks
            .iter()
            .zip(&prefixes)
            .enumerate()
            .filter_map(|(at, (block, prefix))| Some((at, *prefix, block.mark?)))
            .filter(|(_, prefix, _)| prefix.tokens >= minimum)
            .collect();
        let hit = marked.iter().rev().find_map(|(at, _, _)| {
            let from = at.saturating_sub(LOOK_BACK);
            let near = prefixes.get(from..=*at)?;
            near.iter().rev().find(|p| self.0.contains_key(&p.key))
        });
        let mut split = Split {
            read: hit.map_or(0, |prefix| prefix.tokens),
            ..Split::default()
        };
        if let Some(entry) = hit.and_then(|prefix| self.0.get_mut(&prefix.key)) {
            entry.until = now + entry.lifetime.span();
        }
        let mut covered = split.read;
        for (_, prefix, lifetime) in &marked {
            let new = prefix.tokens.saturating_sub(covered);
            match lifetime {
                Lifetime::FiveMinutes => split.written_5m = split.written_5m.saturating_add(new),
                Lifetime::Hour => split.written_1h = split.written_1h.saturating_add(new),
            }
            covered = covered.max(prefix.tokens);
            // What was only read keeps the lifetime it was written with.
            if new > 0 {
                let until = now + lifetime.span();
                let lifetime = *lifetime;
                self.0.insert(prefix.key, Entry { lifetime, until });
            }
        }
        split.uncached = total.saturating_sub(covered);
        split
    }
}

#[derive(Debug, Clone, Copy)]
struct Prefix {
    key: Key,
    tokens: u64,
}

/// Returns the beginnings of the row that end at each block.
fn prefixes(scope: &str, overhead: u64, blocks: &[CacheBlock]) -> Vec<Prefix> {
    let mut key: Key = Sha256::digest(scope.as_bytes()).into();
    let mut tokens = overhead;
    blocks
        .iter()
        .map(|block| {
            let mut hasher = Sha256::new();
            hasher.update(key);
            hasher.update(block.bytes.as_bytes());
            key = hasher.finalize().into();
            tokens = tokens.saturating_add(block.tokens);
            Prefix { key, tokens }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMUM: u64 = 100;

    fn block(name: &str, tokens: u64, mark: Option<Lifetime>) -> CacheBlock {
        CacheBlock {
            bytes: name.to_owned(),
            tokens,
            mark,
        }
    }

    struct Provider {
        cache: Cache,
        now: DateTime<Utc>,
    }

    impl Provider {
        fn new() -> Self {
            Self {
                cache: Cache::default(),
                now: DateTime::from_timestamp(1_700_000_000, 0).unwrap(),
            }
        }

        /// Returns tokens read, written for 5 minutes, for an hour, and uncached.
        fn ask(&mut self, blocks: &[CacheBlock]) -> [u64; 4] {
            self.ask_as("m", blocks)
        }

        fn ask_as(&mut self, scope: &str, blocks: &[CacheBlock]) -> [u64; 4] {
            let s = self.cache.visit(scope, 8, blocks, MINIMUM, self.now);
            [s.read, s.written_5m, s.written_1h, s.uncached]
        }

        fn wait(&mut self, seconds: i64) {
            self.now += TimeDelta::seconds(seconds);
        }
    }

    const FIVE: Option<Lifetime> = Some(Lifetime::FiveMinutes);
    const HOUR: Option<Lifetime> = Some(Lifetime::Hour);

    #[test]
    fn marked_beginning_is_written_then_read() {
        let mut p = Provider::new();
        let ask = |user: &str| [block("system", 200, FIVE), block(user, 50, None)];
        assert_eq!(p.ask(&ask("a")), [0, 208, 0, 50]);
        assert_eq!(p.ask(&ask("b")), [208, 0, 0, 50]);
        assert_eq!(p.ask_as("other model", &ask("b")), [0, 208, 0, 50]);
        assert_eq!(p.ask(&[block("System", 200, FIVE)]), [0, 208, 0, 0]);
    }

    #[test]
    fn beginning_under_the_minimum_is_never_cached() {
        let mut p = Provider::new();
        let short = [block("system", 91, FIVE), block("x", 400, None)];
        assert_eq!(p.ask(&short), [0, 0, 0, 499]);
        assert_eq!(p.ask(&short), [0, 0, 0, 499]);
        let exact = [block("system", 92, FIVE)];
        assert_eq!(p.ask(&exact), [0, 100, 0, 0]);
    }

    #[test]
    fn hit_refreshes_the_lifetime() {
        let mut p = Provider::new();
        let ask = [block("system", 200, FIVE)];
        assert_eq!(p.ask(&ask), [0, 208, 0, 0]);
        p.wait(299);
        assert_eq!(p.ask(&ask), [208, 0, 0, 0]);
        p.wait(299);
        assert_eq!(p.ask(&ask), [208, 0, 0, 0]);
        p.wait(300);
        assert_eq!(p.ask(&ask), [0, 208, 0, 0]);
        let hour = [block("long", 200, HOUR)];
        assert_eq!(p.ask(&hour), [0, 0, 208, 0]);
        p.wait(3_599);
        assert_eq!(p.ask(&hour), [208, 0, 0, 0]);
    }

    #[test]
    fn longer_beginning_extends_a_shorter_one() {
        let mut p = Provider::new();
        let rubric = block("rubric", 200, HOUR);
        let rules = |name: &str| block(name, 150, FIVE);
        let chunk = block("chunk", 70, None);
        assert_eq!(
            p.ask(&[rubric.clone(), rules("a"), chunk.clone()]),
            [0, 150, 208, 70]
        );
        assert_eq!(
            p.ask(&[rubric.clone(), rules("b"), chunk.clone()]),
            [208, 150, 0, 70]
        );
        assert_eq!(
            p.ask(&[rubric.clone(), rules("a"), chunk.clone()]),
            [358, 0, 0, 70]
        );
        // The longer beginning's five minutes are over, the shorter one's hour is not.
        p.wait(1_000);
        assert_eq!(p.ask(&[rubric, rules("a"), chunk]), [208, 150, 0, 70]);
    }

    #[test]
    fn entry_is_found_at_most_twenty_blocks_back() {
        let mut p = Provider::new();
        let row = |n: usize| {
            let mut row: Vec<CacheBlock> =
                (0..n).map(|i| block(&i.to_string(), 100, None)).collect();
            row.last_mut().unwrap().mark = FIVE;
            row
        };
        assert_eq!(p.ask(&row(2)), [0, 208, 0, 0]);
        assert_eq!(p.ask(&row(22)), [208, 2_000, 0, 0]);
        p.cache.clear();
        assert_eq!(p.ask(&row(2)), [0, 208, 0, 0]);
        assert_eq!(p.ask(&row(23)), [0, 2_308, 0, 0]);
    }
}
