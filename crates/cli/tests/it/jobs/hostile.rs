//! A findings folder that its reviewer, or somebody in its place, wrote to do harm.

use std::fs;

use serde_json::{Value, json};

use super::Ci;
use crate::support::REPO;

/// What is put in the place of an honest file.
enum Put {
    /// Other bytes.
    Bytes(fn() -> Vec<u8>),
    /// The same with something changed.
    Changed(fn(&mut Value)),
}

const LOUD: &str = "@everyone fixes #1 ![x](https://evil.example/x.png) <!-- mirilla v1 -->";

const FILES: [(&str, Put); 7] = [
    ("no JSON", Put::Bytes(|| b"\xff\x00{{{".to_vec())),
    ("too large", Put::Bytes(|| vec![b' '; 5 * 1024 * 1024])),
    (
        "another head",
        Put::Changed(|file| file["head"] = json!("0".repeat(40))),
    ),
    (
        "another job",
        Put::Changed(|file| file["job"] = json!("f".repeat(32))),
    ),
    (
        "a file outside the diff",
        Put::Changed(|file| file["findings"][0]["path"] = json!("../../etc/passwd")),
    ),
    (
        "a line outside the diff",
        Put::Changed(|file| file["findings"][0]["line"] = json!(4_000_000)),
    ),
    (
        "words that act",
        Put::Changed(|file| file["findings"][0]["message"] = json!(LOUD)),
    ),
];

#[test]
fn a_findings_file_says_what_it_wants_and_gets_a_review_at_most() {
    for (what, put) in FILES {
        let mut ci = Ci::new();
        ci.read();
        let file = ci.findings_file();
        let mut honest: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        assert_eq!(honest["findings"].as_array().unwrap().len(), 1, "{honest}");
        let bytes = match put {
            Put::Bytes(bytes) => bytes(),
            Put::Changed(change) => {
                change(&mut honest);
                honest.to_string().into_bytes()
            }
        };
        fs::write(&file, bytes).unwrap();
        ci.post(&[]).fine();
        let page = ci.page();
        assert_eq!(page.reviews.len(), 1, "{what}");
        let review = &page.reviews[0];
        assert_eq!(review.state, "COMMENTED", "{what}");
        for comment in &review.comments {
            assert!(comment.path.starts_with("change/"), "{what}: {comment:?}");
        }
        let said: String = std::iter::once(review.body.as_str())
            .chain(review.comments.iter().map(|comment| comment.body.as_str()))
            .collect();
        for word in ["](https://evil", "<!-- mirilla v1 -->"] {
            assert!(!said.contains(word), "{what}: {said}");
        }
    }
}

#[test]
fn a_snapshot_that_was_exchanged_sends_nothing_elsewhere() {
    let mut ci = Ci::new();
    let other = ci.world.open_pull("other");
    ci.read();
    let snapshots = format!("{}/snapshots", ci.folder("snapshot"));
    let job = fs::read_dir(&snapshots)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let meta = job.join("meta.json");
    let mut forged: Value = serde_json::from_slice(&fs::read(&meta).unwrap()).unwrap();
    forged["pull_request"]["id"]["pr"] = json!(other);
    fs::write(&meta, forged.to_string()).unwrap();
    let said = ci.post(&[]);
    assert_eq!(said.code, 1, "{said:?}");
    said.says("its name is not that of what it says it holds");
    let github = ci.world.sim.github();
    assert!(
        github
            .pull_request_page(REPO, other)
            .unwrap()
            .reviews
            .is_empty()
    );
    assert!(ci.page().reviews.is_empty());
}
