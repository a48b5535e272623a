//! Forms of diffs that other tools and settings make of git's, and forms git prints seldom.

use std::fmt::Write as _;

use mirilla_diff::{FileStatus, Incomplete, ProblemKind, Side, parse_patch};

use crate::{golden::dump, support::parse_checked};

/// One line per file: what a reader of the list sees.
fn list(input: &str) -> String {
    let parsed = parse_checked(input.as_bytes());
    let mut out = String::new();
    for file in &parsed.files {
        let (added, deleted) = (file.added.len(), file.deleted.len());
        let path = file.display_path();
        write!(out, "{} {path} +{added} -{deleted}", file.status).unwrap();
        if file.binary {
            out.push_str(" binary");
        }
        if file.submodule {
            out.push_str(" submodule");
        }
        if let Some(reason) = file.incomplete {
            write!(out, " ({reason})").unwrap();
        }
        out.push('\n');
    }
    for problem in &parsed.problems {
        writeln!(out, "{problem}").unwrap();
    }
    out
}

const EDIT: &str = "diff --git a/x b/x\nindex 1111111..2222222 100644\n--- a/x\n+++ b/x\n\
                    @@ -1,2 +1,2 @@\n one\n-two\n+three\n";

#[test]
fn a_mail_of_format_patch_is_its_files() {
    let mail = format!(
        "From 1111111 Mon Sep 17 00:00:00 2001\nFrom: T <t@example.test>\nSubject: [PATCH] x\n\n\
         ---\n x | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n\n{EDIT}-- \n2.47.3\n\n"
    );
    assert_eq!(list(&mail), "modified x +1 -1\n");
    assert_eq!(list(&mail.repeat(2)), "modified x +1 -1\n".repeat(2));
}

#[test]
fn a_diff_saved_with_crlf_keeps_its_paths_and_lines() {
    let saved = EDIT.replace('\n', "\r\n");
    assert_eq!(list(&saved), "modified x +1 -1\n");
    let parsed = parse_checked(saved.as_bytes());
    assert_eq!(
        parsed.files[0].line_text(Side::Right, 2),
        Some(&b"three\r"[..])
    );
}

#[test]
fn a_byte_order_mark_does_not_hide_the_first_file() {
    let mode_only = "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n";
    assert_eq!(list(&format!("\u{feff}{mode_only}")), "mode run +0 -0\n");
}

#[test]
fn context_lines_that_lost_their_blank_still_count() {
    let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,5 +1,5 @@\n\n one\n\n-two\n+three\n\n";
    assert_eq!(list(diff), "modified x +1 -1\n");
    let crlf = diff.replace('\n', "\r\n");
    assert_eq!(list(&crlf), "modified x +1 -1\n");
}

#[test]
fn plain_diffs_one_after_the_other_are_files() {
    let plain = "--- old/x\t2026-01-01 00:00:00.0 +0000\n+++ new/x\t2026-01-02 00:00:00.0 +0000\n\
                 @@ -1 +1 @@\n-a\n+b\n\
                 --- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+c\n";
    assert_eq!(list(plain), "modified x +1 -1\nadded y +1 -0\n");
}

#[test]
fn headers_that_promise_a_change_without_one_are_incomplete() {
    let next = EDIT;
    for (header, expected) in [
        // `git diff --irreversible-delete`
        (
            "deleted file mode 100644\nindex 1111111..0000000\n",
            "deleted y +0 -0",
        ),
        ("index 1111111..2222222 100644\n", "modified y +0 -0"),
        (
            "similarity index 90%\nrename from y\nrename to z\n",
            "renamed z +0 -0",
        ),
        (
            "index 1111111..2222222 100644\n--- a/y\n+++ b/y\n",
            "modified y +0 -0",
        ),
        ("old mode 100644\n", "modified y +0 -0"),
        ("", "modified y +0 -0"),
    ] {
        let diff = format!("diff --git a/y b/y\n{header}{next}");
        let expected = format!(
            "{expected} (content-missing)\nmodified x +1 -1\n\
             line 1: the file header announces a change that is not there\n"
        );
        assert_eq!(list(&diff), expected, "{header}");
    }
}

#[test]
fn headers_that_need_no_hunk_are_complete() {
    for (header, expected) in [
        (
            "similarity index 100%\nrename from y\nrename to z\n",
            "renamed z +0 -0",
        ),
        (
            "similarity index 100%\ncopy from y\ncopy to z\n",
            "copied z +0 -0",
        ),
        ("old mode 100644\nnew mode 100755\n", "mode y +0 -0"),
        (
            "old mode 100644\nnew mode 100755\nsimilarity index 100%\nrename from y\nrename to z\n",
            "renamed z +0 -0",
        ),
        (
            "new file mode 100644\nindex 0000000..e69de29\n",
            "added y +0 -0",
        ),
        (
            "deleted file mode 100644\nindex e69de29bb2d1..000000000000\n",
            "deleted y +0 -0",
        ),
        (
            "new file mode 100644\nindex 0000000000..473a0f4c3b\n",
            "added y +0 -0",
        ),
        ("old mode 100644\nnew mode 120000\n", "type y +0 -0"),
        (
            "index 1111111..2222222 100644\nBinary files a/y and b/y differ\n",
            "modified y +0 -0 binary",
        ),
    ] {
        let diff = format!("diff --git a/y b/y\n{header}{EDIT}");
        assert_eq!(
            list(&diff),
            format!("{expected}\nmodified x +1 -1\n"),
            "{header}"
        );
    }
}

#[test]
fn submodule_logs_in_all_forms_are_entries() {
    let diff = "Submodule libs/a b 1111111..2222222:\n  > one\n  < two\n\
                Submodule rewound 1111111..2222222 (rewind):\n\
                Submodule forced 1111111...2222222:\n\
                Submodule new 0000000...2222222 (new submodule)\n\
                Submodule gone 1111111...0000000 (submodule deleted)\n\
                Submodule far 1111111...2222222 (commits not present)\n\
                Submodule dirty contains modified content\n\
                Submodule like a sentence, which is none\n";
    assert_eq!(
        list(diff),
        "modified libs/a b +0 -0 submodule\nmodified rewound +0 -0 submodule\n\
         modified forced +0 -0 submodule\nadded new +0 -0 submodule\n\
         deleted gone +0 -0 submodule\nmodified far +0 -0 submodule\n\
         modified dirty +0 -0 submodule\n"
    );
}

#[test]
fn conflicts_and_combined_diffs_are_listed_and_skipped() {
    let diff = format!(
        "* Unmerged path sub dir/x\ndiff --combined \"tab\\tname\"\nindex 1,2..3\n\
         --- a/y\n+++ b/y\n@@@ -1,1 -1,1 +1,1 @@@\n--- a/z\n+++ b/z\n++@@ -1 +1 @@\n{EDIT}"
    );
    assert_eq!(
        list(&diff),
        "modified sub dir/x +0 -0 (unmerged)\nmodified tab\tname +0 -0 (combined-diff)\n\
         modified x +1 -1\n\
         line 1: the file is in conflict and has no diff\nline 2: combined diffs are skipped\n"
    );
}

#[test]
fn a_header_without_path_is_a_problem_and_no_file() {
    let diff = format!("diff --git a/x b/y\nold mode 100644\nnew mode 100755\n{EDIT}");
    assert_eq!(
        list(&diff),
        "modified x +1 -1\nline 1: the file header has no usable path\n"
    );
    assert_eq!(
        list("@@ -1 +1 @@\n-a\n+b\n"),
        "line 1: the hunk belongs to no file\n"
    );
    assert_eq!(
        list("diff --git a/x b"),
        "line 1: the diff ends here in the middle of a file\n"
    );
}

#[test]
fn text_around_hunks_is_not_taken_for_a_hunk() {
    let diff = format!("{EDIT}\nnot a diff\n@@ -9 +9 @@\n-a\n+b\n");
    assert_eq!(
        list(&diff),
        "modified x +1 -1 (bad-hunk)\nline 11: the hunk belongs to no file\n"
    );
}

#[test]
fn an_input_without_a_diff_has_no_file() {
    assert_eq!(list(""), "");
    assert_eq!(list("Already up to date.\n"), "");
}

#[test]
fn a_patch_of_a_list_needs_no_last_newline() {
    let patch = |text: &'static str| {
        let path = Some(&b"x"[..]);
        let (file, problems) = parse_patch(path, path, FileStatus::Modified, text.as_bytes());
        (
            file,
            problems
                .into_iter()
                .map(|problem| problem.kind)
                .collect::<Vec<_>>(),
        )
    };
    let (file, problems) = patch("@@ -1 +1,2 @@\n a\n+b");
    assert_eq!(
        (file.line_text(Side::Right, 2), problems),
        (Some(&b"b"[..]), vec![])
    );
    let (file, problems) = patch("@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file");
    assert!(file.lines().last().unwrap().no_newline);
    assert_eq!(problems, []);

    // GitLab with `unidiff=true`, and in place of binary content.
    let (file, problems) = patch("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n");
    assert_eq!((file.added.len(), problems), (1, vec![]));
    let (file, problems) = patch("Binary files a/x and b/x differ\n");
    assert!(file.binary);
    assert_eq!(problems, []);
    let (file, problems) = patch("no patch at all");
    assert_eq!(file.incomplete, Some(Incomplete::ContentMissing));
    assert_eq!(problems, [ProblemKind::ContentMissing]);
    let (file, problems) = patch("");
    assert_eq!(
        (file.hunks.len(), file.incomplete, problems),
        (0, None, vec![])
    );

    let (file, problems) = patch("@@ -1,3 +1,4 @@\n a\n+b\n c");
    assert_eq!(file.incomplete, Some(Incomplete::Truncated));
    assert!(file.commentable(Side::Right, 2) && !file.commentable(Side::Right, 3));
    assert_eq!(problems, [ProblemKind::Truncated]);
    let (file, problems) = patch("@@ -1 +1 @@\n-a\n+b\n+c");
    assert_eq!(file.incomplete, Some(Incomplete::CountMismatch));
    assert_eq!(problems, [ProblemKind::HunkTooLong]);
}

#[test]
fn neither_debug_nor_display_shows_text() {
    let diff = EDIT
        .replace("three", "s3cret-line")
        .replace("@@\n", "@@ s3cret-heading\n");
    let parsed = parse_checked(format!("{diff}+surplus s3cret\n").as_bytes()).problems;
    assert!(!parsed.is_empty());
    let whole = parse_checked(diff.as_bytes());
    let shown = format!(
        "{whole:?} {:?} {parsed:?}",
        whole.files[0].lines().collect::<Vec<_>>()
    );
    assert!(!shown.contains("s3cret"), "{shown}");
    assert!(
        dump(&whole).contains("s3cret"),
        "the dump of the tests does"
    );
}
