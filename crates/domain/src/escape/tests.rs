//! Every kind of hostile text, single and multi-line.

use super::*;

#[test]
fn terminal_plain_text_is_borrowed() {
    for text in [
        "",
        "src/main.rs",
        "a :: b",
        "Foo::bar",
        "größe ✓ 日本語",
        "#[derive(Debug)]",
        "## x",
    ] {
        assert!(matches!(terminal(text), Cow::Borrowed(_)), "{text:?}");
    }
}

#[test]
fn terminal_spells_out_what_a_terminal_would_obey() {
    let cases = [
        ("\u{1b}[31mred", "\\u{1b}[31mred"),
        ("\u{1b}]52;c;aGk=\u{7}", "\\u{1b}]52;c;aGk=\\u{7}"),
        ("a\rb", "a\\rb"),
        ("a\nb", "a\\nb"),
        ("a\tb", "a\\tb"),
        ("\u{9b}31m", "\\u{9b}31m"),
        ("\u{7f}", "\\u{7f}"),
        ("a\u{202e}b", "a\\u{202e}b"),
        ("a\u{2028}b", "a\\u{2028}b"),
        ("\u{85}x", "\\u{85}x"),
        ("\u{e0041}", "\\u{e0041}"),
        ("\0", "\\u{0}"),
        ("::error::x", "\\u{3a}:error::x"),
        ("  ::stop-commands::t", "  \\u{3a}:stop-commands::t"),
        ("a ##[group]x", "a \\u{23}#[group]x"),
        ("##vso[task.setvariable]", "\\u{23}#vso[task.setvariable]"),
        ("###[x]", "#\\u{23}#[x]"),
        ("##teamcity[x]", "\\u{23}#teamcity[x]"),
    ];
    for (input, expected) in cases {
        assert_eq!(terminal(input), expected, "{input:?}");
    }
}

#[test]
fn terminal_lines_keeps_structure_and_checks_each_line() {
    assert_eq!(
        terminal_lines("a\tb\n::warning::x\r\nc\u{1b}[0m"),
        "a\tb\n\\u{3a}:warning::x\\r\nc\\u{1b}[0m"
    );
    assert!(matches!(
        terminal_lines("fn a() {\n\tb::c();\n}\n"),
        Cow::Borrowed(_)
    ));
}

#[test]
fn terminal_output_is_stable_and_inert() {
    let corpus = "::x\n \t::y\r##[z]\u{202e}\u{1b}]0;t\u{7}\u{feff}\u{200d}";
    for once in [terminal(corpus), terminal_lines(corpus)] {
        assert!(!once.chars().any(|c| is_unsafe(c) && c != '\n' && c != '\t'));
        assert!(
            !once
                .split('\n')
                .any(|line| line.trim_start().starts_with("::"))
        );
        assert_eq!(terminal_lines(&once), once);
    }
}

#[test]
fn visible_names_the_code_point() {
    assert_eq!(visible("a\u{202e}b\u{1}\n\tc"), "a<U+202E>b<U+0001>\n\tc");
    assert!(matches!(visible("plain ❤\u{fe0f}"), Cow::Borrowed(_)));
}

#[test]
fn invisible_table_is_sorted_and_covers_the_oracle() {
    let oracle = [
        0x00AD, 0x034F, 0x061C, 0x115F, 0x17B4, 0x180B, 0x180E, 0x200B, 0x200F, 0x202A, 0x202E,
        0x2060, 0x2064, 0x2066, 0x206F, 0x3164, 0xFE00, 0xFE0E, 0xFEFF, 0xFFA0, 0xFFF9, 0xFFFB,
        0xE0000, 0xE0FFF,
    ];
    for code in oracle {
        assert!(is_invisible(char::from_u32(code).unwrap()), "U+{code:04X}");
    }
    for c in [
        'a', 'é', '日', '❤', '\u{fe0f}', '\u{301}', ' ', '\u{a0}', '\u{3000}', '\u{fffd}',
    ] {
        assert!(!is_invisible(c), "{c:?}");
    }
}
