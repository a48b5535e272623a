//! Suggestions: what one click would make of the file.

use mirilla_domain::ids::Forge;
use mirilla_domain::plan::ReviewAction;
use proptest::prelude::*;

use crate::bench::{Bench, finding};

/// A file at the head, of which the lines from `first` to `last` were added.
#[derive(Debug, Clone)]
struct Head {
    /// Each with its line end, if it has one.
    lines: Vec<String>,
    first: usize,
    last: usize,
}

impl Head {
    fn of(text: &str, first: usize, last: usize) -> Self {
        let lines = text.split_inclusive('\n').map(str::to_owned).collect();
        Self { lines, first, last }
    }

    fn is_added(&self, number: usize) -> bool {
        (self.first..=self.last).contains(&number)
    }

    fn diff(&self) -> String {
        let old = self.lines.len() - (self.last - self.first + 1);
        let start = usize::from(old > 0);
        let mut out = format!(
            "diff --git a/src/f.rs b/src/f.rs\nindex 1..2 100644\n--- a/src/f.rs\n+++ b/src/f.rs\n@@ -{start},{old} +1,{} @@\n",
            self.lines.len()
        );
        for (number, line) in (1..).zip(&self.lines) {
            out.push(if self.is_added(number) { '+' } else { ' ' });
            out.push_str(line);
            if !line.ends_with('\n') {
                out.push_str("\n\\ No newline at end of file\n");
            }
        }
        out
    }

    fn replaced(&self) -> &[String] {
        &self.lines[self.first - 1..self.last]
    }

    /// What is offered in place of the added lines, if it is: the same on both forges, which differ in where the
    /// range is said.
    fn offered(&self, suggestion: &str) -> Option<String> {
        let on_github = self.offered_on(Forge::Github, suggestion);
        let on_gitlab = self.offered_on(Forge::Gitlab, suggestion);
        let range = format!("suggestion:-{}+0", self.last - self.first);
        assert_eq!(
            on_gitlab,
            on_github.clone().map(|(_, code)| (range, code)),
            "the fence has the range"
        );
        on_github.map(|(name, code)| {
            assert_eq!(name, "suggestion");
            code
        })
    }

    fn offered_on(&self, forge: Forge, suggestion: &str) -> Option<(String, String)> {
        let (first, last) = (self.first as u32, self.last as u32);
        let mut one = finding("src/f.rs", first, "A");
        one.end_line = (first < last).then_some(last);
        one.suggestion = Some(suggestion.to_owned());
        let plan = Bench::new(&self.diff()).on(forge).found(vec![one]).plan();
        let ReviewAction::Create { review } = plan.review else {
            panic!("a first review is created");
        };
        let [comment] = &*review.comments else {
            panic!("{:?}", review.comments);
        };
        let start = comment.start_line.unwrap_or(comment.line);
        assert_eq!((start, comment.line), (first, last), "exactly those lines");
        block(&comment.body)
    }

    /// The file after the click.
    fn after(&self, code: &str) -> String {
        let before = self.lines[..self.first - 1].concat();
        let behind = self.lines[self.last..].concat();
        let ends = self.replaced().last().unwrap().ends_with('\n');
        let code = if ends || code.is_empty() {
            code
        } else {
            code.strip_suffix('\n').unwrap_or(code)
        };
        format!("{before}{code}{behind}")
    }
}

/// The name of a comment's suggestion block and the code in it, each line with its end.
fn block(body: &str) -> Option<(String, String)> {
    let mut lines = body.lines();
    let (fence, name) = lines.find_map(|line| {
        let name = line.trim_start_matches('`');
        let fence = line.strip_suffix(name)?;
        (fence.len() >= 3 && name.starts_with("suggestion")).then_some((fence, name))
    })?;
    let mut code = String::new();
    for line in lines {
        if line == fence {
            return Some((name.to_owned(), code));
        }
        code.push_str(line);
        code.push('\n');
    }
    panic!("the block is not closed: {body}");
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Brackets without a partner, by cancelling neighbours until none are left.
fn unmatched(text: &str) -> String {
    let mut left: String = text.chars().filter(|c| "()[]{}".contains(*c)).collect();
    loop {
        let less = left.replace("()", "").replace("[]", "").replace("{}", "");
        if less == left {
            return left;
        }
        left = less;
    }
}

fn any_head() -> impl Strategy<Value = Head> {
    let indent = proptest::sample::select(vec!["", "  ", "    ", "\t", "\t\t"]);
    let code = prop_oneof![
        "[a-z]{2,6}\\([a-z]{2,6}\\);",
        Just("if (ready) {".to_owned()),
        Just("}".to_owned()),
        Just("say(\":)\");".to_owned()),
    ];
    let line = (indent, code).prop_map(|(indent, code)| format!("{indent}{code}"));
    (
        proptest::collection::vec(line, 1..9),
        any::<(prop::sample::Index, prop::sample::Index)>(),
        proptest::sample::select(vec!["\n", "\n", "\n", "\r\n"]),
        any::<bool>(),
    )
        .prop_map(|(lines, (one, other), end, ends)| {
            let (one, other) = (one.index(lines.len()) + 1, other.index(lines.len()) + 1);
            let mut text = lines.join(end) + end;
            if !ends {
                text.truncate(text.len() - end.len());
            }
            Head::of(&text, one.min(other), one.max(other))
        })
}

fn any_suggestion() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ \t]{0,4}[a-z(){}\\[\\]\"'` \t;\n]{0,40}",
        "[ \t]{0,4}[a-z]{2,6}\\([a-z]{2,6}\\);\n?",
        "(    |\t|  )(```|~~~~)?[a-z]{0,8}\r?\n```\n",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn one_click_changes_the_named_lines_and_keeps_their_shape(
        head in any_head(),
        suggestion in any_suggestion(),
    ) {
        let text = head.lines.concat();
        let has_returns = text.contains('\r');
        // The control: the same lines with other words.
        let same: String = head.replaced().concat().replace("\r\n", "\n");
        let other = same.replace(['a', 'e', 'i'], "o");
        if other != same {
            prop_assert_eq!(head.offered(&other).is_some(), !has_returns);
        }
        let Some(code) = head.offered(&suggestion) else { return Ok(()) };
        prop_assert!(!has_returns && !code.contains('\r'));
        let after = head.after(&code);
        // As many lines were put in as the block has, and around them stands what stood there.
        let lines: Vec<&str> = after.split_inclusive('\n').collect();
        let behind = head.lines.len() - head.last;
        let added = code.split_inclusive('\n').count();
        prop_assert_eq!(lines.len(), head.first - 1 + added + behind);
        prop_assert_eq!(&lines[..head.first - 1], &head.lines[..head.first - 1]);
        prop_assert_eq!(&lines[lines.len() - behind..], &head.lines[head.last..]);
        prop_assert_eq!(unmatched(&after), unmatched(&text));
        let shown = |line: &&str| !line.trim().is_empty();
        let old = head.replaced().iter().map(String::as_str).find(shown).unwrap();
        if let Some(new) = code.lines().find(shown) {
            prop_assert_eq!(indent(new), indent(old));
        }
        let old: String = head.replaced().iter().map(|line| indent(line)).collect();
        let new: String = code.lines().filter(shown).map(indent).collect();
        let mixes = new.contains(' ') && new.contains('\t');
        prop_assert!(!mixes || (old.contains(' ') && old.contains('\t')));
    }
}

#[test]
fn shape_of_the_replaced_lines_decides() {
    let table = [
        ("\tcall(a);\n", "\tcall(b);", true, "the control"),
        ("\tcall(a);\n", "    call(b);", false, "blanks for a tab"),
        ("\tcall(a);\n", "call(b);", false, "no indentation"),
        ("  call(a);\n", "    call(b);", false, "deeper"),
        (
            "  call(a);\n",
            "  if (x) {\n\tcall(b);\n  }",
            false,
            "a tab below blanks",
        ),
        (
            "  call(a);\n",
            "  if (x) {\n    call(b);\n  }",
            true,
            "more lines",
        ),
        (
            "f(a);\n",
            "if (x) {\n  f(b);\n\tg();\n}",
            false,
            "both kinds",
        ),
        (
            "f(a);\n",
            "}\nf(b);\n{",
            false,
            "closed before it is opened",
        ),
        (
            "f(a);\n",
            "f)b(;",
            false,
            "the same count, in another order",
        ),
        ("f([a]);\n", "f([a)];", false, "crossed"),
        (
            "} else {\n",
            "} else if (x) {",
            true,
            "closes and opens, as before",
        ),
        (
            "say(\"(\");\n",
            "say(\"((\");",
            false,
            "another bracket in a string",
        ),
        ("say(\":(\");\n", "tell(\":(\");", true, "the same one"),
        ("f(a);\n", "f(\")\";", false, "closed in a string only"),
        (
            "it's(a);\n",
            "it's(b);",
            true,
            "an apostrophe opens no string",
        ),
        ("  f(a);\r\n", "  f(b);", false, "a CRLF file"),
        ("  f(a);", "  f(b);", true, "the last line, without an end"),
        ("  f(a);\n", "", true, "removes the line"),
        ("\n", "  f(b);", false, "a blank line tells no depth"),
    ];
    for (old, new, wanted, why) in table {
        let head = Head::of(&format!("x();\n{old}"), 2, 2);
        assert_eq!(head.offered(new).is_some(), wanted, "{why}: {new:?}");
    }
}
