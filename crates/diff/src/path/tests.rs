use super::*;

fn git_line(text: &str) -> Option<String> {
    split_git_line(text.as_bytes()).map(|path| String::from_utf8_lossy(&path).into_owned())
}

fn pair(old: &str, new: &str) -> (String, String) {
    let borrowed = |text: &'_ str| Cow::<[u8]>::Owned(text.as_bytes().to_vec());
    let (old, new) = strip_prefixes(borrowed(old), borrowed(new));
    let owned = |path: Path<'_>| String::from_utf8_lossy(&path).into_owned();
    (owned(old), owned(new))
}

#[test]
fn quoted_names_decode_to_bytes() {
    let decode = |text: &'static [u8]| unquote(text).map(|(path, tail)| (path.into_owned(), tail));
    assert_eq!(
        decode(br#""a\a\b\t\n\v\f\r\"\\\303\274" rest"#),
        Some((
            b"a\x07\x08\t\n\x0b\x0c\r\"\\\xc3\xbc".to_vec(),
            &b" rest"[..]
        ))
    );
    assert_eq!(decode(br#""plain""#), Some((b"plain".to_vec(), &b""[..])));
    assert_eq!(decode(br#""\377""#), Some((vec![0xff], &b""[..])));
}

#[test]
fn broken_quoting_is_no_name() {
    for text in [
        &br#""open"#[..],
        br#""\"#,
        br#""\q""#,
        br#""\400""#,
        br#""\38""#,
        br#""\12"#,
        br#""\189""#,
    ] {
        assert_eq!(unquote(text), None, "{}", text.escape_ascii());
    }
}

#[test]
fn a_quoted_name_that_needed_no_escape_is_borrowed() {
    assert!(matches!(
        unquote(b"\"a/x\""),
        Some((Cow::Borrowed(b"a/x"), b""))
    ));
}

#[test]
fn names_end_at_a_tab_and_dev_null_is_exact() {
    assert_eq!(
        read_name(b"a/x y\t"),
        Some(Name::Path(Cow::Borrowed(b"a/x y")))
    );
    assert_eq!(
        read_name(b"x\t2026-01-01 00:00:00"),
        Some(Name::Path(Cow::Borrowed(b"x")))
    );
    assert_eq!(read_name(b"/dev/null"), Some(Name::Absent));
    assert_eq!(read_name(b"/dev/null\t"), Some(Name::Absent));
    assert_eq!(
        read_name(b"b/dev/null"),
        Some(Name::Path(Cow::Borrowed(b"b/dev/null")))
    );
    // Quoted, it is a path like any other: git never quotes the absent side.
    assert_eq!(
        read_name(b"\"/dev/null\""),
        Some(Name::Path(Cow::Borrowed(b"/dev/null")))
    );
    assert_eq!(read_name(b""), None);
    assert_eq!(read_name(b"\"\""), None);
}

#[test]
fn git_line_splits_into_equal_halves() {
    assert_eq!(git_line("a/x b/x").as_deref(), Some("x"));
    assert_eq!(git_line("a/a b/x b b/a b/x b").as_deref(), Some("a b/x b"));
    assert_eq!(git_line("a/p b/q b/p b/q").as_deref(), Some("p b/q"));
    assert_eq!(
        git_line("c/lib/core.c w/lib/core.c").as_deref(),
        Some("lib/core.c")
    );
    assert_eq!(
        git_line("lib/core.c lib/core.c").as_deref(),
        Some("lib/core.c")
    );
    assert_eq!(git_line("a/foo a/foo").as_deref(), Some("a/foo"));
    assert_eq!(git_line(r#""a/t\tb" "b/t\tb""#).as_deref(), Some("t\tb"));
}

#[test]
fn git_line_of_two_files_or_half_a_line_tells_nothing() {
    for text in [
        "a/x b/y",
        "a/x b/xy",
        "a/x",
        "",
        " ",
        "a/ b/",
        r#""a/x"#,
        r#""a/x" b/y"#,
        r#""a/x""b/x""#,
        r#"a/sp ace "b/sp \303\251""#,
    ] {
        assert_eq!(git_line(text), None, "{text}");
    }
}

#[test]
fn prefixes_come_off_only_where_they_are() {
    let names = |old: &str, new: &str| (old.to_owned(), new.to_owned());
    assert_eq!(pair("a/x", "b/x"), names("x", "x"));
    assert_eq!(pair("i/x", "w/x"), names("x", "x"));
    assert_eq!(pair("a/x", "a/x"), names("a/x", "a/x"));
    assert_eq!(pair("a/x", "b/y"), names("x", "y"));
    assert_eq!(pair("src/x", "src/y"), names("src/x", "src/y"));
    assert_eq!(pair("x", "y"), names("x", "y"));
}

#[test]
fn lone_name_follows_the_git_line() {
    let strip = |name: &'static [u8], line: Option<&'static [u8]>| {
        strip_prefix(Cow::Borrowed(name), line.map(Cow::Borrowed)).into_owned()
    };
    assert_eq!(strip(b"b/new", Some(b"new")), b"new");
    assert_eq!(strip(b"b/new", Some(b"b/new")), b"b/new");
    assert_eq!(strip(b"b/new.py", None), b"new.py");
    assert_eq!(strip(b"new.py", None), b"new.py");
}
