//! Takes the life out of text: decides which words a forge or another bot would act on, and turns them
//! into code, where they stay readable and do nothing.
//!
//! Forges look for mentions and references in the rendered text outside code and links, so a
//! backslash or an entity is no protection, while a code span is.

use std::sync::LazyLock;

use regex::Regex;

use super::inline::{Inline, Style};
use super::{TextPolicy, bots, joined, link};
use crate::escape::visible;

/// Inline content in writing order, with nothing active left in its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Text(String),
    Code(String),
    Break,
    Open(Style),
    Close(Style),
    LinkOpen,
    LinkClose(String),
    /// A bare link.
    Auto(String),
}

/// What the place of a text allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A paragraph: emphasis, links and line breaks.
    Paragraph,
    /// A table's cell: emphasis and links, on one line.
    Cell,
    /// A title: text and code, on one line.
    Title,
}

/// Flattens inline content into events and neutralises its text.
pub(super) fn events(inlines: &[Inline], place: Place, policy: &TextPolicy) -> Vec<Event> {
    let spans = place != Place::Title;
    let mut flat = Flat {
        out: Vec::new(),
        styles: Vec::new(),
        place,
        policy,
    };
    flat.all(inlines, spans);
    neutralise(joined::whole_words(flat.out), spans, policy)
}

/// The flattener.
struct Flat<'a> {
    out: Vec<Event>,
    styles: Vec<Style>,
    place: Place,
    policy: &'a TextPolicy,
}

impl Flat<'_> {
    fn all(&mut self, inlines: &[Inline], links: bool) {
        for inline in inlines {
            self.one(inline, links);
        }
    }

    fn one(&mut self, inline: &Inline, links: bool) {
        match inline {
            Inline::Text(text) => self.text(text),
            Inline::Code(code) => self.out.push(Event::Code(code.clone())),
            Inline::Break if self.place == Place::Paragraph => self.out.push(Event::Break),
            Inline::Break => self.text(" "),
            Inline::Span(style, inner) => {
                if self.place == Place::Title
                    || self.styles.contains(style)
                    || plain(inner).trim().is_empty()
                {
                    self.all(inner, links);
                    return;
                }
                self.out.push(Event::Open(*style));
                self.styles.push(*style);
                self.all(inner, links);
                self.styles.pop();
                self.out.push(Event::Close(*style));
            }
            Inline::Link(inner, target) => self.link(inner, target, links),
        }
    }

    /// A link that may be clicked, or its text followed by the bare target as code, so that a reader
    /// sees where it would have led.
    fn link(&mut self, inner: &[Inline], target: &str, links: bool) {
        let shown = plain(inner);
        if inner.is_empty() || shown.trim() == target {
            match link::allowed(target, self.policy).filter(|_| links) {
                Some(url) => self.out.push(Event::Auto(url)),
                None => self.out.push(Event::Code(target.to_owned())),
            }
            return;
        }
        match link::allowed(target, self.policy) {
            Some(url) if links && !shown.trim().is_empty() && !link::claims_address(&shown) => {
                self.out.push(Event::LinkOpen);
                self.all(inner, false);
                self.out.push(Event::LinkClose(url));
            }
            _ => {
                self.all(inner, false);
                if !target.is_empty() {
                    self.text(if shown.is_empty() { "(" } else { " (" });
                    self.out.push(Event::Code(target.to_owned()));
                    self.text(")");
                }
            }
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(Event::Text(last)) = self.out.last_mut() {
            last.push_str(text);
        } else {
            self.out.push(Event::Text(text.to_owned()));
        }
    }
}

/// The text of inline content without its markup.
pub(super) fn plain(inlines: &[Inline]) -> String {
    let mut out = String::new();
    for inline in inlines {
        match inline {
            Inline::Text(text) | Inline::Code(text) => out.push_str(text),
            Inline::Break => out.push(' '),
            Inline::Span(_, inner) | Inline::Link(inner, _) => out.push_str(&plain(inner)),
        }
    }
    out
}

/// Inline content without the emphasis `style`, which its place already has.
pub(super) fn unstyled(inlines: &[Inline], style: Style) -> Vec<Inline> {
    let mut out = Vec::new();
    for inline in inlines {
        match inline {
            Inline::Span(inner_style, inner) if *inner_style == style => {
                out.extend(unstyled(inner, style));
            }
            Inline::Span(inner_style, inner) => {
                out.push(Inline::Span(*inner_style, unstyled(inner, style)));
            }
            other => out.push(other.clone()),
        }
    }
    out
}

/// Turns the active words of each text into code or links.
fn neutralise(events: Vec<Event>, links: bool, policy: &TextPolicy) -> Vec<Event> {
    let mut state = Neutral {
        out: Vec::with_capacity(events.len()),
        line_start: true,
        in_link: false,
        previous: String::new(),
        links,
        policy,
    };
    for event in events {
        state.event(event);
    }
    state.out
}

/// The neutraliser's place in a paragraph.
struct Neutral<'a> {
    out: Vec<Event>,
    line_start: bool,
    in_link: bool,
    /// The word before, for keywords that act on what follows.
    previous: String,
    links: bool,
    policy: &'a TextPolicy,
}

impl Neutral<'_> {
    fn event(&mut self, event: Event) {
        match event {
            Event::Text(text) => self.text(&text),
            Event::Code(code) => {
                self.push(Event::Code(code_text(&code)));
                self.line_start = false;
                self.previous.clear();
            }
            Event::Break => {
                self.out.push(Event::Break);
                self.line_start = true;
            }
            Event::LinkOpen => {
                self.in_link = true;
                self.out.push(Event::LinkOpen);
            }
            Event::LinkClose(url) => {
                self.in_link = false;
                self.out.push(Event::LinkClose(url));
            }
            other => self.out.push(other),
        }
    }

    fn text(&mut self, text: &str) {
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let space = first.is_whitespace();
            let end = rest
                .find(|c: char| c.is_whitespace() != space)
                .unwrap_or(rest.len());
            let (word, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
            if space {
                self.push(Event::Text(" ".repeat(word.chars().count())));
            } else {
                let command = self.line_start && bots::is_command(rest);
                self.line_start = false;
                self.word(word, command);
                word.clone_into(&mut self.previous);
            }
            rest = after;
        }
    }

    fn word(&mut self, word: &str, command: bool) {
        let active = |text: &str| command || is_active(text) || self.is_ticket(text);
        if !active(word) {
            self.push(Event::Text(word.to_owned()));
            return;
        }
        let (before, core, after) = around_active(word, active);
        let core = core.to_owned();
        if !before.is_empty() {
            self.push(Event::Text(before.to_owned()));
        }
        let url =
            (self.links && !self.in_link && !command).then(|| link::allowed(&core, self.policy));
        match url.flatten() {
            Some(url) => self.out.push(Event::Auto(url)),
            None => self.push(Event::Code(code_text(&core))),
        }
        if !after.is_empty() {
            self.push(Event::Text(after.to_owned()));
        }
    }

    /// A ticket number after a closing keyword, which a tracker integration would act on.
    fn is_ticket(&self, word: &str) -> bool {
        let keyword = self.previous.trim_end_matches(':').to_ascii_lowercase();
        CLOSING.iter().any(|stem| keyword.starts_with(stem))
            && word.split_once('-').is_some_and(|(key, number)| {
                key.starts_with(|c: char| c.is_ascii_alphabetic())
                    && number.starts_with(|c: char| c.is_ascii_digit())
            })
    }

    /// Appends, joining adjacent texts and adjacent code.
    fn push(&mut self, event: Event) {
        match (self.out.last_mut(), &event) {
            (Some(Event::Text(last)), Event::Text(next))
            | (Some(Event::Code(last)), Event::Code(next)) => {
                last.push_str(next);
            }
            _ => self.out.push(event),
        }
    }
}

/// Stems of the words that close an issue when a reference follows.
const CLOSING: [&str; 5] = ["clos", "fix", "resolv", "implement", "complet"];

/// What a forge or a renderer would act on in text: mentions, references, commit hashes, addresses,
/// mathematics, and a few bracketed references of GitLab.
static ACTIVE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)
          @[\w.-]
        | [\#!&%]\d
        | \b(?:gh|gl)-\d
        | \$
        | ://
        | www\.
        | \b[0-9a-f]{7,}\b
        | /(?:issues|pulls?|merge_requests|discussions|commits?|epics|work_items)/[0-9a-f]
        | \[(?:issue|epic|work_item|vulnerability|feature_flag|wiki_page|contact|cadence|iteration|alert):
        | \[\[
        | ^::
        ",
    )
    .ok()
});

/// Says whether a forge would make something of this word.
pub(super) fn is_active(word: &str) -> bool {
    // A pattern that does not compile would disarm the check; then every word counts.
    ACTIVE.as_ref().is_none_or(|active| active.is_match(word))
}

/// Splits an active word into what stays text, what becomes code, and what stays text after it.
///
/// Sentence marks and brackets are left out of the code, unless they are part of what is active.
pub(super) fn around_active(word: &str, active: impl Fn(&str) -> bool) -> (&str, &str, &str) {
    [trim_punctuation(word, MARKS), trim_punctuation(word, &[])]
        .into_iter()
        .find(|(before, core, after)| active(core) && !is_active(before) && !is_active(after))
        .unwrap_or(("", word, ""))
}

/// Marks that end a sentence; they stand before a word only where other markup ended.
const MARKS: &[char] = &['.', ',', ';', ':', '!', '?'];
/// Brackets, quotes and emphasis.
const EDGES: &[char] = &[
    '(', ')', '[', ']', '{', '}', '<', '>', '"', '\'', '“', '”', '‘', '’', '«', '»', '*', '_', '~',
    '…',
];

/// Splits punctuation off both ends of a word, `leading` marks at its start included. A closing
/// bracket stays if its opening one does.
fn trim_punctuation<'a>(word: &'a str, leading: &[char]) -> (&'a str, &'a str, &'a str) {
    let at_start = |c: char| EDGES.contains(&c) || leading.contains(&c);
    let start = word
        .len()
        .saturating_sub(word.trim_start_matches(at_start).len());
    let (before, rest) = word.split_at_checked(start).unwrap_or(("", word));
    let mut core = rest;
    while let Some(last) = core
        .chars()
        .next_back()
        .filter(|c| EDGES.contains(c) || MARKS.contains(c))
    {
        let opening = match last {
            ')' => '(',
            ']' => '[',
            '}' => '{',
            '>' => '<',
            _ => '\0',
        };
        let count = |wanted: char| core.chars().filter(|&c| c == wanted).count();
        if opening != '\0' && count(opening) >= count(last) {
            break;
        }
        core = core.strip_suffix(last).unwrap_or_default();
    }
    let (core, after) = rest.split_at_checked(core.len()).unwrap_or((rest, ""));
    (before, core, after)
}

/// Code on one line in which no bot finds its name and no marker of ours stands.
pub(super) fn code_text(code: &str) -> String {
    let flat: String = visible(code)
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .collect();
    let flat = bots::break_mentions(&flat).unwrap_or(flat);
    break_markers(&flat).unwrap_or(flat)
}

/// Our hidden markers are comments that start with the product's name.
static MARKER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)<!--(\s*mirilla)").ok());

/// Breaks whatever looks like a marker of ours; `None` if nothing does.
pub(super) fn break_markers(text: &str) -> Option<String> {
    let marker = MARKER.as_ref()?;
    (text.contains("<!--") && marker.is_match(text))
        .then(|| marker.replace_all(text, "< !--$1").into_owned())
}
