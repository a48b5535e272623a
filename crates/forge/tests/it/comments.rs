//! One comment, its author's permission, and answers to it.

use mirilla_domain::ids::{Account, CommentId, RepoName};
use mirilla_domain::request::CommentPlace::{Conversation, Line};
use mirilla_ports::forge::ForgeError;
use mirilla_ports::{ForgeRead as _, ForgeWrite as _};
use mirilla_sim::{Commit, Role, Side};
use serde_json::json;

use crate::support::{REPO, Reply, Script, TestClock, World, pull, reader};

fn repo() -> RepoName {
    RepoName::parse(REPO).unwrap()
}

#[tokio::test]
async fn comments_of_both_lists_are_read_as_they_are_now() {
    let world = World::new();
    let (gh, pr) = (world.gh(), world.id.pr.get());
    let said = gh.comment(REPO, pr, "alice", "first").unwrap();
    gh.edit_comment(REPO, said, "alice", "second").unwrap();
    let at = ("src/pay.rs", Side::Right, 10);
    let on_line = gh.comment_on_line(REPO, pr, "alice", at, "here").unwrap();
    let reader = world.reader();
    for (place, id, body) in [(Conversation, said, "second"), (Line, on_line, "here")] {
        let id = CommentId::new(id);
        let comment = reader
            .comment(&repo(), world.id.pr, place, id)
            .await
            .unwrap();
        assert_eq!(comment.body, body);
        assert_eq!(comment.pr, world.id.pr);
        assert_eq!(comment.author, Some(Account::parse("alice").unwrap()));
        assert!(comment.author_id.is_some() && !comment.by_bot && !comment.ours);
        // A number means nothing in the other list.
        let other = if place == Line { Conversation } else { Line };
        let missing = reader.comment(&repo(), world.id.pr, other, id).await;
        assert!(
            matches!(missing, Err(ForgeError::NotFound { .. })),
            "{missing:?}"
        );
    }
}

#[tokio::test]
async fn only_those_may_write_whom_the_forge_lets_write_now() {
    let world = World::new();
    let (gh, reader) = (world.gh(), world.reader());
    let eve = Account::parse("eve").unwrap();
    assert!(
        !reader.may_write(&repo(), &eve).await.unwrap(),
        "nobody knows her"
    );
    for (role, may) in [
        (Role::None, false),
        (Role::Read, false),
        (Role::Triage, false),
        (Role::Write, true),
        (Role::Maintain, true),
        (Role::Admin, true),
        (Role::Read, false),
    ] {
        gh.set_role(REPO, "eve", role).unwrap();
        assert_eq!(
            reader.may_write(&repo(), &eve).await.unwrap(),
            may,
            "{role:?}"
        );
    }
}

#[tokio::test]
async fn answering_twice_is_answering_once() {
    let world = World::new();
    let (gh, pr) = (world.gh(), world.id.pr.get());
    let said = gh.comment(REPO, pr, "alice", "x").unwrap();
    let at = ("src/pay.rs", Side::Right, 10);
    let on_line = gh.comment_on_line(REPO, pr, "alice", at, "x").unwrap();
    let writer = world.writer();
    for (place, id) in [(Conversation, said), (Line, on_line)] {
        for _ in 0..2 {
            let id = CommentId::new(id);
            writer
                .acknowledge(&repo(), world.id.pr, place, id)
                .await
                .unwrap();
        }
    }
    writer.say(&repo(), world.id.pr, "Commands:").await.unwrap();
    let comments = gh.comments(REPO, pr).unwrap();
    assert_eq!(
        comments[0].reactions,
        [("mirilla[bot]".to_owned(), "eyes".to_owned())]
    );
    let last = (comments[1].author.as_str(), comments[1].body.as_str());
    assert_eq!(last, ("mirilla[bot]", "Commands:"));
}

#[tokio::test]
async fn change_is_everybodys_who_wrote_or_committed_some_of_it() {
    let world = World::new();
    let (gh, pr) = (world.gh(), world.id.pr);
    let more = Commit::by("carol", "More").write("src/more.rs", "fn more() {}\n");
    gh.commit(REPO, "feature", &more).unwrap();
    let authors = world.reader().change_authors(&repo(), pr).await.unwrap();
    assert_eq!(authors.logins, ["bob", "carol"]);
    assert!(authors.complete);
}

#[tokio::test]
async fn long_list_of_commits_is_not_taken_for_all_of_them() {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    // GitHub stops at 250, whatever there is; an address of no account is null.
    let commit = json!({ "author": { "login": "eve" }, "committer": null });
    let path = "/repos/acme/shop/pulls/7/commits";
    let all = vec![commit; 250];
    server.add("GET", path, None, vec![Reply::json(200, &json!(all))]);
    let half = reader(&server.base, &clock);
    let authors = half.change_authors(&repo(), pull(1).id.pr).await.unwrap();
    assert_eq!(authors.logins, ["eve"]);
    assert!(!authors.complete);
    server.finish();
}
