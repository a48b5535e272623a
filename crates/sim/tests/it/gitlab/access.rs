//! Tokens, scopes, members, and who may do what.

use mirilla_sim::{
    Access, Fault, GitlabLimits, GitlabOptions, GitlabVersion, ProjectOptions, RateHeaders, Scope,
    Visibility,
};
use serde_json::json;

use crate::client::send;
use crate::gitlab::world::{Lab, PROJECT, material, repo};

#[test]
fn token_is_taken_from_either_header() {
    let lab = Lab::of(GitlabVersion::V12_10);
    let url = format!("{}/user", lab.sim.gitlab_api_url());
    let bearer = format!("Bearer {}", lab.reader);
    let told = send("GET", &url, &[("authorization", &bearer)], b"").unwrap();
    assert_eq!(told.json()["username"], "mirilla");
    assert_eq!(lab.get("/user").json(), told.json());
    assert_eq!(told.json()["id"], lab.gl().user_id("mirilla"));
    lab.sim.finish().unwrap();
}

#[test]
fn missing_wrong_and_ended_tokens_are_refused() {
    let lab = Lab::of(GitlabVersion::CURRENT);
    let url = format!("{}/user", lab.sim.gitlab_api_url());
    let without = send("GET", &url, &[], b"").unwrap();
    assert_eq!(
        (without.status, without.json()),
        (401, material("error.401.json"))
    );
    let wrong = lab.call_as("glpat-wrong", "GET", "/user", None);
    assert_eq!(
        (wrong.status, wrong.json()),
        (401, material("error.401.json"))
    );
    lab.gl()
        .expire_token(&lab.reader, lab.sim.clock().now())
        .unwrap();
    assert_eq!(lab.get("/user").json()["error"], "invalid_token");
    lab.gl().revoke_token(&lab.token).unwrap();
    assert_eq!(lab.call("GET", "/user", None).status, 401);
    assert_eq!(lab.gl().take_problems().len(), 4);
}

#[test]
fn write_with_a_read_token_is_refused_and_fails_the_test() {
    let lab = Lab::of(GitlabVersion::V15_11);
    let body = Some(json!({ "body": "Hm." }));
    let answer = lab.call_as(&lab.reader, "POST", &lab.at("/notes"), body);
    assert_eq!(
        (answer.status, answer.json()),
        (403, material("error.403.scope.json"))
    );
    let found = lab.sim.finish().unwrap_err().to_string();
    assert!(found.contains("write with a read token: POST"), "{found}");
}

#[test]
fn project_is_found_by_number_and_by_path_and_hidden_from_strangers() {
    let lab = Lab::of(GitlabVersion::V13_12);
    let by_path = lab.get("/projects/acme%2Fplatform%2Fshop").json();
    let by_number = lab.get(&format!("/projects/{}", by_path["id"])).json();
    assert_eq!(by_path, by_number);
    assert_eq!(by_path["namespace"]["full_path"], "acme/platform");
    lab.gl().move_project(PROJECT, "acme/shop").unwrap();
    let moved = lab.get(&format!("/projects/{}", by_path["id"])).json();
    assert_eq!(moved["path_with_namespace"], "acme/shop");
    lab.gl().move_project("acme/shop", PROJECT).unwrap();
    let stranger = lab.gl().create_token("mallory", Scope::Api);
    let hidden = lab.call_as(&stranger, "GET", "/projects/acme%2Fplatform%2Fshop", None);
    assert_eq!(
        (hidden.status, hidden.json()),
        (404, material("error.404.json"))
    );
    lab.gl()
        .add_member(PROJECT, "mallory", Access::Guest)
        .unwrap();
    let code = lab.call_as(&stranger, "GET", &lab.at("/changes"), None);
    assert_eq!(code.status, 403);
    lab.sim.finish().unwrap();
}

#[test]
fn member_tells_its_access() {
    let lab = Lab::of(GitlabVersion::CURRENT);
    let of = |who: &str| {
        let id = lab.gl().user_id(who);
        lab.get(&format!(
            "/projects/acme%2Fplatform%2Fshop/members/all/{id}"
        ))
    };
    assert_eq!(of("alice").json()["access_level"], 40);
    assert_eq!(
        (of("mallory").status, of("mallory").json()),
        (404, json!({ "message": "404 Not found" }))
    );
    lab.sim.finish().unwrap();
}

#[test]
fn what_has_no_row_is_not_found_in_other_words() {
    let lab = Lab::of(GitlabVersion::V12_10);
    let project = "/projects/acme%2Fplatform%2Fshop/merge_requests/99".to_owned();
    for path in [project, lab.at("/versions/1"), lab.at("/notes/1")] {
        let answer = lab.get(&path);
        let expected = json!({ "message": "404 Not found" });
        assert_eq!((answer.status, answer.json()), (404, expected), "{path}");
    }
    let named = lab.get(&lab.at("/discussions/none")).json();
    assert_eq!(named["message"], "404 Discussion Not Found");
    lab.sim.finish().unwrap();
}

#[test]
fn project_token_reaches_its_project_alone() {
    let lab = Lab::of(GitlabVersion::V15_11);
    let gl = lab.gl();
    let private = ProjectOptions {
        visibility: Visibility::Internal,
        ..ProjectOptions::default()
    };
    gl.create_project("acme/other", &private).unwrap();
    let token = gl
        .create_project_token(PROJECT, "review-bot", Access::Developer, Scope::Api)
        .unwrap();
    let bot = lab.call_as(&token, "GET", "/user", None).json();
    assert!(
        bot["username"].as_str().unwrap().starts_with("project_"),
        "{bot}"
    );
    assert_eq!(
        (&bot["bot"], &bot["name"]),
        (&json!(true), &json!("review-bot"))
    );
    assert_eq!(
        lab.call_as(&token, "GET", "/projects/acme%2Fother", None)
            .status,
        404
    );
    assert_eq!(lab.call_as(&token, "GET", &lab.at(""), None).status, 200);
    assert_eq!(gl.last_call().unwrap().token_kind, "project api");
    let old = Lab::of(GitlabVersion::V12_10);
    old.gl()
        .create_project_token(PROJECT, "review-bot", Access::Developer, Scope::Api)
        .unwrap_err();
    lab.sim.finish().unwrap();
}

#[test]
fn limited_caller_is_told_to_wait_as_the_version_does() {
    let limited = |version, headers| {
        let lab = Lab::with(GitlabOptions {
            limits: GitlabLimits {
                requests_per_minute: 2,
                ..GitlabLimits::default()
            },
            rate_headers: headers,
            ..GitlabOptions::of(version)
        });
        assert_eq!(
            (lab.get("/user").status, lab.get("/user").status),
            (200, 200)
        );
        let refused = lab.get("/user");
        assert_eq!(
            (refused.status, refused.text().as_str()),
            (429, "Retry later\n")
        );
        assert_eq!(refused.header("content-type"), Some("text/plain"));
        lab.sim.clock().advance(std::time::Duration::from_secs(60));
        assert_eq!(lab.get("/user").status, 200);
        refused
    };
    let full = limited(GitlabVersion::CURRENT, RateHeaders::Full);
    assert_eq!(full.header("retry-after"), Some("60"));
    assert_eq!(full.header("ratelimit-remaining"), Some("0"));
    let reset = limited(GitlabVersion::CURRENT, RateHeaders::ResetOnly);
    assert_eq!(
        (reset.header("retry-after"), reset.header("ratelimit-limit")),
        (None, Some("2"))
    );
    assert!(reset.header("ratelimit-reset").is_some());
    let old = limited(GitlabVersion::V12_10, RateHeaders::Full);
    assert_eq!(
        (old.header("retry-after"), old.header("ratelimit-reset")),
        (None, None)
    );
}

#[test]
fn single_actions_have_limits_of_their_own() {
    let lab = Lab::with(GitlabOptions {
        limits: GitlabLimits {
            notes_per_minute: 1,
            archives_per_minute: 1,
            ..GitlabLimits::default()
        },
        ..GitlabOptions::default()
    });
    assert_eq!(lab.post("/notes", json!({ "body": "One" })).status, 201);
    let refused = lab.post("/notes", json!({ "body": "Two" }));
    assert_eq!(refused.status, 429);
    assert!(
        refused.json()["message"]["error"]
            .as_str()
            .unwrap()
            .contains("too many times")
    );
    assert_eq!(lab.get(&repo("/archive.zip")).status, 200);
    assert_eq!(lab.get(&repo("/archive.zip")).status, 429);
    lab.gl().merge_request_page(PROJECT, lab.iid).unwrap();
    lab.sim.finish().unwrap();
}

#[test]
fn faults_come_before_and_after_the_effect() {
    let lab = Lab::of(GitlabVersion::V17_5);
    let faults = lab.gl().faults();
    faults.on_next("GET /user", Fault::proxy_page(502));
    let page = lab.get("/user");
    assert_eq!(
        (page.status, page.header("content-type")),
        (502, Some("text/html"))
    );
    let notes = "POST /projects/{id}/merge_requests/{iid}/notes";
    faults.on_next(notes, Fault::LandLater { calls: 1 });
    let url = format!("{}{}", lab.sim.gitlab_api_url(), lab.at("/notes"));
    let headers = [
        ("private-token", lab.token.as_str()),
        ("content-type", "application/json"),
    ];
    assert!(send("POST", &url, &headers, br#"{"body":"Late"}"#).is_none());
    assert_eq!(lab.get(&lab.at("/notes")).json(), json!([]));
    assert_eq!(lab.get(&lab.at("/notes")).json()[0]["body"], "Late");
    lab.gl().merge_request_page(PROJECT, lab.iid).unwrap();
    lab.sim.finish().unwrap();
}

#[test]
fn token_in_a_query_and_secret_in_a_body_fail_the_test() {
    let lab = Lab::of(GitlabVersion::CURRENT);
    lab.sim.sentinel("made-up-model-key-0123456789");
    lab.get("/user?private_token=whatever");
    lab.post("/notes", json!({ "body": "made-up-model-key-0123456789" }));
    lab.gl().merge_request_page(PROJECT, lab.iid).unwrap();
    let found = lab.sim.finish().unwrap_err().to_string();
    assert_eq!(found.matches("secret leaked").count(), 2, "{found}");
}

#[test]
fn instance_below_a_path_is_served_there() {
    let lab = Lab::with(GitlabOptions {
        prefix: "/gitlab".to_owned(),
        ..GitlabOptions::default()
    });
    assert!(lab.sim.gitlab_api_url().ends_with("/gitlab/api/v4"));
    let page = lab.get(&lab.at("/versions?per_page=1"));
    assert!(
        page.header("link")
            .unwrap()
            .contains("/gitlab/api/v4/projects/")
    );
    assert!(
        lab.get(&lab.at("")).json()["web_url"]
            .as_str()
            .unwrap()
            .contains("/gitlab/acme")
    );
    lab.sim.finish().unwrap();
}
