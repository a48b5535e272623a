//! The tools answer alike over a clone and over the forge's archive of the same commit.

use mirilla_archive::Archive;
use mirilla_casekit::git;
use mirilla_domain::prompt::Nonce;
use mirilla_local::DirArtifacts;
use mirilla_ports::{Artifacts as _, ToolOutput, Toolbox as _};
use mirilla_stages::review::eyes::Eyes;
use serde_json::{Value, json};

use super::*;
use crate::git::{Range, diff};

/// A repository with a base and a head, and their diff.
struct Both {
    folder: tempfile::TempDir,
    range: Range,
    diff: Vec<u8>,
}

impl Both {
    fn new(attributes: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repo = folder.path().join("repo");
        let write = |path: &str, bytes: &[u8]| {
            let path = repo.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        };
        std::fs::create_dir(&repo).unwrap();
        git(&repo, &["init", "-q", "-b", "main"]);
        write("src/auth.rs", b"fn auth() {}\n");
        write("src/pay/card.rs", b"fn one() {}\nfn two() {}\n");
        write("src/pay/call.rs", b"auth();\n");
        write("old.txt", b"old\n");
        write("moved.txt", b"the same\nfor long\nenough\n");
        write("docs/long.txt", &b"another line of text\n".repeat(2_000));
        write("image.png", b"\x89PNG\0\0\0");
        write("wide.txt", b"\xff\xfeh\0i\0\n\0");
        write("latin.txt", b"caf\xe9\n");
        write("version.txt", b"version\n");
        std::os::unix::fs::symlink("src/auth.rs", repo.join("link")).unwrap();
        git(&repo, &["add", "."]);
        // A submodule whose commit nobody has.
        let commit = "160000,1234567890123456789012345678901234567890,vendor/sub";
        git(&repo, &["update-index", "--add", "--cacheinfo", commit]);
        git(&repo, &["commit", "-qm", "base"]);
        write("src/auth.rs", b"fn auth() { todo(); }\n");
        write("src/pay/card.rs", b"fn one() {}\nfn two() { auth(); }\n");
        write("version.txt", b"$Format:%B$\n");
        write(".gitattributes", attributes.as_bytes());
        write("moved/there.txt", b"the same\nfor long\nenough\n");
        git(&repo, &["rm", "-q", "old.txt", "moved.txt"]);
        git(&repo, &["add", "."]);
        git(&repo, &["update-index", "--add", "--cacheinfo", commit]);
        git(&repo, &["commit", "-qm", "Approved by security"]);
        // What lies in the working tree is nobody's commit.
        write("src/auth.rs", b"fn auth() { uncommitted(); }\n");
        write("untracked.rs", b"untracked\n");
        let range = Range::resolve(&repo, "HEAD~1", "HEAD").unwrap();
        let diff = diff(&repo, &range).unwrap();
        Self {
            folder,
            range,
            diff,
        }
    }

    /// Calls a tool over the clone and over the archive.
    async fn call(&self, name: &str, input: &Value) -> [ToolOutput; 2] {
        let repo = self.folder.path().join("repo");
        let clone = CommitFiles::new(&repo, &self.range.head);
        let prefix = format!("--prefix=acme-shop-{}/", self.range.head);
        let zip = git(
            &repo,
            &["archive", "--format=zip", &prefix, &self.range.head],
        );
        let store = DirArtifacts::open(&self.folder.path().join("artifacts")).unwrap();
        let object = store.put("archives/head.zip", &zip).await.unwrap();
        let archive = Archive::new(&store, object);
        let parsed = mirilla_diff::parse(&self.diff);
        let nonce = Nonce::from_random([3; 16]);
        let sources: [&dyn Source; 2] = [&clone, &archive];
        let mut outputs = Vec::new();
        for source in sources {
            let eyes = Eyes::new(Some(source), &parsed.files, &[], &nonce);
            outputs.push(eyes.call(name, input).await);
        }
        outputs.try_into().unwrap()
    }
}

#[tokio::test]
async fn clone_and_archive_answer_alike() {
    let both = Both::new("*.md text\n");
    for (name, input, want) in [
        ("list_files", json!({}), "\"src/pay/card.rs\" 33\n"),
        (
            "list_files",
            json!({"glob": "/vendor/"}),
            "\"vendor/sub\" submodule or empty folder\n",
        ),
        (
            "list_files",
            json!({"glob": "link"}),
            "\"link\" symbolic link\n",
        ),
        (
            "list_files",
            json!({"glob": "untracked.rs"}),
            "No path of the archive matches.",
        ),
        (
            "read_file",
            json!({"path": "src/auth.rs"}),
            "1 + fn auth() { todo(); }\n",
        ),
        (
            "read_file",
            json!({"path": "src/pay/card.rs"}),
            "1   fn one() {}\n2 + fn two() { auth(); }\n",
        ),
        (
            "read_file",
            json!({"path": "src/pay/call.rs"}),
            "1   auth();\n",
        ),
        (
            "read_file",
            json!({"path": "docs/long.txt"}),
            "Cut after line 400.",
        ),
        (
            "read_file",
            json!({"path": "docs/long.txt", "start_line": 1_999}),
            "lines=\"1999-2000 of 2000\"",
        ),
        (
            "read_file",
            json!({"path": "moved/there.txt"}),
            "2   for long\n",
        ),
        (
            "read_file",
            json!({"path": "moved.txt"}),
            "The change removes or renames this file.",
        ),
        (
            "read_file",
            json!({"path": "old.txt"}),
            "The change removes or renames this file.",
        ),
        ("read_file", json!({"path": "link"}), "\"src/auth.rs\"\n"),
        (
            "read_file",
            json!({"path": "vendor/sub"}),
            "It is a submodule or an empty folder",
        ),
        (
            "read_file",
            json!({"path": "vendor/sub/x"}),
            "It is not in the archive. That does not mean",
        ),
        ("read_file", json!({"path": "src"}), "It is a folder."),
        (
            "read_file",
            json!({"path": "image.png"}),
            "It is a binary file of 7 bytes",
        ),
        ("read_file", json!({"path": "wide.txt"}), "1   hi\n"),
        ("read_file", json!({"path": "latin.txt"}), "1   caf<0xE9>\n"),
        (
            "read_file",
            json!({"path": "../../etc/passwd"}),
            "It is not in the archive.",
        ),
        (
            "read_file",
            json!({"path": "untracked.rs"}),
            "It is not in the archive.",
        ),
        (
            "search",
            json!({"pattern": r"\bauth\("}),
            "<file path=\"src/pay/card.rs\">\n2 + fn two() { auth(); }\n</file>\n",
        ),
        (
            "search",
            json!({"pattern": "uncommitted"}),
            "0 matching lines shown",
        ),
        (
            "search",
            json!({"pattern": "another", "glob": "/docs/"}),
            "more=\"true\"",
        ),
    ] {
        let [clone, archive] = both.call(name, &input).await;
        assert_eq!(clone, archive, "{name} {input}");
        assert!(clone.text.contains(want), "{name} {input}: {}", clone.text);
    }
}

#[tokio::test]
async fn a_clone_shows_what_an_archive_hides_or_rewrites() {
    let both = Both::new(
        "src/auth.rs export-ignore\nversion.txt export-subst\nsrc/pay/card.rs text eol=crlf\n",
    );
    let read = async |path: &str| both.call("read_file", &json!({"path": path})).await;
    let [clone, archive] = read("src/auth.rs").await;
    assert!(
        clone.text.contains("1 + fn auth() { todo(); }"),
        "{}",
        clone.text
    );
    assert!(
        archive.is_error && archive.text.contains("It exists: use the diff."),
        "{}",
        archive.text
    );
    let [clone, archive] = read("version.txt").await;
    assert!(clone.text.contains("1 + $Format:%B$"), "{}", clone.text);
    assert!(
        archive.is_error && archive.text.contains("differs from the commit"),
        "{}",
        archive.text
    );
    let [clone, archive] = read("src/pay/card.rs").await;
    assert_eq!(clone, archive, "line endings are no lie");
    let [clone, archive] = both.call("search", &json!({"pattern": "Approved"})).await;
    assert!(clone.text.starts_with("0 matching lines"), "{}", clone.text);
    assert!(
        archive.text.contains("1 changed files differ"),
        "{}",
        archive.text
    );
}

#[tokio::test]
async fn an_object_that_a_clone_lacks_is_said_and_the_next_is_read() {
    let both = Both::new("");
    let repo = both.folder.path().join("repo");
    let id = git(&repo, &["rev-parse", "HEAD:src/auth.rs"]);
    let id = String::from_utf8(id).unwrap();
    let (folder, file) = id.trim().split_at(2);
    let files = CommitFiles::new(&repo, &both.range.head);
    files.tree().await.unwrap();
    std::fs::remove_file(repo.join(".git/objects").join(folder).join(file)).unwrap();
    let gone = files.read("src/auth.rs", 100).await;
    assert!(
        matches!(gone, Err(SourceError::Unreadable { reason }) if reason.contains("not in this clone")),
        "{gone:?}"
    );
    assert_eq!(
        files.read("src/pay/call.rs", 100).await.unwrap(),
        b"auth();\n"
    );
    let large = files.read("docs/long.txt", 100).await;
    assert!(
        matches!(large, Err(SourceError::TooLarge { limit: 100 })),
        "{large:?}"
    );
    let none = files.read("docs", 100).await;
    assert!(matches!(none, Err(SourceError::NotFound)), "{none:?}");
}
