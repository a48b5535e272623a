//! Cuts files that are larger than a chunk: between hunks first, then between lines.

use mirilla_diff::{FileDiff, Line, LineKind};

use crate::chunk::risk;
use crate::chunk::tokens::estimate_tokens;
use crate::chunk::{Chunk, FilePart, Piece};
use crate::digest::Change;

/// What a line costs beside its text: its number, its mark and the line break.
pub(super) const LINE_TOKENS: u64 = 5;
/// What a file costs beside its path and lines: the tags around it.
const FILE_TOKENS: u64 = 24;
/// What a hunk costs beside its heading and lines.
const HUNK_TOKENS: u64 = 4;

fn line_tokens(line: &Line<'_>) -> u64 {
    estimate_tokens(line.text).saturating_add(LINE_TOKENS)
}

/// Returns the parts of one file, each of at most `limit` tokens (a line alone may be over it).
pub(super) fn parts(
    change: &Change,
    entries: &[(usize, &FileDiff<'_>)],
    limit: u64,
) -> Vec<FilePart> {
    let risk = risk::of(&change.path, entries);
    let header = estimate_tokens(change.path.as_bytes()).saturating_add(FILE_TOKENS);
    let mut cut = Cut {
        header,
        limit,
        parts: Vec::new(),
        pieces: Vec::new(),
        tokens: header,
    };
    for (entry, file) in entries {
        for (hunk, body) in file.hunks.iter().enumerate() {
            let heading = estimate_tokens(body.heading).saturating_add(HUNK_TOKENS);
            let costs: Vec<(u64, LineKind)> = body
                .lines()
                .map(|line| (line_tokens(&line), line.kind))
                .collect();
            cut.hunk(*entry, hunk, heading, &costs);
        }
    }
    cut.close();
    let count = u32::try_from(cut.parts.len()).unwrap_or(u32::MAX);
    (1..)
        .zip(cut.parts)
        .map(|(part, (pieces, tokens))| FilePart {
            path: change.path.clone(),
            digest: change.digest.clone(),
            risk,
            part,
            parts: count,
            pieces,
            tokens,
        })
        .collect()
}

struct Cut {
    header: u64,
    limit: u64,
    parts: Vec<(Vec<Piece>, u64)>,
    pieces: Vec<Piece>,
    tokens: u64,
}

impl Cut {
    fn close(&mut self) {
        if !self.pieces.is_empty() {
            self.parts
                .push((std::mem::take(&mut self.pieces), self.tokens));
        }
        self.tokens = self.header;
    }

    fn hunk(&mut self, entry: usize, hunk: usize, heading: u64, costs: &[(u64, LineKind)]) {
        let whole = costs
            .iter()
            .fold(heading, |sum, (cost, _)| sum.saturating_add(*cost));
        if self.tokens.saturating_add(whole) > self.limit {
            self.close();
        }
        let mut first = 0;
        while first < costs.len() {
            let room = self
                .limit
                .saturating_sub(self.tokens)
                .saturating_sub(heading);
            let rest = costs.get(first..).unwrap_or_default();
            let (length, tokens) = fitting(rest, room);
            let end = first.saturating_add(length);
            self.pieces.push(Piece {
                entry,
                hunk,
                first,
                end,
            });
            self.tokens = self.tokens.saturating_add(heading).saturating_add(tokens);
            first = end;
            if first < costs.len() {
                self.close();
            }
        }
    }
}

/// Returns how many lines fit into `room`, at least one, and what they cost.
///
/// Where not all fit, the cut goes after the last context line of the later half, so that what is
/// replaced and what replaces it stay together.
fn fitting(costs: &[(u64, LineKind)], room: u64) -> (usize, u64) {
    let mut taken = (0_usize, 0_u64);
    let mut after_context = None;
    for (cost, kind) in costs {
        let next = taken.1.saturating_add(*cost);
        if next > room && taken.0 > 0 {
            let kept = after_context
                .filter(|(_, tokens): &(usize, u64)| tokens.saturating_mul(2) >= taken.1);
            return kept.unwrap_or(taken);
        }
        taken = (taken.0.saturating_add(1), next);
        if *kind == LineKind::Context {
            after_context = Some(taken);
        }
    }
    taken
}

/// Cuts a chunk in two: between files, or its only file between lines.
pub(super) fn halves(chunk: &Chunk, files: &[FileDiff<'_>]) -> Option<[Chunk; 2]> {
    if chunk.files.len() > 1 {
        let half = chunk.tokens.div_ceil(2);
        let mut sum = 0_u64;
        let at = chunk.files.iter().position(|file| {
            sum = sum.saturating_add(file.tokens);
            sum >= half
        })?;
        // At least one file on each side.
        let at = at
            .saturating_add(1)
            .min(chunk.files.len().saturating_sub(1));
        let (one, two) = chunk.files.split_at_checked(at)?;
        return Some([of(one.to_vec()), of(two.to_vec())]);
    }
    let file = chunk.files.first()?;
    let cost = |piece: &Piece| {
        piece
            .lines(files)
            .map(|line| line_tokens(&line))
            .sum::<u64>()
    };
    let half = file.pieces.iter().map(cost).sum::<u64>().div_ceil(2);
    let (mut one, mut two, mut sum) = (Vec::new(), Vec::new(), 0_u64);
    for piece in &file.pieces {
        let mut end = piece.first;
        for line in piece.lines(files) {
            if sum >= half {
                break;
            }
            sum = sum.saturating_add(line_tokens(&line));
            end = end.saturating_add(1);
        }
        if end > piece.first {
            one.push(Piece { end, ..*piece });
        }
        if end < piece.end {
            two.push(Piece {
                first: end,
                ..*piece
            });
        }
    }
    if one.is_empty() || two.is_empty() {
        return None;
    }
    let part = |pieces: Vec<Piece>| {
        let header = estimate_tokens(file.path.as_bytes()).saturating_add(FILE_TOKENS);
        let tokens = pieces
            .iter()
            .map(|piece| cost(piece).saturating_add(HUNK_TOKENS))
            .fold(header, u64::saturating_add);
        FilePart {
            pieces,
            tokens,
            parts: file.parts.saturating_add(1),
            ..file.clone()
        }
    };
    let (first, mut second) = (part(one), part(two));
    second.part = second.part.saturating_add(1);
    Some([of(vec![first]), of(vec![second])])
}

fn of(files: Vec<FilePart>) -> Chunk {
    let tokens = files
        .iter()
        .map(|file| file.tokens)
        .fold(0, u64::saturating_add);
    Chunk { files, tokens }
}
