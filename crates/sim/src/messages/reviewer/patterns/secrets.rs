//! Credentials in code and in logs.
//!
//! **Invariant:** no text made here repeats a value.

use super::super::language::Language::Data;
use super::super::shown::Kind;
use super::{Hit, Pattern, View, rx};

rx! {
    ASSIGNED = r#"(?i)\b(\w*(?:password|passwd|pwd|secret|api_?key|access_?key|auth_?token|private_?key|credential)\w*)["']?\s*(?::|:?=|=>)\s*(?:\w+\(\s*)?["'`]([^"'`\s]{6,})["'`]"#;
    BARE = r"(?i)^\s*(\w*(?:password|passwd|secret|api_?key|auth_?token)\w*)\s*[:=]\s*([^\s#'\x22]{8,})\s*$";
    PLACEHOLDER = r"(?i)\$\{|\{\{|<[a-z_ -]+>|env|example|changeme|placeholder|redacted|your[-_]|x{4,}|\*{3,}|getenv|secretsmanager|vault|arn:";
    NO_VALUE = r"(?i)(?:label|hint|prompt|field|name|path|url|header|param|policy|type|error|message|regex|pattern|column)s?$";
    LOG = r"(?i)\b(?:log(?:ger)?|logging|console|slog|tracing|zap)\s*(?:\.|::)\s*\w+!?\(|\b(?:print|println|printf|eprintln|puts|echo|fmt\.Print\w*|System\.out\.print\w*|info|warn|error|debug|trace)!?\s*\(|NSLog\(";
    TEXTS = r#""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"#;
    SENSITIVE = r"(?i)\b(\w*(?:password|passwd|secret|api_?key|access_?token|auth_?token|refresh_?token|private_?key|credential|authorization|ssn|card_?number)s?|\w*token)\b";
    INTERPOLATED = r"(?i)[{(]\s*[\w.]*(?:password|passwd|secret|api_?key|token|private_?key|credential)\w*(?:\s*[:}!)])";
    WEAK_HASH = r"(?i)(?:md5|sha1)\s*\(?.*(?:password|passwd|pwd)|(?:password|passwd|pwd).*\b(?:md5|sha1)\b";
}

pub(super) const ALL: &[Pattern] = &[
    Pattern {
        severity: "critical",
        category: "secret-exposure",
        title: "A credential is written into the code",
        message: "Everybody who can read the repository, now or in its history, has `{}`. Read it from \
                  the environment or a secret store, and replace the value, which counts as known from \
                  now on.",
        confidence: 85,
        on: Kind::Added,
        find: hard_coded,
    },
    Pattern {
        severity: "high",
        category: "secret-exposure",
        title: "`{}` is written to the log",
        message: "Logs are kept longer and read by more people than the value is meant for. Leave it \
                  out, or log that it is there.",
        confidence: 80,
        on: Kind::Added,
        find: logged,
    },
    Pattern {
        severity: "high",
        category: "secret-exposure",
        title: "A password is hashed with a fast hash",
        message: "MD5 and SHA-1 are tried billions of times a second. Use a slow password hash such as \
                  Argon2 or bcrypt.",
        confidence: 75,
        on: Kind::Added,
        find: |view| WEAK_HASH.hits(view.code()).then(Hit::here),
    },
];

fn hard_coded(view: &View<'_>) -> Option<Hit> {
    let code = view.code();
    if view.is_test || PLACEHOLDER.hits(code) {
        return None;
    }
    let quoted = ASSIGNED.group(code);
    let bare = || BARE.group(code).filter(|_| view.language == Data);
    let name = quoted.or_else(bare).filter(|name| !NO_VALUE.hits(name))?;
    Some(Hit::about(name))
}

fn logged(view: &View<'_>) -> Option<Hit> {
    let code = view.code();
    if !LOG.hits(code) || view.is_test {
        return None;
    }
    // A word in a plain text is no value; an interpolated name is one.
    let outside = TEXTS.without(code);
    let name = SENSITIVE.group(&outside).filter(|name| {
        let call = outside.contains(&format!("{name}(")) || outside.contains(&format!("{name}!("));
        !call && !outside.contains(&format!("{name}."))
    });
    if let Some(name) = name {
        return Some(Hit::about(name));
    }
    let inside = INTERPOLATED.hits(code)
        && (code.contains('$') || code.contains("f\"") || code.contains('{'));
    let inside = inside && !outside.contains("{}");
    let name = SENSITIVE.group(code).filter(|_| inside)?;
    Some(Hit::about(name))
}
