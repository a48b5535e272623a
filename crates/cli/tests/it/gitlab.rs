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
        let notes = page.discussions.iter().flat_map(|one| &one.notes);
        let said = notes.filter(|note| !note.system);
        let (placed, whole): (Vec<_>, Vec<_>) = said.partition(|note| note.place.is_some());
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

#[test]
fn doctor_knows_gitlab_and_what_is_wrong_with_its_tokens() {
    let world = GitlabWorld::of(GitlabVersion::CURRENT, From::Branch);
    let read = world.token(Access::Reporter, Scope::ReadApi);
    let write = world.token(Access::Developer, Scope::Api);
    let url = world.sim.gitlab().url();
    let data = world.dir.path().join("data").to_str().unwrap().to_owned();
    let said = |read: &str, write: &str| {
        let variables = [
            ("MIRILLA_ALLOWED_ACCOUNTS", "acme"),
            ("MIRILLA_DATA_DIR", data.as_str()),
            ("MIRILLA_WEBHOOK_SECRET", HOOK_TOKEN),
            ("MIRILLA_GITLAB_URL", url.as_str()),
            ("MIRILLA_GITLAB_READ_TOKEN", read),
            ("MIRILLA_GITLAB_WRITE_TOKEN", write),
        ];
        mirilla(&["doctor"], b"", &variables).1
    };
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
