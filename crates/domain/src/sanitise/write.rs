//! Writes blocks: every construct is closed, every line of code disarmed.

use super::block::{Align, Block};
use super::emit;
use super::inline::{Inline, Style};
use super::neutral::{self, Place};
use super::{TextPolicy, code};

/// Writes blocks as Markdown that ends with no line feed.
pub(super) fn document(blocks: &[Block], policy: &TextPolicy) -> String {
    let lines = blocks_lines(blocks, policy);
    lines.join("\n")
}

/// The lines of several blocks, a blank line between them.
fn blocks_lines(blocks: &[Block], policy: &TextPolicy) -> Vec<String> {
    let mut out = Vec::new();
    for block in blocks {
        let lines = block_lines(block, policy);
        if lines.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push(String::new());
        }
        out.extend(lines);
    }
    out
}

fn block_lines(block: &Block, policy: &TextPolicy) -> Vec<String> {
    match block {
        Block::Paragraph(inlines) => paragraph(inlines, policy),
        // A heading inside a comment shouts, and a foreign one could pass for ours.
        Block::Heading(inlines) => {
            let flat = neutral::unstyled(inlines, Style::Strong);
            paragraph(&[Inline::Span(Style::Strong, flat)], policy)
        }
        Block::Quote(inner) => {
            let lines = blocks_lines(inner, policy);
            lines
                .iter()
                .map(|line| format!("> {line}").trim_end().to_owned())
                .collect()
        }
        Block::List(start, items) => list(*start, items, policy),
        Block::Code(info, lines) => code::fenced(code::language(info), lines),
        Block::Table(columns, rows) => table(columns, rows, policy),
    }
}

fn paragraph(inlines: &[Inline], policy: &TextPolicy) -> Vec<String> {
    let text = emit::inline(&neutral::events(inlines, Place::Paragraph, policy), false);
    text.split('\n')
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

fn list(start: Option<u64>, items: &[Vec<Block>], policy: &TextPolicy) -> Vec<String> {
    let tight = items.iter().all(|item| is_tight(item));
    let mut out: Vec<String> = Vec::new();
    let mut number = start.unwrap_or(0);
    for item in items {
        let lines = if tight {
            item.iter()
                .flat_map(|block| block_lines(block, policy))
                .collect()
        } else {
            blocks_lines(item, policy)
        };
        if lines.is_empty() {
            continue;
        }
        let marker = if start.is_some() {
            format!("{number}. ")
        } else {
            "- ".to_owned()
        };
        number = number.saturating_add(1);
        if !tight && !out.is_empty() {
            out.push(String::new());
        }
        let indent = " ".repeat(marker.len());
        for (index, line) in lines.iter().enumerate() {
            let prefix = if index == 0 { &marker } else { &indent };
            out.push(if line.is_empty() {
                String::new()
            } else {
                format!("{prefix}{line}")
            });
        }
    }
    out
}

/// An item of one paragraph, perhaps with lists below it, needs no blank lines.
fn is_tight(item: &[Block]) -> bool {
    let mut blocks = item.iter();
    matches!(blocks.next(), Some(Block::Paragraph(_)))
        && blocks.all(|block| matches!(block, Block::List(_, items) if items.iter().all(|item| is_tight(item))))
}

fn table(columns: &[Align], rows: &[Vec<Vec<Inline>>], policy: &TextPolicy) -> Vec<String> {
    let mut out = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row
            .iter()
            .map(|cell| emit::inline(&neutral::events(cell, Place::Cell, policy), true))
            .collect();
        out.push(format!("| {} |", cells.join(" | ")));
        if index == 0 {
            let rule: Vec<&str> = columns
                .iter()
                .map(|align| match align {
                    Align::None => "---",
                    Align::Left => ":--",
                    Align::Centre => ":-:",
                    Align::Right => "--:",
                })
                .collect();
            out.push(format!("| {} |", rule.join(" | ")));
        }
    }
    out
}
