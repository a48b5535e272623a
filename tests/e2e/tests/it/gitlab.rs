//! A stack that serves GitLab.

use mirilla_sim::GitlabVersion;
use mirilla_tests::{Served, Setting, Verdict, World};

async fn world_of(version: GitlabVersion) -> World {
    World::deploy_as(Setting {
        roles: true,
        served: Served::Gitlab(version),
    })
    .await
}

#[tokio::test]
async fn merge_requests_are_reviewed_on_the_oldest_and_on_the_current_gitlab() {
    for version in [GitlabVersion::V12_10, GitlabVersion::CURRENT] {
        let world = world_of(version).await;
        assert!(world.output("WebhookUrl").ends_with("/webhooks/gitlab"));
        let iid = world.open_merge("change");
        let sent = world.sim.gitlab().take_deliveries();
        let [opened] = sent.as_slice() else {
            panic!("{sent:?}");
        };
        let (headers, body) = (&opened.headers, &opened.body);
        let answer = world.hand_over(headers, body);
        assert_eq!((answer.status, answer.text.as_str()), (202, "queued"));
        let again = world.hand_over(headers, body);
        assert_eq!((again.status, again.text.as_str()), (200, "duplicate"));
        world.wait_for_notes(iid, (1, 1)).await;

        // Nobody is believed without the secret, and the other forge is not served.
        assert_eq!(world.hand_over(&[], body).status, 401);
        assert_eq!(world.ring("/webhooks/github", headers, body).status, 404);

        world.push_to_project("change", 1);
        for pushed in world.sim.gitlab().take_deliveries() {
            let answer = world.hand_over(&pushed.headers, &pushed.body);
            assert!((200..300).contains(&answer.status), "{answer:?}");
        }
        world.wait_for_notes(iid, (2, 2)).await;
        world.sweep().await;
        world.finish().await;
    }
}

#[tokio::test]
async fn each_token_of_gitlabs_is_in_one_hand_and_nothing_signs_for_an_app() {
    let world = world_of(GitlabVersion::CURRENT).await;
    let iid = world.open_merge("change");
    for sent in world.sim.gitlab().take_deliveries() {
        assert_eq!(world.hand_over(&sent.headers, &sent.body).status, 202);
    }
    world.wait_for_notes(iid, (1, 1)).await;
    for (secret, reader) in [
        ("SigningTokenArn", "intake"),
        ("WebhookSecretArn", "intake"),
        ("ReadTokenArn", "collector"),
        ("WriteTokenArn", "poster"),
        ("ModelKeyArn", "reviewer"),
    ] {
        for function in ["intake", "collector", "reviewer", "poster"] {
            let role = world.as_role_of(function);
            let wanted = if function == reader {
                Verdict::Allowed
            } else {
                Verdict::Denied
            };
            let verdict = role.try_secret(world.output(secret)).await;
            assert_eq!(verdict, wanted, "{function}, {secret}");
        }
    }
    let outputs = world.stack.outputs();
    let of_app = |name: &&String| name.starts_with("Minter") || name.starts_with("App");
    let left: Vec<&String> = outputs.keys().filter(of_app).collect();
    assert!(left.is_empty(), "{left:?}");
    world.finish().await;
}
