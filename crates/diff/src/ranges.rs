//! Sets of line numbers, kept as runs.
//!
//! A change touches lines in runs: a new file of 50,000 lines is one range of eight bytes, not
//! 50,000 numbers.

use std::ops::RangeInclusive;

/// A set of 1-based line numbers as sorted, disjoint, non-adjacent inclusive ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineRanges {
    runs: Vec<(u32, u32)>,
}

impl LineRanges {
    /// Returns whether `line` is in the set.
    pub fn contains(&self, line: u32) -> bool {
        let after = self.runs.partition_point(|&(first, _)| first <= line);
        after
            .checked_sub(1)
            .and_then(|at| self.runs.get(at))
            .is_some_and(|&(_, last)| line <= last)
    }

    /// Iterates over the ranges in ascending order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = RangeInclusive<u32>> + '_ {
        self.runs.iter().map(|&(first, last)| first..=last)
    }

    /// Iterates over every line number in ascending order.
    pub fn lines(&self) -> impl Iterator<Item = u32> + '_ {
        self.iter().flatten()
    }

    /// Returns the count of lines, not of ranges.
    pub fn len(&self) -> usize {
        self.runs
            .iter()
            .map(|&(first, last)| last.saturating_sub(first).saturating_add(1))
            .fold(0_usize, |sum, lines| {
                sum.saturating_add(usize::try_from(lines).unwrap_or(usize::MAX))
            })
    }

    /// Returns whether the set has no line.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Adds `count` lines from `first` on. Runs must come in ascending order, as hunks do; a run that
    /// continues the last one is merged into it.
    pub(crate) fn push_run(&mut self, first: u32, count: u32) {
        let Some(more) = count.checked_sub(1) else {
            return;
        };
        let last = first.saturating_add(more);
        match self.runs.last_mut() {
            Some((_, end)) if end.saturating_add(1) >= first => *end = last.max(*end),
            _ => self.runs.push((first, last)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(runs: &[(u32, u32)]) -> LineRanges {
        let mut set = LineRanges::default();
        for &(first, count) in runs {
            set.push_run(first, count);
        }
        set
    }

    #[test]
    fn adjacent_runs_merge_and_gaps_stay() {
        let set = ranges(&[(3, 2), (5, 1), (9, 1), (11, 0)]);
        assert_eq!(set.iter().collect::<Vec<_>>(), [3..=5, 9..=9]);
        assert_eq!(set.lines().collect::<Vec<_>>(), [3, 4, 5, 9]);
        assert_eq!(set.len(), 4);
        assert!(!set.is_empty());
    }

    #[test]
    fn contains_knows_edges_and_gaps() {
        let set = ranges(&[(3, 3), (9, 1)]);
        let inside: Vec<u32> = (0..12).filter(|&line| set.contains(line)).collect();
        assert_eq!(inside, [3, 4, 5, 9]);
        assert!(!LineRanges::default().contains(1));
    }

    #[test]
    fn last_line_number_does_not_overflow() {
        let set = ranges(&[(u32::MAX, 1)]);
        assert!(set.contains(u32::MAX));
        assert_eq!(set.len(), 1);
    }
}
