//! What the sanitiser writes for each thing it knows.

use mirilla_domain::sanitise::{self, TextPolicy};

use super::{HOST, assert_safe, oracle, policy};

#[track_caller]
fn check(input: &str, expected: &str) {
    let out = sanitise::body(input, &policy());
    assert_eq!(out, expected, "for {input:?}");
    assert_safe(&out);
    assert_eq!(sanitise::body(&out, &policy()), out, "not stable");
}

#[test]
fn plain_prose_is_left_alone() {
    for text in [
        "The lock is taken twice.",
        "a < b && c > d, 1<2, x <= y, 5 * 3 * 2, 50% of 3/4",
        "Uses snake_case_names and C:\\path\\to; see section 4.2 (below).",
        "It takes ~5 ms & then \"returns\"; isn't that slow?",
        "arr[0] and map[key].value stay, as do a/b.rs:12 and x=-1.",
        "Ω ≤ 日本語 — naïve “quotes”… 👍🏽 ❤\u{fe0f}",
        "It is **important**, _really_ important, and ~~not~~ done.",
        "Line one\nline two",
        "C# and F# are fine, so is UTF-8, RFC-7231 and A&B.",
        "Prefer `Option<&str>` over `&Option<String>`.",
        "- one\n- two\n  - nested\n- three",
        "3. three\n4. four",
        "> quoted\n> twice",
        "```rust\nfn main() {}\n```",
        "| a | b |\n| --- | :-: |\n| 1 | `x` |",
        "See [the guide](https://docs.example.org/guide?x=1&y=2#top) for more.",
        "<https://docs.example.org/a_b>",
    ] {
        check(text, text);
    }
}

/// A forge joins what emphasis divides, so the whole word is what counts.
#[test]
fn emphasis_hides_no_reference() {
    for (input, expected) in [
        ("[CDATA[_[ref]: x_", "\\[`CDATA[[ref]`: x"),
        ("![[_[ref]: x_", "`![[`_[ref\\]: x_"),
        ("[_[page]_", "`[[page]`"),
        ("[**[page]**]", "`[[page]]`"),
        ("[_issue:12_", "`[issue:12`"),
        ("_[epic_:12]", "`[epic:12]`"),
        ("_www_.evil.example", "`www.evil.example`"),
        (
            "**_www_**.evil.example, and **more**",
            "`www.evil.example`, and **more**",
        ),
        ("[[$", "`[[$`"),
        ("[_[$]_", "`[[$]`"),
        ("(**@octo-user**)", "(**`@octo-user`**)"),
        (
            "**bold**, _`code`_; \\[**x**]",
            "**bold**, _`code`_; \\[**x**]",
        ),
    ] {
        check(input, expected);
    }
}

#[test]
fn mentions_and_references_become_code() {
    check(
        "ask @octo-user, or @acme/team.",
        "ask `@octo-user`, or `@acme/team`.",
    );
    check(
        "fixes #12, closes acme/shop#4; GH-7 (!8) &9",
        "fixes `#12`, closes `acme/shop#4`; `GH-7` (`!8`) `&9`",
    );
    check(
        "see deadbeef1 and 0123456789abcdef0123456789abcdef01234567.",
        "see `deadbeef1` and `0123456789abcdef0123456789abcdef01234567`.",
    );
    check(
        "acme/shop@abc1234def and mail me@example.org",
        "`acme/shop@abc1234def` and mail `me@example.org`",
    );
    check("fixes ABC-12 but not UTF-8", "fixes `ABC-12` but not UTF-8");
    check(
        "the $PATH and $1 and $x^2$",
        "the `$PATH` and `$1` and `$x^2$`",
    );
    check("[issue:12] and [[wiki]]", "`[issue:12]` and `[[wiki]]`");
    check("$`a^2`$", "`$a^2$`");
}

#[test]
fn addresses_show_where_they_lead() {
    check(
        "see https://evil.example.test/x?y.",
        "see `https://evil.example.test/x?y`.",
    );
    check(
        "see https://docs.example.org/x.",
        "see <https://docs.example.org/x>.",
    );
    check(
        "[ok](https://docs.example.org) [no](https://docs.example.org.evil.test)",
        "[ok](https://docs.example.org) no (`https://docs.example.org.evil.test`)",
    );
    check(
        "[x](https://docs.example.org@evil.test/)",
        "x (`https://docs.example.org@evil.test/`)",
    );
    check(
        "[x](https://DOCS.example.org/a%20b)",
        "[x](https://docs.example.org/a%20b)",
    );
    check(
        "[x](//evil.test) [y](mailto:a@b.c)",
        "x (`//evil.test`) y (`mailto:a@b.c`)",
    );
    check(
        "[https://bank.example](https://docs.example.org/b)",
        "`https://bank.example` (`https://docs.example.org/b`)",
    );
    check(
        "[bank.com](https://docs.example.org/b)",
        "bank.com (`https://docs.example.org/b`)",
    );
    check(
        "[see](https://docs.example.org/a/b/issues/3)",
        "see (`https://docs.example.org/a/b/issues/3`)",
    );
    check(
        "[**bold** `code`](https://docs.example.org/)",
        "[**bold** `code`](https://docs.example.org/)",
    );
    check(
        "![alt](https://docs.example.org/i.png)",
        "[alt](https://docs.example.org/i.png)",
    );
    check(
        "[![i](https://a.test/i)](https://b.test)",
        "i (`https://a.test/i`) (`https://b.test`)",
    );
    check(
        "[a](<https://evil.test/a b> \"title\")",
        "a (`https://evil.test/a b`)",
    );
    check(
        "[text][ref]\n\n[ref]: https://evil.test",
        "\\[text\\][ref]\n\n\\[ref\\]: `https://evil.test`",
    );
}

#[test]
fn no_host_is_allowed_by_default() {
    let out = sanitise::body("[x](https://github.com/a)", &TextPolicy::default());
    assert_eq!(out, "x (`https://github.com/a`)");
}

#[test]
fn html_is_shown_as_code() {
    check(
        "<details><summary>x</summary>",
        "`<details><summary>`x`</summary>`",
    );
    check("a<br>b<br/>c", "a\nb\nc");
    check(
        "<!-- hidden --> text <!-- open",
        "`<!-- hidden -->` text &lt;!-- open",
    );
    check("<img src=x onerror=y>", "`<img src=x onerror=y>`");
    check(
        "Vec<String> and <T> and list<a>",
        "Vec\\<String> and \\<T> and list\\<a>",
    );
    check(
        "<script\nalert(1)\n</script>",
        "\\<script\nalert(1)\n`</script>`",
    );
}

#[test]
fn markers_of_ours_are_broken_everywhere() {
    check("x <!-- mirilla:v1 abc -->", "x `< !-- mirilla:v1 abc -->`");
    check(
        "```html\n<!--mirilla x-->\n<!-- other -->\n```",
        "```html\n< !--mirilla x-->\n<!-- other -->\n```",
    );
    check("`<!--  Mirilla`", "`< !--  Mirilla`");
    check("<!-- mirilla", "&lt;!-- mirilla");
}

#[test]
fn invisible_characters_are_spelled_out() {
    check("a\u{202e}b\u{200b}c", "a\\<U+202E>b\\<U+200B>c");
    check("`a\u{2066}b`", "`a<U+2066>b`");
    check("```\nx\u{feff}\u{0}\n```", "```\nx<U+FEFF><U+0000>\n```");
    check("a&#8238;b &#x200b;", "a\\<U+202E>b \\<U+200B>");
    check("a\u{a0}b\u{2003}c\u{3000}d", "a b c d");
    check("a\rb\r\nc", "a\nb\nc");
}

#[test]
fn constructs_are_closed_and_escaped() {
    check("```js\nlet x", "```js\nlet x\n```");
    check("~~~~\n```\n~~~\n~~~~", "````\n```\n~~~\n````");
    check("a ** b and *open", "a \\*\\* b and \\*open");
    check("`unclosed and ``two", "\\`unclosed and \\`\\`two");
    check(
        "2**10**3 and foo*bar*baz",
        "2\\*\\*10\\*\\*3 and foo\\*bar\\*baz",
    );
    check("_private and __init__", "\\_private and `__init__`");
    check("__bold words__ and **x**", "**bold words** and **x**");
    check("# Heading", "**Heading**");
    check(
        "Title\n===\n\ntext\n---\nmore",
        "**Title**\n\n**text**\n\nmore",
    );
    check("a\n\n---\n\nb", "a\n\nb");
    check("1) a\n2) b", "1. a\n2. b");
    check("* a\n+ b", "- a\n- b");
    check("- [ ] task\n- [x] done", "- \\[ ] task\n- \\[x] done");
    check("> [!NOTE]\n> text", "> \\[!NOTE]\n> text");
    check("[^1]\n\n[^1]: note", "\\[^1]\n\n\\[^1\\]: note");
    check("&copy; &copyx; &amp;copy;", "© \\&copyx; \\&copy;");
    check("***both***", "**_both_**");
    check("**注意**：这里**很**重要", "**注意**：这里**很**重要");
}

#[test]
fn line_starts_do_not_become_blocks() {
    for (text, expected) in [
        ("a\n\\# b", "a\n\\# b"),
        ("a\n\\- b", "a\n\\- b"),
        ("a\n1\\. b", "a\n1\\. b"),
        ("a\n\\> b", "a\n\\> b"),
        ("a\n\\===", "a\n\\==="),
        ("a \\| b\n\\-|-", "a | b\n\\-|-"),
        ("\\~~~\nx", "\\~\\~\\~\nx"),
        ("\\+++\nx", "\\+++\nx"),
        ("a\n;;;\nb", "a\n\\;;;\nb"),
    ] {
        check(text, expected);
    }
}

#[test]
fn active_fences_lose_their_language() {
    for lang in [
        "suggestion",
        "mermaid",
        "math",
        "geojson",
        "plantuml",
        "glql",
        "json:table",
        "Suggestion x",
    ] {
        check(&format!("```{lang}\nx\n```"), "```\nx\n```");
        assert_eq!(sanitise::code_fence(lang, "x\n"), "```\nx\n```");
    }
    check("```Rust,ignore\nx\n```", "```rust\nx\n```");
}

#[test]
fn titles_are_one_inert_line() {
    for (input, expected) in [
        ("a | b | c", "a \\| b \\| c"),
        ("line one\nline two", "line one line two"),
        ("# Heading", "\\# Heading"),
        ("`unclosed", "\\`unclosed"),
        ("x \\| y \\", "x \\| y \\\\"),
        ("<b>bold", "`<b>`bold"),
        ("- item", "\\- item"),
        ("1. item", "1\\. item"),
        ("===", "\\==="),
        ("", "(untitled)"),
        (" \u{a0} ", "(untitled)"),
        (
            "**bold** [x](https://docs.example.org)",
            "bold x (`https://docs.example.org`)",
        ),
        ("`a|b` leaks", "`a`\\|`b` leaks"),
        ("Fix @user's #12", "Fix `@user's` `#12`"),
        (
            "Unbounded `Vec<u8>` in `read_all`",
            "Unbounded `Vec<u8>` in `read_all`",
        ),
    ] {
        let out = sanitise::title(input, &policy());
        assert_eq!(out, expected, "for {input:?}");
        assert_eq!(sanitise::title(&out, &policy()), out, "not stable: {out:?}");
        assert_safe(&out);
    }
}

#[test]
fn long_text_is_cut_with_everything_closed() {
    let paragraph = "word ".repeat(50);
    let item = "- item with **bold words that go on** and `code`\n".repeat(20);
    let code = format!("```rust\n{}```\n", "let x = 1;\n".repeat(50));
    let table = format!("| a | b |\n| - | - |\n{}", "| 1 | 2 |\n".repeat(40));
    let quote = "> quoted words\n".repeat(30);
    let emphasis = format!("**{}**", "bold ".repeat(100).trim());
    let entity = "&lt;&gt;&amp;".repeat(200);
    let mentions = "@user ".repeat(200);
    for text in [
        paragraph,
        item,
        code,
        table,
        quote,
        emphasis,
        entity,
        mentions,
        "x".repeat(3000),
    ] {
        for max in [0, 1, 2, 10, 57, 100, 333, 700] {
            let policy = TextPolicy {
                max_chars: max,
                ..policy()
            };
            let out = sanitise::body(&text, &policy);
            assert!(
                out.chars().count() <= max,
                "{} > {max}: {out:?}",
                out.chars().count()
            );
            let whole = sanitise::body(&text, &TextPolicy::default())
                .chars()
                .count();
            assert!(
                out.is_empty() || out.ends_with('…') || whole <= max,
                "{out:?}"
            );
            assert_safe(&out);
            assert_eq!(sanitise::body(&out, &policy), out, "not stable at {max}");
        }
    }
}

#[test]
fn code_and_paths_stay_exact() {
    let code = "fn a() {\n\t// **not bold** @user #12 <b>\n\n    x();\n}";
    assert_eq!(
        sanitise::code_fence("rust", code),
        format!("```rust\n{code}\n```")
    );
    assert_eq!(sanitise::code_fence("", ""), "```\n```");
    assert_eq!(sanitise::inline_code("src/a_b*c.rs"), "`src/a_b*c.rs`");
    assert_eq!(sanitise::inline_code("a`b"), "``a`b``");
    assert_eq!(sanitise::inline_code("`x`"), "`` `x` ``");
    assert_eq!(sanitise::inline_code("a|b"), "`a`\\|`b`");
    assert_eq!(
        sanitise::inline_code("a\n\u{202e}b"),
        "`a<U+000A><U+202E>b`"
    );
    assert_eq!(sanitise::inline_code(""), "` `");
    let long = format!("{}/{}", "a".repeat(400), "b.rs");
    let short = sanitise::inline_code(&long);
    assert!(short.chars().count() <= 302 && short.ends_with("/b.rs`") && short.contains('…'));
}

#[test]
fn suggestions_are_exact_or_absent() {
    let some = |code: &str| sanitise::suggestion(code, None).unwrap();
    assert_eq!(some("let x = 1;\n"), "```suggestion\nlet x = 1;\n```");
    assert_eq!(some(""), "```suggestion\n```");
    assert_eq!(some("\n"), "```suggestion\n\n```");
    assert_eq!(some("a\r\nb"), "```suggestion\na\nb\n```");
    assert_eq!(some("```\n"), "````suggestion\n```\n````");
    let below_two = sanitise::suggestion("x\n", Some(2)).unwrap();
    assert_eq!(below_two, "```suggestion:-2+0\nx\n```");
    let (_, code) = oracle::only_code_block(&some("  indented\n\n\ttab\n"));
    assert_eq!(code, "  indented\n\n\ttab\n");
    for code in [
        "/approve",
        "x\n  /merge now",
        "@dependabot merge",
        "bors r+",
        "a\u{202e}b",
        "a\rb",
        "<!-- mirilla:x -->",
        "\u{0}",
    ] {
        assert_eq!(sanitise::suggestion(code, None), None, "{code:?}");
    }
}

#[test]
fn the_policy_host_of_these_tests_is_the_one_the_oracle_allows() {
    assert!(
        oracle::violations("<https://evil.test>", &[HOST])
            .iter()
            .any(|what| what.contains("link to"))
    );
}
