//! Writes inline Markdown: the only place that puts text between markup.
//!
//! A backslash goes before exactly those characters that would mean something where they stand, so that
//! ordinary prose keeps its look.

use std::borrow::Cow;

use super::inline::{MAX_TICKS, Style};
use super::neutral::Event;

/// Writes the events of one paragraph; [`Event::Break`] becomes a line feed.
///
/// With `pipe_safe`, the result can stand in a table's cell and outside of one alike: a vertical bar
/// is written `\|`, and never inside a code span, where the two differ.
pub(super) fn inline(events: &[Event], pipe_safe: bool) -> String {
    let mut writer = Writer {
        out: String::new(),
        line_start: true,
        in_link: false,
        pipe_safe,
    };
    for (index, event) in events.iter().enumerate() {
        let next = events.get(index.saturating_add(1));
        writer.event(event, next);
    }
    writer.out.trim().to_owned()
}

/// Writes `code` as a code span that cannot end early.
pub(super) fn code_span(code: &str, pipe_safe: bool) -> String {
    if !pipe_safe || !code.contains('|') {
        return one_span(code);
    }
    let mut out = String::new();
    for (index, part) in code.split('|').enumerate() {
        if index > 0 {
            out.push_str("\\|");
        }
        if part.trim().is_empty() {
            out.push_str(part);
        } else {
            out.push_str(&one_span(part));
        }
    }
    out
}

/// One code span, its fence longer than any run of backticks inside.
fn one_span(code: &str) -> String {
    if code.trim().is_empty() {
        return String::new();
    }
    let code = &shorten_ticks(code);
    let ticks = "`".repeat(longest_run(code, '`').saturating_add(1));
    let edge = |c: Option<char>| c == Some('`');
    let spaced = code.starts_with(' ') && code.ends_with(' ');
    let pad = if spaced || edge(code.chars().next()) || edge(code.chars().next_back()) {
        " "
    } else {
        ""
    };
    format!("{ticks}{pad}{code}{pad}{ticks}")
}

/// `code` with its runs of backticks short enough that a longer one is still a fence: renderers do not look for
/// the end of one that is longer than 80.
fn shorten_ticks(code: &str) -> Cow<'_, str> {
    if longest_run(code, '`') < MAX_TICKS {
        return Cow::Borrowed(code);
    }
    let mut run = 0_usize;
    let kept = code.chars().filter(|&c| {
        run = if c == '`' { run.saturating_add(1) } else { 0 };
        run < MAX_TICKS
    });
    Cow::Owned(kept.collect())
}

/// Length of the longest run of `c` in `text`.
pub(super) fn longest_run(text: &str, c: char) -> usize {
    let mut longest = 0_usize;
    let mut current = 0_usize;
    for x in text.chars() {
        current = if x == c { current.saturating_add(1) } else { 0 };
        longest = longest.max(current);
    }
    longest
}

/// The state of writing one paragraph.
struct Writer {
    out: String,
    line_start: bool,
    in_link: bool,
    pipe_safe: bool,
}

impl Writer {
    fn event(&mut self, event: &Event, next: Option<&Event>) {
        match event {
            Event::Text(text) => {
                self.text(text, next);
                return;
            }
            Event::Break => {
                let kept = self.out.trim_end_matches(' ').len();
                self.out.truncate(kept);
                self.out.push('\n');
                self.line_start = true;
                return;
            }
            Event::Code(code) => self.out.push_str(&code_span(code, self.pipe_safe)),
            Event::Open(style) | Event::Close(style) => self.out.push_str(Style::marker(*style)),
            Event::LinkOpen => {
                self.in_link = true;
                self.out.push('[');
            }
            Event::LinkClose(url) => {
                self.in_link = false;
                self.out.push_str("](");
                self.out.push_str(url);
                self.out.push(')');
            }
            Event::Auto(url) => {
                self.out.push('<');
                self.out.push_str(url);
                self.out.push('>');
            }
        }
        self.line_start = false;
    }

    fn text(&mut self, text: &str, next: Option<&Event>) {
        let text = if self.line_start {
            text.trim_start()
        } else {
            text
        };
        if text.is_empty() {
            return;
        }
        let line_ends = matches!(next, None | Some(Event::Break));
        let line = if line_ends { text.trim_end() } else { text };
        let chars: Vec<char> = line.chars().collect();
        let mark = if self.line_start {
            block_mark(line, line_ends)
        } else {
            None
        };
        let mut previous = if self.line_start { Some('\n') } else { None };
        for (at, &c) in chars.iter().enumerate() {
            let rest = chars.get(at.saturating_add(1)..).unwrap_or_default();
            let place = Place {
                previous,
                rest,
                line_ends,
                at_start: self.line_start && at == 0,
                in_link: self.in_link,
            };
            if c == '<' && rest.first() == Some(&'!') {
                // Not a backslash: the raw text must not hold the start of a comment.
                self.out.push_str("&lt;");
            } else {
                if mark == Some(at) || (c == '|' && self.pipe_safe) || place.needs_backslash(c) {
                    self.out.push('\\');
                }
                self.out.push(c);
            }
            previous = Some(c);
        }
        self.line_start = false;
    }
}

/// Where a character stands. `None` before or after means other markup, on the same line.
struct Place<'a> {
    previous: Option<char>,
    rest: &'a [char],
    line_ends: bool,
    at_start: bool,
    in_link: bool,
}

impl Place<'_> {
    /// The next character; a line's end counts as white space.
    fn next(&self) -> Option<char> {
        self.rest
            .first()
            .copied()
            .or_else(|| self.line_ends.then_some('\n'))
    }

    fn needs_backslash(&self, c: char) -> bool {
        let next = self.next();
        let space = |c: Option<char>| c.is_some_and(char::is_whitespace);
        match c {
            '\\' => next.is_none_or(|n| n.is_ascii_punctuation() || n == '\n'),
            '`' => true,
            '*' => !(space(self.previous) && space(next)) || self.at_start,
            '_' => {
                let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
                let inside = word(self.previous) && word(next);
                let apart = space(self.previous) && space(next) && !self.at_start;
                !(inside || apart)
            }
            '~' => !space(self.previous) || next.is_none_or(|n| n == '~' || n.is_whitespace()),
            '<' => next.is_none_or(|n| n.is_ascii_alphabetic() || matches!(n, '/' | '?' | '!')),
            '&' => {
                next.is_none_or(|n| n == '#' || n.is_ascii_alphanumeric()) && self.entity_follows()
            }
            '[' => {
                self.in_link
                    || self.at_start
                    || next.is_none_or(|n| matches!(n, '[' | '^' | '!'))
                    || self.previous == Some('!')
            }
            ']' => self.in_link || next.is_none_or(|n| matches!(n, '(' | '[' | ':')),
            '!' => next.is_none(),
            '^' => next.is_none_or(|n| n == '['),
            _ => false,
        }
    }

    /// Letters, digits and a semicolon follow, or other markup does.
    fn entity_follows(&self) -> bool {
        for &c in self.rest {
            match c {
                ';' => return true,
                '#' => {}
                _ if c.is_ascii_alphanumeric() => {}
                _ => return false,
            }
        }
        !self.line_ends
    }
}

/// The position in a line at which a backslash keeps it from starting a block: a heading, quote, list,
/// rule, table, fence, definition or front matter.
fn block_mark(line: &str, line_ends: bool) -> Option<usize> {
    let first = line.chars().next()?;
    let run = line.chars().take_while(|&c| c == first).count();
    let after_run = line.chars().nth(run);
    let blank = |c: Option<char>| match c {
        Some(c) => c.is_whitespace(),
        None => line_ends,
    };
    let only = |set: &[char]| line.chars().all(|c| set.contains(&c));
    let starts = match first {
        '#' => run <= 6 && blank(after_run),
        '>' => true,
        '+' | '-' => (run == 1 && blank(after_run)) || run >= 3 || only(&['-', ' ', '|', ':']),
        '=' => only(&['=', ' ']),
        '|' | ':' => only(&['-', ' ', '|', ':']) || (first == ':' && blank(after_run)),
        ';' => run >= 3,
        _ => false,
    };
    if starts {
        return Some(0);
    }
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    let dot = line.chars().nth(digits).filter(|c| matches!(c, '.' | ')'));
    ((1..=9).contains(&digits)
        && dot.is_some()
        && blank(line.chars().nth(digits.saturating_add(1))))
    .then_some(digits)
}
