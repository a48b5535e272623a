//! Reads the block part of Markdown: paragraphs, lists, quotes, code, tables.
//!
//! A tolerant reading of `CommonMark`. It need not agree with a renderer on odd input: safety comes from
//! writing, see [`super::write`]. Raw HTML, rules, reference definitions and footnotes are not
//! recognised, so their text is shown.

use super::inline::{self, Inline};
use super::lines::{self, Fence, Marker};

/// How deep lists and quotes may nest; what is deeper is read as text.
const MAX_DEPTH: usize = 6;

/// A block of Markdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// Running text.
    Paragraph(Vec<Inline>),
    /// A heading of any level.
    Heading(Vec<Inline>),
    /// A quotation.
    Quote(Vec<Self>),
    /// A list; ordered ones have a start.
    List(Option<u64>, Vec<Vec<Self>>),
    /// Code, with its language as written.
    Code(String, Vec<String>),
    /// A table: alignments, and rows of cells of which the first is the head.
    Table(Vec<Align>, Vec<Vec<Vec<Inline>>>),
}

/// A column's alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    None,
    Left,
    Centre,
    Right,
}

/// Reads the blocks of `lines`.
pub(super) fn parse(lines: &[String], depth: usize) -> Vec<Block> {
    let mut reader = Reader {
        lines,
        at: 0,
        depth,
        out: Vec::new(),
    };
    if depth >= MAX_DEPTH {
        reader.paragraph_of(lines);
    } else {
        reader.run();
    }
    reader.out
}

/// A cursor over the lines of one container.
struct Reader<'a> {
    lines: &'a [String],
    at: usize,
    depth: usize,
    out: Vec<Block>,
}

impl Reader<'_> {
    fn line(&self, ahead: usize) -> Option<&str> {
        self.lines
            .get(self.at.saturating_add(ahead))
            .map(String::as_str)
    }

    fn skip(&mut self, lines: usize) {
        self.at = self.at.saturating_add(lines);
    }

    fn run(&mut self) {
        while let Some(line) = self.line(0) {
            if line.trim().is_empty() || lines::is_rule(line) {
                self.skip(1);
            } else if let Some(fence) = Fence::open(line) {
                self.fence(&fence);
            } else if lines::indent(line) >= 4 {
                self.indented();
            } else if let Some(text) = lines::heading(line) {
                let inlines = inline::parse(text);
                self.heading(inlines);
                self.skip(1);
            } else if lines::is_quote(line) {
                self.quote();
            } else if let Some(marker) = Marker::of(line) {
                self.list(&marker);
            } else if self.table_here() {
                self.table();
            } else {
                self.paragraph();
            }
        }
    }

    fn heading(&mut self, inlines: Vec<Inline>) {
        if !inlines.is_empty() {
            self.out.push(Block::Heading(inlines));
        }
    }

    fn fence(&mut self, fence: &Fence) {
        self.skip(1);
        let mut code = Vec::new();
        while let Some(line) = self.line(0) {
            let end = fence.closes(line);
            if !end {
                code.push(lines::dedent(line, fence.indent));
            }
            self.skip(1);
            if end {
                break;
            }
        }
        self.out.push(Block::Code(fence.info.clone(), code));
    }

    fn indented(&mut self) {
        let mut code: Vec<String> = Vec::new();
        while let Some(line) = self.line(0) {
            if lines::indent(line) < 4 && !line.trim().is_empty() {
                break;
            }
            code.push(lines::dedent(line, 4));
            self.skip(1);
        }
        while code.last().is_some_and(|line| line.trim().is_empty()) {
            code.pop();
        }
        self.out.push(Block::Code(String::new(), code));
    }

    fn quote(&mut self) {
        let mut inner = Vec::new();
        while let Some(line) = self.line(0).filter(|line| lines::is_quote(line)) {
            let rest = line.trim_start().strip_prefix('>').unwrap_or_default();
            inner.push(rest.strip_prefix(' ').unwrap_or(rest).to_owned());
            self.skip(1);
        }
        let blocks = parse(&inner, self.depth.saturating_add(1));
        if !blocks.is_empty() {
            self.out.push(Block::Quote(blocks));
        }
    }

    fn list(&mut self, first: &Marker) {
        let mut items = Vec::new();
        while let Some(marker) = self
            .line(0)
            .and_then(Marker::of)
            .filter(|m| m.sibling_of(first))
        {
            let inner = self.item(&marker);
            let blocks = parse(&inner, self.depth.saturating_add(1));
            if !blocks.is_empty() {
                items.push(blocks);
            }
        }
        if items.is_empty() {
            return;
        }
        // Two lists in a row would be read as one when they are written.
        match self.out.last_mut() {
            Some(Block::List(start, list)) if start.is_some() == first.number.is_some() => {
                list.append(&mut items);
            }
            _ => self.out.push(Block::List(first.number, items)),
        }
    }

    /// Takes the lines of one item, its indentation removed.
    fn item(&mut self, marker: &Marker) -> Vec<String> {
        let mut inner = vec![marker.rest.clone()];
        let mut fence = Fence::open(&marker.rest);
        let mut blank = marker.rest.trim().is_empty();
        self.skip(1);
        while let Some(line) = self.line(0) {
            if line.trim().is_empty() {
                // Blank lines belong to the item only if more of it follows.
                let rest = self.lines.get(self.at..).unwrap_or_default();
                let blanks = rest
                    .iter()
                    .take_while(|line| line.trim().is_empty())
                    .count();
                if rest
                    .get(blanks)
                    .is_none_or(|next| lines::indent(next) < marker.content)
                {
                    break;
                }
                inner.extend(std::iter::repeat_n(String::new(), blanks));
                blank = true;
                self.skip(blanks);
                continue;
            }
            let indent = lines::indent(line);
            let nested = Marker::of(line.trim_start()).is_some()
                && indent >= marker.indent.saturating_add(2);
            let text = if indent >= marker.content || (nested && fence.is_none()) {
                lines::dedent(line, indent.min(marker.content))
            } else if !blank
                && fence.is_none()
                && Marker::of(line).is_none()
                && !self.starts_block()
            {
                // A paragraph goes on although its indentation was left out.
                line.trim_start().to_owned()
            } else {
                break;
            };
            fence = match fence {
                Some(open) if open.closes(&text) => None,
                Some(open) => Some(open),
                None => Fence::open(&text),
            };
            blank = false;
            inner.push(text);
            self.skip(1);
        }
        inner
    }

    /// Says whether the current line would end a paragraph before it.
    fn starts_block(&self) -> bool {
        let Some(line) = self.line(0) else {
            return true;
        };
        if lines::indent(line) >= 4 {
            return false;
        }
        Fence::open(line).is_some()
            || lines::heading(line).is_some()
            || lines::is_quote(line)
            || lines::is_rule(line)
            || Marker::of(line)
                .is_some_and(|m| !m.rest.trim().is_empty() && m.number.is_none_or(|n| n == 1))
            || self.table_here()
    }

    fn paragraph(&mut self) {
        let start = self.at;
        self.skip(1);
        while let Some(line) = self.line(0) {
            if line.trim().is_empty() {
                break;
            }
            if lines::is_underline(line) {
                let text = self.text(start);
                self.heading(inline::parse(&text));
                self.skip(1);
                return;
            }
            if self.starts_block() {
                break;
            }
            self.skip(1);
        }
        let lines = self.lines.get(start..self.at).unwrap_or_default();
        self.paragraph_of(lines);
    }

    fn text(&self, start: usize) -> String {
        joined(self.lines.get(start..self.at).unwrap_or_default())
    }

    fn paragraph_of(&mut self, lines: &[String]) {
        let inlines = inline::parse(&joined(lines));
        if !inlines.is_empty() {
            self.out.push(Block::Paragraph(inlines));
        }
    }

    /// Says whether the current line is a table's head and the next its delimiters.
    fn table_here(&self) -> bool {
        let (Some(head), Some(rule)) = (self.line(0), self.line(1)) else {
            return false;
        };
        head.contains('|')
            && lines::alignments(rule)
                .is_some_and(|columns| columns.len() == lines::cells(head).len())
    }

    fn table(&mut self) {
        let columns = self.line(1).and_then(lines::alignments).unwrap_or_default();
        let mut rows = Vec::new();
        let mut first = true;
        while let Some(line) = self.line(0) {
            if !first && (!line.contains('|') || self.ends_table()) {
                break;
            }
            let mut cells: Vec<Vec<Inline>> = lines::row(line, columns.len())
                .iter()
                .map(|cell| inline::parse(cell))
                .collect();
            // What is past the last column would not be shown; it joins the last one.
            let extra = cells.split_off(columns.len().min(cells.len()));
            for mut cell in extra {
                if let Some(last) = cells.last_mut() {
                    last.push(Inline::Text(" | ".to_owned()));
                    last.append(&mut cell);
                }
            }
            cells.resize(columns.len(), Vec::new());
            rows.push(cells);
            self.skip(if first { 2 } else { 1 });
            first = false;
        }
        self.out.push(Block::Table(columns, rows));
    }

    fn ends_table(&self) -> bool {
        self.line(0).is_none_or(|line| {
            Fence::open(line).is_some() || lines::heading(line).is_some() || lines::is_quote(line)
        })
    }
}

/// Joins the lines of a paragraph.
fn joined(lines: &[String]) -> String {
    let trimmed: Vec<&str> = lines
        .iter()
        .map(|line| line.trim())
        .filter(|line| !line.is_empty())
        .collect();
    trimmed.join("\n")
}
