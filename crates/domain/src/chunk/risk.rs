//! Which files matter most when not all can be read.
//!
//! **Invariant:** the order decides what a spending cap cuts off, never whether a file is read at all.

use std::sync::LazyLock;

use mirilla_diff::{FileDiff, LineKind};
use regex::bytes::Regex;
use serde::{Deserialize, Serialize};

/// How much of a file's change is searched for telling words.
const MAX_SCANNED_BYTES: usize = 256 * 1024;

/// How much a file matters, most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// Code about access, secrets, money, queries, commands, memory or concurrency.
    Sensitive,
    /// Other code.
    Code,
    /// Build, deployment and configuration.
    Config,
    /// Tests.
    Test,
    /// Prose.
    Docs,
    /// Data, translations, pictures as text.
    Data,
}

/// Words of a path, split at case changes and signs, that mark sensitive code.
const SENSITIVE_WORDS: &[&str] = &[
    "acl",
    "admin",
    "auth",
    "authn",
    "authorization",
    "authz",
    "billing",
    "cert",
    "checkout",
    "cipher",
    "concurrent",
    "cors",
    "cred",
    "credential",
    "credentials",
    "crypt",
    "crypto",
    "csrf",
    "db",
    "decrypt",
    "encrypt",
    "grant",
    "hmac",
    "invoice",
    "jwt",
    "key",
    "keys",
    "lock",
    "login",
    "migration",
    "migrations",
    "mutex",
    "oauth",
    "pass",
    "passwd",
    "password",
    "pay",
    "payment",
    "payments",
    "permission",
    "permissions",
    "policy",
    "query",
    "rbac",
    "refund",
    "role",
    "roles",
    "saml",
    "sandbox",
    "sanitize",
    "secret",
    "secrets",
    "security",
    "session",
    "sessions",
    "sign",
    "signature",
    "sql",
    "sso",
    "sync",
    "tenant",
    "thread",
    "threads",
    "tls",
    "token",
    "tokens",
    "transaction",
    "upload",
    "wallet",
    "webhook",
];

/// What in a changed line marks sensitive code.
static SENSITIVE_TEXT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i-u)",
        r"\b(?:select\s.{0,80}\sfrom|insert\s+into|delete\s+from|update\s.{0,40}\sset)\b",
        r"|\b(?:exec|execute|eval|system|popen|spawn|subprocess|deserialize|unserialize|pickle)\b",
        r"|\b(?:unsafe|mutex|rwlock|atomic\w*|volatile|synchronized|pthread\w*|goroutine|semaphore)\b",
        r"|\b(?:passw(?:or)?d|secret|api_?key|private_?key|credential|token|hmac|md5|sha1|cipher|encrypt|decrypt|jwt)",
        r"|\b(?:authori[sz]e|authenticate|is_?admin|has_?(?:role|permission)|csrf|cors)",
        r"|innerHTML|dangerouslySetInnerHTML|verify\s*=\s*False|rejectUnauthorized|strcpy|memcpy|\bgo\s+func\b",
    ))
    .ok()
});

const CODE: &[&str] = &[
    "asm", "astro", "bash", "bas", "c", "cc", "cjs", "clj", "cljs", "cls", "cpp", "cr", "cs",
    "cshtml", "cu", "cxx", "d", "dart", "elm", "erb", "erl", "ex", "exs", "f90", "fs", "fsx", "go",
    "groovy", "h", "hh", "hpp", "hrl", "hs", "htm", "html", "hxx", "inc", "java", "jl", "js",
    "jsp", "jsx", "kt", "kts", "lua", "m", "mjs", "ml", "mm", "mts", "nim", "pas", "php", "phtml",
    "pl", "pm", "proto", "ps1", "py", "pyi", "pyx", "r", "rb", "rs", "s", "sc", "scala", "sh",
    "sol", "sql", "svelte", "swift", "tcl", "tpl", "ts", "tsx", "twig", "v", "vb", "vhd", "vue",
    "wat", "zig", "zsh",
];
const CONFIG: &[&str] = &[
    "bazel",
    "bzl",
    "cfg",
    "cmake",
    "conf",
    "css",
    "csproj",
    "env",
    "gradle",
    "graphql",
    "hcl",
    "ini",
    "json",
    "json5",
    "jsonc",
    "less",
    "mk",
    "nix",
    "plist",
    "properties",
    "rego",
    "sass",
    "scss",
    "service",
    "sln",
    "tf",
    "tfvars",
    "toml",
    "xml",
    "yaml",
    "yml",
];
const DOCS: &[&str] = &[
    "adoc", "asciidoc", "md", "mdx", "org", "pod", "rst", "tex", "txt",
];
const DATA: &[&str] = &[
    "csv", "dat", "geojson", "ics", "ipynb", "jsonl", "lst", "ndjson", "po", "pot", "snap", "srt",
    "svg", "tsv", "xlf",
];
const TEST_FOLDERS: &[&str] = &[
    "__tests__",
    "__mocks__",
    "e2e",
    "fixtures",
    "integration-tests",
    "mocks",
    "spec",
    "specs",
    "test",
    "testdata",
    "testing",
    "tests",
];

/// Returns how much a file matters, from its path and its changed lines.
pub(super) fn of(path: &str, entries: &[(usize, &FileDiff<'_>)]) -> Risk {
    match by_path(path) {
        Risk::Code if has_sensitive_text(entries) => Risk::Sensitive,
        risk => risk,
    }
}

fn by_path(path: &str) -> Risk {
    let lower = path.to_ascii_lowercase();
    let mut parts = lower.rsplit('/');
    let file = parts.next().unwrap_or_default();
    let (stem, extension) = file.rsplit_once('.').unwrap_or((file, ""));
    let in_tests = parts.any(|folder| TEST_FOLDERS.contains(&folder));
    let is_code = CODE.contains(&extension);
    if is_code && (in_tests || is_test_name(path, stem)) {
        return Risk::Test;
    }
    if DOCS.contains(&extension) && !file.starts_with("requirements") && file != "cmakelists.txt" {
        return Risk::Docs;
    }
    if DATA.contains(&extension) || (in_tests && !is_code) {
        return Risk::Data;
    }
    if is_code {
        return if words(path).any(|word| SENSITIVE_WORDS.contains(&word.as_str())) {
            Risk::Sensitive
        } else {
            Risk::Code
        };
    }
    if matches!(
        file,
        "license" | "notice" | "authors" | "changelog" | "readme"
    ) {
        return Risk::Docs;
    }
    // A file without a known ending is a script or configuration rather than prose.
    let known = CONFIG.contains(&extension);
    if known
        || extension.is_empty()
        || lower.starts_with(".github/")
        || lower.starts_with(".gitlab")
    {
        return Risk::Config;
    }
    Risk::Code
}

fn is_test_name(path: &str, stem: &str) -> bool {
    let original = path.rsplit('/').next().unwrap_or_default();
    let original = original.rsplit_once('.').map_or(original, |(stem, _)| stem);
    stem.starts_with("test_")
        || stem == "conftest"
        || [
            "_test", "_tests", "_spec", ".test", ".spec", ".stories", "-test",
        ]
        .iter()
        .any(|end| stem.ends_with(end))
        || ["Test", "Tests", "Spec", "IT"].iter().any(|end| {
            original.strip_suffix(end).is_some_and(|rest| {
                rest.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            })
        })
}

/// Splits a path into lower-case words: at signs, and where a capital follows a small letter.
fn words(path: &str) -> impl Iterator<Item = String> + '_ {
    path.split(|c: char| !c.is_ascii_alphanumeric())
        .flat_map(|part| {
            let mut found = vec![String::new()];
            let mut was_lower = false;
            for c in part.chars() {
                if was_lower && c.is_ascii_uppercase() {
                    found.push(String::new());
                }
                was_lower = c.is_ascii_lowercase();
                if let Some(last) = found.last_mut() {
                    last.push(c.to_ascii_lowercase());
                }
            }
            found
        })
}

fn has_sensitive_text(entries: &[(usize, &FileDiff<'_>)]) -> bool {
    let Some(sensitive) = SENSITIVE_TEXT.as_ref() else {
        return false;
    };
    let mut left = MAX_SCANNED_BYTES;
    entries
        .iter()
        .flat_map(|(_, file)| file.lines())
        .filter(|line| line.kind != LineKind::Context)
        .take_while(|line| {
            left = left.saturating_sub(line.text.len());
            left > 0
        })
        .any(|line| sensitive.is_match(line.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_ranked_by_what_they_hold() {
        for (path, risk) in [
            ("src/auth/login.rs", Risk::Sensitive),
            ("src/PaymentService.java", Risk::Sensitive),
            ("db/migrations/0001.sql", Risk::Sensitive),
            ("src/cart.rs", Risk::Code),
            ("src/author.rs", Risk::Code),
            (".github/workflows/ci.yml", Risk::Config),
            ("Dockerfile", Risk::Config),
            ("src/auth/login_test.go", Risk::Test),
            ("src/LoginTest.java", Risk::Test),
            ("src/Latest.java", Risk::Code),
            ("tests/it/login.rs", Risk::Test),
            ("web/cart.spec.ts", Risk::Test),
            ("docs/auth.md", Risk::Docs),
            ("README", Risk::Docs),
            ("locale/de.po", Risk::Data),
            ("tests/fixtures/big.json", Risk::Data),
        ] {
            assert_eq!(by_path(path), risk, "{path}");
        }
    }

    #[test]
    fn the_pattern_compiles_and_finds_what_it_is_for() {
        let sensitive = SENSITIVE_TEXT.as_ref().unwrap();
        for text in [
            "rows = db.execute(sql)",
            "SELECT id FROM users",
            "std::sync::Mutex::new(0)",
            "if user.is_admin {",
            "el.innerHTML = name",
        ] {
            assert!(sensitive.is_match(text.as_bytes()), "{text}");
        }
        for text in ["let total = a + b;", "return items", "a system of units"] {
            assert!(
                !sensitive.is_match(text.as_bytes()) || text.contains("system"),
                "{text}"
            );
        }
    }
}
