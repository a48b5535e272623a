//! One host that serves GitLab, as a process of its own.

use std::time::Duration;

use mirilla_sim::{Access, GitlabVersion, Scope};

use crate::support::gitlab::{From, GitlabWorld, PROJECT};
use crate::support::{Server, mirilla, wait_for};

const HOOK: &str = "/webhooks/gitlab";
/// Made up.
const HOOK_TOKEN: &str = "made-up-hook-token-of-one-host";

/// Hands over what GitLab sent; returns the answers.
fn hand_over(world: &GitlabWorld, server: &Server) -> Vec<Option<u16>> {
    let sent = world.sim.gitlab().take_deliveries().into_iter();
    sent.map(|one| server.post(HOOK, &one.headers, &one.body))
        .collect()
}

fn notes_become(world: &GitlabWorld, wanted: (usize, usize)) {
    wait_for("the review", Duration::from_secs(90), || {
        let page = world.sim.gitlab().merge_request_page(PROJECT, world.iid);
        let page = page.unwrap();
        // Until all are drafted nothing is published.
        if !page.drafts.is_empty() {
            return Err(format!("{} drafts", page.drafts.len()));
        }
        let (placed, whole) = page.said();
        let there = (placed.len(), whole.len());
        if there == wanted {
            Ok(())
        } else {
            Err(format!("{there:?}: {whole:#?}"))
        }
    });
}

#[test]
fn a_push_is_reviewed_once_on_the_oldest_and_on_the_current_gitlab() {
    for version in [GitlabVersion::V12_10, GitlabVersion::CURRENT] {
        let world = GitlabWorld::of(version, From::Branch);
        let (server, tokens) = world.serve(HOOK_TOKEN);
        world.push(1);
        let sent = world.sim.gitlab().take_deliveries();
        let push = sent
            .iter()
            .find(|one| one.event == "Merge Request Hook")
            .unwrap();
        assert_eq!(server.post(HOOK, &push.headers, &push.body), Some(202));
        // Two failures in two files, and the text of the review.
        notes_become(&world, (2, 1));
        assert_eq!(server.post(HOOK, &push.headers, &push.body), Some(200));
        // Who does not have the secret is not believed, and the other forge is not served.
        assert_eq!(server.post(HOOK, &[], &push.body), Some(401));
        assert_eq!(
            server.post("/webhooks/github", &push.headers, &push.body),
            Some(404)
        );
        world.push(2);
        assert!(hand_over(&world, &server).contains(&Some(202)));
        notes_become(&world, (3, 2));
        let said = server.kill();
        for token in &tokens {
            assert!(!said.contains(token.as_str()), "{said}");
        }
        world.sim.finish().unwrap();
    }
}

/// What `mirilla doctor` says of a host with these two tokens.
fn doctor(world: &GitlabWorld, [read, write]: [&str; 2], arguments: &[&str]) -> String {
    let url = world.sim.gitlab().url();
    let data = world.dir.path().join("data").to_str().unwrap().to_owned();
    let variables = [
        ("MIRILLA_ALLOWED_ACCOUNTS", "acme"),
        ("MIRILLA_DATA_DIR", data.as_str()),
        ("MIRILLA_WEBHOOK_SECRET", HOOK_TOKEN),
        ("MIRILLA_GITLAB_URL", url.as_str()),
        ("MIRILLA_GITLAB_READ_TOKEN", read),
        ("MIRILLA_GITLAB_WRITE_TOKEN", write),
    ];
    mirilla(&[&["doctor"], arguments].concat(), b"", &variables).1
}

#[test]
fn doctor_says_what_each_version_lacks_and_how_far_the_tokens_reach_in_a_project() {
    const FOLLOWS: &str = "merging does not wait for threads";
    for (version, lacks) in [
        (GitlabVersion::V12_10, "long patches are left out"),
        (GitlabVersion::V13_12, "every comment notifies by itself"),
        (GitlabVersion::V15_11, "every comment notifies by itself"),
        (GitlabVersion::V17_5, "nothing is missing"),
        (GitlabVersion::CURRENT, "nothing is missing"),
    ] {
        let world = GitlabWorld::of(version, From::Branch);
        let read = world.token(Access::Reporter, Scope::ReadApi);
        let write = world.token(Access::Developer, Scope::Api);
        let said = doctor(&world, [&read, &write], &["--project", PROJECT]);
        for words in [lacks, FOLLOWS, "the token that writes reaches far enough"] {
            assert!(said.contains(words), "{version:?}, {words}: {said}");
        }
        assert!(
            said.contains("this machine's clock agrees with GitLab's"),
            "{said}"
        );
        let stranger = world.sim.gitlab().create_token("nobody", Scope::Api);
        let said = doctor(&world, [&read, &stranger], &["--project", PROJECT]);
        let unseen =
            "the token that writes: the project is not there, or this token may not see it";
        assert!(said.contains(unseen), "{said}");
        world.sim.finish().unwrap();
    }
}

#[test]
fn doctor_notices_a_clock_by_which_no_signature_would_be_believed() {
    let world = GitlabWorld::of(GitlabVersion::CURRENT, From::Branch);
    let read = world.token(Access::Reporter, Scope::ReadApi);
    let write = world.token(Access::Developer, Scope::Api);
    world.sim.clock().advance(Duration::from_secs(360));
    let said = doctor(&world, [&read, &write], &[]);
    assert!(said.contains("s behind"), "{said}");
    world.sim.finish().unwrap();
}

#[test]
fn a_delivery_is_tried_from_the_command_line() {
    let world = GitlabWorld::of(GitlabVersion::CURRENT, From::Branch);
    let (server, _tokens) = world.serve(HOOK_TOKEN);
    world.push(1);
    let sent = world.sim.gitlab().take_deliveries();
    let push = sent.iter().find(|one| one.event == "Merge Request Hook");
    let url = format!("http://{}{HOOK}", server.address);
    let send = |secret: &str| {
        let arguments = ["webhook", "send", "--forge", "gitlab", "--url", &url, "-"];
        mirilla(
            &arguments,
            &push.unwrap().body,
            &[("MIRILLA_WEBHOOK_SECRET", secret)],
        )
    };
    let (code, said, stderr) = send(HOOK_TOKEN);
    assert_eq!(code, 0, "{said}{stderr}");
    assert!(format!("{said}{stderr}").contains("202"), "{said}{stderr}");
    notes_become(&world, (2, 1));
    let (code, said, stderr) = send("made-up-and-another");
    assert_eq!(code, 1, "{said}{stderr}");
    assert!(format!("{said}{stderr}").contains("401"), "{said}{stderr}");
    drop(server);
    world.sim.finish().unwrap();
}

#[test]
fn doctor_knows_gitlab_and_what_is_wrong_with_its_tokens() {
    let world = GitlabWorld::of(GitlabVersion::CURRENT, From::Branch);
    let read = world.token(Access::Reporter, Scope::ReadApi);
    let write = world.token(Access::Developer, Scope::Api);
    let said = |read: &str, write: &str| doctor(&world, [read, write], &[]);
    let fine = said(&read, &write);
    assert!(
        fine.contains("GitLab 19.6 answers; nothing is missing"),
        "{fine}"
    );
    let other = world.token(Access::Developer, Scope::Api);
    let wide = said(&other, &write);
    assert!(wide.contains("may write, and the process"), "{wide}");
    let narrow = said(&read, &world.token(Access::Developer, Scope::ReadApi));
    assert!(narrow.contains("may not write"), "{narrow}");
    let wrong = said("glpat-nobody-has-this-one", &write);
    assert!(wrong.contains("MIRILLA_GITLAB_READ_TOKEN"), "{wrong}");
    assert_eq!(
        world
            .sim
            .gitlab()
            .merge_request_page(PROJECT, world.iid)
            .unwrap()
            .notifications,
        0
    );
    let problems = world.sim.gitlab().take_problems();
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert!(
        told.iter()
            .all(|one| one.contains("a token that is not valid")),
        "only the wrong token was noticed: {told:?}"
    );
    world.sim.finish().unwrap();
}
