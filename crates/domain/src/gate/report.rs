//! What a check says, as plain values: sanitised already, and within the forge's limits.
//!
//! **Invariant:** a report holds no untrusted text that did not pass the gate between such text and what is
//! posted; the machine-readable line holds numbers and codes of closed lists alone.

use serde::{Deserialize, Serialize};

use super::{Cause, Conclusion, Counted, Ruling, Verdict};
use crate::escape;
use crate::settings::OnInconclusive;

/// How the one machine-readable line of a summary begins: an HTML comment, followed by one JSON object.
pub const MACHINE_LINE: &str = "<!-- mirilla.gate.v1 ";

/// How loud an annotation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The check fails because of it.
    Failure,
    /// It is open and does not count.
    Warning,
}

impl Level {
    /// Returns GitHub's name for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Failure => "failure",
            Self::Warning => "warning",
        }
    }
}

/// A finding at its place, on the new side of the diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotation {
    /// The file as the forge names it.
    pub path: String,
    /// The first line, from 1.
    pub first: u32,
    /// The last line, not before the first.
    pub last: u32,
    /// How loud.
    pub level: Level,
    /// One line, at most 255 characters.
    pub title: String,
    /// The explanation, at most 4,000 characters.
    pub message: String,
}

/// A check as it is to be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// What the gate says, and why.
    pub verdict: Verdict,
    /// What is written when that is inconclusive.
    pub on_inconclusive: OnInconclusive,
    /// One line.
    pub title: String,
    /// Markdown: why, the open findings, the files.
    pub summary: String,
    /// Open findings on lines.
    pub annotations: Vec<Annotation>,
    /// What it rests on, for the log; nothing if no change was read for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
}

/// What a verdict rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Basis {
    /// Changed files.
    pub files: usize,
    /// Those that were read for it, or carried over.
    pub read: usize,
    /// Those of them that an earlier review had read, at exactly these bytes.
    pub carried: usize,
    /// Those that were left out.
    pub skipped: usize,
    /// Findings that do not count because somebody declined them.
    pub declined: usize,
    /// Who did, each once. A forge's login.
    pub declined_by: Vec<String>,
}

impl Basis {
    /// Returns how much of it is not a reading: work of an earlier run, or a person's word.
    pub const fn of(&self, trust: Trust) -> usize {
        match trust {
            Trust::Carried => self.carried,
            Trust::Declined => self.declined,
        }
    }
}

/// What a pass may rest on beside a reading of the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Trust {
    /// Files that an earlier review read.
    Carried,
    /// Findings that somebody declined.
    Declined,
}

impl Trust {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Carried, Self::Declined];

    /// Returns the stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Carried => "carried",
            Self::Declined => "declined",
        }
    }
}

impl std::fmt::Display for Basis {
    /// Writes it for a line of the log: `files=3 read=2 carried=1 skipped=1 declined=1 by wanda`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            files,
            read,
            carried,
            skipped,
            declined,
            ..
        } = self;
        write!(
            f,
            "files={files} read={read} carried={carried} skipped={skipped} declined={declined}"
        )?;
        for (at, login) in self.declined_by.iter().enumerate() {
            let before = if at == 0 { " by " } else { ", " };
            write!(f, "{before}{}", escape::terminal(login))?;
        }
        Ok(())
    }
}

impl CheckReport {
    /// Returns a report without anything of the change in it.
    pub fn plain(verdict: Verdict, on_inconclusive: OnInconclusive) -> Self {
        let machine = machine_line(&verdict, &[]);
        Self {
            title: title(&verdict),
            summary: format!("{}\n\n{machine}", reasons(&verdict)),
            verdict,
            on_inconclusive,
            annotations: Vec::new(),
            basis: None,
        }
    }

    /// Returns the report with another pull request's verdict about the same commit in it: the worst counts.
    #[must_use]
    pub fn beside(mut self, other: Option<Ruling>) -> Self {
        let cause = match other {
            None => Cause::OtherUnread,
            Some(ruling) => Cause::Other(ruling),
        };
        if cause.ruling() == Ruling::Pass {
            return self;
        }
        self.verdict = self.verdict.and(Counted::once(cause));
        self.title = title(&self.verdict);
        self.summary = format!("{}.\n\n{}", capital(cause.explain()), self.summary);
        self
    }

    /// Returns what is written on the forge.
    pub const fn conclusion(&self) -> Conclusion {
        self.verdict.ruling.conclusion(self.on_inconclusive)
    }
}

/// `Fail: a high finding is open`, `Pass: nothing was found`.
pub(crate) fn title(verdict: &Verdict) -> String {
    let name = match verdict.ruling {
        Ruling::Pass => {
            return "Pass: everything was read, and nothing that counts is open".to_owned();
        }
        Ruling::Inconclusive => "Inconclusive",
        Ruling::Fail => "Fail",
    };
    let why = verdict
        .causes
        .first()
        .map_or("", |counted| counted.cause.explain());
    let more = match verdict.causes.len() {
        0 | 1 => String::new(),
        n => format!(", and {} more", n.saturating_sub(1)),
    };
    format!("{name}: {why}{more}")
}

/// The ruling and its causes as Markdown, all of it our own words.
pub(crate) fn reasons(verdict: &Verdict) -> String {
    let first = match verdict.ruling {
        Ruling::Pass => {
            "**Pass.** Every changed file was read or left out by a trusted rule, and nothing that counts is open. That is no approval."
        }
        Ruling::Inconclusive => "**Inconclusive.** That is neither a pass nor a defect:",
        Ruling::Fail => "**Fail.**",
    };
    let mut lines = vec![first.to_owned()];
    lines.extend(verdict.causes.iter().map(|counted| {
        let count = match (counted.cause.counts(), counted.count) {
            ("", _) => String::new(),
            (what, 1) => format!("1 {what}: "),
            (what, n) => format!("{n} {what}s: "),
        };
        format!("- {count}{}", counted.cause.explain())
    }));
    lines.join("\n")
}

/// The counts for programs: one line, numbers and codes alone.
pub(crate) fn machine_line(verdict: &Verdict, more: &[(&'static str, usize)]) -> String {
    let mut line = serde_json::Map::new();
    line.insert("verdict".to_owned(), verdict.ruling.as_str().into());
    for (name, count) in more {
        line.insert((*name).to_owned(), (*count).into());
    }
    let causes: serde_json::Map<String, serde_json::Value> = verdict
        .causes
        .iter()
        .map(|counted| (counted.cause.code().to_owned(), counted.count.into()))
        .collect();
    line.insert("causes".to_owned(), causes.into());
    format!("{MACHINE_LINE}{} -->", serde_json::Value::Object(line))
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}
