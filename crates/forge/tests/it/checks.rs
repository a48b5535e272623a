//! Checks: runs that are found again, and statuses that say no more than they may.

use mirilla_domain::gate::{Annotation, CheckName, Conclusion, Level};
use mirilla_domain::ids::{CommitSha, JobId, ReviewId};
use mirilla_forge::github::Marks;
use mirilla_ports::ForgeChecks as _;
use mirilla_ports::checks::{CheckFound, NewCheck};
use mirilla_ports::forge::ForgeError;
use serde_json::json;

use crate::support::{REPO, Reply, Script, TestClock, World, case, pull, repo, writer};

fn check(world_head: &str, annotations: u32) -> NewCheck {
    NewCheck {
        name: CheckName::Trusted,
        head: CommitSha::parse(world_head).unwrap(),
        job: JobId::parse(&"ab".repeat(16)).unwrap(),
        pr: pull(1).id.pr,
        review: Some(ReviewId::new(9)),
        conclusion: Some(Conclusion::Failure),
        title: "Fail: a high finding is open".to_owned(),
        summary: "text".to_owned(),
        annotations: (1..=annotations)
            .map(|line| Annotation {
                path: "src/new.rs".to_owned(),
                first: line,
                last: line,
                level: Level::Failure,
                title: "t".to_owned(),
                message: "m".to_owned(),
            })
            .collect(),
    }
}

#[tokio::test]
async fn run_begins_ends_and_is_found_again_by_its_job() {
    let world = World::new();
    let head = world.gh().tip(REPO, "feature").unwrap();
    let (half, repo) = (world.writer(), repo());
    let done = check(&head, 120);
    let running = NewCheck {
        conclusion: None,
        annotations: Vec::new(),
        ..done.clone()
    };
    let id = half.write_check(&repo, None, &running).await.unwrap();
    let find = || half.checks(&repo, &done.head, CheckName::Trusted);
    let found = find().await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(
        (Some(found[0].id), found[0].job.as_str()),
        (id, done.job.as_str())
    );
    assert_eq!(found[0].conclusion, None);
    half.write_check(&repo, found.first(), &done).await.unwrap();
    // Once more, as after a lost answer: no annotation twice.
    let found = find().await.unwrap();
    assert_eq!(found[0].conclusion.as_deref(), Some("failure"));
    half.write_check(&repo, found.first(), &done).await.unwrap();
    let runs = world.gh().check_runs(REPO, &head).unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!(
        (runs[0].name.as_str(), runs[0].annotations),
        ("Mirilla", 120)
    );
    let details = runs[0].details_url.as_deref().unwrap();
    assert!(
        details.ends_with("/acme/shop/pull/7#pullrequestreview-9"),
        "{details}"
    );
    assert!(
        details.starts_with(&world.sim.github_api_url()),
        "{details}"
    );
    let other = half.checks(&repo, &done.head, CheckName::OtherBase).await;
    assert_eq!(other.unwrap(), []);
}

#[tokio::test]
async fn run_of_another_app_is_not_taken_for_ours() {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    let head = "b".repeat(40);
    let run = |id, slug: &str| json!({"id": id, "external_id": "x", "app": {"slug": slug}});
    let list = json!({"check_runs": [run(1, "reviewbot"), run(2, "evil"), json!({"id": 3})]});
    server.get(
        &format!("/repos/acme/shop/commits/{head}/check-runs"),
        &list,
    );
    let half = writer(&server.base, &clock);
    let found = half
        .checks(
            &repo(),
            &CommitSha::parse(&head).unwrap(),
            CheckName::Trusted,
        )
        .await
        .unwrap();
    assert_eq!(
        found.iter().map(|run| run.id.get()).collect::<Vec<_>>(),
        [1]
    );
}

#[tokio::test]
async fn places_that_github_refuses_do_not_cost_the_verdict() {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    let refused = json!({"message": "Validation Failed", "errors": [{"field": "annotations", "code": "invalid"}]});
    let path = "/repos/acme/shop/check-runs/5";
    let replies = vec![
        Reply::json(422, &refused),
        Reply::json(200, &json!({"id": 5})),
    ];
    server.add("PATCH", path, None, replies);
    let known = CheckFound {
        id: mirilla_domain::ids::CheckId::new(5),
        job: String::new(),
        conclusion: None,
        annotations: 0,
    };
    let half = writer(&server.base, &clock);
    let check = check(&"b".repeat(40), 1);
    half.write_check(&repo(), Some(&known), &check)
        .await
        .unwrap();
    let seen = server.seen();
    assert_eq!(seen[1].json()["output"]["annotations"], json!([]));
    assert_eq!(seen[1].json()["conclusion"], "failure");
}

#[tokio::test]
async fn status_has_nothing_between_success_and_failure_and_only_a_success_is_one() {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    let path = format!("/repos/acme/shop/statuses/{}", "b".repeat(40));
    server.add(
        "POST",
        &path,
        None,
        vec![Reply::json(201, &json!({"id": 1})); 4],
    );
    let half = writer(&server.base, &clock).with_marks(Marks::Statuses);
    let states = [
        (None, "pending"),
        (Some(Conclusion::Success), "success"),
        (Some(Conclusion::Neutral), "error"),
        (Some(Conclusion::Failure), "failure"),
    ];
    for (at, (conclusion, state)) in states.into_iter().enumerate() {
        let check = NewCheck {
            conclusion,
            title: "t".repeat(200),
            ..check(&"b".repeat(40), 3)
        };
        half.write_check(&repo(), None, &check).await.unwrap();
        let sent = server.seen()[at].json();
        assert_eq!(
            (sent["state"].as_str(), sent["context"].as_str()),
            (Some(state), Some("Mirilla"))
        );
        assert_eq!(sent["description"].as_str().unwrap().len(), 140);
    }
    let head = CommitSha::parse(&"b".repeat(40)).unwrap();
    assert_eq!(
        half.checks(&repo(), &head, CheckName::Trusted)
            .await
            .unwrap(),
        []
    );
}

#[tokio::test]
async fn missing_permission_is_named_with_the_way_out() {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    let refused = json!({"message": "Resource not accessible by integration"});
    let path = "/repos/acme/shop/check-runs";
    server.add("POST", path, None, vec![Reply::json(403, &refused)]);
    let half = writer(&server.base, &clock);
    let check = check(&"b".repeat(40), 0);
    let refused = half.write_check(&repo(), None, &check).await;
    let Err(ForgeError::Forbidden { action }) = refused else {
        panic!("{refused:?}");
    };
    assert!(action.contains("`checks: write`"), "{action}");
}

#[tokio::test]
async fn case_063_annotations_are_written_in_batches_of_one_run() {
    let case = case("063");
    let mut expected = case.expected();
    expected.take("schema");
    let batches = expected.need("batches");
    for count in case.json("annotations.json")["counts"].as_array().unwrap() {
        let clock = TestClock::new();
        let server = Script::start(&clock).await;
        let runs = "/repos/acme/shop/check-runs";
        let written = json!({"id": 5});
        server.add("POST", runs, None, vec![Reply::json(201, &written)]);
        let batch = Reply::json(200, &written);
        server.add("PATCH", &format!("{runs}/5"), None, vec![batch; 2]);
        let half = writer(&server.base, &clock);
        let wanted = u32::try_from(count.as_u64().unwrap()).unwrap();
        let check = check(&"b".repeat(40), wanted);
        half.write_check(&repo(), None, &check).await.unwrap();
        let sent: Vec<usize> = server
            .seen()
            .iter()
            .map(|call| {
                call.json()["output"]["annotations"]
                    .as_array()
                    .unwrap()
                    .len()
            })
            .collect();
        assert_eq!(json!(sent), batches[count.to_string()], "{count}");
    }
    expected.finish();
}
