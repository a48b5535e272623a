//! Recognises tests, assertions and skip marks in the languages people review.

use std::sync::LazyLock;

use regex::bytes::Regex;

/// A line that declares something a test can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declared {
    /// The test's name or description.
    pub(super) name: String,
    /// It is a test only under an attribute such as `#[test]` or `@Test`.
    pub(super) needs_attribute: bool,
}

/// Tests that are tests by their own declaration. Group 1 (or 2) is the name.
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?x-u)^\s*(?:
          (?:async\s+)?def\s+(test\w*)\s*[(:]                                  # Python, Ruby
        | func\s+((?:Test|Benchmark|Fuzz|Example)\w*)\s*\(                     # Go
        | (?:public\s+|private\s+|internal\s+|final\s+|static\s+)*(?:func\s+(test\w+)\s*\(\s*\)|function\s+(test\w+)\s*\()  # Swift, PHP
        | (?:await\s+)?(?:\w{1,8}\.)?[xf]?(?:it|test|specify|scenario)(?:\.(?:each|concurrent|only|skip)\b[^"'`(]*)?\s*\(?\s*["'`]([^"'`]{1,200})["'`]  # JavaScript, Ruby, Elixir, Dart
        | TEST(?:_[FP]|_CASE)?\s*\(\s*([\w"][^)]{0,200})\)?                     # C++
        )"#,
    )
    .ok()
});

/// Functions that an attribute on a line before makes a test.
static FUNCTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x-u)^\s*(?:
          (?:pub(?:\([a-z]+\))?\s+)?(?:async\s+)?fn\s+(\w+)                      # Rust
        | (?:(?:public|private|protected|internal|static|final|async|override|suspend|open)\s+)*
          (?:void|Task|ValueTask|fun|Unit)(?:<[\w<>,\s]*>)?\s+(?:`([^`]+)`|(\w+))\s*\(  # Java, C\#, Kotlin
        )",
    )
    .ok()
});

/// Attributes that make the next function a test.
static ATTRIBUTE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x-u)^\s*(?:
          \#\[(?:\w+::)*(?:test|rstest|test_case|quickcheck|proptest|test_log|traced_test)\b
        | @(?:org\.junit\.(?:jupiter\.api\.)?)?(?:Test|ParameterizedTest|RepeatedTest|TestFactory)\b
        | \[(?:Fact|Theory|Test|TestMethod|TestCase|DataTestMethod)\b
        )",
    )
    .ok()
});

/// Checks inside a test.
static ASSERTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x-u)(?:
          \bassert\w*\s*!?\s*[.(\s] | \bassert_?\w*\b | \bexpect\w*\s*[({!] | \.should\b | \bshould\.
        | \brequire\.\w+\( | \bt\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\( | \bverify\w*\(
        | \bXCTAssert | \b(?:EXPECT|ASSERT|CHECK|REQUIRE)(?:_\w+)?\( | \bAssert\.\w+ | \binsta::
        )",
    )
    .ok()
});

/// Returns what a line declares.
pub(super) fn declaration(line: &[u8]) -> Option<Declared> {
    if !may_declare(line) {
        return None;
    }
    let group = |pattern: &Option<Regex>| -> Option<String> {
        let captures = pattern.as_ref()?.captures(line)?;
        let name = captures.iter().skip(1).flatten().next()?;
        Some(String::from_utf8_lossy(name.as_bytes()).into_owned())
    };
    group(&NAMED)
        .map(|name| Declared {
            name,
            needs_attribute: false,
        })
        .or_else(|| {
            group(&FUNCTION).map(|name| Declared {
                name,
                needs_attribute: true,
            })
        })
}

/// Says whether a line's first word is one that a declaration can start with. Most lines end here.
fn may_declare(line: &[u8]) -> bool {
    let text = line.trim_ascii_start();
    let len = text
        .iter()
        .take_while(|c| c.is_ascii_alphanumeric() || **c == b'_')
        .count();
    let (word, rest) = text.split_at_checked(len).unwrap_or((text, b""));
    let method = rest.first() == Some(&b'.') && word.len() <= 8;
    method
        || matches!(
            word,
            b"def"
                | b"async"
                | b"func"
                | b"function"
                | b"public"
                | b"private"
                | b"protected"
                | b"internal"
                | b"final"
                | b"static"
                | b"it"
                | b"test"
                | b"xit"
                | b"fit"
                | b"xtest"
                | b"ftest"
                | b"specify"
                | b"xspecify"
                | b"scenario"
                | b"await"
                | b"pub"
                | b"fn"
                | b"void"
                | b"Task"
                | b"ValueTask"
                | b"fun"
                | b"Unit"
                | b"override"
                | b"suspend"
                | b"open"
        )
        || word.starts_with(b"TEST")
}

/// Says whether a line is an attribute that makes the next function a test.
pub(super) fn is_attribute(line: &[u8]) -> bool {
    matches!(line.trim_ascii_start().first(), Some(b'#' | b'@' | b'['))
        && ATTRIBUTE
            .as_ref()
            .is_some_and(|attribute| attribute.is_match(line))
}

/// Says whether a line asserts something.
pub(super) fn is_assertion(line: &[u8]) -> bool {
    ASSERTION
        .as_ref()
        .is_some_and(|assertion| assertion.is_match(line))
}

/// Says whether a line is blank, a comment, or another attribute, as may stand between an attribute and
/// its function.
pub(super) fn is_between(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    let starts: [&[u8]; 8] = [b"#[", b"@", b"[", b"//", b"*", b"/*", b")", b"]"];
    text.is_empty() || starts.iter().any(|start| text.starts_with(start))
}
