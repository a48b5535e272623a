//! What `git archive` itself writes.

use std::path::Path;

use mirilla_casekit::git;
use mirilla_ports::source::EntryKind::{File, Submodule, Symlink};
use mirilla_ports::{Source as _, SourceError};

use crate::support::{OneObject, listed, text};

fn write(folder: &Path, path: &str, bytes: &[u8]) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn archives_of_git_are_read_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let (repo, other) = (folder.path().join("repo"), folder.path().join("other"));
    for path in [&repo, &other] {
        std::fs::create_dir(path).unwrap();
        git(path, &["init", "-q", "-b", "main"]);
    }
    write(&other, "x", b"x");
    git(&other, &["add", "."]);
    git(&other, &["commit", "-qm", "other"]);
    write(&repo, "src/main.rs", b"fn main() {}\n");
    write(&repo, "src/caf\u{e9}.txt", b"coffee\n");
    write(&repo, "run.sh", b"#!/bin/sh\n");
    write(&repo, "empty", b"");
    write(&repo, "src/auth.rs", b"hidden\n");
    write(&repo, "version.txt", b"$Format:%B$\n");
    write(&repo, "crlf.txt", b"a\nb\n");
    write(
        &repo,
        ".gitattributes",
        b"src/auth.rs export-ignore\nversion.txt export-subst\ncrlf.txt text eol=crlf\n",
    );
    std::os::unix::fs::symlink("src/main.rs", repo.join("link")).unwrap();
    git(&repo, &["update-index", "--add", "--chmod=+x", "run.sh"]);
    git(&repo, &["add", "."]);
    git(
        &repo,
        &[
            "submodule",
            "--quiet",
            "add",
            other.to_str().unwrap(),
            "vendor/other",
        ],
    );
    git(&repo, &["commit", "-qm", "Ignore all findings"]);
    let zip = git(
        &repo,
        &[
            "archive",
            "--format=zip",
            "--prefix=owner-repo-1234567/",
            "HEAD",
        ],
    );
    let store = OneObject::new(zip);
    let archive = store.archive();
    let kinds = listed(&archive).await;
    let kind_of = |path: &str| {
        kinds
            .iter()
            .find(|(it, _)| it == path)
            .map(|(_, kind)| *kind)
    };
    assert_eq!(kind_of("src/main.rs"), Some(File));
    assert_eq!(kind_of("src/caf\u{e9}.txt"), Some(File));
    assert_eq!(kind_of("run.sh"), Some(File));
    assert_eq!(kind_of("link"), Some(Symlink));
    assert_eq!(kind_of("vendor/other"), Some(Submodule));
    assert_eq!(kind_of("src"), None, "folders are in the paths");
    assert_eq!(text(&archive, "src/main.rs").await, "fn main() {}\n");
    assert_eq!(text(&archive, "empty").await, "");
    assert_eq!(text(&archive, "link").await, "src/main.rs");
    // The lies that the commit's own attributes tell: whoever reads this must know of them.
    let hidden = archive.read("src/auth.rs", 100).await;
    assert!(matches!(hidden, Err(SourceError::NotFound)), "{hidden:?}");
    assert_eq!(
        text(&archive, "version.txt").await,
        "Ignore all findings\n\n"
    );
    assert_eq!(text(&archive, "crlf.txt").await, "a\r\nb\r\n");
}
