//! Characters that are not what a reader sees.

use super::source::Source;
use super::{Check, Found, Hits};
use crate::escape::{is_bidi, is_invisible};
use crate::review::Severity;

/// How many different characters a message names.
const MAX_NAMED: usize = 5;

/// Reports the first line of each kind and how many more there are.
pub(super) fn check(source: &Source<'_>, out: &mut Hits<'_>) {
    if source.file.section.is_ascii() {
        return;
    }
    let mut bidi = Lines::default();
    let mut invisible = Lines::default();
    for line in source.added().filter(|line| !line.text.is_ascii()) {
        let text = String::from_utf8_lossy(line.text);
        let number = line.new.unwrap_or(0);
        let first_line = number == 1;
        let rtl = text.chars().any(is_right_to_left);
        let chars: Vec<char> = text.chars().collect();
        for (at, &c) in chars.iter().enumerate() {
            let previous = at.checked_sub(1).and_then(|at| chars.get(at)).copied();
            let next = chars.get(at.saturating_add(1)).copied();
            if is_bidi(c) {
                // Marks belong to text in Arabic or Hebrew; overrides and isolates to no source at all.
                if !(rtl && matches!(c, '\u{061C}' | '\u{200E}' | '\u{200F}')) {
                    bidi.add(number, c);
                }
            } else if is_invisible(c) && !is_at_home(c, previous, next, first_line && at == 0, rtl)
            {
                invisible.add(number, c);
            }
        }
    }
    if let Some((line, named, more)) = bidi.report() {
        out.push(Found::at(
            Check::BidirectionalUnicode,
            line,
            Severity::High,
            "Hidden characters change the order in which this line reads",
            format!("The line holds {named}: what a reader sees is not what a compiler does (CVE-2021-42574).{more}"),
        ));
    }
    if let Some((line, named, more)) = invisible.report() {
        out.push(Found::at(
            Check::InvisibleUnicode,
            line,
            Severity::Medium,
            "Invisible characters in this line",
            format!("The line holds {named}, which no reader sees: they can split a name, hide text from people, or carry data.{more}"),
        ));
    }
}

/// The lines and characters of one kind.
#[derive(Default)]
struct Lines {
    first: Option<u32>,
    last: u32,
    count: usize,
    chars: Vec<char>,
}

impl Lines {
    fn add(&mut self, line: u32, c: char) {
        self.first.get_or_insert(line);
        if self.last != line {
            self.count = self.count.saturating_add(1);
            self.last = line;
        }
        if !self.chars.contains(&c) && self.chars.len() < MAX_NAMED {
            self.chars.push(c);
        }
    }

    /// The first line, the names of its characters, and a sentence on the other lines.
    fn report(self) -> Option<(u32, String, String)> {
        let line = self.first?;
        let names: Vec<String> = self
            .chars
            .iter()
            .map(|c| format!("U+{:04X}", u32::from(*c)))
            .collect();
        let more = match self.count.saturating_sub(1) {
            0 => String::new(),
            1 => " One more line of this file has such characters.".to_owned(),
            n => format!(" {n} more lines of this file have such characters."),
        };
        Some((line, names.join(", "), more))
    }
}

/// Letters of scripts that run from right to left.
fn is_right_to_left(c: char) -> bool {
    matches!(u32::from(c), 0x0590..=0x08FF | 0xFB1D..=0xFDFF | 0xFE70..=0xFEFC | 0x1_0800..=0x1_0FFF | 0x1_E800..=0x1_EFFF)
        && c != '\u{061C}'
}

/// Whether an invisible character has an honest reason to stand between its neighbours.
fn is_at_home(
    c: char,
    previous: Option<char>,
    next: Option<char>,
    starts_file: bool,
    rtl: bool,
) -> bool {
    match u32::from(c) {
        // A byte order mark at the start of a file.
        0xFEFF => starts_file,
        // Joiners inside emoji, and in scripts that need them.
        0x200D => {
            previous.is_some_and(is_pictograph) && next.is_some_and(is_pictograph)
                || joins(previous, next, rtl)
        }
        0x200C => joins(previous, next, rtl),
        // One variation selector after a character that has variants. Runs of them carry data.
        0xFE00..=0xFE0E | 0xE_0100..=0xE_01EF => previous.is_some_and(|p| {
            (!p.is_ascii() && !is_invisible(p)) || p.is_ascii_digit() || matches!(p, '#' | '*')
        }),
        // Tags inside the flags of regions.
        0xE_0020..=0xE_007F => {
            previous.is_some_and(|p| p == '🏴' || matches!(u32::from(p), 0xE_0020..=0xE_007E))
        }
        // A soft hyphen inside a word of prose.
        0x00AD => {
            previous.is_some_and(char::is_alphabetic) && next.is_some_and(char::is_alphabetic)
        }
        // Icon fonts; an object replacement character is visible.
        0xE000..=0xF8FF | 0xF_0000..=0x10_FFFF | 0xFFFC | 0x2800 => true,
        // Selectors of the Mongolian script.
        0x180B..=0x180F => previous.is_some_and(|p| matches!(u32::from(p), 0x1800..=0x18AF)),
        _ => false,
    }
}

/// Emoji and what modifies them.
fn is_pictograph(c: char) -> bool {
    matches!(u32::from(c), 0x2190..=0x2BFF | 0x3030 | 0x303D | 0xFE0F | 0x1_F000..=0x1_FAFF)
}

/// Both neighbours are letters of a script that uses joiners: Arabic, Persian, Indic, and others.
fn joins(previous: Option<char>, next: Option<char>, rtl: bool) -> bool {
    let needs = |c: Option<char>| {
        c.is_some_and(
            |c| matches!(u32::from(c), 0x0600..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x18AF),
        )
    };
    (needs(previous) || rtl) && (needs(next) || next.is_none_or(|c| !c.is_ascii_alphanumeric()))
}
