//! Turns text that a model wrote into Markdown that is safe to post.
//!
//! The model has read code that anyone may have written, so its words are hostile: they may ping people
//! and teams, close issues, load images, lie about where a link leads, swallow what follows, command
//! other bots, or forge our hidden markers. The text is read into a small tree and written anew:
//!
//! ```text
//! text → visible → block::parse → (inline::parse) → cut → neutral::events → write::document
//! ```
//!
//! Only the writer decides what is markup. It knows paragraphs, emphasis, code, lists, quotes, tables and
//! links to hosts of the policy; everything else is text, and text is escaped where it would mean
//! something. What a forge looks for *after* rendering (mentions, references, addresses, mathematics)
//! becomes a code span, which is how a careful person would have written it.
//!
//! **Invariant:** for any input, the output renders without mention, reference, image, raw HTML, foreign
//! link or invisible character; no raw line begins with a command or a known bot's name; every construct
//! is closed; and sanitising it again changes nothing.

mod block;
mod bots;
mod code;
mod cut;
mod emit;
mod entity;
mod html;
mod inline;
mod joined;
mod lines;
mod link;
mod neutral;
mod write;

use crate::escape::visible;
use inline::Inline;
use neutral::Place;

/// Longest input that is read, in characters; what is past it could never be posted.
const MAX_INPUT_CHARS: usize = 400_000;
/// How often the text is sanitised until it stops changing. Once is enough for all that people write.
const MAX_PASSES: usize = 4;
/// What a title without visible text is replaced by.
const NO_TITLE: &str = "(untitled)";
/// Longest path that [`inline_code`] shows whole, in characters.
const MAX_INLINE_CODE_CHARS: usize = 300;

/// What the operator allows in posted text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPolicy {
    /// Hosts that links may lead to, exactly as they stand in a URL (with the port, if any).
    pub link_hosts: Vec<String>,
    /// Longest body, in characters.
    pub max_chars: usize,
    /// Longest title, in characters.
    pub max_title_chars: usize,
}

impl Default for TextPolicy {
    /// No links, bodies of up to 60,000 characters (GitHub refuses more than 65,536), titles of 140.
    fn default() -> Self {
        Self {
            link_hosts: Vec::new(),
            max_chars: 60_000,
            max_title_chars: 140,
        }
    }
}

/// Returns `text` as Markdown that does nothing but be read.
///
/// The result is at most [`TextPolicy::max_chars`] characters; longer text ends with an ellipsis. It is
/// empty if nothing visible is left.
#[must_use]
pub fn body(text: &str, policy: &TextPolicy) -> String {
    settle(text, |text| body_once(text, policy))
        .unwrap_or_else(|| clipped_fence(text, policy.max_chars))
}

/// Returns `text` as one line that can stand in a heading, a list, a table's cell or bold text.
///
/// It holds text and code spans only, is never empty, and is at most [`TextPolicy::max_title_chars`]
/// characters.
#[must_use]
pub fn title(text: &str, policy: &TextPolicy) -> String {
    let out = settle(text, |text| title_once(text, policy)).unwrap_or_default();
    if out.is_empty() {
        NO_TITLE.to_owned()
    } else {
        out
    }
}

/// Returns `code` in a fence longer than any run of backticks inside.
///
/// `lang` is kept if it is a known language that is only coloured. Lines stay as they are, except that
/// invisible characters are spelled out and a line that would command a bot gets a backslash.
#[must_use]
pub fn code_fence(lang: &str, code: &str) -> String {
    code::fenced(code::language(lang), &code_lines(code)).join("\n")
}

/// Returns `code` as a suggestion that replaces the commented lines, or `None` if it cannot be offered
/// exactly as it is: a line would command a bot, forge a marker, or hide a character.
///
/// Empty code is a suggestion to delete the lines. GitLab hangs a comment on its last line, and `above` says how
/// many lines before that one are replaced too (<https://docs.gitlab.com/user/project/merge_requests/reviews/suggestions/>);
/// on GitHub the comment has the range, and it is `None`.
#[must_use]
pub fn suggestion(code: &str, above: Option<u32>) -> Option<String> {
    let lines = code_lines(code);
    let exact = lines
        .iter()
        .all(|line| code::safe_line(line) == line.as_str());
    // A carriage return inside a line would be read as a line's end.
    (exact && !code.replace("\r\n", "\n").contains('\r')).then(|| {
        let name = above.map_or_else(
            || "suggestion".to_owned(),
            |above| format!("suggestion:-{above}+0"),
        );
        code::fence(&name, &lines).join("\n")
    })
}

/// Returns a path, name or other short string as a code span for any place in Markdown.
///
/// Line feeds and invisible characters are spelled out; what is longer than 300 characters loses its
/// middle.
#[must_use]
pub fn inline_code(text: &str) -> String {
    let spelled: String = text
        .chars()
        .map(|c| {
            if c == '\n' || c == '\t' {
                format!("<U+{:04X}>", u32::from(c))
            } else {
                c.to_string()
            }
        })
        .collect();
    let short = clip_middle(&neutral::code_text(&spelled), MAX_INLINE_CODE_CHARS);
    let span = emit::code_span(&short, true);
    // Four spaces at the start of a line would begin an indented block.
    match span.trim_start() {
        "" => "` `".to_owned(),
        span => span.to_owned(),
    }
}

/// Applies `pass` until nothing changes; `None` if it does not settle.
fn settle(text: &str, pass: impl Fn(&str) -> String) -> Option<String> {
    let mut current = pass(text);
    for _ in 0..MAX_PASSES {
        let next = pass(&current);
        if next == current {
            return Some(current);
        }
        current = next;
    }
    None
}

fn body_once(text: &str, policy: &TextPolicy) -> String {
    let lines = lines_of(text);
    let blocks = block::parse(&lines, 0);
    let whole = write::document(&blocks, policy);
    if whole.chars().count() <= policy.max_chars {
        return whole;
    }
    longest_fitting(policy.max_chars, |budget| {
        write::document(&cut::blocks(&blocks, budget), policy)
    })
}

fn title_once(text: &str, policy: &TextPolicy) -> String {
    let flat = lines_of(text).join(" ");
    let inlines = inline::parse(flat.trim());
    let whole = title_line(&inlines, policy);
    if whole.chars().count() <= policy.max_title_chars {
        return whole;
    }
    longest_fitting(policy.max_title_chars, |budget| {
        title_line(&cut::inlines(&inlines, budget), policy)
    })
}

fn title_line(inlines: &[Inline], policy: &TextPolicy) -> String {
    emit::inline(&neutral::events(inlines, Place::Title, policy), true)
}

/// Finds the largest budget of text whose written form is at most `max` characters.
fn longest_fitting(max: usize, write: impl Fn(usize) -> String) -> String {
    let fits = |budget: usize| Some(write(budget)).filter(|out| out.chars().count() <= max);
    let (mut low, mut high) = (0_usize, max.saturating_add(1));
    let mut best = fits(0).unwrap_or_default();
    while high.saturating_sub(low) > 1 {
        let middle = low.midpoint(high);
        match fits(middle) {
            Some(out) => {
                best = out;
                low = middle;
            }
            None => high = middle,
        }
    }
    best
}

/// The input's lines, bounded, with every invisible character spelled out.
fn lines_of(text: &str) -> Vec<String> {
    let end = text
        .char_indices()
        .nth(MAX_INPUT_CHARS)
        .map_or(text.len(), |(at, _)| at);
    let text = text.get(..end).unwrap_or_default();
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    visible(text.trim_end_matches('\n'))
        .split('\n')
        .map(str::to_owned)
        .collect()
}

/// Lines of code without a last empty one.
fn code_lines(code: &str) -> Vec<String> {
    if code.is_empty() {
        return Vec::new();
    }
    let code = code.replace("\r\n", "\n");
    code.strip_suffix('\n')
        .unwrap_or(&code)
        .split('\n')
        .map(str::to_owned)
        .collect()
}

/// The last resort for text that does not settle: all of it as code.
fn clipped_fence(text: &str, max: usize) -> String {
    let lines = lines_of(text);
    longest_fitting(max, |budget| {
        let mut left = budget;
        let kept = lines
            .iter()
            .take_while(|line| match left.checked_sub(line.chars().count()) {
                Some(rest) => {
                    left = rest;
                    true
                }
                None => false,
            });
        code::fenced("", &kept.cloned().collect::<Vec<_>>()).join("\n")
    })
}

/// Replaces the middle of long text by an ellipsis.
fn clip_middle(text: &str, max: usize) -> String {
    let count = text.chars().count();
    if count <= max {
        return text.to_owned();
    }
    let half = max.saturating_sub(1).checked_div(2).unwrap_or(0);
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count.saturating_sub(half)).collect();
    format!("{head}…{tail}")
}
