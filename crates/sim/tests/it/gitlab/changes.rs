//! Merge requests, versions and changed files, as each version shows them.

use mirilla_sim::{Commit, GitlabFeature, GitlabLimits, GitlabOptions, GitlabVersion, OpenMerge};
use serde_json::{Value, json};

use crate::gitlab::world::{Lab, PROJECT, fixture, like, material, repo};

/// Returns the changed files by whatever route the version has.
fn files(lab: &Lab) -> Vec<Value> {
    let files = if lab.gl().has(GitlabFeature::Diffs) {
        lab.get(&lab.at("/diffs?per_page=100")).json()
    } else {
        lab.get(&lab.at("/changes")).json()["changes"].clone()
    };
    files.as_array().unwrap().clone()
}

#[test]
fn merge_request_has_the_fields_of_its_version() {
    for version in GitlabVersion::PLAYED {
        let lab = Lab::of(version);
        let shown = lab.get(&lab.at("")).json();
        assert_eq!(shown["sha"], lab.head());
        assert_eq!(shown["diff_refs"]["head_sha"], lab.head());
        assert_eq!(
            (&shown["changes_count"], &shown["work_in_progress"]),
            (&json!("2"), &json!(false))
        );
        for (field, feature) in [
            ("draft", GitlabFeature::DraftPrefix),
            ("detailed_merge_status", GitlabFeature::DetailedMergeStatus),
            ("prepared_at", GitlabFeature::PreparedAt),
        ] {
            assert_eq!(
                shown.get(field).is_some(),
                version.has(feature),
                "{field} in {version}"
            );
        }
        lab.sim.finish().unwrap();
    }
}

#[test]
fn title_makes_a_draft_by_the_rules_of_the_version() {
    for version in GitlabVersion::PLAYED {
        let lab = Lab::of(version);
        let is_draft = |title: &str| {
            lab.gl().set_title(PROJECT, lab.iid, title, "bob").unwrap();
            lab.get(&lab.at("")).json()["work_in_progress"] == true
        };
        assert_eq!(
            is_draft("WIP: Pay"),
            version.has(GitlabFeature::WipPrefix),
            "{version}"
        );
        assert_eq!(
            is_draft("[Draft] Pay"),
            version.has(GitlabFeature::DraftPrefix),
            "{version}"
        );
        assert!(!is_draft("Drafting is fun"));
        lab.gl().set_draft(PROJECT, lab.iid, true, "bob").unwrap();
        assert_eq!(
            lab.get(&lab.at("")).json()["work_in_progress"],
            true,
            "{version}"
        );
        lab.sim.finish().unwrap();
    }
}

#[test]
fn files_are_gits_with_the_fields_of_the_version() {
    let expected = fixture("cases/061-gitlab-position-rules/gitlab_diffs.json");
    for version in GitlabVersion::PLAYED {
        let lab = Lab::of(version);
        let mut expected = expected.clone();
        for file in expected.as_array_mut().unwrap() {
            for (field, feature) in [
                ("collapsed", GitlabFeature::CollapsedFlags),
                ("too_large", GitlabFeature::CollapsedFlags),
                ("generated_file", GitlabFeature::GeneratedFile),
            ] {
                if !version.has(feature) {
                    file.as_object_mut().unwrap().remove(field);
                }
            }
        }
        assert_eq!(json!(files(&lab)), expected, "{version}");
        lab.sim.finish().unwrap();
    }
}

#[test]
fn answers_have_the_documented_shapes() {
    let lab = Lab::of(GitlabVersion::CURRENT);
    like(&lab.get(&lab.at("/versions")).json(), "api.versions.json");
    like(&lab.get(&lab.at("/diffs")).json(), "api.diffs.json");
    let old = Lab::of(GitlabVersion::V13_12);
    like(
        &old.get(&old.at("/changes")).json(),
        "api.changes.legacy.json",
    );
    let oldest = Lab::of(GitlabVersion::V12_10);
    assert_eq!(
        oldest.get(&oldest.at("/changes")).json().get("overflow"),
        None
    );
    lab.sim.finish().unwrap();
}

#[test]
fn push_and_new_target_make_versions_and_a_moved_target_does_not() {
    let lab = Lab::of(GitlabVersion::V12_10);
    let gl = lab.gl();
    let base = gl.tip(PROJECT, "main").unwrap();
    gl.commit(
        PROJECT,
        "main",
        &Commit::by("alice", "Go on").write("x", "1\n"),
    )
    .unwrap();
    assert_eq!(
        lab.get(&lab.at("/versions"))
            .json()
            .as_array()
            .unwrap()
            .len(),
        1
    );
    gl.commit(
        PROJECT,
        "feature",
        &Commit::by("bob", "More").write("y", "1\n"),
    )
    .unwrap();
    let versions = lab.get(&lab.at("/versions")).json();
    assert_eq!(versions[0]["head_commit_sha"], lab.head());
    assert_eq!(versions[0]["base_commit_sha"], base);
    assert_eq!(
        versions[0]["start_commit_sha"],
        gl.tip(PROJECT, "main").unwrap()
    );
    let id = versions[1]["id"].as_u64().unwrap();
    let first = lab.get(&lab.at(&format!("/versions/{id}"))).json();
    assert_eq!(first["diffs"].as_array().unwrap().len(), 2);
    gl.push(PROJECT, "release", &base, "alice").unwrap();
    gl.retarget(PROJECT, lab.iid, "release", "bob").unwrap();
    let versions = lab.get(&lab.at("/versions")).json();
    assert_eq!(
        (
            versions.as_array().unwrap().len(),
            &versions[0]["start_commit_sha"]
        ),
        (3, &json!(base))
    );
    lab.sim.finish().unwrap();
}

#[test]
fn diff_lags_behind_a_push() {
    let lab = Lab::of(GitlabVersion::V17_5);
    let gl = lab.gl();
    gl.lag(true);
    let before = lab.head();
    gl.commit(
        PROJECT,
        "feature",
        &Commit::by("bob", "More").write("y", "1\n"),
    )
    .unwrap();
    let shown = lab.get(&lab.at("")).json();
    assert_eq!(
        (&shown["sha"], &shown["diff_refs"]["head_sha"]),
        (&json!(lab.head()), &json!(before))
    );
    gl.prepare(PROJECT, lab.iid).unwrap();
    assert_eq!(
        lab.get(&lab.at("")).json()["diff_refs"]["head_sha"],
        lab.head()
    );
    let open = OpenMerge::new("bob", "feature", "Twice");
    let iid = gl.open_merge(PROJECT, open).unwrap();
    let fresh = lab
        .get(&format!(
            "/projects/acme%2Fplatform%2Fshop/merge_requests/{iid}"
        ))
        .json();
    assert_eq!(
        (&fresh["diff_refs"], &fresh["prepared_at"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(fresh["detailed_merge_status"], "preparing");
    lab.sim.finish().unwrap();
}

#[test]
fn long_patches_are_empty_and_only_new_versions_say_why() {
    for version in GitlabVersion::PLAYED {
        let lab = Lab::with(GitlabOptions {
            limits: GitlabLimits {
                collapse_patch_bytes: 1_000,
                max_patch_bytes: 3_000,
                ..GitlabLimits::default()
            },
            ..GitlabOptions::of(version)
        });
        let change = Commit::by("bob", "Long")
            .write("a_long", "longer\n".repeat(200))
            .write("b_huge", "huge\n".repeat(2_000));
        lab.gl().commit(PROJECT, "feature", &change).unwrap();
        let files = files(&lab);
        assert_eq!(
            (&files[0]["diff"], &files[1]["diff"]),
            (&json!(""), &json!("")),
            "{version}"
        );
        let flags = |index: usize| {
            let flag = |name: &str| files[index].get(name).and_then(Value::as_bool);
            (flag("collapsed"), flag("too_large"))
        };
        let told = version.has(GitlabFeature::CollapsedFlags);
        assert_eq!(
            flags(0),
            (told.then_some(true), told.then_some(false)),
            "{version}"
        );
        assert_eq!(
            flags(1),
            (told.then_some(false), told.then_some(true)),
            "{version}"
        );
        let raw = lab.get(&lab.at("/changes?access_raw_diffs=true")).json();
        let expanded = raw["changes"][0]["diff"] != "";
        assert_eq!(
            expanded,
            version.has(GitlabFeature::ChangesOverflow),
            "{version}"
        );
        assert_eq!(raw["changes"][1]["diff"], "");
        drop(lab.gl().take_problems());
    }
}

#[test]
fn files_beyond_the_limit_are_dropped_and_counted_with_a_plus() {
    for version in GitlabVersion::PLAYED {
        let lab = Lab::with(GitlabOptions {
            limits: GitlabLimits {
                max_files: 1,
                ..GitlabLimits::default()
            },
            ..GitlabOptions::of(version)
        });
        assert_eq!(files(&lab).len(), 1);
        assert_eq!(lab.get(&lab.at("")).json()["changes_count"], "1+");
        let overflow = lab.get(&lab.at("/changes")).json().get("overflow").cloned();
        let told = version.has(GitlabFeature::ChangesOverflow);
        assert_eq!(overflow, told.then_some(json!(true)), "{version}");
        lab.sim.finish().unwrap();
    }
}

#[test]
fn binary_retyped_and_moved_files_look_as_gitlab_shows_them() {
    let lab = Lab::of(GitlabVersion::CURRENT);
    let gl = lab.gl();
    let start = Commit::by("alice", "More")
        .write("x.bin", [0_u8, 1, 2])
        .write("kind", "a file\n")
        .write("old.md", "same\n");
    gl.commit(PROJECT, "main", &start).unwrap();
    let change = Commit::by("bob", "Kinds")
        .write("x.bin", [0_u8, 3, 4])
        .rename("old.md", "new.md")
        .change(mirilla_sim::Change::Symlink {
            path: b"kind".to_vec(),
            target: b"old".to_vec(),
        });
    gl.commit(PROJECT, "kinds", &change).unwrap();
    let iid = gl
        .open_merge(PROJECT, OpenMerge::new("bob", "kinds", "Kinds"))
        .unwrap();
    let files = lab
        .get(&format!(
            "/projects/acme%2Fplatform%2Fshop/merge_requests/{iid}/diffs"
        ))
        .json();
    let shown: Vec<_> = files
        .as_array()
        .unwrap()
        .iter()
        .map(|f| (f["new_path"].as_str().unwrap(), f["diff"].as_str().unwrap()))
        .collect();
    assert_eq!(
        shown,
        [
            ("kind", "@@ -1 +0,0 @@\n-a file\n"),
            (
                "kind",
                "@@ -0,0 +1 @@\n+old\n\\ No newline at end of file\n"
            ),
            ("new.md", ""),
            ("x.bin", "Binary files a/x.bin and b/x.bin differ\n"),
        ]
    );
    assert_eq!(
        (&files[0]["deleted_file"], &files[1]["b_mode"]),
        (&json!(true), &json!("120000"))
    );
    assert_eq!(
        (&files[2]["renamed_file"], &files[2]["old_path"]),
        (&json!(true), &json!("old.md"))
    );
    lab.sim.finish().unwrap();
}

#[test]
fn raw_and_unified_forms_have_their_headers() {
    let lab = Lab::of(GitlabVersion::CURRENT);
    let raw = lab.get(&lab.at("/raw_diffs")).text();
    assert!(
        raw.starts_with("diff --git a/fresh.go b/fresh.go\nnew file mode 100644\n"),
        "{raw}"
    );
    let files = lab.get(&lab.at("/diffs?unidiff=true")).json();
    assert_eq!(
        files[0]["diff"],
        "--- /dev/null\n+++ b/fresh.go\n@@ -0,0 +1,2 @@\n+one\n+two\n"
    );
    lab.sim.finish().unwrap();
}

#[test]
fn parameter_that_the_version_ignores_fails_the_test() {
    let lab = Lab::of(GitlabVersion::V12_10);
    assert_eq!(
        lab.get(&lab.at("/changes?access_raw_diffs=true")).status,
        200
    );
    lab.get(&lab.at("/changes?colour=red"));
    let found = lab.sim.finish().unwrap_err().to_string();
    assert!(
        found.contains("access_raw_diffs is ignored by this version"),
        "{found}"
    );
    assert!(found.contains("colour is no parameter"), "{found}");
}

#[test]
fn pages_are_numbered_and_counted_up_to_ten_thousand() {
    let lab = Lab::of(GitlabVersion::V15_11);
    let first = lab.get(&lab.at("/diffs?per_page=1"));
    let header = |name: &str| first.header(name).map(str::to_owned);
    assert_eq!(header("x-total").as_deref(), Some("2"));
    assert_eq!(
        (
            header("x-next-page").as_deref(),
            header("x-prev-page").as_deref()
        ),
        (Some("2"), Some(""))
    );
    let link = header("link").unwrap();
    let next = link
        .split(", ")
        .find(|part| part.ends_with("rel=\"next\""))
        .unwrap();
    let next = next.split('>').next().unwrap().trim_start_matches('<');
    let second = lab.call_as(&lab.reader, "GET", next, None);
    assert_eq!(second.json()[0]["new_path"], "pkg/new_name.go");
    assert_eq!(second.header("x-next-page"), Some(""));
    lab.gl().flood(PROJECT, lab.iid, "alice", 10_001).unwrap();
    let many = lab.get(&lab.at("/notes?per_page=100&page=3"));
    assert_eq!(
        (many.header("x-total"), many.header("x-next-page")),
        (None, Some("4"))
    );
    assert!(!many.header("link").unwrap().contains("rel=\"last\""));
    assert_eq!(lab.get(&lab.at("/notes?per_page=0")).status, 400);
    lab.sim.finish().unwrap();
}

#[test]
fn deleted_fork_leaves_its_merge_request_behind() {
    for version in GitlabVersion::PLAYED {
        let lab = Lab::of(version);
        let gl = lab.gl();
        let fork = gl.fork(PROJECT, "mallory").unwrap();
        let patch = Commit::by("mallory", "Patch").write("x", "1\n");
        let head = gl.commit(&fork, "patch", &patch).unwrap();
        // A commit of a fork is no commit of the project before somebody brings it there.
        let commit = repo(&format!("/commits/{head}"));
        assert_eq!(lab.get(&commit).status, 404);
        let open = OpenMerge {
            from: Some(fork.clone()),
            ..OpenMerge::new("mallory", "patch", "Patch")
        };
        let iid = gl.open_merge(PROJECT, open).unwrap();
        let path = format!("/projects/acme%2Fplatform%2Fshop/merge_requests/{iid}");
        assert_eq!(
            lab.get(&path).json()["source_project_id"],
            gl.project_id(&fork).unwrap()
        );
        gl.delete_project(&fork).unwrap();
        let shown = lab.get(&path).json();
        assert_eq!(
            (&shown["source_project_id"], &shown["sha"]),
            (&Value::Null, &json!(head))
        );
        assert_eq!(lab.get(&commit).status, 200);
        let raw = repo(&format!("/files/x/raw?ref={head}"));
        assert_eq!(lab.get(&raw).text(), "1\n");
        lab.sim.finish().unwrap();
    }
    assert_eq!(
        material("mr.open.deleted_fork.json")["object_attributes"]["source"],
        Value::Null
    );
}
