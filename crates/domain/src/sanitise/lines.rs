//! Recognises what a single line of Markdown is.

use super::block::Align;

/// A tab moves to the next multiple of this column.
const TAB_STOP: usize = 4;

/// Width of a line's leading white space in columns.
pub(super) fn indent(line: &str) -> usize {
    let mut column = 0_usize;
    for c in line.chars() {
        match c {
            ' ' => column = column.saturating_add(1),
            '\t' => column = next_stop(column),
            _ => break,
        }
    }
    column
}

/// The column after a tab at `column`.
fn next_stop(column: usize) -> usize {
    column
        .saturating_add(TAB_STOP)
        .saturating_sub(column.checked_rem(TAB_STOP).unwrap_or(0))
}

/// Removes up to `columns` columns of leading white space; a tab cut in two leaves spaces.
pub(super) fn dedent(line: &str, columns: usize) -> String {
    let mut column = 0_usize;
    let mut rest = line;
    while column < columns {
        if let Some(after) = rest.strip_prefix(' ') {
            column = column.saturating_add(1);
            rest = after;
        } else if let Some(after) = rest.strip_prefix('\t') {
            column = next_stop(column);
            rest = after;
        } else {
            break;
        }
    }
    format!("{}{rest}", " ".repeat(column.saturating_sub(columns)))
}

/// The line without up to three spaces of indentation, or `None` if it is indented further.
fn unindented(line: &str) -> Option<&str> {
    (indent(line) < TAB_STOP).then(|| line.trim_start_matches([' ', '\t']))
}

/// An open code fence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    mark: char,
    len: usize,
    /// Indentation that is removed from each line of the code.
    pub(super) indent: usize,
    /// What follows the fence: the language.
    pub(super) info: String,
}

impl Fence {
    /// Reads an opening fence.
    pub(super) fn open(line: &str) -> Option<Self> {
        let text = unindented(line)?;
        let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let rest = text.trim_start_matches(mark);
        let len = text.len().saturating_sub(rest.len());
        if len < 3 || (mark == '`' && rest.contains('`')) {
            return None;
        }
        Some(Self {
            mark,
            len,
            indent: indent(line),
            info: rest.trim().to_owned(),
        })
    }

    /// Says whether a line ends this fence.
    pub(super) fn closes(&self, line: &str) -> bool {
        unindented(line).is_some_and(|text| {
            let rest = text.trim_start_matches(self.mark);
            text.len().saturating_sub(rest.len()) >= self.len && rest.trim().is_empty()
        })
    }
}

/// A list marker at the start of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Marker {
    /// The number of an ordered item.
    pub(super) number: Option<u64>,
    /// The marker's column.
    pub(super) indent: usize,
    /// The column at which the item's content starts.
    pub(super) content: usize,
    /// The rest of the line.
    pub(super) rest: String,
}

impl Marker {
    /// Reads a list marker.
    pub(super) fn of(line: &str) -> Option<Self> {
        let text = unindented(line)?;
        let start = indent(line);
        let digits = text.chars().take_while(char::is_ascii_digit).count();
        let (number, width) = match text.chars().next()? {
            '-' | '+' | '*' => (None, 1),
            _ if (1..=9).contains(&digits)
                && matches!(text.chars().nth(digits), Some('.' | ')')) =>
            {
                (text.get(..digits)?.parse().ok(), digits.saturating_add(1))
            }
            _ => return None,
        };
        let rest = text.get(width..)?;
        if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
            return None;
        }
        let spaces = indent(rest);
        // Five spaces or more start indented code one space after the marker.
        let gap = if rest.trim().is_empty() || spaces > TAB_STOP {
            1
        } else {
            spaces
        };
        Some(Self {
            number,
            indent: start,
            content: start.saturating_add(width).saturating_add(gap),
            rest: dedent(rest, gap),
        })
    }

    /// Says whether this marker continues the list that `first` started.
    pub(super) fn sibling_of(&self, first: &Self) -> bool {
        self.number.is_some() == first.number.is_some()
    }
}

/// The text of a `#` heading.
pub(super) fn heading(line: &str) -> Option<&str> {
    let text = unindented(line)?;
    let rest = text.trim_start_matches('#');
    let level = text.len().saturating_sub(rest.len());
    if !(1..=6).contains(&level) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let rest = rest.trim();
    let without = rest.trim_end_matches('#');
    Some(if without.is_empty() || without.ends_with([' ', '\t']) {
        without.trim_end()
    } else {
        rest
    })
}

/// A line that quotes.
pub(super) fn is_quote(line: &str) -> bool {
    unindented(line).is_some_and(|text| text.starts_with('>'))
}

/// A thematic break.
pub(super) fn is_rule(line: &str) -> bool {
    unindented(line).is_some_and(|text| {
        let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        bare.len() >= 3
            && ['-', '_', '*']
                .iter()
                .any(|&mark| bare.chars().all(|c| c == mark))
    })
}

/// A line under a paragraph that makes it a heading.
pub(super) fn is_underline(line: &str) -> bool {
    unindented(line).map(str::trim_end).is_some_and(|text| {
        !text.is_empty() && (text.chars().all(|c| c == '=') || text.chars().all(|c| c == '-'))
    })
}

/// The alignments of a table's delimiter row.
pub(super) fn alignments(line: &str) -> Option<Vec<Align>> {
    let text = unindented(line)?.trim_end();
    if !text.contains('-')
        || !text
            .chars()
            .all(|c| matches!(c, '|' | '-' | ':' | ' ' | '\t'))
    {
        return None;
    }
    cells(text)
        .iter()
        .map(|cell| {
            let dashes = cell.trim_matches(':');
            if dashes.is_empty() || !dashes.chars().all(|c| c == '-') {
                return None;
            }
            Some(match (cell.starts_with(':'), cell.ends_with(':')) {
                (true, true) => Align::Centre,
                (true, false) => Align::Left,
                (false, true) => Align::Right,
                (false, false) => Align::None,
            })
        })
        .collect()
}

/// Splits a table row into `columns` cells. If there are more bars than that, those inside code spans do
/// not count: renderers count them, people who write `a|b` do not mean them to.
pub(super) fn row(line: &str, columns: usize) -> Vec<String> {
    let plain = cells(line);
    if plain.len() <= columns {
        return plain;
    }
    // Every other part between backticks is code; a bar in it is escaped.
    let parts: Vec<&str> = line.split('`').collect();
    let escaped: Vec<String> = parts
        .iter()
        .enumerate()
        .map(|(index, part)| {
            if index & 1 == 1 {
                part.replace('|', "\\|")
            } else {
                (*part).to_owned()
            }
        })
        .collect();
    let careful = cells(&escaped.join("`"));
    if careful.len() == columns {
        careful
    } else {
        plain
    }
}

/// Splits a table row at its unescaped bars; `\|` becomes a bar.
pub(super) fn cells(line: &str) -> Vec<String> {
    let text = line.trim();
    let text = text.strip_prefix('|').unwrap_or(text);
    let mut out = Vec::new();
    let mut cell = String::new();
    let mut chars = text.chars().peekable();
    let mut open = true;
    while let Some(c) = chars.next() {
        open = true;
        match c {
            '\\' => match chars.next_if(char::is_ascii_punctuation) {
                Some('|') => cell.push('|'),
                Some(next) => {
                    cell.push('\\');
                    cell.push(next);
                }
                None => cell.push('\\'),
            },
            '|' => {
                out.push(cell.trim().to_owned());
                cell.clear();
                open = false;
            }
            _ => cell.push(c),
        }
    }
    if open && !(out.is_empty() && cell.trim().is_empty()) {
        out.push(cell.trim().to_owned());
    }
    out
}
