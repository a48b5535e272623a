//! The demo, as the README has it.

use serde_json::Value;

use crate::support::mirilla;

#[test]
fn the_demo_shows_the_whole_loop_and_repeats_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("page.html");
    let (code, stdout, stderr) = mirilla(
        &["demo", "--json", "--html", page.to_str().unwrap()],
        b"",
        &[],
    );
    assert_eq!(code, 0, "{stderr}");
    let shown: Value = serde_json::from_str(&stdout).unwrap();
    let statuses: Vec<u64> = shown["webhooks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| answer["status"].as_u64().unwrap())
        .collect();
    assert_eq!(statuses, [401, 202, 200, 202], "{shown:#}");
    assert_eq!(shown["webhooks"][2]["body"], "duplicate");
    assert_eq!(shown["model"], "simulated");
    let [first, second] = shown["reviews"].as_array().unwrap().as_slice() else {
        panic!("two looks: {shown:#}")
    };
    assert!(
        !first["comments"].as_array().unwrap().is_empty(),
        "{shown:#}"
    );
    let after = second["comments"].as_array().unwrap();
    let mut places: Vec<String> = after
        .iter()
        .map(|comment| {
            format!(
                "{}:{}:{}",
                comment["path"], comment["line"], comment["body"]
            )
        })
        .collect();
    let count = places.len();
    places.sort();
    places.dedup();
    assert_eq!(places.len(), count, "something is said twice: {places:#?}");
    assert!(
        after.iter().any(|comment| comment["new"] == true),
        "the second push has a finding of its own: {shown:#}"
    );
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("default-src 'none'") && !html.contains("<script"));
    assert!(html.contains("Pay.java"));
}

#[test]
fn any_patch_goes_through_the_same_loop() {
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("page.html");
    let patch = b"diff --git a/x.py b/x.py\nindex 1111111..2222222 100644\n--- a/x.py\n+++ b/x.py\n@@ -10,2 +10,4 @@\n def run():\n+    try:\n+        work()\n+    except Exception: pass\n     return 1\n";
    let (code, stdout, stderr) = mirilla(
        &[
            "demo",
            "--json",
            "--patch",
            "-",
            "--html",
            page.to_str().unwrap(),
        ],
        patch,
        &[],
    );
    assert_eq!(code, 0, "{stderr}");
    let shown: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(shown["reviews"].as_array().unwrap().len(), 1, "{shown:#}");
}
