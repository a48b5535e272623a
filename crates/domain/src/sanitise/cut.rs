//! Shortens a document without leaving anything open: the tree is cut, not its text.

use super::block::Block;
use super::inline::Inline;

/// How far back from the limit a word's start is looked for, in characters.
const WORD_WINDOW: usize = 40;
/// What stands where text is missing.
const ELLIPSIS: char = '…';

/// Keeps about `budget` characters of the blocks' text and ends with an ellipsis.
pub(super) fn blocks(blocks: &[Block], budget: usize) -> Vec<Block> {
    let mut cutter = Cutter {
        left: budget,
        full: false,
    };
    let mut out = cutter.blocks(blocks);
    if cutter.full && !cutter_marked(&out) {
        out.push(Block::Paragraph(vec![Inline::Text(ELLIPSIS.to_string())]));
    }
    out
}

/// Keeps about `budget` characters of inline content and ends with an ellipsis.
pub(super) fn inlines(inlines: &[Inline], budget: usize) -> Vec<Inline> {
    let mut cutter = Cutter {
        left: budget,
        full: false,
    };
    cutter.inlines(inlines)
}

/// Says whether the last block already ends with the ellipsis.
fn cutter_marked(blocks: &[Block]) -> bool {
    match blocks.last() {
        Some(Block::Paragraph(inlines) | Block::Heading(inlines)) => {
            matches!(inlines.last(), Some(Inline::Text(text)) if text.ends_with(ELLIPSIS))
        }
        _ => false,
    }
}

/// What is left of the budget.
struct Cutter {
    left: usize,
    /// Something was left out.
    full: bool,
}

impl Cutter {
    fn blocks(&mut self, blocks: &[Block]) -> Vec<Block> {
        let mut out = Vec::new();
        for block in blocks {
            if self.full {
                break;
            }
            if self.left == 0 {
                self.full = true;
                break;
            }
            out.extend(self.block(block));
        }
        out
    }

    fn block(&mut self, block: &Block) -> Option<Block> {
        Some(match block {
            Block::Paragraph(inner) => Block::Paragraph(self.inlines(inner)),
            Block::Heading(inner) => Block::Heading(self.inlines(inner)),
            Block::Quote(inner) => Block::Quote(self.some(inner)?),
            Block::List(start, items) => {
                let mut kept = Vec::new();
                for item in items {
                    if self.full {
                        break;
                    }
                    kept.extend(self.some(item));
                }
                if kept.is_empty() {
                    return None;
                }
                Block::List(*start, kept)
            }
            Block::Code(info, lines) => Block::Code(info.clone(), self.lines(lines)?),
            Block::Table(columns, rows) => {
                let kept = rows
                    .iter()
                    .take_while(|row| self.take(row.iter().map(|cell| size(cell)).sum()))
                    .count();
                if kept == 0 {
                    return None;
                }
                Block::Table(columns.clone(), rows.iter().take(kept).cloned().collect())
            }
        })
    }

    fn some(&mut self, inner: &[Block]) -> Option<Vec<Block>> {
        let kept = self.blocks(inner);
        (!kept.is_empty()).then_some(kept)
    }

    fn lines(&mut self, lines: &[String]) -> Option<Vec<String>> {
        let kept = lines
            .iter()
            .take_while(|line| self.take(line.chars().count().saturating_add(1)))
            .count();
        (kept > 0 || lines.is_empty()).then(|| lines.iter().take(kept).cloned().collect())
    }

    /// Takes a whole piece, or nothing.
    fn take(&mut self, chars: usize) -> bool {
        match self.left.checked_sub(chars) {
            Some(left) if !self.full => {
                self.left = left;
                true
            }
            _ => {
                self.full = true;
                false
            }
        }
    }

    fn inlines(&mut self, inlines: &[Inline]) -> Vec<Inline> {
        let mut out = Vec::new();
        for inline in inlines {
            if self.full {
                break;
            }
            match inline {
                Inline::Text(text) => {
                    let count = text.chars().count();
                    if count <= self.left {
                        self.left = self.left.saturating_sub(count);
                        out.push(inline.clone());
                    } else {
                        out.push(Inline::Text(shorten(text, self.left)));
                        self.full = true;
                    }
                }
                Inline::Span(style, inner) => out.push(Inline::Span(*style, self.inlines(inner))),
                Inline::Code(_) | Inline::Break | Inline::Link(..) => {
                    if self.take(size(std::slice::from_ref(inline))) {
                        out.push(inline.clone());
                    } else {
                        out.push(Inline::Text(ELLIPSIS.to_string()));
                    }
                }
            }
        }
        out
    }
}

/// Characters of a piece of inline content, targets included.
fn size(inlines: &[Inline]) -> usize {
    let mut total = 0_usize;
    for inline in inlines {
        total = total.saturating_add(match inline {
            Inline::Text(text) | Inline::Code(text) => text.chars().count(),
            Inline::Break => 1,
            Inline::Span(_, inner) => size(inner),
            Inline::Link(inner, target) => size(inner).saturating_add(target.chars().count()),
        });
    }
    total
}

/// At most `budget` characters of `text`, cut before a word if one starts near, and an ellipsis.
fn shorten(text: &str, budget: usize) -> String {
    let end = text
        .char_indices()
        .nth(budget)
        .map_or(text.len(), |(at, _)| at);
    let (kept, _) = text.split_at_checked(end).unwrap_or((text, ""));
    let window = kept
        .char_indices()
        .rev()
        .nth(WORD_WINDOW)
        .map_or(0, |(at, _)| at);
    let word = kept.rfind(char::is_whitespace).filter(|&at| at > window);
    let kept = word.and_then(|at| kept.get(..at)).unwrap_or(kept);
    format!("{}{ELLIPSIS}", kept.trim_end())
}
