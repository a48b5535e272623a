//! Reads the inline part of Markdown: code spans, emphasis, links, entities, escapes.
//!
//! Deliberately smaller than `CommonMark`: whatever is not recognised here is text, and text is
//! escaped when it is written. Emphasis counts only where it starts and ends at the edge of a word,
//! so that no mention or reference can hide across a boundary of two text nodes.

use std::collections::BTreeMap;

use super::{entity, html, neutral};

/// How many unclosed emphasis markers are remembered; later ones are text.
const MAX_OPEN: usize = 32;
/// Longest link text and longest link target that are looked for, in characters.
const MAX_LINK_TEXT: usize = 400;
const MAX_LINK_TARGET: usize = 2_000;
/// Longest run of backticks that can fence a code span.
pub(super) const MAX_TICKS: usize = 64;

/// A piece of inline Markdown, decoded: no escapes and entities are left in its strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Inline {
    /// Text as the reader sees it.
    Text(String),
    /// A code span's content.
    Code(String),
    /// A line break in the source.
    Break,
    /// Emphasised content.
    Span(Style, Vec<Self>),
    /// A link or an image: what is shown, and the target as written.
    Link(Vec<Self>, String),
}

/// A kind of emphasis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Italics.
    Emph,
    /// Bold.
    Strong,
    /// Struck through.
    Strike,
}

impl Style {
    /// The marker that is written. Italics use an underscore so that no run of asterisks is ambiguous.
    pub(super) const fn marker(self) -> &'static str {
        match self {
            Self::Emph => "_",
            Self::Strong => "**",
            Self::Strike => "~~",
        }
    }
}

/// Reads inline Markdown; line feeds in `text` become [`Inline::Break`].
pub(super) fn parse(text: &str) -> Vec<Inline> {
    let chars: Vec<char> = text.chars().collect();
    Lexer::new(&chars).run(true)
}

/// One step of the tree builder.
enum Node {
    Done(Inline),
    Open(char, usize),
}

/// A cursor over the characters of one paragraph.
struct Lexer<'a> {
    chars: &'a [char],
    at: usize,
    /// Start positions of backtick runs, by length.
    ticks: BTreeMap<usize, Vec<usize>>,
    nodes: Vec<Node>,
    /// Indices into `nodes` of markers that may still be closed.
    open: Vec<usize>,
    text: String,
}

impl<'a> Lexer<'a> {
    fn new(chars: &'a [char]) -> Self {
        let mut ticks: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut at = 0_usize;
        while let Some(&c) = chars.get(at) {
            if c == '`' {
                let len = run_length(chars, at, '`');
                ticks.entry(len).or_default().push(at);
                at = at.saturating_add(len);
            } else {
                at = at.saturating_add(1);
            }
        }
        Self {
            chars,
            at: 0,
            ticks,
            nodes: Vec::new(),
            open: Vec::new(),
            text: String::new(),
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at.saturating_add(ahead)).copied()
    }

    fn run(mut self, links: bool) -> Vec<Inline> {
        while let Some(c) = self.peek(0) {
            let taken = match c {
                '\\' => self.escape(),
                '`' => self.code(),
                '&' => self.entity(),
                '\n' => self.line_break(),
                '<' => self.angle(),
                '*' | '_' | '~' => self.marker(c),
                '!' if links && self.peek(1) == Some('[') => self.link(1),
                '[' if links => self.link(0),
                _ => 0,
            };
            if taken == 0 {
                self.text.push(if c.is_whitespace() { ' ' } else { c });
                self.at = self.at.saturating_add(1);
            } else {
                self.at = self.at.saturating_add(taken);
            }
        }
        self.flush();
        let mut out = Vec::with_capacity(self.nodes.len());
        for node in self.nodes {
            push(&mut out, close(node));
        }
        out
    }

    /// Moves pending text into the node list.
    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.nodes
                .push(Node::Done(Inline::Text(std::mem::take(&mut self.text))));
        }
    }

    fn done(&mut self, inline: Inline) {
        self.flush();
        self.nodes.push(Node::Done(inline));
    }

    fn escape(&mut self) -> usize {
        match self.peek(1) {
            Some(next) if next.is_ascii_punctuation() => {
                self.text.push(next);
                2
            }
            // A backslash at the end of a line is a hard break; only the break is kept.
            Some('\n') => {
                self.done(Inline::Break);
                2
            }
            _ => 0,
        }
    }

    fn line_break(&mut self) -> usize {
        self.done(Inline::Break);
        1
    }

    fn code(&mut self) -> usize {
        let len = run_length(self.chars, self.at, '`');
        let from = self.at.saturating_add(len);
        let closer = (len <= MAX_TICKS)
            .then(|| self.ticks.get(&len))
            .flatten()
            .and_then(|starts| {
                let index = starts.partition_point(|&start| start < from);
                starts.get(index).copied()
            });
        let Some(end) = closer else {
            self.text.extend(std::iter::repeat_n('`', len));
            return len;
        };
        let inner: String = self
            .chars
            .get(from..end)
            .unwrap_or_default()
            .iter()
            .collect();
        self.done(Inline::Code(code_content(&inner)));
        end.saturating_add(len).saturating_sub(self.at)
    }

    fn entity(&mut self) -> usize {
        let Some((c, len)) = entity::decode(self.chars.get(self.at..).unwrap_or_default()) else {
            return 0;
        };
        if c.is_whitespace() {
            self.text.push(' ');
        } else {
            // An entity can name a character that a reader would not see.
            let mut buffer = [0_u8; 4];
            self.text
                .push_str(&crate::escape::visible(c.encode_utf8(&mut buffer)));
        }
        len
    }

    /// `<https://…>`, `<name@host>`, `<br>`, and HTML, which is shown as code; anything else in angle
    /// brackets is text.
    fn angle(&mut self) -> usize {
        if let Some(len) = html::tag(self.chars.get(self.at..).unwrap_or_default()) {
            let end = self.at.saturating_add(len);
            let tag: String = self
                .chars
                .get(self.at..end)
                .unwrap_or_default()
                .iter()
                .collect();
            let before = self.at.checked_sub(1).and_then(|at| self.chars.get(at));
            if html::is_break(&tag) {
                self.done(Inline::Break);
                return len;
            }
            // `Map<a>` is a type.
            if self.peek(1) == Some('/') || before.is_none_or(|c| !c.is_alphanumeric()) {
                self.done(Inline::Code(tag));
                return len;
            }
        }
        let rest = self
            .chars
            .get(self.at.saturating_add(1)..)
            .unwrap_or_default();
        let limit = rest.get(..MAX_LINK_TARGET).unwrap_or(rest);
        let Some(end) = limit
            .iter()
            .position(|&c| c == '>' || c == '<' || c == '\n')
        else {
            return 0;
        };
        if rest.get(end) != Some(&'>') {
            return 0;
        }
        let inner: String = rest.get(..end).unwrap_or_default().iter().collect();
        let taken = end.saturating_add(2);
        if inner.chars().any(char::is_whitespace) || !(has_scheme(&inner) || is_email(&inner)) {
            return 0;
        }
        self.done(Inline::Link(Vec::new(), inner));
        taken
    }

    fn marker(&mut self, c: char) -> usize {
        let len = run_length(self.chars, self.at, c);
        let end = self.at.saturating_add(len);
        let known = match c {
            '~' => len == 2,
            _ => len <= 3,
        };
        let literal = |lexer: &mut Self| {
            lexer.text.extend(std::iter::repeat_n(c, len));
            len
        };
        if !known {
            return literal(self);
        }
        let before = self
            .at
            .checked_sub(1)
            .and_then(|at| self.chars.get(at))
            .copied();
        let after = self.chars.get(end).copied();
        let outer_before = self
            .chars
            .get(..self.at)
            .unwrap_or_default()
            .iter()
            .rev()
            .copied();
        let outer_after = self.chars.get(end..).unwrap_or_default().iter().copied();
        // Asterisks and tildes also stand between letters of scripts that use no spaces.
        let loose = c != '_' && len == 2;
        let can_close = before.is_some_and(|b| !b.is_whitespace())
            && outer(outer_after).is_none_or(|o| closes(o) || (loose && wide(o, before)));
        let can_open = after.is_some_and(|a| !a.is_whitespace())
            && outer(outer_before).is_none_or(|o| opens(o) || (loose && wide(o, after)));
        if can_close && self.close_span(c, len) {
            return len;
        }
        if can_open && self.open.len() < MAX_OPEN {
            self.flush();
            self.open.push(self.nodes.len());
            self.nodes.push(Node::Open(c, len));
            return len;
        }
        literal(self)
    }

    /// Wraps everything since the nearest marker of the same kind; says whether there was one.
    fn close_span(&mut self, c: char, len: usize) -> bool {
        let nodes = &self.nodes;
        let found = self.open.iter().rposition(
            |&at| matches!(nodes.get(at), Some(Node::Open(oc, ol)) if *oc == c && *ol == len),
        );
        let Some(depth) = found else { return false };
        let Some(&start) = self.open.get(depth) else {
            return false;
        };
        if self.text.is_empty() && start.saturating_add(1) >= self.nodes.len() {
            return false;
        }
        self.flush();
        self.open.truncate(depth);
        let mut children = Vec::new();
        for node in self.nodes.drain(start..).skip(1) {
            push(&mut children, close(node));
        }
        let span = match (c, len) {
            // `__init__` is a name, however it would be rendered.
            ('_', 2) if is_identifier(&children) => {
                Inline::Code(format!("__{}__", neutral::plain(&children)))
            }
            ('~', _) => Inline::Span(Style::Strike, children),
            (_, 1) => Inline::Span(Style::Emph, children),
            (_, 2) => Inline::Span(Style::Strong, children),
            _ => Inline::Span(Style::Strong, vec![Inline::Span(Style::Emph, children)]),
        };
        self.nodes.push(Node::Done(span));
        true
    }

    /// `[text](target "title")`, with `bang` = 1 for an image. Reference links are text: nothing
    /// posted defines a reference.
    fn link(&mut self, bang: usize) -> usize {
        let from = self.at.saturating_add(bang).saturating_add(1);
        let Some(end) = self.closing_bracket(from) else {
            return 0;
        };
        if self.chars.get(end.saturating_add(1)) != Some(&'(') {
            return 0;
        }
        let Some((target, after)) = target(self.chars, end.saturating_add(2)) else {
            return 0;
        };
        let inner = self.chars.get(from..end).unwrap_or_default();
        // An image inside a link's text is kept as a link of its own, to show its target too.
        let inner = Lexer::new(inner).run(bang == 0);
        self.done(Inline::Link(inner, target));
        after.saturating_sub(self.at)
    }

    /// Finds the bracket that closes the one before `from`, over nested brackets and code spans.
    fn closing_bracket(&self, from: usize) -> Option<usize> {
        let mut depth = 0_usize;
        let mut at = from;
        while at.saturating_sub(from) < MAX_LINK_TEXT {
            match self.chars.get(at)? {
                '\\' => at = at.saturating_add(1),
                '`' => {
                    let len = run_length(self.chars, at, '`');
                    let next = at.saturating_add(len);
                    let starts = self.ticks.get(&len).map(Vec::as_slice).unwrap_or_default();
                    let index = starts.partition_point(|&start| start < next);
                    let end = starts
                        .get(index)
                        .map_or(next, |start| start.saturating_add(len));
                    at = end.saturating_sub(1);
                }
                '[' => depth = depth.saturating_add(1),
                ']' if depth == 0 => return Some(at),
                ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            at = at.saturating_add(1);
        }
        None
    }
}

/// Reads a link target from just after `(`; returns it and the position after `)`.
fn target(chars: &[char], from: usize) -> Option<(String, usize)> {
    let mut at = skip_space(chars, from);
    let mut out = String::new();
    if chars.get(at) == Some(&'<') {
        at = at.saturating_add(1);
        loop {
            match chars.get(at)? {
                '>' => break,
                '\n' | '<' => return None,
                _ => at = push_decoded(chars, at, &mut out),
            }
            if out.len() > MAX_LINK_TARGET {
                return None;
            }
        }
        at = at.saturating_add(1);
    } else {
        let mut depth = 0_usize;
        loop {
            match *chars.get(at)? {
                '(' => depth = depth.saturating_add(1),
                ')' if depth == 0 => break,
                ')' => depth = depth.saturating_sub(1),
                c if c.is_whitespace() => break,
                _ => {}
            }
            at = push_decoded(chars, at, &mut out);
            if out.len() > MAX_LINK_TARGET {
                return None;
            }
        }
    }
    at = skip_space(chars, at);
    if let Some(&quote) = chars.get(at).filter(|c| matches!(c, '"' | '\'' | '(')) {
        let closing = if quote == '(' { ')' } else { quote };
        let rest = chars.get(at.saturating_add(1)..).unwrap_or_default();
        let rest = rest.get(..MAX_LINK_TARGET).unwrap_or(rest);
        let end = rest.iter().position(|&c| c == closing)?;
        at = skip_space(chars, at.saturating_add(end).saturating_add(2));
    }
    (chars.get(at) == Some(&')')).then(|| (out, at.saturating_add(1)))
}

/// Appends the character at `at`, escapes and entities decoded, and returns the next position.
fn push_decoded(chars: &[char], at: usize, out: &mut String) -> usize {
    let next = chars.get(at.saturating_add(1)).copied();
    match chars.get(at).copied() {
        Some('\\') if next.is_some_and(|c| c.is_ascii_punctuation()) => {
            out.extend(next);
            at.saturating_add(2)
        }
        Some('&') => {
            let rest = chars.get(at..).unwrap_or_default();
            if let Some((c, len)) = entity::decode(rest) {
                out.push(c);
                at.saturating_add(len)
            } else {
                out.push('&');
                at.saturating_add(1)
            }
        }
        c => {
            out.extend(c);
            at.saturating_add(1)
        }
    }
}

fn skip_space(chars: &[char], from: usize) -> usize {
    let rest = chars.get(from..).unwrap_or_default();
    from.saturating_add(rest.iter().take_while(|c| c.is_whitespace()).count())
}

/// Counts how often `c` repeats from `at`.
fn run_length(chars: &[char], at: usize, c: char) -> usize {
    chars
        .get(at..)
        .unwrap_or_default()
        .iter()
        .take_while(|&&x| x == c)
        .count()
}

/// The content of a code span: line feeds are spaces, one space of padding on both sides is dropped.
fn code_content(raw: &str) -> String {
    let flat: String = raw
        .chars()
        .map(|c| if c == '\n' { ' ' } else { c })
        .collect();
    let stripped = flat
        .strip_prefix(' ')
        .and_then(|rest| rest.strip_suffix(' '));
    match stripped {
        Some(inner) if !inner.trim().is_empty() => inner.to_owned(),
        _ => flat,
    }
}

/// The first character of `around` that is not itself an emphasis marker.
fn outer(mut around: impl Iterator<Item = char>) -> Option<char> {
    around.find(|c| !matches!(c, '*' | '_' | '~'))
}

/// Characters before which emphasis may end.
fn closes(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '.' | ',' | ';' | ':' | '!' | '?' | ')' | ']' | '}' | '"' | '\'' | '`'
        )
        || matches!(
            c,
            '’' | '”'
                | '»'
                | '—'
                | '–'
                | '…'
                | '。'
                | '，'
                | '、'
                | '：'
                | '；'
                | '！'
                | '？'
                | '）'
        )
}

/// Characters after which emphasis may start.
fn opens(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '(' | '['
                | '{'
                | '"'
                | '\''
                | '`'
                | '‘'
                | '“'
                | '«'
                | '—'
                | '–'
                | '（'
                | '：'
                | '，'
                | '。'
        )
}

/// Both sides of a marker are letters of a script such as Chinese or Japanese.
fn wide(outer: char, inner: Option<char>) -> bool {
    !outer.is_ascii() && outer.is_alphanumeric() && inner.is_some_and(char::is_alphanumeric)
}

/// Starts with a URI scheme of at least two letters.
fn has_scheme(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, _)| {
        (2..=32).contains(&scheme.len())
            && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '.' | '-'))
    })
}

/// Has the form of an e-mail address, as far as Markdown would link it.
fn is_email(text: &str) -> bool {
    text.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty()
            && host.contains('.')
            && host
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))
    })
}

/// Turns a marker that was never closed back into text.
fn close(node: Node) -> Inline {
    match node {
        Node::Done(inline) => inline,
        Node::Open(c, len) => Inline::Text(std::iter::repeat_n(c, len).collect()),
    }
}

/// One word of letters, digits and underscores.
fn is_identifier(inlines: &[Inline]) -> bool {
    matches!(inlines, [Inline::Text(text)] if text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

/// Appends, joining adjacent text.
fn push(out: &mut Vec<Inline>, inline: Inline) {
    if let (Some(Inline::Text(last)), Inline::Text(next)) = (out.last_mut(), &inline) {
        last.push_str(next);
    } else {
        out.push(inline);
    }
}
