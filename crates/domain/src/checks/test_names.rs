//! Recognises tests, assertions and skip marks in the languages people review.

use std::sync::LazyLock;

use memchr::memmem;
use regex::bytes::Regex;

use super::subject::is_comment;

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
          \bassert\w*\s*!?\s*[.(\s] | \bassert_?\w*\b | \bexpect\w*\s*[({!] | \.should\b | \bshould\. | \.(?:must|wont)_\w
        | \brequire\.\w+\( | \bt\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\( | \bverify\w*\(
        | \bt\.(?:equal|equals|same|strictSame|ok|notOk|is|not|deepEqual|strictEqual|match|throws|rejects|error|fail|has)\(
        | \bXCTAssert | \b(?:EXPECT|ASSERT|CHECK|REQUIRE)(?:_\w+)?\( | \bAssert\.\w+ | \binsta::
        )",
    )
    .ok()
});

/// Returns what a line declares; functions that are tests only under an attribute if `attribute` says that
/// there may be one.
pub(super) fn declaration(line: &[u8], attribute: bool) -> Option<Declared> {
    let group = |pattern: &Option<Regex>| -> Option<String> {
        let captures = pattern.as_ref()?.captures(line)?;
        let name = captures.iter().skip(1).flatten().next()?;
        Some(String::from_utf8_lossy(name.as_bytes()).into_owned())
    };
    let may = may_declare(line)?;
    let named = || {
        let name = described(line)
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .or_else(|| group(&NAMED))?;
        Some(Declared {
            name,
            needs_attribute: false,
        })
    };
    let function = || {
        group(&FUNCTION).map(|name| Declared {
            name,
            needs_attribute: true,
        })
    };
    match may {
        May::Named => named(),
        May::Function if attribute => function(),
        May::Function => None,
        May::Either => named().or_else(|| attribute.then(function).flatten()),
    }
}

/// Returns whether a line declares a test, or a function that an attribute makes one.
pub(super) fn declares(line: &[u8], attribute: bool) -> Option<May> {
    let may = may_declare(line)?;
    let is = |pattern: &Option<Regex>| pattern.as_ref().is_some_and(|one| one.is_match(line));
    if may != May::Function && is(&NAMED) {
        return Some(May::Named);
    }
    (attribute && may != May::Named && is(&FUNCTION)).then_some(May::Function)
}

/// The description of a line such as `it("works"`, which most tests of some languages are: what [`NAMED`]
/// finds there, in less time.
fn described(line: &[u8]) -> Option<&[u8]> {
    let is_quote = |c: &u8| matches!(c, b'"' | b'\'' | b'`');
    let (word, rest) = first_word(line.trim_ascii_start());
    let call = matches!(word, b"it" | b"test" | b"specify" | b"scenario");
    let rest = rest.trim_ascii_start();
    let rest = rest.strip_prefix(b"(").unwrap_or(rest).trim_ascii_start();
    let (_, text) = rest.split_first().filter(|(c, _)| call && is_quote(c))?;
    let end = memchr::memchr3(b'"', b'\'', b'`', text)?;
    text.get(..end)
        .filter(|name| (1..=200).contains(&name.len()))
}

/// What a line can declare, by its first words.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum May {
    /// A test by its own declaration.
    Named,
    /// A function that an attribute makes a test.
    Function,
    /// Either.
    Either,
}

/// Looks at a line's first words. Most lines end here.
fn may_declare(line: &[u8]) -> Option<May> {
    let text = line.trim_ascii_start();
    let (word, rest) = first_word(text);
    let next = || first_word(rest.trim_ascii_start()).0;
    let is_call = |word: &[u8]| {
        matches!(
            word,
            b"it"
                | b"test"
                | b"xit"
                | b"fit"
                | b"xtest"
                | b"ftest"
                | b"specify"
                | b"xspecify"
                | b"fspecify"
                | b"xscenario"
                | b"fscenario"
                | b"scenario"
        )
    };
    match word {
        b"def" => next().starts_with(b"test").then_some(May::Named),
        b"func" => {
            let name = next();
            let starts: [&[u8]; 5] = [b"Test", b"test", b"Benchmark", b"Fuzz", b"Example"];
            (starts.iter().any(|start| name.starts_with(start))).then_some(May::Named)
        }
        b"function" => next().starts_with(b"test").then_some(May::Named),
        b"async" | b"public" | b"private" | b"internal" | b"final" | b"static" => Some(May::Either),
        b"protected" | b"pub" | b"fn" | b"void" | b"Task" | b"ValueTask" | b"fun" | b"Unit"
        | b"override" | b"suspend" | b"open" => Some(May::Function),
        b"await" => Some(May::Named),
        _ if is_call(word) || word.starts_with(b"TEST") => Some(May::Named),
        _ => {
            let method = rest.strip_prefix(b".").map(first_word);
            method
                .is_some_and(|(method, _)| word.len() <= 8 && is_call(method))
                .then_some(May::Named)
        }
    }
}

/// The word that a text starts with, and the rest.
fn first_word(text: &[u8]) -> (&[u8], &[u8]) {
    let len = text
        .iter()
        .take_while(|c| c.is_ascii_alphanumeric() || **c == b'_')
        .count();
    text.split_at_checked(len).unwrap_or((text, b""))
}

/// Says whether a line is an attribute that makes the next function a test.
pub(super) fn is_attribute(line: &[u8]) -> bool {
    matches!(line.trim_ascii_start().first(), Some(b'#' | b'@' | b'['))
        && ATTRIBUTE
            .as_ref()
            .is_some_and(|attribute| attribute.is_match(line))
}

/// Says whether a line asserts something: not a comment, nor an import of what asserts.
pub(super) fn is_assertion(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    let imports: [&[u8]; 3] = [b"import ", b"from ", b"use "];
    !is_comment(text)
        && !imports.iter().any(|import| text.starts_with(import))
        && ASSERTION
            .as_ref()
            .is_some_and(|assertion| assertion.is_match(text))
        && memmem::find(text, b"require(").is_none()
}

/// Says whether a line is blank, a comment, or another attribute, as may stand between an attribute and
/// its function.
pub(super) fn is_between(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    let starts: [&[u8]; 8] = [b"#[", b"@", b"[", b"//", b"*", b"/*", b")", b"]"];
    text.is_empty() || starts.iter().any(|start| text.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_way_finds_what_the_pattern_does() {
        let pattern = NAMED.as_ref().unwrap();
        for line in [
            "it('works', () => {",
            "  test( \"a b\", async t => {",
            "  it \"works\" do",
            "\tspecify(`x ${y}`, f)",
            "scenario 'doesn\"t' do",
            "it('', f)",
            "it(works)",
            "test.each([1])('n', f)",
            "iterate('a')",
            "let it = 'a'",
        ] {
            let short = described(line.as_bytes());
            let long = pattern
                .captures(line.as_bytes())
                .and_then(|found| found.iter().skip(1).flatten().next())
                .map(|name| name.as_bytes());
            assert!(short.is_none() || short == long, "{line}");
            let plain = line.trim_start().starts_with("it ") && line.contains(" do");
            assert!(!plain || short.is_some(), "{line}");
        }
    }
}
