//! What an answer points at, however broken its items are.
//!
//! An item that [`read`](super::read) refuses may have named a real defect. Whoever measures what our own
//! checks cost has to see the refused items too; nobody else may.
//!
//! **Invariant:** nothing read here becomes a finding: it has a place and no words.

use mirilla_diff::FileDiff;
use serde_json::Value;

use super::paths::Names;
use super::{MAX_FINDINGS, extract};

/// A place that an item of an answer names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The file, as the diff calls it where that can be told. Untrusted.
    pub path: String,
    /// The first line; never 0.
    pub line: u32,
    /// The last line; not before `line`.
    pub end_line: u32,
}

/// Returns every place that an answer names, in its order, at most ten times [`MAX_FINDINGS`].
///
/// Empty for a text without a readable list: what cannot be found cannot be told from what is not there.
pub fn seen(text: &str, files: &[FileDiff<'_>]) -> Vec<Seen> {
    let Ok(answer) = extract::answer(text, "findings") else {
        return Vec::new();
    };
    let names = Names::of(files);
    let items = answer.get("findings").and_then(Value::as_array);
    let items = items.map_or(&[][..], Vec::as_slice).iter();
    items
        .take(MAX_FINDINGS.saturating_mul(10))
        .filter_map(|item| {
            let path = item.get("path").or_else(|| item.get("file"))?.as_str()?;
            let number = |key: &str| {
                let value = item.get(key)?;
                let number = match value {
                    Value::String(digits) => digits.trim().parse().ok(),
                    other => other.as_u64(),
                };
                number
                    .and_then(|number| u32::try_from(number).ok())
                    .filter(|number| *number > 0)
            };
            let end = number("end_line");
            let line = number("line").or(end)?;
            let end = end.unwrap_or(line);
            Some(Seen {
                path: names.resolve(path).unwrap_or(path).to_owned(),
                line: line.min(end),
                end_line: line.max(end),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &[u8] = b"diff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1 +1,2 @@\n one\n+two\n";

    #[test]
    fn a_refused_item_keeps_its_place() {
        let parsed = mirilla_diff::parse(DIFF);
        let answer = r#"{"summary":"","findings":[
            {"path":"b/src/a.rs","line":"2","end_line":null,"severity":"dreadful","title":"x"},
            {"path":"src/a.rs","line":9,"end_line":3},
            {"path":"src/a.rs"}, 7]}"#;
        assert!(super::super::read(answer, &parsed.files).is_err());
        let place = |line, end_line| Seen {
            path: "src/a.rs".to_owned(),
            line,
            end_line,
        };
        assert_eq!(seen(answer, &parsed.files), [place(2, 2), place(3, 9)]);
    }

    #[test]
    fn a_text_without_a_list_names_nothing() {
        let parsed = mirilla_diff::parse(DIFF);
        for text in [
            "",
            "nothing found",
            r#"{"findings":"none"}"#,
            "{\"findings\":[{",
        ] {
            assert_eq!(seen(text, &parsed.files), []);
        }
    }
}
