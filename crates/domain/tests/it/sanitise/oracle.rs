//! Judges text that is to be posted, from outside: what is still live after a renderer?
//!
//! Three passes. The *tree* pass renders with comrak, once as GitHub does and once as GitLab does, and
//! allows only the nodes that the sanitiser may produce. The *text* pass looks into the rendered text
//! outside code and links, where forges look for mentions and references. The *raw* pass looks at
//! lines as other bots see them. None of them shares code with the sanitiser.

use std::sync::LazyLock;

use comrak::nodes::{AstNode, NodeValue};
use comrak::{Arena, Options, parse_document};
use regex::Regex;

/// Text appended to the output: it must stay a paragraph of its own.
const SENTINEL: &str = "SENTINEL-FOOTER";

/// Bots that the raw pass knows, besides slash commands; deliberately a list of its own.
const BOTS: [&str; 14] = [
    "dependabot",
    "bors",
    "mergifyio",
    "rustbot",
    "renovate",
    "coderabbitai",
    "claude",
    "copilot",
    "codex",
    "gemini-code-assist",
    "cursor",
    "swift-ci",
    "pytorchbot",
    "homu",
];

/// Returns every violation found in `text`; empty means safe.
pub(crate) fn violations(text: &str, hosts: &[&str]) -> Vec<String> {
    let mut bad = Vec::new();
    for (forge, options) in [("github", github()), ("gitlab", gitlab())] {
        let mut found = Vec::new();
        tree(text, &options, hosts, &mut found);
        bad.extend(found.into_iter().map(|what| format!("{forge}: {what}")));
    }
    raw(text, &mut bad);
    bad
}

/// The plain text a reader sees, blocks separated by line feeds.
pub(crate) fn visible_text(text: &str) -> String {
    let arena = Arena::new();
    let root = parse_document(&arena, text, &github());
    let mut out = String::new();
    for node in root.descendants() {
        match &node.data.borrow().value {
            NodeValue::Text(text) => out.push_str(text),
            NodeValue::Code(code) => out.push_str(&code.literal),
            NodeValue::CodeBlock(block) => out.push_str(&block.literal),
            NodeValue::SoftBreak
            | NodeValue::LineBreak
            | NodeValue::Paragraph
            | NodeValue::TableCell => {
                out.push('\n');
            }
            _ => {}
        }
    }
    out
}

/// Renders to HTML as GitHub does, raw HTML let through.
pub(crate) fn html(text: &str) -> String {
    let mut options = github();
    options.render.r#unsafe = true;
    comrak::markdown_to_html(text, &options)
}

/// Options close to GitHub's renderer.
pub(crate) fn github() -> Options<'static> {
    let mut options = Options::default();
    let ext = &mut options.extension;
    ext.autolink = true;
    ext.strikethrough = true;
    ext.table = true;
    ext.tasklist = true;
    ext.footnotes = true;
    ext.alerts = true;
    ext.math_dollars = true;
    ext.math_code = true;
    options
}

/// Options close to GitLab's renderer.
fn gitlab() -> Options<'static> {
    let mut options = github();
    let ext = &mut options.extension;
    ext.description_lists = true;
    ext.inline_footnotes = true;
    ext.multiline_block_quotes = true;
    ext.wikilinks_title_before_pipe = true;
    options.parse.relaxed_autolinks = true;
    options.parse.relaxed_tasklist_matching = true;
    options.extension.front_matter_delimiter = Some("---".to_owned());
    options
}

fn tree(text: &str, options: &Options<'static>, hosts: &[&str], bad: &mut Vec<String>) {
    let arena = Arena::new();
    let with_footer = format!("{text}\n\n{SENTINEL}\n");
    let root = parse_document(&arena, &with_footer, options);
    for node in root.descendants() {
        let data = node.data.borrow();
        match &data.value {
            NodeValue::Document
            | NodeValue::Paragraph
            | NodeValue::Text(_)
            | NodeValue::Code(_)
            | NodeValue::List(_)
            | NodeValue::Item(_)
            | NodeValue::BlockQuote
            | NodeValue::Table(_)
            | NodeValue::TableRow(_)
            | NodeValue::TableCell
            | NodeValue::Emph
            | NodeValue::Strong
            | NodeValue::Strikethrough
            | NodeValue::SoftBreak
            | NodeValue::LineBreak => {}
            NodeValue::CodeBlock(block) => {
                if !block.fenced {
                    bad.push("indented code".to_owned());
                }
                if ACTIVE_FENCE.is_match(&block.info) {
                    bad.push(format!("active fence {:?}", block.info));
                }
            }
            NodeValue::Link(link) => {
                let url = link.url.to_ascii_lowercase();
                let host = url
                    .strip_prefix("https://")
                    .or_else(|| url.strip_prefix("http://"));
                let host = host
                    .and_then(|rest| rest.split(['/', '?', '#']).next())
                    .unwrap_or_default();
                if !hosts.contains(&host) {
                    bad.push(format!("link to {url:?}"));
                }
                if REFERENCE_URL.is_match(&url) {
                    bad.push(format!("link to reference {url:?}"));
                }
            }
            other => bad.push(format!("node {other:?}")),
        }
    }
    let last = root.last_child().map(|node| {
        let is_paragraph = matches!(node.data.borrow().value, NodeValue::Paragraph);
        let mut texts = Vec::new();
        segments(node, &mut texts);
        (is_paragraph, texts.concat())
    });
    if last != Some((true, SENTINEL.to_owned())) {
        bad.push(format!("footer swallowed: {last:?}"));
    }
    let mut blocks = Vec::new();
    for node in root.descendants() {
        if matches!(
            node.data.borrow().value,
            NodeValue::Paragraph | NodeValue::TableCell
        ) {
            let mut texts = Vec::new();
            segments(node, &mut texts);
            blocks.push(texts);
        }
    }
    for texts in blocks {
        // Tags inside a word do not protect it, so the joined text counts too.
        for candidate in texts.iter().cloned().chain([texts.concat()]) {
            live_text(&candidate, bad);
        }
    }
}

/// The text nodes below `node` outside code and links, each of which leaves a space.
fn segments<'a>(node: &'a AstNode<'a>, out: &mut Vec<String>) {
    match &node.data.borrow().value {
        NodeValue::Text(text) => out.push(text.to_string()),
        NodeValue::Code(_) | NodeValue::Link(_) | NodeValue::Image(_) => {
            out.push(" ".to_owned());
            return;
        }
        NodeValue::SoftBreak | NodeValue::LineBreak => out.push("\n".to_owned()),
        _ => {}
    }
    for child in node.children() {
        segments(child, out);
    }
}

static ACTIVE_FENCE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)suggestion|mermaid|math|geojson|topojson|stl|plantuml|kroki|glql|json:table|include|toc|graphviz|dot|vega").unwrap()
});
static REFERENCE_URL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)/(?:issues|pull|merge_requests|discussions|commit|work_items|epics)/[0-9a-f]")
        .unwrap()
});
static LIVE: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    let rules = [
        ("mention", r"(?:^|[^A-Za-z0-9_/.@\-])@[A-Za-z0-9_]"),
        ("email", r"[A-Za-z0-9._+-]+@[A-Za-z0-9-]+\.[A-Za-z]"),
        (
            "reference",
            r"(?:^|[^\w&/])(?:[A-Za-z0-9-]+/[A-Za-z0-9._-]+)?#\d+\b",
        ),
        ("project reference", r"[A-Za-z0-9_.-]+[#!&]\d+\b"),
        ("gh reference", r"(?i)\bG[HL]-\d+\b"),
        ("merge request", r"(?:^|[^\w&/])![0-9]+\b"),
        ("epic", r"(?:^|[^\w])&[0-9]+\b"),
        (
            "issue url",
            r"(?i)\w\.\w+/[^\s/]+/[^\s/]+/(?:-/)?(?:issues|pull|merge_requests)/\d+",
        ),
        ("url", r"(?i)\bhttps?://|\bwww\.\w|\w://\w"),
        ("commit", r"(?i)\b[0-9a-f]{7,40}\b"),
        (
            "closing",
            r"(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|implement(?:s|ed)?)\b:?\s+(?:issue\s+)?(?:[\w.-]+/[\w.-]+)?(?:#\d+|https?://\S+/issues/\d+)",
        ),
        (
            "gitlab reference",
            r"(?i)\[(?:issue|epic|work_item|vulnerability|feature_flag):",
        ),
        ("wiki link", r"\[\["),
        ("math", r"\$"),
    ];
    rules
        .into_iter()
        .map(|(name, rule)| (name, Regex::new(rule).unwrap()))
        .collect()
});

fn live_text(text: &str, bad: &mut Vec<String>) {
    for (name, rule) in LIVE.iter() {
        if let Some(found) = rule.find(text) {
            bad.push(format!("{name}: {:?} in {text:?}", found.as_str()));
        }
    }
}

static RAW_MARKER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?i)<!--\s*mirilla").unwrap());
static RAW_COMMAND: LazyLock<Regex> = LazyLock::new(|| {
    let bots = BOTS.join("|");
    // A slash command is a slash and a word that is not the start of a path.
    Regex::new(&format!(
        r"(?i)^[\s>]*(?:/[a-z][a-z0-9_-]*(?:$|[^a-z0-9_/-])|/(?:merge|approve|close|lgtm)\b|@(?:{bots})\b|bors\b|r\?\s*@|\+r\b|!merge\b)"
    ))
    .unwrap()
});
static RAW_MENTION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(&format!(r"(?i)@(?:{})\b", BOTS.join("|"))).unwrap());

/// Looks at lines as a bot does that knows no Markdown.
fn raw(text: &str, bad: &mut Vec<String>) {
    for line in text.split('\n') {
        if RAW_COMMAND.is_match(line) {
            bad.push(format!("command line {line:?}"));
        }
        // In code spans a known bot's name may stand only where the span starts with it.
        for found in RAW_MENTION.find_iter(line) {
            let before = line[..found.start()].chars().next_back();
            if before.is_none_or(char::is_whitespace) {
                bad.push(format!("bot named in {line:?}"));
            }
        }
    }
    if let Some(found) = RAW_MARKER.find(text) {
        bad.push(format!("marker {:?}", found.as_str()));
    }
    let hidden: Vec<char> = text.chars().filter(|&c| is_hidden(c)).collect();
    if !hidden.is_empty() {
        bad.push(format!("hidden characters {hidden:?}"));
    }
}

/// The invisible set of the cases' own checker, and control characters.
fn is_hidden(c: char) -> bool {
    const SETS: [(u32, u32); 17] = [
        (0x00AD, 0x00AD),
        (0x034F, 0x034F),
        (0x061C, 0x061C),
        (0x115F, 0x1160),
        (0x17B4, 0x17B5),
        (0x180B, 0x180E),
        (0x200B, 0x200F),
        (0x2028, 0x202E),
        (0x2060, 0x2064),
        (0x2066, 0x206F),
        (0x3164, 0x3164),
        (0xFE00, 0xFE0E),
        (0xFEFF, 0xFEFF),
        (0xFFA0, 0xFFA0),
        (0xFFF9, 0xFFFB),
        (0xE0000, 0xE0FFF),
        (0x7F, 0x9F),
    ];
    let code = u32::from(c);
    (code < 32 && c != '\n' && c != '\t')
        || SETS.iter().any(|&(low, high)| (low..=high).contains(&code))
}

/// The info string and content of the only block of `text`, which must be a code block.
pub(crate) fn only_code_block(text: &str) -> (String, String) {
    let arena = Arena::new();
    let root = parse_document(&arena, text, &github());
    assert_eq!(root.children().count(), 1, "{text}");
    let block = root.first_child().unwrap().data.borrow();
    let NodeValue::CodeBlock(block) = &block.value else {
        panic!("not a code block: {text}")
    };
    (block.info.clone(), block.literal.clone())
}
