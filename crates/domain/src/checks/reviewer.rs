//! Text that is meant for the reviewer, not for the program.
//!
//! It need not be well made to be worth a person's look, and a change that argues with its reviewer must
//! not be passed by the reviewer it argues with.

use std::sync::LazyLock;

use mirilla_diff::LineKind;
use regex::bytes::{Regex, RegexBuilder};

use super::hints::Hints;
use super::source::Source;
use super::{Check, Found, Hits};
use crate::review::Severity;

/// Longest part of a line that is looked at, in bytes.
const MAX_LINE: usize = 4_000;
/// Memory for the states of the patterns' automaton. With the library's 2 MB it runs out and starts anew.
const DFA_BYTES: usize = 16 << 20;

/// The patterns, each a sentence that no program needs.
static ADDRESSED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    const PATTERNS: &[&str] = &[
        // Ignore all previous instructions.
        r"\b(?:ignore|disregard|forget|override|bypass|neglect)\s+(?:(?:all|any|the|your|these|those|of|every|everything|other|such)\s+){0,4}(?:previous|prior|above|earlier|preceding|system|original|foregoing|former|existing|initial)\s+(?:\w+\s+)?(?:instruction|prompt|rule|direction|directive|guideline|context|message|command|constraint)",
        r"\b(?:ignore|disregard|forget)\s+(?:all\s+|any\s+)?(?:your|the\s+system)\s+(?:instruction|prompt|rule|guideline|training|directive)",
        r"\b(?:ignore|disregard|forget)\s+(?:everything|anything|all)\s+(?:above|before|that\s+came|you\s+(?:were|have))",
        // AI reviewer: …, note to the AI reviewer, dear assistant
        r"\b(?:ai|llm|automated|machine|gpt|claude|copilot|gemini|model)[\s_-]+(?:code[\s_-]+)?(?:reviewers?|review\s+(?:bot|tool|agent)s?)\b[^.\n]{0,20}(?:[:,!]|\b(?:please|must|should\s+(?:approve|ignore|skip|not\s+(?:flag|report|comment)))\b)",
        r"\b(?:note|notice|instructions?|message|attention|important|hint|dear|hey|hello|hi|memo)\s*(?:to|for|,|:)?\s*(?:the\s+|any\s+|all\s+|future\s+)?(?:ai|llm|automated|language\s+model|machine)s?[\s_-]*(?:code\s+)?(?:reviewers?|review|assistants?|agents?|models?|bots?|tools?|systems?)\b",
        r"\b(?:if\s+you\s+are|you,?\s+(?:as\s+)?)\s*(?:an?\s+|the\s+)(?:ai|llm|language\s+model|automated|review)\b",
        r"\b(?:reviewer|code[\s_-]?review(?:er)?|ai[\s_-]?review(?:er)?|llm)s?\s*[:=]\s*(?:please\s+)?(?:ignore|skip|approve|severity|disable|pass\b|lgtm|safe\b|report\s+no|do\s+not|don't)",
        // Do not report these issues.
        r"\b(?:do\s*n[o']t|don't|never|must\s+not|should\s+not|no\s+need\s+to)\s+(?:report|flag|mention|comment\s+on|raise|list|point\s+out|review|analy[sz]e)\s+(?:(?:any|this|these|the|it|its|as|a|an|other|further|security|potential|possible|following|below|above)\s+){0,4}(?:findings?|issues?|vulnerabilit(?:y|ies)|problems?|bugs?|defects?|concerns?|weakness(?:es)?)\b[^.\n]{0,60}\b(?:review|reviewer|report|finding|approve|safe|reviewed|audited|intentional|false\s+positive|this\s+(?:file|diff|change|pr|function|code))\b",
        r"\b(?:do\s*n[o']t|don't|never|must\s+not|should\s+not)\s+(?:report|flag|mention|comment\s+on|raise|list|point\s+out)\s+(?:any|these|this|the\s+(?:above|below|following))\s+(?:\w+\s+)?(?:findings?|issues?|vulnerabilit(?:y|ies)|problems?|bugs?|defects?|concerns?|weakness(?:es)?)\s*[.!]?\s*(?:\*/|-->|\x22)?\s*$",
        r"\b(?:do\s*n[o']t|don't|no\s+need\s+to|must\s+not)\s+(?:review|flag|comment\s+on|analy[sz]e|report)\s+(?:this|the|these)\s+(?:changes?|diff|pull\s+request|pr|file|commit)\b",
        r"\b(?:report|return|respond|reply|answer|output|produce|give)\s+(?:with\s+)?(?:only\s+|just\s+)?(?:an?\s+)?(?:empty|no|zero)\s+(?:list\s+of\s+|array\s+of\s+|review\s+)?(?:findings?|issues?|problems?|vulnerabilit(?:y|ies)|comments?)\b",
        r"\b(?:skip|omit|bypass)\s+(?:the\s+|this\s+|any\s+)?(?:security\s+|code\s+)?review\s+(?:of|for)\s+(?:this|the)\b",
        // Approve this pull request, addressed to someone who reads.
        r"\b(?:you\s+(?:must|should|will|can|may)|please|simply|just|now|always|immediately)\s+(?:safely\s+)?approve\s+(?:this|the|it|these)\b[^.\n]{0,40}\b(?:pr|pull\s+request|merge\s+request|change|diff|commit|code|review|without)\b",
        r"\bapprove\s+(?:this|the)\s+(?:pr|pull\s+request|merge\s+request|change|diff)\s+(?:without|immediately|and\s+(?:do\s+not|report\s+no|merge))",
        r"\b(?:already|previously|been)\s+(?:been\s+)?(?:reviewed|audited|approved|vetted)\s+(?:and\s+\w+\s+)?by\s+(?:the\s+|our\s+)?(?:security|appsec|infosec)\b[^\n]{0,80}\b(?:no|skip|not|ignore|safe)\b",
        // New roles and rules.
        r"\byou\s+are\s+(?:now|no\s+longer)\s+(?:an?|in|the|free|bound|acting|required|restricted)\b",
        r"\b(?:new|updated|real|actual|revised|additional|override)\s+(?:system\s+)?(?:instructions?|rules?|prompt|directives?|guidelines?)\s+(?:for|to)\s+(?:the\s+)?(?:ai|reviewers?|model|assistant|bot|llm|agent)\b",
        r"\bsystem\s+(?:override|prompt\s+override|prompt\s+update)\b",
        r"^[^\w]*(?:system|assistant)\s*:\s*(?:you\b|ignore|report|approve|do\s+not|respond|from\s+now|new\s+|the\s+review|disregard|mark|output|return|this\s+(?:code|diff|change|file)\b)",
        r"<\|im_start\|>\s*(?:system|assistant|user)|<\|(?:system|assistant)\|>|\[INST\]\s*\w|<<SYS>>",
        r"<system-reminder>",
        // Ends of the sections that prompts put untrusted text in.
        r"</(?:diff|untrusted[\w-]*|user_input|pull_request|tool_results?|function_results?|system_prompt|code_to_review|review_input)>",
        r"<<<\s*/?(?:diff|end|untrusted|input)[\w ]*>>>|-{3,}\s*end\s+(?:of\s+)?(?:untrusted|diff|user\s+input|code\s+to\s+review)",
        // The same in other languages.
        "忽略(?:所有|之前|以上|先前|前面|上述|的){1,4}(?:指令|指示|提示|规则|要求)|無視(?:して|する)|(?:以前|上記|これまで)の(?:すべての)?指示を無視",
        "(?:ignora|ignorar|ignore)\\s+(?:todas?\\s+)?(?:las|as|le|tutte\\s+le)\\s+(?:instrucciones|instruções|istruzioni)\\s+(?:anteriores|precedenti|previas)",
        "ignorez?\\s+(?:toutes\\s+)?(?:les|ces)\\s+instructions\\s+(?:précédentes|antérieures)",
        "ignorieren?\\s+(?:sie\\s+)?(?:alle\\s+)?(?:vorherigen|obigen|bisherigen|vorigen)\\s+(?:anweisungen|regeln|instruktionen)",
        "(?:И|и)гнорируй(?:те)?\\s+(?:все\\s+)?(?:предыдущие|прежние)\\s+(?:инструкции|указания)",
    ];
    RegexBuilder::new(&format!("(?i-u:{})", PATTERNS.join("|")))
        .dfa_size_limit(DFA_BYTES)
        .build()
        .ok()
});

/// Reports added lines that speak to a reviewer, pairs of lines that do so together, and such a path.
pub(super) fn check(source: &Source<'_>, out: &mut Hits<'_>) {
    let name: String = out
        .context
        .path
        .chars()
        .map(|c| {
            if matches!(c, '-' | '_' | '.' | '/' | '\n') {
                ' '
            } else {
                c
            }
        })
        .collect();
    if Hints::of(name.as_bytes()).has(Hints::REVIEWER) && speaks(name.as_bytes()) {
        out.push(found(0, "The file's name"));
    }
    let mut before: Option<(u32, &[u8], bool)> = None;
    for seen in source.seen() {
        let line = seen.line;
        if line.kind != LineKind::Added {
            continue;
        }
        let number = line.new.unwrap_or(0);
        let text = line.text.get(..MAX_LINE).unwrap_or(line.text);
        let hinted = seen.hints.has(Hints::REVIEWER);
        if hinted && speaks(text) {
            out.push(found(number, "This line"));
            before = None;
            continue;
        }
        let follows = before
            .as_ref()
            .filter(|(last, _, _)| last.saturating_add(1) == number);
        if let Some((last, tail, tail_hinted)) = follows
            && (hinted || *tail_hinted)
            && !bare(text).is_empty()
        {
            let joined = [tail_of(tail), b" ", bare(text)].concat();
            if speaks(&joined) {
                let mut hit = found(*last, "This text");
                hit.end_line = Some(number);
                out.push(hit);
                before = None;
                continue;
            }
        }
        before = Some((number, text, hinted));
    }
}

/// The end of a line that a sentence may go on from.
fn tail_of(line: &[u8]) -> &[u8] {
    let tail = bare(line);
    tail.get(tail.len().saturating_sub(200)..).unwrap_or(tail)
}

fn speaks(text: &[u8]) -> bool {
    ADDRESSED
        .as_ref()
        .is_some_and(|addressed| addressed.is_match(text))
}

/// A line without the marks of a comment around it.
fn bare(line: &[u8]) -> &[u8] {
    const MARKS: &[u8] = b"/*#;-<!>\"'|+ \t\r";
    let mut inner = line;
    while let [first, rest @ ..] = inner
        && MARKS.contains(first)
    {
        inner = rest;
    }
    inner.trim_ascii_end()
}

fn found(line: u32, what: &str) -> Found {
    Found::at(
        Check::ReviewerText,
        line,
        Severity::High,
        "Text addressed to a reviewer",
        format!(
            "{what} speaks to whoever, or whatever, reviews this change. A person should read it; what a model says about this change proves nothing."
        ),
    )
}
