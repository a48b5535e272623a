//! Credentials: what each kind may do, where, and for how long.

use std::time::Duration;

use mirilla_sim::{InstallOptions, Problem, RepoOptions, Role};
use serde_json::{Value, json};

use crate::client::send;
use crate::material::error;
use crate::world::{REPO, World, jwt};

fn mint_path(world: &World) -> String {
    format!("/app/installations/{}/access_tokens", world.installation)
}

#[test]
fn jwt_is_held_to_githubs_rules() {
    let world = World::new();
    let now = world.sim.clock().now().timestamp();
    let ok = |claims: Value| {
        let status = world.call_as(&jwt(&claims), "GET", "/app", None).status;
        world.gh().take_problems();
        status
    };
    assert_eq!(
        ok(json!({ "iss": 4242, "iat": now - 60, "exp": now + 600 })),
        200
    );
    assert_eq!(
        ok(json!({ "iss": "4242", "iat": now - 60, "exp": now + 540 })),
        200
    );
    let client = json!({ "iss": "Iv23liSIMULATED00001", "iat": now, "exp": now + 60 });
    assert_eq!(ok(client), 200);
    assert_eq!(
        ok(json!({ "iss": 4242, "iat": now, "exp": now + 601 })),
        401,
        "lives too long"
    );
    assert_eq!(
        ok(json!({ "iss": 4242, "iat": now - 700, "exp": now - 1 })),
        401,
        "expired"
    );
    assert_eq!(
        ok(json!({ "iss": 4242, "iat": now + 90, "exp": now + 300 })),
        401,
        "from the future"
    );
    assert_eq!(
        ok(json!({ "iss": 999, "iat": now, "exp": now + 60 })),
        404,
        "another App"
    );
    let forged = jwt(&json!({ "iss": 4242, "iat": now, "exp": now + 60 }));
    let (head, _) = forged.rsplit_once('.').unwrap();
    let answer = world.call_as(&format!("{head}.AAAA"), "GET", "/app", None);
    assert_eq!(
        answer.json()["message"],
        "A JSON web token could not be decoded"
    );
}

#[test]
fn token_is_narrowed_but_never_widened() {
    let world = World::new();
    let path = mint_path(&world);
    let mint = |body: Value| world.call_as(&world.jwt(), "POST", &path, Some(body));
    let repo = world.gh().repo_id(REPO).unwrap();
    let narrow = mint(json!({
        "repository_ids": [repo], "permissions": { "contents": "read", "pull_requests": "read" },
    }));
    assert_eq!(narrow.status, 201);
    let body = narrow.json();
    assert_eq!(
        body["permissions"],
        json!({ "contents": "read", "metadata": "read", "pull_requests": "read" })
    );
    assert_eq!(
        (
            &body["repository_selection"],
            &body["repositories"][0]["id"]
        ),
        (&json!("selected"), &json!(repo))
    );
    assert_eq!(body["expires_at"], "2026-11-30T10:00:00Z");
    for wider in [
        json!({ "permissions": { "contents": "write" } }),
        json!({ "permissions": { "administration": "read" } }),
        json!({ "repository_ids": [1] }),
        json!({ "repositories": ["elsewhere"] }),
        json!({ "repository_ids": [] }),
    ] {
        assert_eq!(mint(wider.clone()).status, 422, "{wider}");
    }
    let unknown = world.call_as(
        &world.jwt(),
        "POST",
        "/app/installations/7/access_tokens",
        None,
    );
    assert_eq!(unknown.status, 404);
    world.sim.finish().unwrap();
}

#[test]
fn token_of_another_owner_or_repository_sees_nothing() {
    let world = World::new();
    let gh = world.gh();
    gh.create_repo("acme/other", &RepoOptions::default())
        .unwrap();
    gh.create_repo(
        "rival/shop",
        &RepoOptions {
            private: true,
            ..RepoOptions::default()
        },
    )
    .unwrap();
    let rival = gh.install("rival", InstallOptions::default()).unwrap();
    let foreign = gh.mint_token(rival, None, None).unwrap();
    assert_eq!(
        world.call_as(&foreign, "GET", &world.at(""), None).status,
        404
    );
    assert_eq!(
        world
            .call_as(&world.reader, "GET", "/repos/acme/other", None)
            .status,
        404
    );
    assert_eq!(world.get("/repos/acme/other").status, 200);
    assert_eq!(world.get("/repos/rival/shop").status, 404);
    let chosen = InstallOptions {
        repos: Some(vec![REPO.to_owned()]),
        permissions: None,
    };
    let second = gh.install("acme", chosen).unwrap();
    let limited = gh.mint_token(second, None, None).unwrap();
    let listed = world
        .call_as(&limited, "GET", "/installation/repositories", None)
        .json();
    assert_eq!(
        (&listed["total_count"], &listed["repositories"][0]["name"]),
        (&json!(1), &json!("shop"))
    );
    world.sim.finish().unwrap();
}

#[test]
fn token_ends_after_an_hour_or_when_revoked() {
    let world = World::new();
    world.sim.clock().advance(Duration::from_secs(3599));
    assert_eq!(world.get(&world.at("")).status, 200);
    world.sim.clock().advance(Duration::from_secs(1));
    let answer = world.get(&world.at(""));
    assert_eq!(
        (answer.status, &answer.json()["message"]),
        (401, &json!("Bad credentials"))
    );
    let fresh = world
        .gh()
        .mint_token(world.installation, None, None)
        .unwrap();
    assert_eq!(
        world
            .call_as(&fresh, "DELETE", "/installation/token", None)
            .status,
        204
    );
    assert_eq!(
        world.call_as(&fresh, "GET", &world.at(""), None).status,
        401
    );
}

#[test]
fn suspended_and_removed_installations_are_refused() {
    let world = World::new();
    world
        .gh()
        .suspend(world.installation, true, "alice")
        .unwrap();
    let answer = world.get(&world.at(""));
    assert_eq!(answer.status, 403);
    assert_eq!(
        answer.json()["message"],
        "This installation has been suspended"
    );
    assert_eq!(
        world
            .call_as(&world.jwt(), "POST", &mint_path(&world), None)
            .status,
        403
    );
    world
        .gh()
        .suspend(world.installation, false, "alice")
        .unwrap();
    assert_eq!(world.get(&world.at("")).status, 200);
    world.gh().uninstall(world.installation, "alice").unwrap();
    assert_eq!(world.get(&world.at("")).status, 401);
    assert_eq!(
        world
            .call_as(&world.jwt(), "POST", &mint_path(&world), None)
            .status,
        404
    );
}

#[test]
fn writing_with_a_read_token_is_refused_and_fails_the_test() {
    let world = World::new();
    let review = Some(json!({ "event": "COMMENT", "body": "x" }));
    let answer = world.call_as(&world.reader, "POST", &world.at("/reviews"), review);
    assert_eq!(
        (answer.status, answer.json()),
        (403, error("403.integration.json"))
    );
    assert_eq!(
        world.gh().take_problems(),
        vec![Problem::WriteWithReadToken(
            "POST /repos/{o}/{r}/pulls/{n}/reviews on acme/shop".to_owned()
        )]
    );
    assert!(world.gh().reviews(REPO, world.pull).unwrap().is_empty());
}

#[test]
fn missing_permission_is_refused_without_blaming_a_writer() {
    let world = World::new();
    let head = world.head();
    let status = Some(json!({ "state": "success" }));
    let answer = world.call("POST", &format!("/repos/{REPO}/statuses/{head}"), status);
    assert_eq!(
        (answer.status, answer.json()),
        (403, error("403.integration.json"))
    );
    world.sim.finish().unwrap();
}

#[test]
fn wrong_kind_of_credential_fails_the_test() {
    for (path, app) in [("/app", false), ("/repos/acme/shop", true)] {
        let world = World::new();
        let token = if app {
            world.jwt()
        } else {
            world.token.clone()
        };
        assert_eq!(world.call_as(&token, "GET", path, None).status, 401);
        let problems = world.sim.finish().unwrap_err().to_string();
        assert!(problems.contains("wrong credential"), "{problems}");
    }
}

#[test]
fn request_without_user_agent_or_credential_is_refused() {
    let world = World::new();
    let url = format!("{}/repos/{REPO}", world.sim.github_api_url());
    let bearer = format!("Bearer {}", world.token);
    let answer = send("GET", &url, &[("authorization", &bearer)], b"").unwrap();
    assert_eq!(answer.status, 403);
    assert!(answer.text().contains("User-Agent"));
    let answer = send("GET", &url, &[("user-agent", "t")], b"").unwrap();
    assert_eq!(answer.status, 401);
    let answer = send(
        "GET",
        &url,
        &[("user-agent", "t"), ("authorization", "Basic eA==")],
        b"",
    );
    assert_eq!(answer.unwrap().status, 401);
    let version = [
        ("user-agent", "t"),
        ("authorization", &*bearer),
        ("x-github-api-version", "2021-01-01"),
    ];
    assert_eq!(send("GET", &url, &version, b"").unwrap().status, 410);
    let media = [
        ("user-agent", "t"),
        ("authorization", &*bearer),
        ("accept", "text/html"),
    ];
    assert_eq!(send("GET", &url, &media, b"").unwrap().status, 415);
    let problems = world.sim.finish().unwrap_err().to_string();
    assert!(
        problems.contains("no User-Agent") && problems.contains("text/html"),
        "{problems}"
    );
}

#[test]
fn personal_token_acts_as_its_person() {
    let world = World::new();
    let gh = world.gh();
    let rights = [
        ("contents", "read"),
        ("pull_requests", "write"),
        ("statuses", "write"),
        ("checks", "write"),
    ];
    let mallory = gh.create_pat("mallory", &rights, None).unwrap();
    assert_eq!(
        world.call_as(&mallory, "GET", "/user", None).json()["login"],
        "mallory"
    );
    let review = Some(json!({ "event": "COMMENT", "body": "Drive-by" }));
    let posted = world
        .call_as(&mallory, "POST", &world.at("/reviews"), review)
        .json();
    assert_eq!(
        (&posted["user"]["login"], &posted["user"]["type"]),
        (&json!("mallory"), &json!("User"))
    );
    gh.reviews(REPO, world.pull).unwrap();
    let head = world.head();
    let status = json!({ "state": "success", "context": "mirilla" });
    let path = format!("/repos/{REPO}/statuses/{head}");
    assert_eq!(
        world
            .call_as(&mallory, "POST", &path, Some(status.clone()))
            .status,
        404
    );
    gh.set_role(REPO, "mallory", Role::Write).unwrap();
    assert_eq!(
        world.call_as(&mallory, "POST", &path, Some(status)).status,
        201
    );
    let check = Some(json!({ "name": "Mirilla", "head_sha": head }));
    let refused = world.call_as(
        &mallory,
        "POST",
        &format!("/repos/{REPO}/check-runs"),
        check,
    );
    assert_eq!(refused.status, 403);
    assert_eq!(
        refused.json()["message"],
        "Resource not accessible by personal access token"
    );
    let installation = world.get("/user");
    assert_eq!(installation.json(), error("403.integration.json"));
    world.sim.finish().unwrap();
}

#[test]
fn permission_of_a_person_is_told_as_it_is_now() {
    let world = World::new();
    let ask = |login: &str| {
        world
            .get(&format!("/repos/{REPO}/collaborators/{login}/permission"))
            .json()
    };
    assert_eq!(ask("alice")["permission"], "admin");
    assert_eq!(ask("bob")["permission"], "read");
    world.gh().set_role(REPO, "bob", Role::Maintain).unwrap();
    let bob = ask("bob");
    assert_eq!(
        (&bob["permission"], &bob["role_name"]),
        (&json!("write"), &json!("maintain"))
    );
    assert_eq!(ask("nobody")["message"], "Not Found");
    world.sim.finish().unwrap();
}

#[test]
fn app_finds_its_installation() {
    let world = World::new();
    let jwt = world.jwt();
    let found = world
        .call_as(&jwt, "GET", &format!("/repos/{REPO}/installation"), None)
        .json();
    assert_eq!(found["id"], json!(world.installation));
    assert_eq!(found["account"]["type"], "Organization");
    let listed = world
        .call_as(&jwt, "GET", "/app/installations", None)
        .json();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    world
        .gh()
        .create_repo("rival/shop", &RepoOptions::default())
        .unwrap();
    assert_eq!(
        world
            .call_as(&jwt, "GET", "/repos/rival/shop/installation", None)
            .status,
        404
    );
    assert_eq!(
        world.call_as(&jwt, "GET", "/app", None).json()["slug"],
        "mirilla"
    );
    world.sim.finish().unwrap();
}
