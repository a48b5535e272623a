//! Prints a part of a file, each line with its number.

use crate::eyes::MAX_LINE_BYTES;
use crate::prompt::{push_numbered, show_line};
use crate::redact::Masker;

/// A part of a file, printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The lines, each as `NUMBER MARK TEXT`.
    pub text: String,
    /// The last line that is in it; less than the first one asked for if there is none.
    pub last: u32,
    /// How many lines the file has.
    pub lines: u32,
}

/// Prints the lines `from` to `to` (from 1, both included) of a text, as many as fit into `max_bytes`, and
/// at least one.
///
/// `added` says whether a line is one that the change added; a line over [`MAX_LINE_BYTES`] is cut.
pub fn page(
    text: &[u8],
    from: u32,
    to: u32,
    max_bytes: usize,
    added: impl Fn(u32) -> bool,
) -> Page {
    let whole = text.strip_suffix(b"\n").unwrap_or(text);
    let count = || whole.split(|byte| *byte == b'\n');
    let lines = if text.is_empty() {
        0
    } else {
        u32::try_from(count().count()).unwrap_or(u32::MAX)
    };
    let from = from.max(1);
    let mut page = Page {
        text: String::new(),
        last: from.saturating_sub(1),
        lines,
    };
    let last = to.min(lines);
    let width = last.to_string().len();
    // From the first line on, because a private key may begin before the page does.
    let mut masker = Masker::default();
    for (number, line) in (1..=last).zip(count()) {
        let masked = masker.line(line.strip_suffix(b"\r").unwrap_or(line));
        if number < from {
            continue;
        }
        let before = page.text.len();
        let mark = if added(number) { '+' } else { ' ' };
        push_numbered(
            &mut page.text,
            Some(number),
            width,
            mark,
            &shortened(&masked),
        );
        if page.text.len() > max_bytes && before > 0 {
            page.text.truncate(before);
            break;
        }
        page.last = number;
    }
    page
}

/// Returns a line as it is shown, the end of a long one left out.
pub(super) fn shortened(line: &[u8]) -> String {
    let shown = show_line(line.get(..MAX_LINE_BYTES).unwrap_or(line));
    // Spelled-out characters may make it longer again.
    let end = shown.floor_char_boundary(MAX_LINE_BYTES.saturating_mul(2));
    let kept = shown.get(..end).unwrap_or_default();
    match line.len().checked_sub(MAX_LINE_BYTES) {
        Some(more) if more > 0 => format!("{kept} … (this line goes on for {more} bytes)"),
        _ => kept.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, from: u32, to: u32) -> Page {
        page(text.as_bytes(), from, to, 10_000, |_| false)
    }

    #[test]
    fn lines_have_their_numbers_and_marks() {
        let page = page(b"a\nb\r\n\nd", 2, 99, 10_000, |number| number == 3);
        assert_eq!(page.text, "2   b\n3 + \n4   d\n");
        assert_eq!((page.last, page.lines), (4, 4));
        assert_eq!(
            shown("", 1, 9),
            Page {
                text: String::new(),
                last: 0,
                lines: 0
            }
        );
        assert_eq!(shown("a\n", 1, 1).lines, 1);
        assert_eq!(shown("a\n", 5, 9).text, "");
        assert_eq!(shown("a\n", 0, 9).text, "1   a\n");
    }

    #[test]
    fn a_page_ends_where_the_bytes_end_and_has_a_line_at_least() {
        let page = page(b"aaaa\nbbbb\ncccc\n", 1, 3, 20, |_| false);
        assert_eq!((page.text.as_str(), page.last), ("1   aaaa\n2   bbbb\n", 2));
        let long = "x".repeat(1_000_000);
        let cut = shown(&long, 1, 1);
        assert!(
            cut.text
                .ends_with("… (this line goes on for 999000 bytes)\n"),
            "{}",
            cut.text.len()
        );
        let invisible = "\u{202e}".repeat(1_000);
        assert!(shown(&invisible, 1, 1).text.len() < 2_100);
    }

    #[test]
    fn secrets_stay_masked_also_when_the_page_begins_inside_a_key() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAtestonly\nMIIEowIBAAKCAQEAtestonly\n-----END RSA PRIVATE KEY-----\nfine\n";
        let page = shown(key, 3, 5);
        assert!(!page.text.contains("MIIE"), "{}", page.text);
        assert!(page.text.ends_with("5   fine\n"), "{}", page.text);
    }
}
