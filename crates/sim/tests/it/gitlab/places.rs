//! Where notes may stand, in the words of each version, and where they are after a push.

use mirilla_sim::{Commit, GitlabFeature, GitlabOptions, GitlabVersion};
use serde_json::{Value, json};

use crate::gitlab::world::{Lab, PROJECT, fixture, like, lines, material};

const PKG: (&str, &str) = ("pkg/old_name.go", "pkg/new_name.go");
const FRESH: (&str, &str) = ("fresh.go", "fresh.go");

/// The refusal of a place that is not in the diff, as the version words it.
fn refusal(version: GitlabVersion) -> Value {
    material(if version.has(GitlabFeature::ModernInspect) {
        "error.400.line_code.ruby34_inferred.json"
    } else if version.has(GitlabFeature::ModernBadRequest) {
        "error.400.line_code.modern.json"
    } else {
        "error.400.line_code.legacy13.json"
    })
}

#[test]
fn places_of_the_recorded_case_are_taken_by_every_version() {
    let case = fixture("cases/061-gitlab-position-rules/expected.json");
    for version in GitlabVersion::PLAYED {
        let lab = Lab::of(version);
        for place in case["positions"].as_array().unwrap() {
            let paths = (
                place["old_path"].as_str().unwrap(),
                place["new_path"].as_str().unwrap(),
            );
            let position = lab.position(
                paths,
                place["old_line"].as_u64(),
                place["new_line"].as_u64(),
            );
            let made = lab.post(
                "/discussions",
                json!({ "body": "Hm.", "position": position }),
            );
            assert_eq!(made.status, 201, "{version} {place}: {}", made.text());
            let note = &made.json()["notes"][0];
            assert_eq!(
                (&note["type"], &note["resolvable"]),
                (&json!("DiffNote"), &json!(true))
            );
            assert_eq!(note["position"]["new_line"], place["new_line"]);
        }
        lab.gl().merge_request_page(PROJECT, lab.iid).unwrap();
        lab.sim.finish().unwrap();
    }
}

#[test]
fn wrong_places_are_refused_in_the_words_of_the_version() {
    for version in GitlabVersion::PLAYED {
        let lab = Lab::of(version);
        for (what, paths, old, new) in [
            ("added line with both", PKG, Some(10), Some(11)),
            ("unchanged line with its new line alone", PKG, None, Some(9)),
            ("unchanged line with its old line alone", PKG, Some(9), None),
            (
                "unchanged line with another offset",
                PKG,
                Some(29),
                Some(29),
            ),
            ("line behind the end", PKG, None, Some(99)),
            (
                "old name of a renamed file forgotten",
                ("pkg/new_name.go", "pkg/new_name.go"),
                None,
                Some(11),
            ),
            ("old line in a new file", FRESH, Some(1), None),
            ("no old file", ("/dev/null", "fresh.go"), None, Some(1)),
            (
                "file that did not change",
                ("README.md", "README.md"),
                Some(1),
                Some(1),
            ),
        ] {
            let position = lab.position(paths, old, new);
            let refused = lab.post(
                "/discussions",
                json!({ "body": "Hm.", "position": position }),
            );
            assert_eq!(
                (refused.status, refused.json()),
                (400, refusal(version)),
                "{what}"
            );
        }
        let mut position = lab.position(FRESH, None, Some(1));
        position["head_sha"] = position["base_sha"].clone();
        let refused = lab.post(
            "/discussions",
            json!({ "body": "Hm.", "position": position }),
        );
        assert_eq!((refused.status, refused.json()), (400, refusal(version)));
        let nowhere = lab.position(FRESH, None, None);
        let refused = lab
            .post(
                "/discussions",
                json!({ "body": "Hm.", "position": nowhere }),
            )
            .text();
        assert!(
            refused.contains("line_code") && refused.contains("is incomplete"),
            "{refused}"
        );
        lab.sim.finish().unwrap();
    }
}

#[test]
fn unchanged_line_that_no_hunk_shows_has_a_place_too() {
    let lab = Lab::of(GitlabVersion::V15_11);
    let status = |old: u64, new: u64| {
        let position = lab.position(PKG, Some(old), Some(new));
        lab.post(
            "/discussions",
            json!({ "body": "Hm.", "position": position }),
        )
        .status
    };
    assert_eq!((status(20, 21), status(1, 1)), (201, 201));
    // Another offset, and a line behind the end.
    assert_eq!((status(20, 20), status(31, 31)), (400, 400));
    lab.gl().merge_request_page(PROJECT, lab.iid).unwrap();
    lab.sim.finish().unwrap();
}

#[test]
fn missing_parts_of_a_position_are_named() {
    let lab = Lab::of(GitlabVersion::V12_10);
    let post = |position: Value| {
        let body = json!({ "body": "Hm.", "position": position });
        lab.post("/discussions", body).json()["error"].clone()
    };
    assert_eq!(
        post(json!({ "head_sha": "a", "position_type": "text" })),
        "position[base_sha] is missing, position[start_sha] is missing"
    );
    let mut position = lab.position(FRESH, None, Some(1));
    position["position_type"] = json!("file");
    assert_eq!(
        post(position.clone()),
        "position[position_type] does not have a valid value"
    );
    let current = Lab::of(GitlabVersion::CURRENT);
    let mut position = current.position(FRESH, None, None);
    position["position_type"] = json!("file");
    let made = current.post(
        "/discussions",
        json!({ "body": "Whole file", "position": position }),
    );
    assert_eq!(made.status, 201, "{}", made.text());
}

#[test]
fn answer_has_the_documented_shape() {
    let lab = Lab::of(GitlabVersion::V15_11);
    like(&lab.thread("finding"), "api.discussion.created.json");
    let request = material("api.discussion.create.request.json");
    let mut position = lab.position(FRESH, None, Some(2));
    position.as_object_mut().unwrap().remove("old_line");
    let names =
        |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(names(&position), names(&request["position"]));
    lab.gl().merge_request_page(PROJECT, lab.iid).unwrap();
    lab.sim.finish().unwrap();
}

#[test]
fn lines_are_named_by_path_and_both_counters() {
    // The names that GitLab's documents and the sample of a request give.
    let sample = material("api.discussion.create.multiline.request.json");
    let range = &sample["position"]["line_range"];
    let lab = Lab::of(GitlabVersion::V15_11);
    let gl = lab.gl();
    let start = Commit::by("alice", "A").write("src/a.rs", "fn a() {\n    1\n}\n");
    gl.commit(PROJECT, "main", &start).unwrap();
    let change = Commit::by("bob", "B").write("src/a.rs", "fn a() {\n    2;\n    3\n}\n");
    gl.commit(PROJECT, "lines", &change).unwrap();
    let open = mirilla_sim::OpenMerge::new("bob", "lines", "Lines");
    let iid = gl.open_merge(PROJECT, open).unwrap();
    for (line, end) in [(2, "start"), (3, "end")] {
        gl.comment_on_line(PROJECT, iid, "alice", ("src/a.rs", None, Some(line)), "Hm")
            .unwrap();
        let page = gl.merge_request_page(PROJECT, iid).unwrap();
        let note = &page.discussions.last().unwrap().notes[0];
        assert_eq!(
            range[end]["line_code"],
            note.place.as_ref().unwrap().line_code
        );
    }
    lab.sim.finish().unwrap();
}

#[test]
fn range_is_taken_where_it_exists_and_a_wrong_one_fails_the_test() {
    let range = |lab: &Lab, start: &str, end: &str| {
        let mut position = lab.position(FRESH, None, Some(2));
        let code = |line: &str| format!("{}_0_{line}", "57a9a5d1d3a8ec3a1c3ed5d0c8e2cd8ac2d0b7ba");
        position["line_range"] = json!({
            "start": { "line_code": code(start), "type": "new", "new_line": 1 },
            "end": { "line_code": code(end), "type": "new", "new_line": 2 },
        });
        position
    };
    let lab = Lab::of(GitlabVersion::V15_11);
    let note = lab.thread("To learn the name of its line");
    drop(note);
    let page = lab.gl().merge_request_page(PROJECT, lab.iid).unwrap();
    let code = page.discussions[0].notes[0]
        .place
        .clone()
        .unwrap()
        .line_code;
    let (path, _) = code.split_once('_').unwrap();
    let mut good = range(&lab, "1", "2");
    good["line_range"]["start"]["line_code"] = json!(format!("{path}_0_1"));
    good["line_range"]["end"]["line_code"] = json!(code);
    let made = lab.post(
        "/discussions",
        json!({ "body": "Both lines", "position": good }),
    );
    assert_eq!(made.status, 201, "{}", made.text());
    assert_eq!(
        made.json()["notes"][0]["position"]["line_range"]["start"]["new_line"],
        1
    );
    assert_eq!(lab.gl().take_problems(), []);
    let made = lab.post(
        "/discussions",
        json!({ "body": "Made up", "position": range(&lab, "1", "2") }),
    );
    assert_eq!(made.status, 201);
    assert!(
        lab.gl().take_problems()[0]
            .to_string()
            .contains("line_range has an end")
    );

    let old = Lab::of(GitlabVersion::V12_10);
    let made = old.post(
        "/discussions",
        json!({ "body": "Hm.", "position": range(&old, "1", "2") }),
    );
    assert_eq!(made.status, 201);
    assert!(
        old.gl().take_problems()[0]
            .to_string()
            .contains("line_range is ignored")
    );

    let early = Lab::with(GitlabOptions::of(GitlabVersion::new(13, 4)));
    let refused = early.post(
        "/discussions",
        json!({ "body": "Hm.", "position": range(&early, "1", "2") }),
    );
    assert_eq!(
        (refused.status, refused.json()),
        (400, material("error.400.grape_param.json"))
    );
}

#[test]
fn note_follows_its_line_and_is_left_behind_when_the_line_changes() {
    let lab = Lab::of(GitlabVersion::V13_12);
    let gl = lab.gl();
    let note = gl
        .comment_on_line(PROJECT, lab.iid, "alice", (PKG.1, None, Some(11)), "Hm")
        .unwrap();
    let place = || {
        let page = gl.merge_request_page(PROJECT, lab.iid).unwrap();
        let notes = page.discussions.into_iter().flat_map(|d| d.notes);
        notes
            .into_iter()
            .find(|n| n.id == note)
            .unwrap()
            .place
            .unwrap()
    };
    let above = "line 0\n".to_owned() + &lines(&[(10, "line 10 changed\nbrand new\n"), (30, "")]);
    gl.commit(
        PROJECT,
        "feature",
        &Commit::by("bob", "Above").write(PKG.1, &above),
    )
    .unwrap();
    assert_eq!((place().new_line, place().outdated), (Some(12), false));
    assert_eq!(place().head, lab.head());
    let changed = above.replace("brand new", "brand newer");
    gl.commit(
        PROJECT,
        "feature",
        &Commit::by("bob", "Change").write(PKG.1, changed),
    )
    .unwrap();
    assert_eq!((place().new_line, place().outdated), (Some(12), true));
    lab.sim.finish().unwrap();
}
