//! Finds line ends ahead of the reader, in bulk.
//!
//! A line of source has some 36 bytes. Searching the LF of each by itself costs a call and, as lengths
//! vary, a mispredicted branch per line: more than all else the parser does. So the LFs of 64 bytes are
//! found at once, as the bits of a word, and written to a list without a branch on how many they are.
//! The loops over arrays of fixed size compile to vector code on every target, without `unsafe`.

/// How many ends the list holds; about 8 KiB of source, which stays in the first-level cache.
const CAPACITY: usize = 256;

/// Bytes whose LFs are found at once: as many as a word has bits.
const BLOCK: usize = 64;

/// Ends that are written per block without asking whether there are so many.
const UNASKED: usize = 4;

/// The positions of the LFs of an input, in order.
#[derive(Debug)]
pub(super) struct LineEnds<'a> {
    /// The whole blocks and the rest of the input that were not searched yet.
    blocks: std::slice::Iter<'a, [u8; BLOCK]>,
    tail: &'a [u8],
    /// Where the next block begins in the input.
    searched: usize,
    /// The ends found and not yet taken are `found[next..count]`.
    found: [usize; CAPACITY],
    next: usize,
    count: usize,
}

impl<'a> LineEnds<'a> {
    pub(super) fn new(input: &'a [u8]) -> Self {
        let (blocks, tail) = input.as_chunks();
        Self {
            blocks: blocks.iter(),
            tail,
            searched: 0,
            found: [0; CAPACITY],
            next: 0,
            count: 0,
        }
    }

    /// Returns the next end and takes it.
    #[inline]
    pub(super) fn next(&mut self) -> Option<usize> {
        let end = self.peek()?;
        self.take(1);
        Some(end)
    }

    /// Returns the next end, or nothing if no LF is left.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<usize> {
        self.known().first().copied()
    }

    /// Returns the ends that are found already: some, if any LF is left.
    #[inline]
    pub(super) fn known(&mut self) -> &[usize] {
        if self.next >= self.count {
            self.refill();
        }
        self.found.get(self.next..self.count).unwrap_or_default()
    }

    /// Takes `count` of the known ends.
    #[inline]
    pub(super) fn take(&mut self, count: usize) {
        self.next = self.next.saturating_add(count);
    }

    /// Forgets all that is left.
    pub(super) fn skip_all(&mut self) {
        self.blocks = [].iter();
        self.tail = &[];
        self.next = self.count;
    }

    /// Searches on until the list is full or the input is over.
    #[cold]
    #[inline(never)]
    fn refill(&mut self) {
        self.next = 0;
        self.count = 0;
        while self.count <= CAPACITY.saturating_sub(BLOCK) {
            if let Some(block) = self.blocks.next() {
                self.add(line_feeds(block));
            } else if self.tail.is_empty() {
                return;
            } else {
                let mut block = [0; BLOCK];
                for (to, from) in block.iter_mut().zip(self.tail) {
                    *to = *from;
                }
                self.tail = &[];
                self.add(line_feeds(&block));
            }
        }
    }

    /// Lists the positions of the set bits of `word`, the LFs of the block at `searched`.
    #[inline]
    fn add(&mut self, mut word: u64) {
        let count = bits(word.count_ones());
        let mut take = |slot: &mut usize| {
            // Past the last bit this writes a position that nobody counts.
            *slot = self.searched.saturating_add(bits(word.trailing_zeros()));
            word &= word.wrapping_sub(1);
        };
        let free = self.found.get_mut(self.count..).unwrap_or_default();
        if let Some((first, more)) = free.split_first_chunk_mut::<UNASKED>() {
            first.iter_mut().for_each(&mut take);
            if count > UNASKED {
                let rest = count.saturating_sub(UNASKED);
                more.iter_mut().take(rest).for_each(take);
            }
        }
        self.count = self.count.saturating_add(count);
        self.searched = self.searched.saturating_add(BLOCK);
    }
}

/// Returns a word whose bit `i` says whether byte `i` is LF.
#[inline]
fn line_feeds(block: &[u8; BLOCK]) -> u64 {
    let is_line_feed = block.map(|byte| u8::from(byte == b'\n'));
    let (groups, _) = is_line_feed.as_chunks::<8>();
    groups.iter().rev().fold(0, |word, group| {
        // Each byte is 0 or 1; the product moves byte `i` to bit `i` of the topmost byte.
        let gathered = u64::from_le_bytes(*group).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        word << 8 | gathered
    })
}

/// A count of bits as an index.
#[inline]
fn bits(count: u32) -> usize {
    usize::try_from(count).unwrap_or(BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(input: &[u8]) -> Vec<usize> {
        let mut ends = LineEnds::new(input);
        std::iter::from_fn(|| ends.next()).collect()
    }

    fn simple(input: &[u8]) -> Vec<usize> {
        memchr::memchr_iter(b'\n', input).collect()
    }

    #[test]
    fn every_single_position_is_found() {
        for length in [1, 63, 64, 65, 128, 300] {
            for at in 0..length {
                let mut input = vec![0x8a; length];
                input[at] = b'\n';
                assert_eq!(ends(&input), [at], "length {length}");
            }
        }
    }

    #[test]
    fn no_byte_but_lf_is_an_end() {
        let input: Vec<u8> = (0..=255_u8).filter(|&byte| byte != b'\n').collect();
        assert_eq!(ends(&input), []);
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(ends(&all), [10]);
    }

    #[test]
    fn any_density_is_listed_in_order() {
        let mut state = 1_u32;
        for density in [1, 2, 3, 8, 40, 500] {
            let input: Vec<u8> = (0..20_011)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    if (state >> 8).is_multiple_of(density) {
                        b'\n'
                    } else {
                        b'x'
                    }
                })
                .collect();
            assert_eq!(ends(&input), simple(&input), "density {density}");
        }
        assert_eq!(ends(&[b'\n'; 1_000]), simple(&[b'\n'; 1_000]));
        assert_eq!(ends(b""), []);
    }

    #[test]
    fn peeking_takes_nothing_and_skipping_takes_all() {
        let mut ends = LineEnds::new(b"a\nb\nc");
        assert_eq!((ends.peek(), ends.peek()), (Some(1), Some(1)));
        assert_eq!(
            (ends.next(), ends.next(), ends.next()),
            (Some(1), Some(3), None)
        );
        let mut ends = LineEnds::new(&[b'\n'; 500]);
        assert_eq!(ends.next(), Some(0));
        ends.skip_all();
        assert_eq!(ends.next(), None);
    }
}
