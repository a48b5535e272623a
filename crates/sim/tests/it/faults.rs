//! Faults happen at the call they were planned for, and are accounted for.

use std::time::{Duration, Instant};

use mirilla_sim::{Commit, Fault};
use serde_json::{Value, json};

use crate::client::send;
use crate::world::{REPO, World};

const REVIEWS: &str = "POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews";
const PULL: &str = "GET /repos/{o}/{r}/pulls/{n}";

fn post(world: &World) -> Option<u16> {
    let review: Option<Value> = Some(json!({ "event": "COMMENT", "body": "Hello" }));
    world
        .try_call(&world.token, "POST", &world.at("/reviews"), &[], review)
        .map(|a| a.status)
}

fn posted(world: &World) -> usize {
    world.gh().reviews(REPO, world.pull).unwrap().len()
}

#[test]
fn status_replaces_the_nth_call_without_effect() {
    let world = World::new();
    let fault = Fault::Status {
        code: 502,
        headers: vec![("Retry-After".to_owned(), "7".to_owned())],
        body: "{\"message\":\"Server Error\"}".to_owned(),
    };
    world.gh().faults().on(REVIEWS, 2, fault);
    assert_eq!((post(&world), posted(&world)), (Some(200), 1));
    let review = json!({ "event": "COMMENT", "body": "Hello" });
    let url = format!("{}{}", world.sim.github_api_url(), world.at("/reviews"));
    let bearer = format!("Bearer {}", world.token);
    let headers = [("user-agent", "t"), ("authorization", &*bearer)];
    let answer = send("POST", &url, &headers, review.to_string().as_bytes()).unwrap();
    assert_eq!(
        (answer.status, answer.header("retry-after")),
        (502, Some("7"))
    );
    assert_eq!(
        (posted(&world), post(&world), posted(&world)),
        (1, Some(200), 2)
    );
    world.sim.finish().unwrap();
}

#[test]
fn connection_drops_before_or_after_the_effect() {
    let world = World::new();
    world.gh().faults().on(REVIEWS, 1, Fault::DropBeforeEffect);
    world.gh().faults().on(REVIEWS, 2, Fault::DropAfterEffect);
    assert_eq!((post(&world), posted(&world)), (None, 0));
    assert_eq!((post(&world), posted(&world)), (None, 1));
    let calls = world.gh().calls();
    assert_eq!(calls.iter().map(|c| c.status).collect::<Vec<_>>(), [0, 0]);
    world.sim.finish().unwrap();
}

#[test]
fn dropped_write_lands_some_calls_later() {
    let world = World::new();
    world
        .gh()
        .faults()
        .on_next(REVIEWS, Fault::LandLater { calls: 2 });
    assert_eq!((post(&world), posted(&world)), (None, 0));
    let listed = || {
        world
            .get(&world.at("/reviews"))
            .json()
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(listed(), 0, "the first call after it does not see it");
    assert_eq!(listed(), 0, "nor does the second");
    assert_eq!(listed(), 1);
    posted(&world);
    world.sim.finish().unwrap();
}

#[test]
fn write_that_never_landed_fails_the_test() {
    let world = World::new();
    world
        .gh()
        .faults()
        .on_next(REVIEWS, Fault::LandLater { calls: 5 });
    assert_eq!(post(&world), None);
    let landed = World::new();
    landed
        .gh()
        .faults()
        .on_next(REVIEWS, Fault::LandLater { calls: 5 });
    assert_eq!(post(&landed), None);
    landed.gh().land_now();
    assert_eq!(posted(&landed), 1);
    landed.sim.finish().unwrap();
    let problems = world.sim.finish().unwrap_err().to_string();
    assert!(
        problems.contains("never happened: the landing of POST"),
        "{problems}"
    );
}

#[test]
fn body_is_cut_slow_or_a_page() {
    let world = World::new();
    world
        .gh()
        .faults()
        .on(PULL, 1, Fault::CutBody { bytes: 100 });
    let slow = Fault::SlowBody {
        chunk: 4_096,
        pause: Duration::from_millis(20),
    };
    world.gh().faults().on(PULL, 2, slow);
    world.gh().faults().on(PULL, 3, Fault::HtmlInsteadOfJson);
    let get = || world.try_call(&world.token, "GET", &world.at(""), &[], None);
    assert!(get().is_none(), "less arrived than was announced");
    #[expect(clippy::disallowed_methods, reason = "the pause is a real one")]
    let before = Instant::now();
    let slow = get().unwrap();
    assert_eq!(slow.json()["number"], world.pull);
    assert!(slow.body.len() > 3 * 4_096 && before.elapsed() >= Duration::from_millis(60));
    let page = get().unwrap();
    assert!(
        page.header("content-type")
            .unwrap()
            .starts_with("text/html")
    );
    assert!(page.text().starts_with("<!DOCTYPE html>"));
    world.sim.finish().unwrap();
}

#[test]
fn redirects_and_links_lead_to_a_host_that_tells_on_visitors() {
    let world = World::new();
    let trap = world.sim.trap_url().unwrap();
    world.gh().faults().on(
        PULL,
        1,
        Fault::Redirect {
            to: format!("{trap}/steal"),
        },
    );
    let link = Fault::LinkTo {
        url: format!("{trap}/page/2"),
    };
    world
        .gh()
        .faults()
        .on("GET /repos/{o}/{r}/pulls/{n}/files", 1, link);
    let redirect = world
        .try_call(&world.token, "GET", &world.at(""), &[], None)
        .unwrap();
    assert_eq!(
        (redirect.status, redirect.header("location")),
        (302, Some(&*format!("{trap}/steal")))
    );
    let files = world.get(&world.at("/files"));
    assert_eq!(
        files.header("link"),
        Some(&*format!("<{trap}/page/2>; rel=\"next\""))
    );
    send(
        "GET",
        &format!("{trap}/steal"),
        &[("authorization", "Bearer x")],
        b"",
    )
    .unwrap();
    let problems = world.sim.finish().unwrap_err().to_string();
    assert!(
        problems.contains("a foreign host was sent GET /steal, with its credential"),
        "{problems}"
    );
}

#[test]
fn head_is_swapped_between_two_calls() {
    let world = World::new();
    let old = world.head();
    let github = world.gh().clone();
    world.gh().faults().on(
        PULL,
        2,
        Fault::before(move || {
            github
                .commit(REPO, "feature", &Commit::by("bob", "Swap").write("x", "1"))
                .unwrap();
        }),
    );
    let github = world.gh().clone();
    let back = old.clone();
    world.gh().faults().on(
        PULL,
        2,
        Fault::after(move || github.push(REPO, "feature", &back, "bob").unwrap()),
    );
    let head = || {
        world.get(&world.at("")).json()["head"]["sha"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(head(), old);
    assert_ne!(head(), old);
    assert_eq!(head(), old);
    world.sim.finish().unwrap();
}

#[test]
fn faults_by_overall_call_number_reach_any_route() {
    let world = World::new();
    world.gh().faults().on("*", 2, Fault::status(500, "{}"));
    assert_eq!(world.get(&world.at("")).status, 200);
    let path = world.at("/files");
    let url = format!("{}{path}", world.sim.github_api_url());
    let bearer = format!("Bearer {}", world.token);
    let answer = send(
        "GET",
        &url,
        &[("user-agent", "t"), ("authorization", &bearer)],
        b"",
    );
    assert_eq!(answer.unwrap().status, 500);
    assert_eq!(world.get(&path).status, 200);
    assert_eq!(world.gh().faults().count("*"), 3);
    assert_eq!(world.gh().counts()[PULL], 1);
    world.sim.finish().unwrap();
}

#[test]
fn fault_that_did_not_fire_fails_the_test() {
    let world = World::new();
    world
        .gh()
        .faults()
        .on("GET /nowhere", 1, Fault::DropBeforeEffect);
    let problems = world.sim.finish().unwrap_err().to_string();
    assert!(
        problems.contains("drop-before-effect at call 1 of GET /nowhere"),
        "{problems}"
    );
}

#[test]
fn archive_host_has_faults_as_well() {
    let world = World::new();
    let archive = "GET /{o}/{r}/{archive}/{ref}";
    world
        .gh()
        .faults()
        .on(archive, 1, Fault::CutBody { bytes: 10 });
    world.gh().faults().on(
        archive,
        2,
        Fault::Redirect {
            to: "http://127.0.0.1:9/next".to_owned(),
        },
    );
    let redirect = world.get(&format!("/repos/{REPO}/zipball/{}", world.head()));
    let location = redirect.header("location").unwrap();
    assert!(send("GET", location, &[], b"").is_none());
    assert_eq!(send("GET", location, &[], b"").unwrap().status, 302);
    assert_eq!(send("GET", location, &[], b"").unwrap().status, 200);
    assert_eq!(world.gh().counts()[archive], 3);
    world.sim.finish().unwrap();
}
