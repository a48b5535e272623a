//! Which answer a request gets.
//!
//! **Invariant:** an answer that was scripted and not asked for fails the test.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use super::prompt::Prompt;

/// What the model says to one request, and how that travels.
pub struct Scripted {
    pub(super) says: Says,
    /// Thinking that is charged as output and comes before the text.
    pub(super) thinking_tokens: u64,
    pub(super) report: Report,
    pub(super) travel: Travel,
}

/// Writes an answer to a prompt.
pub(super) type Compose = Box<dyn FnOnce(&Prompt) -> Composed + Send>;

pub(super) enum Says {
    /// A message.
    Message(Compose),
    /// Bytes instead of a message.
    Raw(Raw),
}

/// A message before it is cut, counted and wrapped.
#[derive(Debug, Clone)]
pub(super) struct Composed {
    pub(super) blocks: Vec<Value>,
    pub(super) stop: String,
    pub(super) details: Value,
}

/// A reply that is not a message.
#[derive(Debug, Clone)]
pub(super) struct Raw {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: String,
    /// Output tokens the provider charges beside the prompt; `None` if it charges nothing.
    pub(super) charged_output: Option<u64>,
}

/// What the answer says about its usage. The provider's own books are right in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    Right,
    Missing,
    Zero,
    WithoutInput,
}

/// How the reply travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Travel {
    Whole,
    /// The connection drops before the request is looked at.
    DropBefore,
    /// The connection drops after the answer was written and charged.
    DropAfter,
    /// The first byte comes late.
    Late(Duration),
    /// The body comes in small pieces with a pause before each.
    Slow {
        chunk: usize,
        pause: Duration,
    },
    /// The body breaks off after so many bytes.
    Cut(usize),
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let says = match &self.says {
            Says::Message(_) => "a message".to_owned(),
            Says::Raw(raw) => format!("status {}", raw.status),
        };
        write!(f, "{says} ({:?}, {:?})", self.report, self.travel)
    }
}

/// What a request is about. Scripts are about code unless they say otherwise: the questions that follow are
/// answered by themselves, with nothing to add and nothing to take back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    /// A part of a change, or something of which the simulator knows nothing.
    Code,
    /// Whether the change does what its author says.
    Intent,
    /// Whether findings hold.
    Findings,
}

impl About {
    fn of(prompt: &Prompt) -> Self {
        let verdicts = prompt
            .schema
            .as_ref()
            .is_some_and(|schema| schema.pointer("/properties/verdicts").is_some());
        if verdicts {
            Self::Findings
        } else if prompt.contains("The code was reviewed already.") {
            Self::Intent
        } else {
            Self::Code
        }
    }
}

/// What is said when nothing is scripted for a request.
#[derive(Debug, Clone, Default)]
pub enum Otherwise {
    /// The request is refused, and the test fails at its end.
    #[default]
    Refuse,
    /// This JSON, whatever is asked.
    Fixed(Value),
    /// The built-in reviewer reads the numbered lines and reports what it knows to look for.
    Reviewer,
}

type Matcher = Box<dyn Fn(&Prompt) -> bool + Send>;
type Maker = Box<dyn Fn(&Prompt) -> Scripted + Send>;

struct Once {
    about: About,
    label: String,
    matches: Matcher,
    answer: Scripted,
}

struct Standing {
    label: String,
    matches: Matcher,
    make: Maker,
    used: bool,
}

/// The script of one simulated provider.
#[derive(Default)]
pub(super) struct Script {
    once: Vec<Once>,
    standing: Vec<Standing>,
    pub(super) otherwise: Otherwise,
}

impl Script {
    pub(super) fn once(&mut self, about: About, label: &str, matches: Matcher, answer: Scripted) {
        let label = label.to_owned();
        self.once.push(Once {
            about,
            label,
            matches,
            answer,
        });
    }

    pub(super) fn standing(&mut self, label: &str, matches: Matcher, make: Maker) {
        self.standing.push(Standing {
            label: label.to_owned(),
            matches,
            make,
            used: false,
        });
    }

    /// Takes the answer for a prompt: the first single one that matches, else the first standing
    /// one; `None` if nothing is scripted for it.
    pub(super) fn take(&mut self, prompt: &Prompt) -> Option<Scripted> {
        let about = About::of(prompt);
        let fits = |rule: &Once| rule.about == about && (rule.matches)(prompt);
        if let Some(at) = self.once.iter().position(fits) {
            return Some(self.once.remove(at).answer);
        }
        match about {
            About::Code => {}
            About::Intent => return Some(Scripted::nothing_found()),
            About::Findings => return Some(Scripted::json(&json!({"verdicts": []}))),
        }
        let rule = self
            .standing
            .iter_mut()
            .find(|rule| (rule.matches)(prompt))?;
        rule.used = true;
        Some((rule.make)(prompt))
    }

    /// Returns what was scripted and never asked for.
    pub(super) fn unused(&self) -> Vec<String> {
        let once = self.once.iter();
        let once = once.map(|rule| format!("the answer for {}: {:?}", rule.label, rule.answer));
        let standing = self.standing.iter().filter(|rule| !rule.used);
        let standing = standing.map(|rule| format!("any answer for {}", rule.label));
        once.chain(standing).collect()
    }
}
