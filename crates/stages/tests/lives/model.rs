//! The model of this world: it finds what is called a bug on added lines, in the mood it is in.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use mirilla_sim::{Messages, Otherwise, Prompt, Scripted, SimFinding};

/// How the model speaks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mood {
    pub(crate) wording: u64,
    pub(crate) silent: bool,
    pub(crate) miscounts: bool,
    pub(crate) harsher: bool,
    pub(crate) two_on_a_line: bool,
    /// Files and lines that it was shown, ever.
    pub(crate) shown: BTreeSet<(String, String)>,
}

/// Lets the model speak in the mood that `mood` holds at the time.
pub(crate) fn speak(messages: &Messages, mood: &Arc<Mutex<Mood>>) {
    messages.otherwise(Otherwise::Reviewer);
    let mood = Arc::clone(mood);
    messages.answer_all_when(
        "the change",
        |_| true,
        move |prompt| {
            let mut mood = mood.lock().unwrap();
            let found = findings(prompt, &mut mood);
            Scripted::findings("What stands out.", found)
        },
    );
}

/// Returns the number that a comment of ours says it is about.
pub(crate) fn number_in(text: &str) -> Option<u64> {
    let (_, after) = text.split_once("Defect number ")?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Returns what a comment of ours, or a finding, says it is about: a defect, the second thing on its
/// line, or a line that speaks to the reviewer.
pub(crate) fn subject_in(text: &str) -> Option<(u64, bool)> {
    let second = || {
        let (_, after) = text.split_once("The answer of call ")?;
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        Some((digits.parse().ok()?, true))
    };
    let first = number_in(text).map(|number| (number, false));
    // Of what the fixed checks say about its lines, all is one.
    let fixed = || {
        text.contains("Text addressed to a reviewer")
            .then_some((0, false))
    };
    first.or_else(second).or_else(fixed)
}

fn findings(prompt: &Prompt, mood: &mut Mood) -> Vec<SimFinding> {
    let mut found = Vec::new();
    let text = prompt.text();
    let mut path = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("<file path=\"") {
            path = rest
                .split('"')
                .next()
                .map(str::to_owned)
                .unwrap_or_default();
        }
        let Some((number, code)) = added(line) else {
            continue;
        };
        mood.shown.insert((path.clone(), code.trim().to_owned()));
        if mood.silent {
            continue;
        }
        for call in code.split("bug_").skip(1) {
            let name = call.split('(').next().unwrap_or_default();
            let mut parts = name.split('_');
            let (Some(id), Some(category), Some(severity)) =
                (parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            found.push(said(&path, number, code, (id, category, severity), mood));
            if mood.two_on_a_line {
                let mut second = said(&path, number, code, (id, category, severity), mood);
                second.category = "error-handling";
                second.title = format!("The answer of call {id} is not looked at");
                found.push(second);
            }
        }
    }
    found
}

fn said(
    path: &str,
    line: u32,
    code: &str,
    (id, category, severity): (&str, &str, &str),
    mood: &Mood,
) -> SimFinding {
    let (title, message) = match mood.wording % 3 {
        0 => (
            format!("Defect number {id} is here"),
            "This call goes wrong when the input is empty.",
        ),
        1 => (
            format!("On this line: Defect number {id}"),
            "Nobody looks at what comes back, and the caller goes on as if it had worked.",
        ),
        _ => (
            format!("Look at Defect number {id} again"),
            "It fails for large values.",
        ),
    };
    let severity = match severity {
        _ if mood.harsher => "critical",
        "critical" => "critical",
        "high" => "high",
        "medium" => "medium",
        _ => "low",
    };
    let category = match category {
        "injection" => "injection",
        "performance" => "performance",
        "authorization" => "authorization",
        _ => "correctness",
    };
    SimFinding {
        severity,
        category,
        message: message.to_owned(),
        quote: code.trim().to_owned(),
        ..SimFinding::new(path, if mood.miscounts { line + 7 } else { line }, title)
    }
}

/// Takes `41 + code` apart.
fn added(line: &str) -> Option<(u32, &str)> {
    let (number, code) = line.trim_start().split_once(" + ")?;
    Some((number.parse().ok()?, code))
}
