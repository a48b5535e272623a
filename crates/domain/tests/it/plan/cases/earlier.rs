//! Cases about what earlier runs and people said on the pull request.

use super::*;

pub(super) fn reworded(case: &Case, expected: &mut Expected) {
    let diff = case.text("input.diff");
    let mut bench = Bench::new(&diff);
    bench.found(findings_of(case, &diff, "run1.json")).run();
    assert_eq!(json!(bench.threads()), expected.need("threads_after_run1"));
    bench.push(&diff, findings_of(case, &diff, "run2.json"));
    let second = bench.run();
    assert_eq!(json!(bench.threads()), expected.need("threads_after_run2"));
    assert_eq!(
        json!(second.resolve.len()),
        expected.need("resolved_after_run2")
    );
    assert_eq!(second.tally.already_there, 1);
}

pub(super) fn shifted(case: &Case, expected: &mut Expected) {
    let (first, second) = (case.text("push1.diff"), case.text("push2.diff"));
    let mut bench = Bench::new(&first);
    bench
        .found(findings_of(case, &first, "push1_findings.json"))
        .run();
    bench.push(&second, findings_of(case, &second, "push2_findings.json"));
    let plan = bench.run();
    assert_eq!(json!(bench.threads()), expected.need("threads_after_push2"));
    assert_eq!(json!(plan.resolve.len()), expected.need("resolved"));
    let line = plan.items[0].anchor.unwrap().line;
    let parsed = mirilla_diff::parse(second.as_bytes());
    let is_added = parsed.files[0].added.contains(line);
    assert_eq!(json!(is_added), expected.need("push2_line_is_added"));
    assert_eq!(line, 17);
}

pub(super) fn foreign_markers(case: &Case, expected: &mut Expected) {
    let own = marker_of(&planned(case, "findings.json", None, None));
    let comments = with_markers(&case.json("comments.json"), &[("OWN-MARKER A", &own)]);
    let me = json!({"me": case.json("me.json")});
    let plan = planned(case, "findings.json", Some(&comments), Some(&me));
    assert_eq!(json!(plan.tally.posted), expected.need("new_comments"));
    let edits: Vec<u64> = match plan.review {
        ReviewAction::Edit { review_id, .. } => vec![review_id.get()],
        _ => Vec::new(),
    };
    assert_eq!(json!(edits), expected.need("edits"));
    assert!(plan.resolve.is_empty());
    // The control: the same comment under our own account is ours.
    let mut ours = comments.clone();
    ours[0]["user"] = case.json("me.json");
    let plan = planned(case, "findings.json", Some(&ours), Some(&me));
    assert_eq!((plan.tally.posted, plan.tally.already_there), (0, 1));
}

pub(super) fn marker_in_text(case: &Case, expected: &mut Expected) {
    // The worst text: a marker that verifies, copied from another comment of this pull request.
    let other = marker_of(&planned_on(
        MAIN_GO.as_bytes(),
        &json!([{"path": "svc/main.go", "line": 51, "side": "LEFT", "title": "other"}]),
        None,
        None,
    ));
    let text = case
        .text("findings.json")
        .replace("<!-- OWN-MARKER OTHER-FINDING -->", &other)
        .replace("<!-- OWN-MARKER", "<!-- mirilla v1 finding=");
    let findings: Value = serde_json::from_str(&text).unwrap();
    let plan = planned_on(MAIN_GO.as_bytes(), &findings, None, None);
    let bodies = bodies(&plan);
    let per_comment = expected.need("posted_markers_per_comment");
    for body in &bodies {
        assert_eq!(json!(body.matches("<!-- mirilla ").count()), per_comment);
    }
    let seen: Vec<String> = bodies
        .iter()
        .map(|body| {
            let key = marker::MarkerKey::new(mirilla_domain::plan::INSPECT_KEY).unwrap();
            match marker::read(&key, &plan.job.pull_request, body) {
                Some(marker::Marker::Finding(said)) => said.fingerprint.to_string(),
                other => panic!("{other:?}"),
            }
        })
        .collect();
    let wanted = expected.need("marker_ids_seen_on_reread");
    assert_eq!(wanted, json!(["id of finding 1", "id of finding 2"]));
    let posted: Vec<String> = plan
        .items
        .iter()
        .map(|item| item.fingerprint.as_ref().unwrap().to_string())
        .collect();
    assert_eq!(seen, posted);
    assert_eq!(expected.need("must_not_see"), json!(["OTHER-FINDING"]));
    let foreign = other.split(['=', ' ']).nth(4).unwrap();
    assert!(!seen.iter().any(|one| one == foreign), "{foreign}");
}

pub(super) fn older_marker(case: &Case, expected: &mut Expected) {
    // One version has been written so far; `identity` keeps a recorded marker of each for ever.
    assert_eq!(marker::Version::ALL.len(), 1);
    let own = marker_of(&planned(case, "findings.json", None, None));
    let listed = with_markers(
        &case.json("comments.json"),
        &[("OWN-MARKER-PREVIOUS-VERSION A", &own)],
    );
    let plan = planned(case, "findings.json", Some(&listed), None);
    assert_eq!(json!(plan.tally.posted), expected.need("new_comments"));
    assert_eq!(plan.tally.already_there, 1);
}

pub(super) fn resolve_vetoes(case: &Case, expected: &mut Expected) {
    let run = case.json("run.json");
    assert_eq!(run["status"], "complete");
    let current = run["current_findings"].clone();
    let findings = json!([{
        "path": current[0]["path"], "line": current[0]["line"], "title": "A", "severity": "high",
    }]);
    let plan = planned_on(MAIN_GO.as_bytes(), &findings, None, None);
    let own = marker_of(&plan);
    let threads = with_markers(&case.json("threads.json"), &[("OWN-MARKER A", &own)]);
    let plan = planned_on(MAIN_GO.as_bytes(), &findings, Some(&threads), None);
    let resolved: Vec<&str> = plan.resolve.iter().map(|one| one.thread.as_str()).collect();
    assert_eq!(json!(resolved), expected.need("resolve"));
    for left in strings(&expected.need("leave")) {
        assert!(!resolved.contains(&left.as_str()), "{left}");
    }
    assert_eq!(plan.tally.posted, 0);

    // Nothing is resolved by a review that failed or whose change talks to the reviewer.
    let policy = json!({"floor": [{
        "kind": "reviewer-text", "path": "svc/main.go", "side": "right", "line": 5,
        "end_line": null, "severity": "high", "title": "t", "message": "m",
    }]});
    let plan = planned_on(
        MAIN_GO.as_bytes(),
        &json!([]),
        Some(&threads),
        Some(&policy),
    );
    assert!(plan.resolve.is_empty());
}

/// The case's threads, with the product's real marker for the finding that they name.
fn listed_threads(case: &Case) -> Value {
    let own = marker_of(&planned(case, "findings.json", None, None));
    let mut threads = case.json("threads.json");
    for thread in threads.as_array_mut().unwrap() {
        assert_eq!(thread["finding"], "A");
        thread["finding"] = json!(own);
    }
    threads
}

pub(super) fn resolved_by_a_person(case: &Case, expected: &mut Expected) {
    let threads = listed_threads(case);
    let plan = planned(case, "findings.json", Some(&threads), None);
    assert_eq!(json!(plan.tally.posted), expected.need("new_threads"));
    assert!(matches!(
        plan.items[0].fate,
        ItemFate::AlreadyThere { resolved: true, .. }
    ));
}

pub(super) fn outdated_listing(case: &Case, expected: &mut Expected) {
    let me = Me {
        login: "reviewbot[bot]".to_owned(),
        id: Some(4242),
    };
    let listed = read_existing(&case.bytes("comments.json"), &me).unwrap();
    assert_eq!(json!(listed.comments.len()), expected.need("parsed"));
    let own: Vec<u64> = listed
        .comments
        .iter()
        .filter(|comment| comment.ours)
        .map(|comment| comment.id.get())
        .collect();
    assert_eq!(json!(own), expected.need("own"));
    assert_eq!(listed.comments[0].line, None);
    assert_eq!(listed.comments[0].original_line, Some(5));
}

pub(super) fn answered_by_a_person(case: &Case, expected: &mut Expected) {
    let threads = listed_threads(case);
    for findings in [case.json("findings.json"), json!([])] {
        let plan = planned_on(MAIN_GO.as_bytes(), &findings, Some(&threads), None);
        assert_eq!(plan.tally.posted, 0);
        assert!(plan.resolve.is_empty());
        assert!(!matches!(plan.review, ReviewAction::Edit { .. }));
    }
    assert_eq!(expected.need("new_threads"), json!(0));
    assert_eq!(expected.need("edited"), json!([]));
    assert_eq!(expected.need("resolved"), json!([]));
}

pub(super) fn own_comments_only(case: &Case, expected: &mut Expected) {
    let mark = |title: &str, line: u32| {
        let found = json!([{"path": "svc/main.go", "line": line, "title": title}]);
        marker_of(&planned_on(MAIN_GO.as_bytes(), &found, None, None))
    };
    let (a, b) = (mark("A", 5), mark("B", 31));
    let markers = [("OWN-MARKER A", a.as_str()), ("OWN-MARKER B", b.as_str())];
    let comments = with_markers(&case.json("comments.json"), &markers);
    // Each comment opens an outdated thread, so that nothing but its author protects it.
    let threads: Vec<Value> = comments
        .as_array()
        .unwrap()
        .iter()
        .map(|comment| {
            json!({
                "id": comment["id"].to_string(), "isResolved": false, "isOutdated": true,
                "path": "svc/main.go", "line": null,
                "comments": {"nodes": [{
                    "databaseId": comment["id"], "author": comment["user"], "body": comment["body"],
                }]},
            })
        })
        .collect();
    let me = json!({"me": case.json("me.json")});
    let plan = planned_on(
        MAIN_GO.as_bytes(),
        &json!([]),
        Some(&json!(threads)),
        Some(&me),
    );
    let touched: Vec<u64> = plan.resolve.iter().map(|one| one.comment.get()).collect();
    assert_eq!(json!(touched), expected.need("may_touch"));
    for id in expected.need("must_not_touch").as_array().unwrap() {
        assert!(!touched.contains(&id.as_u64().unwrap()));
    }
}
