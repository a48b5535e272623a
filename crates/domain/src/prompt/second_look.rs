//! The question of the second look: each finding beside the code it is about.

use mirilla_diff::FileDiff;
use serde_json::json;

use crate::digest;
use crate::prompt::{Block, Nonce, Question, show};
use crate::review::Finding;
use crate::schema;

/// The fixed instructions of the second look.
pub const SECOND_LOOK_SYSTEM: &str = include_str!("second_look.md");
/// Lines of code that are shown before and after a finding.
const CONTEXT_LINES: usize = 30;
/// Most findings that are looked at; the rest holds.
pub const MAX_LOOKED_AT: usize = 60;

/// Everything that the question of the second look is made of.
#[derive(Debug, Clone, Copy)]
pub struct SecondLookPrompt<'a> {
    /// The candidates, in the order in which verdicts count them from 1.
    pub findings: &'a [Finding],
    /// The diff, its secrets masked.
    pub files: &'a [FileDiff<'a>],
    /// The job's nonce.
    pub nonce: &'a Nonce,
    /// The most tokens the answer may have.
    pub max_tokens: u32,
}

/// Asks whether findings hold.
pub fn second_look_question(prompt: &SecondLookPrompt<'_>) -> Question {
    let mut data = String::new();
    for (number, finding) in (1_usize..).zip(prompt.findings).take(MAX_LOOKED_AT) {
        // As JSON, so that no text of a finding begins a line.
        let told = json!({
            "path": finding.path,
            "line": finding.line,
            "end_line": finding.end_line,
            "severity": finding.severity,
            "category": finding.category,
            "title": finding.title,
            "message": finding.message,
        });
        show::push(
            &mut data,
            format_args!("<finding item=\"{number}\">\n{}\n", show::show_json(&told)),
        );
        push_code(&mut data, finding, prompt.files);
        data.push_str("</finding>\n");
    }
    let nonce = prompt.nonce.absent_from(&[&data]);
    let mut text = nonce.enclose("findings", &data);
    text.push_str("The data ends here. Give a verdict on every item as the JSON object.\n");
    Question {
        system: vec![Block {
            text: SECOND_LOOK_SYSTEM.to_owned(),
            cache: false,
        }],
        user: vec![Block { text, cache: false }],
        schema: schema::second_look_schema(),
        max_tokens: prompt.max_tokens,
    }
}

/// Appends the lines around a finding, of the file's hunks only.
fn push_code(out: &mut String, finding: &Finding, files: &[FileDiff<'_>]) {
    let lines: Vec<_> = files
        .iter()
        .filter(|file| digest::name(file) == finding.path)
        .flat_map(FileDiff::lines)
        .collect();
    let Some(at) = lines
        .iter()
        .position(|line| line.new.is_some_and(|new| new >= finding.line))
    else {
        out.push_str("(its line is not part of the change)\n");
        return;
    };
    let length = finding
        .end_line
        .unwrap_or(finding.line)
        .saturating_sub(finding.line);
    let length = usize::try_from(length)
        .unwrap_or(CONTEXT_LINES)
        .min(CONTEXT_LINES);
    let first = at.saturating_sub(CONTEXT_LINES);
    let shown = at
        .saturating_sub(first)
        .saturating_add(length)
        .saturating_add(CONTEXT_LINES);
    for line in lines.iter().skip(first).take(shown) {
        show::push_line(out, line, 6, false);
    }
}
