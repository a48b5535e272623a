//! Bounds that are off by one, and work nobody waits for.

use super::super::language::Language::{Java, Python, Rust, Script};
use super::super::shown::Kind;
use super::{Hit, Pattern, View, rx};

rx! {
    UP_TO_LENGTH = r"<=\s*(?:len\(\w[\w.]*\)|[\w.\[\]>-]+\.(?:len\(\)|length(?:\(\))?|size\(\)|Length|Count|count\(\)))\s*(?:[;){&|]|$)";
    RANGE_TO_LENGTH = r"\b0\s*\.\.=\s*[\w.]+\.len\(\)|range\(\s*(?:0\s*,\s*)?len\([\w.]+\)\s*\+\s*1\s*\)";
    ASYNC_NAME = r"\basync\s+(?:def|function|fn)\s+(\w+)|\b(?:const|let|var)\s+(\w+)\s*=\s*async\b|^\s*async\s+(\w+)\s*\(";
    STATEMENT_CALL = r"^\s*(?:this\.|self\.|[\w.]+\.)?(\w+)\(.*\)\s*;?\s*$";
    KNOWN_ASYNC = r"^\s*(?:asyncio\.sleep|fetch|axios\.(?:get|post|put|delete|patch)|fs\.promises\.\w+|[\w.]+\.save|[\w.]+\.\$?(?:transaction|executeRaw))\(.*\)\s*;?\s*$";
    STRING_IDENTITY = r#"(?:\b\w+(?:\(\))?\s*[!=]=\s*"[^"]*"|"[^"]*"\s*[!=]=\s*\w+)"#;
    FLOAT_MONEY = r"(?i)\b(?:float|double)\s+\w*(?:price|amount|balance|total|cost)\w*\b";
    ASSIGN_IN_IF = r"\bif\s*\(\s*[\w.]+\s*=\s*[\w.]+\s*\)";
}

pub(super) const ALL: &[Pattern] = &[
    Pattern {
        severity: "high",
        category: "correctness",
        title: "The loop runs one past the end",
        message: "The last valid index is the length minus one; with `<=` the final turn reads beyond \
                  the end.",
        confidence: 88,
        on: Kind::Added,
        find: off_by_one,
    },
    Pattern {
        severity: "high",
        category: "concurrency",
        title: "Nobody waits for `{}`",
        message: "The call gives a promise that is dropped: what follows runs before it is done, and \
                  its failure is lost. Await it.",
        confidence: 75,
        on: Kind::Added,
        find: not_awaited,
    },
    Pattern {
        severity: "medium",
        category: "correctness",
        title: "Strings are compared by identity",
        message: "`==` compares references here; equal texts from different places differ. Use \
                  `equals`.",
        confidence: 85,
        on: Kind::Added,
        find: |view| {
            (view.language == Java && is_java(view) && STRING_IDENTITY.hits(view.code()))
                .then(Hit::here)
        },
    },
    Pattern {
        severity: "high",
        category: "correctness",
        title: "The condition assigns instead of comparing",
        message: "A single `=` changes the variable, and the branch depends on the new value.",
        confidence: 80,
        on: Kind::Added,
        find: |view| (view.is(&[Script, Java]) && ASSIGN_IN_IF.hits(view.code())).then(Hit::here),
    },
    Pattern {
        severity: "medium",
        category: "correctness",
        title: "Money is kept in a binary fraction",
        message: "Amounts such as 0.10 have no exact value in this type, and sums drift by cents. Use \
                  an integer of the smallest unit or a decimal type.",
        confidence: 70,
        on: Kind::Added,
        find: |view| (!view.is_test && FLOAT_MONEY.hits(view.code())).then(Hit::here),
    },
];

fn off_by_one(view: &View<'_>) -> Option<Hit> {
    let code = view.code();
    let loops = ["for", "while"]
        .iter()
        .any(|word| code.trim_start().starts_with(word));
    if loops && UP_TO_LENGTH.hits(code) {
        let suggestion = (code.matches("<=").count() == 1).then(|| code.replacen("<=", "<", 1));
        return Some(Hit {
            suggestion,
            ..Hit::here()
        });
    }
    let range = view.is(&[Rust, Python]) && loops && RANGE_TO_LENGTH.hits(code);
    range.then(Hit::here)
}

fn not_awaited(view: &View<'_>) -> Option<Hit> {
    let code = view.code();
    if !view.is(&[Script, Python]) || view.is_test {
        return None;
    }
    let name = STATEMENT_CALL.group(code)?;
    let declared = view.all().any(|line| ASYNC_NAME.group(line) == Some(name));
    let known = KNOWN_ASYNC.hits(code) && (name != "save" || view.language == Script);
    // A chain, an arrow's body or an argument on the line before takes the promise.
    let taken = view
        .following()
        .next()
        .is_some_and(|line| line.text.trim_start().starts_with('.'))
        || view.preceding().next().is_some_and(|line| {
            let text = line.text.trim_end();
            text.ends_with(['(', ',', '=', '[']) || text.ends_with("=>") || text.ends_with("return")
        })
        || [".then(", ".catch(", "await "]
            .iter()
            .any(|taken| code.contains(taken));
    if taken || !(declared || known) {
        return None;
    }
    let indent: String = code.chars().take_while(|c| c.is_whitespace()).collect();
    Some(Hit {
        suggestion: Some(format!("{indent}await {}", code.trim_start())),
        ..Hit::about(name)
    })
}

/// Kotlin, Scala and Groovy compare by value.
fn is_java(view: &View<'_>) -> bool {
    let extension = view.path().rsplit_once('.');
    extension.is_some_and(|(_, extension)| extension == "java")
}
