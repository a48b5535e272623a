//! Which rules are sent for which change.

use mirilla_domain::rules::{MAX_RULE_BYTES, MAX_RULES_BYTES, is_rule_file, select};
use mirilla_domain::settings::InlineRule;
use mirilla_domain::snapshot::{RepoFile, TRUSTED_PATHS};

fn file(path: &str, text: &str) -> RepoFile {
    RepoFile {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

fn selected(files: &[RepoFile], changed: &[&str]) -> Vec<String> {
    select(files, &[], changed)
        .rules
        .into_iter()
        .map(|rule| rule.path)
        .collect()
}

#[test]
fn rule_files_are_those_of_the_list_and_no_others() {
    for path in [
        ".mirilla/rules/sql.md",
        "REVIEW.md",
        "AGENTS.md",
        "CLAUDE.md",
        ".github/copilot-instructions.md",
        ".github/instructions/web.instructions.md",
    ] {
        assert!(is_rule_file(path), "{path}");
        // The collector asks for exactly these places.
        let asked = TRUSTED_PATHS
            .iter()
            .any(|place| *place == path || place.ends_with('/') && path.starts_with(place));
        assert!(asked, "{path}");
    }
    for path in [
        "docs/REVIEW.md",
        ".mirilla/rules/sub/sql.md",
        ".mirilla/rules/.md",
        ".mirilla/rules/sql.txt",
        ".github/instructions/web.md",
        ".mirilla.toml",
        "agents.md",
    ] {
        assert!(!is_rule_file(path), "{path}");
    }
}

#[test]
fn only_rules_that_match_a_changed_file_are_sent() {
    let files = [
        file(
            ".mirilla/rules/sql.md",
            "---\nglobs: [\"*.sql\", 'src/db/']\n---\nBind parameters.\n",
        ),
        file(
            ".mirilla/rules/web.md",
            "---\nglobs:\n  - web/**\n  - \"*.css\"\n---\nNo inline styles.\n",
        ),
        file(
            ".github/instructions/ts.instructions.md",
            "---\ndescription: x\napplyTo: \"**/*.{ts,tsx},**/*.mts\"\n---\nNo any.\n",
        ),
        file("REVIEW.md", "Amounts are cents.\n"),
    ];
    assert_eq!(selected(&files, &["README.md"]), ["REVIEW.md"]);
    assert_eq!(
        selected(&files, &["db/1.sql"]),
        [".mirilla/rules/sql.md", "REVIEW.md"]
    );
    assert_eq!(
        selected(&files, &["src/db/pool.rs"]),
        [".mirilla/rules/sql.md", "REVIEW.md"]
    );
    assert_eq!(
        selected(&files, &["web/a/b.html"]),
        [".mirilla/rules/web.md", "REVIEW.md"]
    );
    for path in ["app/a.ts", "a.tsx", "x/y.mts"] {
        assert_eq!(
            selected(&files, &[path]),
            ["REVIEW.md", ".github/instructions/ts.instructions.md"],
            "{path}"
        );
    }
    let rules = select(&files, &[], &["a.sql"]).rules;
    assert_eq!(rules[0].text, "Bind parameters.");
}

#[test]
fn globs_that_mean_everything_or_nothing_usable_apply_to_all() {
    for front in [
        "globs: \"**\"",
        "applyTo: '**/*'",
        "globs: []",
        "description: x",
        "globs:",
    ] {
        let files = [file("REVIEW.md", &format!("---\n{front}\n---\nText.\n"))];
        assert_eq!(selected(&files, &["x"]), ["REVIEW.md"], "{front}");
    }
    let broken = [file("REVIEW.md", "---\nglobs: src/[z-a]\n---\nText.\n")];
    let selection = select(&broken, &[], &["x"]);
    assert_eq!(selection.rules.len(), 1);
    let problem = &selection.problems[0];
    assert_eq!((problem.file.as_str(), problem.line), ("REVIEW.md", 2));
    assert!(
        problem.message.contains("`src/[z-a]`") && !problem.is_error(),
        "{problem}"
    );
}

#[test]
fn a_rule_that_only_begins_like_front_matter_is_kept_whole() {
    let files = [file(
        "REVIEW.md",
        "---\nglobs: nothing closes this\nText.\n",
    )];
    let rules = select(&files, &[], &["x"]).rules;
    assert!(rules[0].text.starts_with("---\nglobs"));
    let windows = [file(
        "REVIEW.md",
        "\u{feff}---\r\nglobs: '*.sql'\r\n---\r\nText.\r\n",
    )];
    assert!(select(&windows, &[], &["x"]).rules.is_empty());
    assert_eq!(select(&windows, &[], &["a.sql"]).rules[0].text, "Text.");
}

#[test]
fn inline_rules_come_first_and_a_text_is_sent_once() {
    let inline = [
        InlineRule {
            text: "Cents.".to_owned(),
            globs: Vec::new(),
        },
        InlineRule {
            text: "Only SQL.".to_owned(),
            globs: vec!["*.sql".to_owned()],
        },
    ];
    let files = [
        file("CLAUDE.md", "Same.\n"),
        file("AGENTS.md", "Same."),
        file("REVIEW.md", "  \n"),
    ];
    let selection = select(&files, &inline, &["src/a.rs"]);
    let sent: Vec<(&str, &str)> = selection
        .rules
        .iter()
        .map(|rule| (rule.path.as_str(), rule.text.as_str()))
        .collect();
    assert_eq!(sent, [(".mirilla.toml", "Cents."), ("AGENTS.md", "Same.")]);
}

#[test]
fn sizes_are_bounded_and_what_is_left_out_is_named() {
    let line = "A rule of thirty-two characters.\n";
    let long = |tag: &str| format!("{tag}\n{}", line.repeat(1_000));
    let files = [
        file(".mirilla/rules/a.md", &long("a")),
        file(".mirilla/rules/b.md", &long("b")),
        file("AGENTS.md", &long("c")),
        file("CLAUDE.md", "Short.\n"),
    ];
    let selection = select(&files, &[], &["x"]);
    let sent: usize = selection.rules.iter().map(|rule| rule.text.len()).sum();
    assert!(sent <= MAX_RULES_BYTES);
    assert_eq!(selection.left_out, ["AGENTS.md"]);
    let first = &selection.rules[0];
    assert!(first.cut && first.text.len() <= MAX_RULE_BYTES && first.text.ends_with("characters."));
    assert_eq!(selection.rules.last().unwrap().text, "Short.");
    // A text without a line break and with wide characters is cut at a character.
    let wide = [file("REVIEW.md", &"\u{6f22}".repeat(MAX_RULE_BYTES))];
    assert!(select(&wide, &[], &["x"]).rules[0].cut);
}

#[test]
fn braces_are_bounded() {
    let bomb = format!(
        "---\nglobs: '{}'\n---\nText.\n",
        "{a,b,c,d,e,f,g,h}".repeat(12)
    );
    let files = [file("REVIEW.md", &bomb)];
    assert!(select(&files, &[], &["x"]).rules.len() <= 1);
}
