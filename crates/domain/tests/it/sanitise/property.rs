//! Fragments of hostile Markdown in any combination.

use mirilla_domain::sanitise::{self, TextPolicy};
use proptest::prelude::*;
use proptest::sample::select;

use super::{HOST, assert_safe, policy};

/// Pieces that mean something to a renderer, a forge or a bot, alone or in combination.
const FRAGMENTS: [&str; 156] = [
    "@octo",
    "@acme/team",
    "#12",
    "acme/shop#4",
    "GH-7",
    "!8",
    "&9",
    "$1",
    "deadbeef1",
    "fixes ",
    "closes: ",
    "https://evil.test/x",
    "https://docs.example.org/a",
    "https://github.com/a/b/issues/9",
    "www.evil.test",
    "www",
    ".evil.test",
    "[issue",
    ":1]",
    "ABC-1",
    "a@b.example",
    "mailto:a@b.example",
    "ftp://x.y",
    "//evil.test",
    "/approve",
    "/usr/bin/env",
    "bors r+",
    "@dependabot merge",
    "r? @x",
    "!merge",
    "\\",
    "\\\\",
    "`",
    "``",
    "```",
    "````",
    "~~~",
    "~",
    "~~",
    "*",
    "**",
    "***",
    "_",
    "__",
    "<",
    ">",
    "<b>",
    "</b>",
    "<br>",
    "<!--",
    "-->",
    "<!-- mirilla:",
    "<img src=x>",
    "<details>",
    "<script>",
    "<pre>",
    "<a href=\"javascript:x\">",
    "<?php",
    "<![CDATA[",
    "<https://evil.test>",
    "<x@y.test>",
    "&#64;",
    "&commat;",
    "&lt;",
    "&#35;",
    "&#x200b;",
    "&amp;",
    "&num;1",
    "&#10;",
    "&nbsp;",
    "&",
    ";",
    "![",
    "[",
    "]",
    "](",
    "](https://evil.test)",
    "](https://docs.example.org/x)",
    "](javascript:x)",
    "[x](",
    "(",
    ")",
    "[ref]: https://evil.test",
    "[^1]",
    "[^1]: note",
    "^[note]",
    "[[wiki]]",
    "[ ] ",
    "[x] ",
    "[!NOTE]",
    "[issue:1]",
    "|",
    "| a | b |",
    "|---|---|",
    "| - | - |",
    "---",
    "===",
    "***",
    "- ",
    "* ",
    "+ ",
    "1. ",
    "2) ",
    "> ",
    ">",
    "# ",
    "## x",
    "####### ",
    "\n",
    "\n",
    "\n",
    "\n\n",
    "\n\n",
    "\n    ",
    "\n  ",
    "\n\t",
    "\n> ",
    "\n- ",
    "\n```\n",
    "\n~~~\n",
    "\n1. ",
    "\n| ",
    " ",
    " ",
    " ",
    "  ",
    "\t",
    "\r",
    "\u{a0}",
    "\u{202e}",
    "\u{200b}",
    "\u{feff}",
    "\u{2028}",
    "\0",
    "\u{fe0f}",
    "\u{e0041}",
    "é",
    "日本",
    "word",
    "code",
    "a",
    "x_y",
    "C:\\p",
    "$x^2$",
    "$$",
    "$`",
    "`$",
    "::error::",
    "++",
    "{+x+}",
    ":smile:",
    "'",
    "\"",
    "%5",
    "0123456789",
    "\u{3000}",
];

/// Text glued from fragments and from arbitrary characters.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        12 => select(&FRAGMENTS[..]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(|c| c.to_string()),
        1 => "[ -~]{1,6}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// How many cases to try: `PROPTEST_CASES`, for a long search, or what a test run has time for.
fn cases(usual: u32) -> u32 {
    let wanted = std::env::var("PROPTEST_CASES").ok();
    wanted.map_or(usual, |count| count.parse().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(3_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bodies_are_safe_and_stable(text in hostile()) {
        let out = sanitise::body(&text, &policy());
        assert_safe(&out);
        prop_assert_eq!(sanitise::body(&out, &policy()), out);
    }

    #[test]
    fn titles_are_safe_and_stable(text in hostile()) {
        let out = sanitise::title(&text, &policy());
        prop_assert!(!out.is_empty() && !out.contains('\n'));
        assert_safe(&out);
        assert_safe(&format!("| a | {out} |\n| --- | --- |\n| {out} | b |"));
        assert_safe(&format!("**{}**", "x"));
        prop_assert_eq!(sanitise::title(&out, &policy()), out);
    }

    #[test]
    fn cuts_are_safe_and_stable(text in hostile(), max in 0_usize..120) {
        let policy = TextPolicy { max_chars: max, max_title_chars: max, ..policy() };
        let out = sanitise::body(&text, &policy);
        prop_assert!(out.chars().count() <= max);
        assert_safe(&out);
        prop_assert_eq!(sanitise::body(&out, &policy), out);
    }

    #[test]
    fn fences_paths_and_suggestions_are_safe(text in hostile(), lang in "[a-z:]{0,8}") {
        assert_safe(&sanitise::code_fence(&lang, &text));
        assert_safe(&sanitise::inline_code(&text));
        if let Some(suggestion) = sanitise::suggestion(&text) {
            assert_safe(&suggestion.replacen("suggestion", "", 1));
            let (_, code) = super::oracle::only_code_block(&suggestion);
            let wanted = text.replace("\r\n", "\n"); prop_assert_eq!(code.trim_end_matches('\n'), wanted.trim_end_matches('\n'));
        }
    }
}

/// Found by chance among half a million texts.
#[test]
fn a_name_that_begins_with_spaces_and_a_pipe_is_no_indented_block() {
    for text in ["    |@octo", "     | |x", "    ||", "\u{3000}    |a"] {
        assert_safe(&sanitise::inline_code(text));
    }
}

#[test]
fn the_allowed_host_is_used_by_the_fragments() {
    assert!(FRAGMENTS.iter().any(|fragment| fragment.contains(HOST)));
}
