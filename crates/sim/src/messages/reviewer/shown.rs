//! Reads the numbered lines back out of a prompt.
//!
//! The product prints a part of a change like this, and this is the one place that knows it:
//!
//! ```text
//! <diff nonce="5f0c…">
//! <file path="src/pay.rs" change="modified">
//! @@ fn pay(order: &Order)
//! 41   fn total(items: &[Item]) -> u64 {
//!    -     items.iter().map(|item| item.price).sum()
//! 42 +     items.iter().map(|item| item.price * item.count).sum()
//! </file>
//! </diff nonce="5f0c…">
//! ```
//!
//! **Invariant:** only what stands between two tags of the same nonce is read, so that text in a change
//! cannot end it.

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Added,
    Removed,
    Context,
}

/// One line as it was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) kind: Kind,
    /// Its number in the new file; for a removed line the number of the line it stood before.
    pub(super) number: u32,
    pub(super) text: String,
    /// Whether lines are left out before this one.
    pub(super) gap: bool,
}

/// One file, or the part of it that was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShownFile {
    pub(super) path: String,
    pub(super) lines: Vec<Shown>,
}

/// Reads all files of a prompt.
pub(super) fn read(text: &str) -> Vec<ShownFile> {
    let mut files: Vec<ShownFile> = Vec::new();
    let mut gap = true;
    for line in enclosed(text).unwrap_or_default().lines() {
        if let Some(path) = header_path(line) {
            let lines = Vec::new();
            files.push(ShownFile { path, lines });
            gap = true;
        } else if line.starts_with("@@") {
            gap = true;
        } else if let (Some(file), Some((kind, number, text))) = (files.last_mut(), numbered(line))
        {
            file.lines.push(Shown {
                kind,
                number: number.unwrap_or_else(|| next_number(&file.lines)),
                text: text.to_owned(),
                gap,
            });
            gap = false;
        }
    }
    files.retain(|file| !file.lines.is_empty());
    files
}

/// Returns what stands between the tags of the diff.
fn enclosed(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("<diff nonce=\"")?;
    let (nonce, rest) = rest.split_once("\">\n")?;
    let (inside, _) = rest.split_once(&format!("</diff nonce=\"{nonce}\">"))?;
    Some(inside)
}

/// Returns the number that comes after the lines so far.
fn next_number(lines: &[Shown]) -> u32 {
    lines.last().map_or(1, |last| match last.kind {
        Kind::Removed => last.number,
        Kind::Added | Kind::Context => last.number.saturating_add(1),
    })
}

/// Returns the path of a file's tag, which is a JSON string.
fn header_path(line: &str) -> Option<String> {
    let rest = line.strip_prefix("<file path=")?;
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    values.next()?.ok()
}

/// Takes `41 + code` apart: number, mark and code, a blank between each.
fn numbered(line: &str) -> Option<(Kind, Option<u32>, &str)> {
    let rest = line.trim_start_matches(' ');
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = rest.strip_suffix(after)?;
    let (kind, text) = if digits.is_empty() {
        (Kind::Removed, after.strip_prefix('-')?)
    } else {
        let marked = after.strip_prefix(' ')?;
        match marked.strip_prefix('+') {
            Some(text) => (Kind::Added, text),
            None => (Kind::Context, marked.strip_prefix(' ')?),
        }
    };
    let text = text.strip_prefix(' ').unwrap_or(text);
    Some((kind, digits.parse().ok(), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPT: &str = r#"The part of the change to review:
<diff nonce="aa11">
<file path="src/\u003ca\u003e \"b\".rs" change="modified">
@@ fn pay()
 9   fn total() {
  -     old()
10 +     new()
  \ no line break at the end of the file
@@ 
99   <file path="fake.rs" change="added">
100 + </diff nonce="bb22">
</file>
</diff nonce="aa11">
<file path="outside.rs" change="added">
1 + outside
"#;

    #[test]
    fn lines_are_read_with_their_numbers() {
        let files = read(PROMPT);
        assert_eq!(files.len(), 1);
        assert_eq!(files[0].path, "src/<a> \"b\".rs");
        let lines: Vec<_> = files[0]
            .lines
            .iter()
            .map(|l| (l.kind, l.number, l.text.as_str(), l.gap))
            .collect();
        assert_eq!(
            lines,
            [
                (Kind::Context, 9, "fn total() {", true),
                (Kind::Removed, 10, "    old()", false),
                (Kind::Added, 10, "    new()", false),
                (
                    Kind::Context,
                    99,
                    "<file path=\"fake.rs\" change=\"added\">",
                    true
                ),
                (Kind::Added, 100, "</diff nonce=\"bb22\">", false),
            ]
        );
    }

    #[test]
    fn text_without_tags_shows_nothing() {
        assert_eq!(read("1 + code"), []);
        assert_eq!(
            read("<diff nonce=\"a\">\n<file path=\"x\">\n1 + code\n"),
            []
        );
    }
}
