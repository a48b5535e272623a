//! SARIF 2.1.0: what GitHub's code scanning and most editors read.
//!
//! One run with one rule for each category and check that was hit. A file that nobody read is a notification of
//! the invocation, so that an empty list of results is never mistaken for a clean change. No result has a
//! `security-severity`: that belongs to a rule, and the severity of a defect is the finding's own.
//!
//! Source: <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>, and what GitHub reads of it:
//! <https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning>.

use std::borrow::Cow;
use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde::Serialize;

use super::{Export, fingerprint, lines};
use crate::checks::Check;
use crate::plan::Item;
use crate::review::{Category, Coverage, Fate, Outcome, Severity};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// What a path may not hold as it is when it is a relative reference (RFC 3986, `pchar` and `/`); the colon, too,
/// which would make a scheme of a first segment.
const IN_PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b':')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'a> {
    tool: Tool<'a>,
    invocations: [Invocation<'a>; 1],
    results: Vec<Found<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    driver: Driver<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver<'a> {
    name: &'static str,
    semantic_version: &'a str,
    rules: Vec<Rule<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule<'a> {
    id: &'a str,
    short_description: Text<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation<'a> {
    execution_successful: bool,
    tool_execution_notifications: Vec<Notification<'a>>,
}

#[derive(Serialize)]
struct Notification<'a> {
    level: &'static str,
    message: Text<'a>,
    locations: [Location<'a>; 1],
}

/// A finding; the standard calls it a result.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Found<'a> {
    rule_id: &'a str,
    rule_index: usize,
    level: &'static str,
    message: Text<'a>,
    locations: [Location<'a>; 1],
    partial_fingerprints: BTreeMap<&'static str, String>,
    properties: Properties,
}

#[derive(Serialize)]
struct Properties {
    severity: Option<Severity>,
}

#[derive(Serialize)]
struct Text<'a> {
    text: Cow<'a, str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location<'a> {
    physical_location: PhysicalLocation<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation<'a> {
    artifact_location: ArtifactLocation<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactLocation<'a> {
    uri: Cow<'a, str>,
    uri_base_id: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
    end_line: u32,
}

/// Returns the log as pretty-printed JSON.
///
/// # Errors
///
/// None in practice: every field is a string or a number.
pub fn sarif(export: &Export<'_>) -> Result<String, serde_json::Error> {
    let mut ids: Vec<&str> = export
        .reported()
        .map(|item| item.category.as_str())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    let results = export.reported().map(|item| result(item, &ids)).collect();
    let unread = export.review.coverage.iter().filter_map(notification);
    let log = Log {
        schema: SCHEMA,
        version: "2.1.0",
        runs: [Run {
            tool: Tool {
                driver: Driver {
                    name: "Mirilla",
                    semantic_version: export.version,
                    rules: ids.iter().map(|id| rule(id)).collect(),
                },
            },
            invocations: [Invocation {
                execution_successful: export.review.outcome != Outcome::Failed,
                tool_execution_notifications: unread.collect(),
            }],
            results,
        }],
    };
    serde_json::to_string_pretty(&log)
}

fn rule(id: &str) -> Rule<'_> {
    let known = Category::parse(id).map(Category::explain);
    let explained = known.or_else(|| Check::parse(id).map(Check::explain));
    Rule {
        id,
        short_description: Text {
            text: Cow::Borrowed(explained.unwrap_or(id).trim()),
        },
    }
}

fn result<'a>(item: &'a Item, ids: &[&str]) -> Found<'a> {
    let text = if item.message.is_empty() {
        item.title.clone()
    } else {
        format!("{}\n\n{}", item.title, item.message)
    };
    let identity = fingerprint(item);
    Found {
        rule_id: &item.category,
        rule_index: ids
            .binary_search(&item.category.as_str())
            .unwrap_or_default(),
        level: level(item.severity),
        message: Text {
            text: Cow::Owned(plain(&text)),
        },
        locations: [location(&item.path, lines(item))],
        // The first is the one that GitHub compares, in the form it knows.
        partial_fingerprints: BTreeMap::from([
            ("primaryLocationLineHash", format!("{identity}:1")),
            ("mirilla/v1", identity),
        ]),
        properties: Properties {
            severity: item.severity,
        },
    }
}

fn notification(line: &Coverage) -> Option<Notification<'_>> {
    let (level, why) = match &line.fate {
        Fate::Reviewed | Fate::Carried => return None,
        Fate::Skipped(reason) => ("note", reason.explain()),
        Fate::Failed(reason) => ("warning", reason.explain()),
    };
    Some(Notification {
        level,
        message: Text {
            text: Cow::Owned(format!("not read: {why}")),
        },
        locations: [location(&line.path, None)],
    })
}

fn location(path: &str, lines: Option<(u32, u32)>) -> Location<'_> {
    Location {
        physical_location: PhysicalLocation {
            artifact_location: ArtifactLocation {
                uri: utf8_percent_encode(path, IN_PATH).into(),
                uri_base_id: "%SRCROOT%",
            },
            region: lines.map(|(start_line, end_line)| Region {
                start_line,
                end_line,
            }),
        },
    }
}

const fn level(severity: Option<Severity>) -> &'static str {
    match severity {
        Some(Severity::Critical | Severity::High) => "error",
        Some(Severity::Medium) => "warning",
        Some(Severity::Low) | None => "note",
    }
}

/// Keeps a text from being read as more than text: `[words](target)` is a link in a SARIF message, and `{0}` a
/// placeholder.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let links = text.contains("](");
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' | '[' | ']' if links => out.extend(['\\', c]),
            '{' if rest.peek().is_some_and(char::is_ascii_digit) => out.push_str("{{"),
            _ => out.push(c),
        }
    }
    out
}
