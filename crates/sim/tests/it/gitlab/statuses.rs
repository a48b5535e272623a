//! Commit statuses: who may set them, and which steps GitLab refuses.

use mirilla_sim::{Access, Commit, GitlabVersion, OpenMerge, Scope};
use serde_json::{Value, json};

use crate::gitlab::world::{Lab, PROJECT, material, repo};

fn set(lab: &Lab, sha: &str, body: Value) -> crate::client::Answer {
    let path = format!("/projects/acme%2Fplatform%2Fshop/statuses/{sha}");
    lab.call("POST", &path, Some(body))
}

#[test]
fn status_moves_on_and_a_finished_one_is_followed_by_another() {
    for version in GitlabVersion::PLAYED {
        let lab = Lab::of(version);
        let head = lab.head();
        let to = |state: &str| set(&lab, &head, json!({ "state": state, "name": "Mirilla" }));
        assert_eq!(to("pending").status, 201);
        let again = to("pending");
        assert_eq!(
            (again.status, again.json()),
            (400, material("error.400.status_transition.json"))
        );
        assert_eq!(
            (
                to("running").status,
                to("running").status,
                to("pending").status
            ),
            (201, 400, 400)
        );
        let done = to("success").json();
        assert_eq!(
            (&done["status"], &done["ref"], &done["name"]),
            (&json!("success"), &json!("feature"), &json!("Mirilla"))
        );
        assert_eq!((to("success").status, to("failed").status), (201, 201));
        let listed = lab.get(&repo(&format!("/commits/{head}/statuses"))).json();
        assert_eq!(
            (listed.as_array().unwrap().len(), &listed[0]["status"]),
            (1, &json!("failed"))
        );
        let all = lab
            .get(&repo(&format!("/commits/{head}/statuses?all=true")))
            .json();
        assert_eq!(all.as_array().unwrap().len(), 3);
        let seen = lab.gl().statuses(PROJECT, &head).unwrap();
        assert_eq!((seen.len(), seen[2].author.as_str()), (3, "mirilla"));
        lab.sim.finish().unwrap();
    }
}

#[test]
fn wrong_statuses_are_refused() {
    let lab = Lab::of(GitlabVersion::V15_11);
    let head = lab.head();
    let error = |body: Value| set(&lab, &head, body).json()["error"].clone();
    assert_eq!(error(json!({})), "state is missing");
    assert_eq!(
        error(json!({ "state": "neutral" })),
        "state does not have a valid value"
    );
    let long = set(
        &lab,
        &head,
        json!({ "state": "success", "description": "x".repeat(256) }),
    );
    assert_eq!(
        long.json()["message"]["description"][0],
        "is too long (maximum is 255 characters)"
    );
    let nowhere = set(&lab, &"0".repeat(40), json!({ "state": "success" }));
    assert_eq!(nowhere.json()["message"], "404 Commit Not Found");
    lab.gl()
        .add_member(PROJECT, "mirilla", Access::Reporter)
        .unwrap();
    assert_eq!(set(&lab, &head, json!({ "state": "success" })).status, 403);
    lab.sim.finish().unwrap();
}

#[test]
fn status_of_a_fork_belongs_to_the_fork() {
    let lab = Lab::of(GitlabVersion::V17_5);
    let gl = lab.gl();
    let fork = gl.fork(PROJECT, "mallory").unwrap();
    let patch = Commit::by("mallory", "Patch").write("x", "1\n");
    let head = gl.commit(&fork, "patch", &patch).unwrap();
    let open = OpenMerge {
        from: Some(fork.clone()),
        ..OpenMerge::new("mallory", "patch", "Patch")
    };
    let iid = gl.open_merge(PROJECT, open).unwrap();
    // No branch of the project has the commit.
    let refused = set(&lab, &head, json!({ "state": "success" }));
    assert_eq!(
        refused.json()["message"],
        "404 References for commit Not Found"
    );
    let reference = format!("refs/merge-requests/{iid}/head");
    let named = set(&lab, &head, json!({ "state": "success", "ref": reference }));
    assert_eq!(named.status, 201);
    let mallory = gl.create_token("mallory", Scope::Api);
    let path = format!("/projects/mallory%2Fshop/statuses/{head}");
    let own = lab.call_as(&mallory, "POST", &path, Some(json!({ "state": "success" })));
    assert_eq!(own.status, 201);
    lab.sim.finish().unwrap();
}

#[test]
fn failed_status_blocks_the_merge_if_a_pipeline_must_succeed() {
    let lab = Lab::of(GitlabVersion::CURRENT);
    lab.gl().protect(PROJECT, false, true).unwrap();
    let status = || lab.get(&lab.at("")).json()["detailed_merge_status"].clone();
    let head = lab.head();
    assert_eq!(status(), "ci_must_pass");
    set(&lab, &head, json!({ "state": "failed", "name": "Mirilla" }));
    assert_eq!(status(), "ci_must_pass");
    lab.gl().merge(PROJECT, lab.iid, "alice").unwrap_err();
    set(
        &lab,
        &head,
        json!({ "state": "success", "name": "Mirilla" }),
    );
    assert_eq!(status(), "mergeable");
    lab.sim.finish().unwrap();
}
