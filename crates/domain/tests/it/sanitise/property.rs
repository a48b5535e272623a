//! Fragments of hostile Markdown in any combination.

use mirilla_domain::sanitise::{self, TextPolicy};
use proptest::prelude::*;
use proptest::sample::select;

use super::fragments::FRAGMENTS;
use super::{HOST, assert_safe, cases, policy};

/// Text glued from fragments and from arbitrary characters.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        12 => select(&FRAGMENTS[..]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(|c| c.to_string()),
        1 => "[ -~]{1,6}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
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
        if let Some(suggestion) = sanitise::suggestion(&text, None) {
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

/// Found by the property of whole review files: no renderer closes a fence of more than 80 backticks.
#[test]
fn long_runs_of_backticks_do_not_open_a_code_span() {
    for length in [63, 64, 65, 80, 81, 300] {
        let ticks = "`".repeat(length);
        assert_safe(&sanitise::inline_code(&format!("a{ticks}@octo #1")));
        assert_safe(&sanitise::body(&format!("`` a{ticks}@octo ``"), &policy()));
    }
}
