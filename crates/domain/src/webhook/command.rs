//! Finds `/mirilla <verb>` in a comment, where a person meant it.
//!
//! A command stands at the beginning of a line. Lines inside code, quotes and HTML comments are what
//! somebody shows, not what they want; where Markdown is ambiguous the line is not a command.

use crate::request::Verb;

/// What a command begins with.
const WORD: &str = "/mirilla";

/// Returns the first command of a comment.
pub fn find_command(text: &str) -> Option<Verb> {
    first(text).map(|(verb, _)| verb)
}

/// Returns the reason with which a comment dismisses something, if its first command does and gives one.
pub fn dismissal(text: &str) -> Option<&str> {
    match first(text) {
        Some((Verb::Dismiss, reason)) if !reason.is_empty() => Some(reason),
        _ => None,
    }
}

/// Returns the first command and what follows it on its line.
fn first(text: &str) -> Option<(Verb, &str)> {
    let mut state = State::default();
    text.lines().find_map(|line| state.next(line))
}

/// What the lines so far have opened.
#[derive(Default)]
struct State {
    /// The fence of an open code block: its character, and how often it stands there.
    fence: Option<(char, usize)>,
    /// Whether the line before belongs to a quote; a line of text after it still does.
    quote: bool,
    /// Whether an HTML comment is open.
    html_comment: bool,
    /// The length of an unclosed run of backticks in this paragraph.
    code_span: Option<usize>,
}

impl State {
    fn next<'t>(&mut self, line: &'t str) -> Option<(Verb, &'t str)> {
        let text = line.trim_start_matches(' ');
        let indent = line.len().saturating_sub(text.len());
        if let Some((mark, length)) = self.fence {
            let run = run_of(text, mark);
            let rest = text.trim_start_matches(mark);
            if indent < 4 && run >= length && rest.trim().is_empty() {
                self.fence = None;
            }
            return None;
        }
        if self.html_comment {
            self.html_comment = !line.contains("-->");
            return None;
        }
        if text.trim().is_empty() {
            self.quote = false;
            self.code_span = None;
            return None;
        }
        if indent >= 4 || line.starts_with('\t') {
            return None;
        }
        if let Some(fence) = ['`', '~']
            .into_iter()
            .map(|mark| (mark, run_of(text, mark)))
            .find(|(_, length)| *length >= 3)
        {
            self.fence = Some(fence);
            self.quote = false;
            return None;
        }
        if text.starts_with('>') {
            self.quote = true;
            return None;
        }
        let found = (!self.quote && self.code_span.is_none())
            .then(|| verb(text))
            .flatten();
        self.html_comment = opens_html_comment(text);
        self.code_span = code_span_after(self.code_span, text);
        found
    }
}

/// Reads `/mirilla <verb>` at the beginning of a line; more words may follow.
fn verb(text: &str) -> Option<(Verb, &str)> {
    let (word, rest) = text.split_once(char::is_whitespace)?;
    if word != WORD {
        return None;
    }
    let rest = rest.trim();
    let (verb, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let verb = match verb.to_ascii_lowercase().as_str() {
        "review" => Verb::Review,
        "pause" => Verb::Pause,
        "resume" => Verb::Resume,
        "dismiss" => Verb::Dismiss,
        "explain" => Verb::Explain,
        "help" => Verb::Help,
        _ => return None,
    };
    Some((verb, rest.trim()))
}

fn run_of(text: &str, mark: char) -> usize {
    text.chars().take_while(|c| *c == mark).count()
}

fn opens_html_comment(text: &str) -> bool {
    text.rsplit_once("<!--")
        .is_some_and(|(_, after)| !after.contains("-->"))
}

/// Returns the unclosed run of backticks after a line: a code span ends at a run of equal length.
fn code_span_after(before: Option<usize>, text: &str) -> Option<usize> {
    let mut open = before;
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('`') {
        let length = run_of(after, '`').saturating_add(1);
        rest = after.trim_start_matches('`');
        open = match open {
            None => Some(length),
            Some(opened) if opened == length => None,
            still => still,
        };
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<Verb>) {
        assert_eq!(find_command(text), expected, "{text:?}");
    }

    #[test]
    fn commands_stand_at_the_beginning_of_a_line() {
        check("/mirilla review", Some(Verb::Review));
        check("  /mirilla   Review please\r\n", Some(Verb::Review));
        check(
            "Thanks!\n\n/mirilla dismiss known, see #3",
            Some(Verb::Dismiss),
        );
        check("/mirilla help\n/mirilla pause", Some(Verb::Help));
        check("/mirilla resume", Some(Verb::Resume));
        check("/mirilla explain", Some(Verb::Explain));
        check("/mirilla pause", Some(Verb::Pause));
        for text in [
            "",
            "/mirilla",
            "/mirilla\nreview",
            "/mirilla frobnicate",
            "/mirillareview",
            "please /mirilla review",
            "/MIRILLA review",
            "//mirilla review",
            "- /mirilla review",
            "@reviewbot review",
            "/review",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn dismissal_has_a_reason() {
        assert_eq!(
            dismissal("no\n\n  /mirilla  dismiss\tguarded by the caller \r\n"),
            Some("guarded by the caller")
        );
        for text in [
            "/mirilla dismiss",
            "/mirilla dismiss \nbecause",
            "> /mirilla dismiss because",
            "/mirilla review\n/mirilla dismiss because",
            "dismiss because",
        ] {
            assert_eq!(dismissal(text), None, "{text:?}");
        }
    }

    #[test]
    fn shown_code_is_not_a_command() {
        for text in [
            "```\n/mirilla review\n```",
            "```sh\n/mirilla review",
            "~~~~\n/mirilla review\n~~~\n/mirilla pause\n~~~~",
            "````\n```\n/mirilla review\n````",
            "    /mirilla review",
            "\t/mirilla review",
            "`/mirilla review`",
            "write `\n/mirilla review\n` to run it again",
            "``a ` b\n/mirilla review\n``",
        ] {
            check(text, None);
        }
        check("```\ncode\n```\n/mirilla review", Some(Verb::Review));
        check("a `span` and\n/mirilla review", Some(Verb::Review));
        check("a lonely ` here\n\n/mirilla review", Some(Verb::Review));
    }

    #[test]
    fn quotes_and_html_comments_are_not_commands() {
        for text in [
            "> /mirilla review",
            "  > /mirilla review",
            "> somebody said\n/mirilla review",
            "<!--\n/mirilla review\n-->",
            "hello <!-- hidden\n\n/mirilla review\n--> there",
        ] {
            check(text, None);
        }
        check("> quoted\n\n/mirilla review", Some(Verb::Review));
        check("<!-- shut -->\n/mirilla review", Some(Verb::Review));
        check("<!--\nx\n-->\n/mirilla review", Some(Verb::Review));
    }
}
