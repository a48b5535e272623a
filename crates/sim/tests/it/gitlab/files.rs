//! Files, trees, archives, commits and comparisons.

use mirilla_sim::{Commit, GitlabVersion};
use serde_json::json;

use crate::gitlab::world::{Lab, PROJECT, lines, repo};

#[test]
fn file_is_read_at_a_commit_by_its_encoded_path() {
    let lab = Lab::of(GitlabVersion::V12_10);
    let head = lab.head();
    let raw = lab.get(&repo(&format!("/files/pkg%2Fnew_name.go/raw?ref={head}")));
    assert_eq!(
        raw.text(),
        lines(&[(10, "line 10 changed\nbrand new\n"), (30, "")])
    );
    let whole = lab.get(&repo("/files/fresh.go?ref=feature")).json();
    assert_eq!(
        (&whole["content"], &whole["commit_id"]),
        (&json!("b25lCnR3bwo="), &json!(head))
    );
    let missing = |path: &str| lab.get(&repo(path)).json()["message"].clone();
    assert_eq!(missing("/files/nothing/raw?ref=main"), "404 File Not Found");
    assert_eq!(
        missing("/files/fresh.go/raw?ref=nowhere"),
        "404 Commit Not Found"
    );
    let unnamed = lab.get(&repo("/files/fresh.go/raw"));
    assert_eq!(unnamed.json(), json!({ "error": "ref is missing" }));
    let blob = lab.get(&repo(&format!(
        "/blobs/{}/raw",
        whole["blob_id"].as_str().unwrap()
    )));
    assert_eq!(blob.text(), "one\ntwo\n");
    lab.sim.finish().unwrap();
}

#[test]
fn archive_is_gits_below_a_root_with_names() {
    let lab = Lab::of(GitlabVersion::V13_12);
    let head = lab.head();
    let zip = lab.get(&repo(&format!("/archive.zip?sha={head}")));
    assert_eq!(
        (zip.status, zip.header("content-type")),
        (200, Some("application/zip"))
    );
    let root = format!("shop-{head}-{head}/fresh.go");
    assert!(
        zip.body
            .windows(root.len())
            .any(|window| window == root.as_bytes())
    );
    assert_eq!(lab.get(&repo("/archive.tar.gz?sha=main")).status, 200);
    assert_eq!(lab.get(&repo("/archive.zip?sha=nowhere")).status, 404);
    lab.sim.finish().unwrap();
}

#[test]
fn tree_is_listed_by_numbered_pages_and_by_marks() {
    let lab = Lab::of(GitlabVersion::CURRENT);
    let names = |answer: &crate::client::Answer| -> Vec<String> {
        let entries = answer.json();
        let entries = entries.as_array().unwrap().iter();
        entries
            .map(|entry| entry["path"].as_str().unwrap().to_owned())
            .collect()
    };
    let all = lab.get(&repo("/tree?ref=feature&recursive=true"));
    assert_eq!(names(&all), ["fresh.go", "pkg", "pkg/new_name.go"]);
    let first = lab.get(&repo(
        "/tree?ref=feature&recursive=true&pagination=keyset&per_page=2",
    ));
    assert_eq!((names(&first).len(), first.header("x-total")), (2, None));
    let link = first.header("link").unwrap();
    let next = link.split('>').next().unwrap().trim_start_matches('<');
    let rest = lab.call_as(&lab.reader, "GET", next, None);
    assert_eq!(names(&rest), ["pkg/new_name.go"]);
    assert_eq!(rest.header("link"), None);
    assert_eq!(lab.get(&repo("/tree?path=nowhere")).status, 404);
    lab.sim.finish().unwrap();
    let old = Lab::of(GitlabVersion::V13_12);
    let numbered = old.get(&repo("/tree?pagination=keyset"));
    assert_eq!(numbered.header("x-total"), Some("1"));
    let found = old.sim.finish().unwrap_err().to_string();
    assert!(
        found.contains("keyset is ignored by this version"),
        "{found}"
    );
}

#[test]
fn comparison_starts_at_the_merge_base_unless_asked_otherwise() {
    let lab = Lab::of(GitlabVersion::V15_11);
    let go_on = Commit::by("alice", "Go on").write("main_only", "1\n");
    lab.gl().commit(PROJECT, "main", &go_on).unwrap();
    let compare = |more: &str| {
        let shown = lab
            .get(&repo(&format!("/compare?from=main&to=feature{more}")))
            .json();
        let files = shown["diffs"].as_array().unwrap().iter();
        let files = files.map(|f| f["new_path"].as_str().unwrap().to_owned());
        (
            files.collect::<Vec<_>>(),
            shown["commits"].as_array().unwrap().len(),
        )
    };
    assert_eq!(
        compare(""),
        (vec!["fresh.go".to_owned(), "pkg/new_name.go".to_owned()], 1)
    );
    assert!(
        compare("&straight=true")
            .0
            .contains(&"main_only".to_owned())
    );
    let unnamed = lab.get(&repo("/compare?from=main"));
    assert_eq!(unnamed.json(), json!({ "error": "to is missing" }));
    let commits = lab.get(&lab.at("/commits")).json();
    assert_eq!(
        (&commits[0]["id"], &commits[0]["title"]),
        (&json!(lab.head()), &json!("Change"))
    );
    lab.sim.finish().unwrap();
}
