//! Files, blobs, trees and archives.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mirilla_sim::{Change, Commit, GithubOptions};
use serde_json::{Value, json};

use crate::client::send;
use crate::world::{REPO, World};

const RAW: &str = "application/vnd.github.raw+json";

fn contents(world: &World, path: &str, reference: &str) -> Value {
    world
        .get(&format!("/repos/{REPO}/contents/{path}?ref={reference}"))
        .json()
}

fn decoded(content: &Value) -> Vec<u8> {
    let text: String = content.as_str().unwrap().split_whitespace().collect();
    STANDARD.decode(text).unwrap()
}

#[test]
fn file_is_base64_in_lines_or_raw() {
    let world = World::new();
    let head = world.head();
    let file = contents(&world, "src/pay.rs", &head);
    assert!(
        file["content"]
            .as_str()
            .unwrap()
            .lines()
            .all(|line| line.len() <= 60)
    );
    assert!(file["content"].as_str().unwrap().lines().count() > 1);
    assert!(decoded(&file["content"]).starts_with(b"line 1\n"));
    let raw = world.get_as(
        &format!("/repos/{REPO}/contents/src/pay.rs?ref={head}"),
        RAW,
    );
    assert_eq!(raw.body, decoded(&file["content"]));
    assert_eq!(
        contents(&world, "src/nothing.rs", &head)["message"],
        "Not Found"
    );
    assert_eq!(contents(&world, "README.md", "main")["type"], "file");
    let missing = contents(&world, "README.md", "nowhere");
    assert_eq!(missing["message"], "No commit found for the ref nowhere");
}

#[test]
fn large_file_has_no_content_in_json() {
    let world = World::new();
    let big = Commit::by("bob", "Big").write("big.txt", "x".repeat(1_000_001));
    let sha = world.gh().commit(REPO, "big", &big).unwrap();
    let file = contents(&world, "big.txt", &sha);
    assert_eq!(
        (&file["encoding"], &file["content"]),
        (&json!("none"), &json!(""))
    );
    let raw = world.get_as(&format!("/repos/{REPO}/contents/big.txt?ref={sha}"), RAW);
    assert_eq!(raw.body.len(), 1_000_001);
    let blob = world.get(&format!(
        "/repos/{REPO}/git/blobs/{}",
        file["sha"].as_str().unwrap()
    ));
    assert_eq!(decoded(&blob.json()["content"]).len(), 1_000_001);
}

#[test]
fn directories_links_and_submodules_show_what_they_are() {
    let world = World::new();
    let commit = Commit::by("bob", "Kinds")
        .change(Change::Symlink {
            path: b"inside".to_vec(),
            target: b"src/pay.rs".to_vec(),
        })
        .change(Change::Symlink {
            path: b"outside".to_vec(),
            target: b"../../etc/passwd".to_vec(),
        })
        .change(Change::Submodule {
            path: b"module".to_vec(),
            sha: "1".repeat(40),
        });
    let sha = world.gh().commit(REPO, "kinds", &commit).unwrap();
    let inside = contents(&world, "inside", &sha);
    assert!(
        decoded(&inside["content"]).starts_with(b"line 1\n"),
        "a link shows its file"
    );
    let outside = contents(&world, "outside", &sha);
    assert_eq!(
        (&outside["type"], &outside["target"]),
        (&json!("symlink"), &json!("../../etc/passwd"))
    );
    assert_eq!(contents(&world, "module", &sha)["type"], "submodule");
    let root = contents(&world, "", &sha);
    let kinds: Vec<_> = root
        .as_array()
        .unwrap()
        .iter()
        .map(|e| {
            (
                e["name"].as_str().unwrap().to_owned(),
                e["type"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    let expected = [
        ("README.md", "file"),
        ("inside", "symlink"),
        ("module", "file"),
        ("outside", "symlink"),
        ("src", "dir"),
    ];
    assert_eq!(kinds, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
}

#[test]
fn tree_is_listed_whole_on_request() {
    let world = World::new();
    let head = world.head();
    let paths = |query: &str| -> Vec<String> {
        let tree = world
            .get(&format!("/repos/{REPO}/git/trees/{head}{query}"))
            .json();
        assert_eq!(tree["truncated"], false);
        let entries = tree["tree"].as_array().unwrap().clone();
        entries
            .iter()
            .map(|e| e["path"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(paths(""), ["README.md", "src"]);
    assert_eq!(
        paths("?recursive=1"),
        ["README.md", "src", "src/new.rs", "src/pay.rs"]
    );
    let blob = world
        .get(&format!("/repos/{REPO}/git/trees/{head}?recursive=1"))
        .json();
    assert_eq!(
        (&blob["tree"][0]["mode"], &blob["tree"][0]["size"]),
        (&json!("100644"), &json!(7))
    );
}

#[test]
fn blob_names_are_checked() {
    let world = World::new();
    let at = |sha: &str| world.get(&format!("/repos/{REPO}/git/blobs/{sha}")).status;
    assert_eq!(at(&"0".repeat(40)), 404);
    assert_eq!(at("main"), 422);
    assert_eq!(at(&world.head()), 404, "a commit is no blob");
}

/// Returns the names in a zip file's central directory, in order.
fn zip_names(bytes: &[u8]) -> Vec<String> {
    let number = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let mut names = Vec::new();
    for at in 0..bytes.len().saturating_sub(46) {
        if bytes[at..].starts_with(b"PK\x01\x02") {
            let length = number(at + 28);
            names.push(String::from_utf8(bytes[at + 46..at + 46 + length].to_vec()).unwrap());
        }
    }
    names
}

#[test]
fn archive_is_gits_own_with_a_root_directory() {
    let world = World::new();
    let hidden = Commit::by("bob", "Hide")
        .write(".gitattributes", "secret.rs export-ignore\n")
        .write("secret.rs", "hidden\n");
    let sha = world.gh().commit(REPO, "feature", &hidden).unwrap();
    let redirect = world.get(&format!("/repos/{REPO}/zipball/{sha}"));
    let location = redirect.header("location").unwrap().to_owned();
    assert_eq!(redirect.status, 302);
    assert!(
        !location.starts_with(&world.sim.github_api_url()),
        "another host: {location}"
    );
    let zip = send("GET", &location, &[("user-agent", "t")], b"").unwrap();
    let root = format!("acme-shop-{sha}/");
    let names = zip_names(&zip.body);
    assert!(
        names.iter().all(|name| name.starts_with(&root)),
        "{names:?}"
    );
    assert!(names.contains(&format!("{root}src/pay.rs")));
    assert!(
        !names.iter().any(|name| name.ends_with("secret.rs")),
        "export-ignore hides it"
    );
    let diff = world
        .get_as(&world.at(""), "application/vnd.github.diff")
        .text();
    assert!(diff.contains("+hidden"), "the diff still shows it");
    let tar = world.get(&format!("/repos/{REPO}/tarball/feature"));
    let tar = send(
        "GET",
        tar.header("location").unwrap(),
        &[("user-agent", "t")],
        b"",
    )
    .unwrap();
    assert_eq!(tar.body[..2], [0x1f, 0x8b]);
    world.sim.finish().unwrap();
}

#[test]
fn archive_link_ends_after_five_minutes_and_wants_no_credential() {
    let world = World::new();
    let redirect = world.get(&format!("/repos/{REPO}/zipball/{}", world.head()));
    let location = redirect.header("location").unwrap().to_owned();
    let get = |headers: &[(&str, &str)]| send("GET", &location, headers, b"").unwrap().status;
    assert_eq!(get(&[]), 200);
    world
        .sim
        .clock()
        .advance(std::time::Duration::from_secs(300));
    assert_eq!(get(&[]), 404);
    get(&[("authorization", "Bearer leaked")]);
    let problems = world.sim.finish().unwrap_err().to_string();
    assert!(
        problems.contains("Authorization sent to the archive host"),
        "{problems}"
    );
}

#[test]
fn enterprise_server_serves_everything_on_one_host() {
    let world = World::with(GithubOptions::enterprise_server());
    assert!(world.sim.github_api_url().ends_with("/api/v3"));
    let pull = world.get(&world.at(""));
    assert_eq!(pull.status, 200);
    assert!(
        pull.header("x-ratelimit-limit").is_none(),
        "no limits there by default"
    );
    let files = world.get(&format!("{}?per_page=1", world.at("/files")));
    assert!(
        files
            .header("link")
            .unwrap()
            .contains("/api/v3/repos/acme/shop/pulls/1/files?")
    );
    let redirect = world.get(&format!("/repos/{REPO}/zipball/main"));
    let location = redirect.header("location").unwrap();
    assert!(
        location.contains("/_codeload/acme/shop/legacy.zip/"),
        "{location}"
    );
    assert_eq!(send("GET", location, &[], b"").unwrap().status, 200);
    assert!(world.gh().graphql_url().ends_with("/api/graphql"));
    let question = json!({ "query": "{ viewer { login } }" });
    let answer = world
        .call("POST", &world.gh().graphql_url(), Some(question))
        .json();
    assert_eq!(answer["data"]["viewer"]["login"], "mirilla[bot]");
    let delivery = world.gh().take_deliveries().pop().unwrap();
    let host = delivery
        .headers
        .iter()
        .find(|(name, _)| name == "X-GitHub-Enterprise-Host");
    assert_eq!(host.unwrap().1, "github.test");
    world.sim.finish().unwrap();
}
