//! Rate limits follow the simulator's clock.

use std::time::Duration;

use mirilla_sim::{GithubOptions, Limits, RetryAfter};
use serde_json::{Value, json};

use crate::client::{Answer, send};
use crate::material::error;
use crate::world::{REPO, World};

fn with_limits(limits: Limits) -> World {
    World::with(GithubOptions {
        limits,
        ..GithubOptions::default()
    })
}

fn post(world: &World) -> Answer {
    let path = format!("/repos/{REPO}/issues/{}/comments", world.pull);
    world.call("POST", &path, Some(json!({ "body": "x" })))
}

#[test]
fn every_answer_tells_the_balance() {
    let world = World::new();
    let first = world.get(&world.at(""));
    let number = |answer: &Answer, name: &str| -> i64 {
        answer
            .header(&format!("x-ratelimit-{name}"))
            .unwrap()
            .parse()
            .unwrap()
    };
    assert_eq!(number(&first, "limit"), 5_000);
    assert_eq!(
        (number(&first, "used"), number(&first, "remaining")),
        (1, 4_999)
    );
    assert_eq!(first.header("x-ratelimit-resource"), Some("core"));
    assert_eq!(
        number(&first, "reset"),
        world.sim.clock().now().timestamp() + 3_600
    );
    assert_eq!(
        number(&world.get("/repos/acme/nothing"), "remaining"),
        4_998,
        "refusals count"
    );
    let asked = world.get("/rate_limit").json();
    assert_eq!(
        asked["resources"]["core"]["remaining"], 4_998,
        "asking is free"
    );
    assert_eq!(asked["rate"], asked["resources"]["core"]);
    // The copied description is that of the older version.
    let url = format!("{}/rate_limit", world.sim.github_api_url());
    let bearer = format!("Bearer {}", world.token);
    let headers = [
        ("user-agent", "t"),
        ("authorization", &*bearer),
        ("x-github-api-version", "2026-03-10"),
    ];
    let newer = send("GET", &url, &headers, b"").unwrap();
    assert!(newer.json().get("rate").is_none());
}

#[test]
fn primary_limit_is_refused_until_the_hour_is_over() {
    let world = with_limits(Limits {
        requests_per_hour: 2,
        ..Limits::default()
    });
    world.get(&world.at(""));
    world.get(&world.at(""));
    let refused = world.get(&world.at(""));
    assert_eq!(
        (refused.status, refused.header("x-ratelimit-remaining")),
        (403, Some("0"))
    );
    assert!(
        refused.json()["message"]
            .as_str()
            .unwrap()
            .starts_with("API rate limit exceeded")
    );
    assert_eq!(
        world.call_as(&world.jwt(), "GET", "/app", None).status,
        200,
        "another purse"
    );
    world.sim.clock().advance(Duration::from_secs(3_600));
    let token = world
        .gh()
        .mint_token(world.installation, None, None)
        .unwrap();
    assert_eq!(
        world.call_as(&token, "GET", &world.at(""), None).status,
        200
    );
    world
        .gh()
        .exhaust(&format!("installation {}", world.installation));
    assert_eq!(
        world.call_as(&token, "GET", &world.at(""), None).status,
        403
    );
}

#[test]
fn content_is_limited_by_the_minute() {
    let world = World::new();
    for n in 0..80 {
        assert_eq!(post(&world).status, 201, "{n}");
        world.sim.clock().advance(Duration::from_millis(600));
    }
    let refused = post(&world);
    assert_eq!(
        (refused.status, refused.json()),
        (403, error("403.secondary.json"))
    );
    assert_eq!(refused.header("retry-after"), Some("60"));
    assert_ne!(
        refused.header("x-ratelimit-remaining"),
        Some("0"),
        "not the primary limit"
    );
    assert_eq!(world.get(&world.at("")).status, 200, "reading goes on");
    world.sim.clock().advance(Duration::from_secs(60));
    assert_eq!(post(&world).status, 201);
    assert_eq!(world.gh().comments(REPO, world.pull).unwrap().len(), 81);
}

#[test]
fn content_is_limited_by_the_hour() {
    let limits = Limits {
        content_per_hour: 3,
        status: 429,
        ..Limits::default()
    };
    let world = World::with(GithubOptions {
        limits,
        retry_after: RetryAfter::HttpDate,
        ..GithubOptions::default()
    });
    for _ in 0..3 {
        assert_eq!(post(&world).status, 201);
        world.sim.clock().advance(Duration::from_secs(120));
    }
    let refused = post(&world);
    assert_eq!(refused.status, 429);
    assert_eq!(
        refused.header("retry-after"),
        Some("Mon, 30 Nov 2026 09:07:00 GMT")
    );
}

#[test]
fn points_are_limited_and_writes_cost_five() {
    let world = World::with(GithubOptions {
        limits: Limits {
            points_per_minute: 11,
            ..Limits::default()
        },
        retry_after: RetryAfter::Absent,
        ..GithubOptions::default()
    });
    assert_eq!((post(&world).status, post(&world).status), (201, 201));
    assert_eq!(world.get(&world.at("")).status, 200);
    let refused = world.get(&world.at(""));
    assert_eq!((refused.status, refused.header("retry-after")), (403, None));
    assert!(refused.text().contains("secondary rate limit"));
}

#[test]
fn graphql_has_points_of_its_own() {
    let world = with_limits(Limits {
        graphql_points_per_minute: 2,
        ..Limits::default()
    });
    let ask = || {
        let question: Value = json!({ "query": "{ rateLimit { remaining cost } }" });
        world.call("POST", &world.gh().graphql_url(), Some(question))
    };
    assert_eq!(ask().json()["data"]["rateLimit"]["cost"], 1);
    assert_eq!(ask().header("x-ratelimit-resource"), Some("graphql"));
    assert_eq!(ask().status, 403);
    assert_eq!(world.get(&world.at("")).status, 200);
}
