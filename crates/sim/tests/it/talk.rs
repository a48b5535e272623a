//! Comments, answers, reactions, forks: the rest of a pull request's life.

use mirilla_sim::{Commit, OpenPull, Side};
use serde_json::{Value, json};

use crate::client::Answer;
use crate::world::{REPO, World};

fn comment(world: &World, body: Value) -> Answer {
    world.call("POST", &world.at("/comments"), Some(body))
}

#[test]
fn single_comment_is_placed_like_one_of_a_review() {
    let world = World::new();
    let head = world.head();
    let made = comment(
        &world,
        json!({ "body": "Hm.", "commit_id": head, "path": "src/pay.rs", "line": 10, "side": "RIGHT" }),
    );
    assert_eq!(made.status, 201);
    let off = comment(
        &world,
        json!({ "body": "Hm.", "commit_id": head, "path": "src/pay.rs", "line": 1 }),
    );
    assert_eq!(off.status, 422);
    let error = off.json()["errors"][0].clone();
    assert_eq!(error["field"], "pull_request_review_thread.line");
    assert_eq!(
        error["message"],
        "pull_request_review_thread.line must be part of the diff"
    );
    let file = comment(
        &world,
        json!({ "body": "All of it", "commit_id": head, "path": "src/new.rs", "subject_type": "file" }),
    );
    assert_eq!(
        (file.status, &file.json()["subject_type"]),
        (201, &json!("file"))
    );
    assert_eq!(
        comment(&world, json!({ "body": "Hm.", "path": "src/pay.rs" })).status,
        422
    );
    assert_eq!(world.gh().threads(REPO, world.pull).unwrap().len(), 2);
    world.sim.finish().unwrap();
}

#[test]
fn answer_joins_the_thread_it_answers() {
    let world = World::new();
    let first = world.gh().comment_on_line(
        REPO,
        world.pull,
        "alice",
        ("src/pay.rs", Side::Right, 10),
        "Why?",
    );
    let first = first.unwrap();
    let answer = comment(&world, json!({ "body": "Because", "in_reply_to": first })).json();
    assert_eq!(answer["in_reply_to_id"], first);
    let second = comment(
        &world,
        json!({ "body": "And", "in_reply_to": answer["id"] }),
    )
    .json();
    assert_eq!(
        second["in_reply_to_id"], first,
        "answers belong to the first comment"
    );
    assert_eq!(
        comment(&world, json!({ "body": "x", "in_reply_to": 1 })).status,
        422
    );
    let threads = world.gh().threads(REPO, world.pull).unwrap();
    assert_eq!((threads.len(), threads[0].comments.len()), (1, 3));
    world.sim.finish().unwrap();
}

#[test]
fn own_comments_can_be_edited_and_deleted_others_not() {
    let world = World::new();
    let issue = format!("/repos/{REPO}/issues/{}/comments", world.pull);
    let own = world
        .call("POST", &issue, Some(json!({ "body": "One" })))
        .json();
    assert_eq!(own["performed_via_github_app"]["slug"], "mirilla");
    let path = format!("/repos/{REPO}/issues/comments/{}", own["id"]);
    world.sim.clock().advance(std::time::Duration::from_secs(5));
    let edited = world
        .call("PATCH", &path, Some(json!({ "body": "Two" })))
        .json();
    assert_eq!(edited["body"], "Two");
    assert_ne!(edited["updated_at"], edited["created_at"]);
    assert_eq!(world.get(&path).json()["body"], "Two");
    assert_eq!(world.call("DELETE", &path, None).status, 204);
    assert_eq!(world.get(&path).status, 404);
    let hers = world
        .gh()
        .comment(REPO, world.pull, "alice", "Mine")
        .unwrap();
    let hers = format!("/repos/{REPO}/issues/comments/{hers}");
    assert_eq!(
        world
            .call("PATCH", &hers, Some(json!({ "body": "Ours" })))
            .status,
        403
    );
    assert_eq!(world.call("DELETE", &hers, None).status, 403);

    let at = ("src/pay.rs", Side::Right, 10);
    let inline = world
        .gh()
        .comment_on_line(REPO, world.pull, "alice", at, "Hm.")
        .unwrap();
    let inline = format!("/repos/{REPO}/pulls/comments/{inline}");
    assert_eq!(
        world
            .call("PATCH", &inline, Some(json!({ "body": "Ours" })))
            .status,
        403
    );
    assert_eq!(world.get(&inline).json()["body"], "Hm.");
    let body = json!({ "body": "B", "commit_id": world.head(), "path": "src/pay.rs", "line": 10 });
    let bots = comment(&world, body).json();
    let bots = format!("/repos/{REPO}/pulls/comments/{}", bots["id"]);
    assert_eq!(
        world
            .call("PATCH", &bots, Some(json!({ "body": "C" })))
            .json()["body"],
        "C"
    );
    assert_eq!(world.call("DELETE", &bots, None).status, 204);
    assert_eq!(
        world.gh().threads(REPO, world.pull).unwrap().len(),
        1,
        "its thread is gone, too"
    );
    world.sim.finish().unwrap();
}

#[test]
fn reaction_is_new_once() {
    let world = World::new();
    let whole = world
        .gh()
        .comment(REPO, world.pull, "alice", "/mirilla review")
        .unwrap();
    let path = format!("/repos/{REPO}/issues/comments/{whole}/reactions");
    let react = |content: &str| {
        world
            .call("POST", &path, Some(json!({ "content": content })))
            .status
    };
    assert_eq!(
        (
            react("eyes"),
            react("eyes"),
            react("rocket"),
            react("thumbsup")
        ),
        (201, 200, 201, 422)
    );
    let seen = world.gh().comments(REPO, world.pull).unwrap();
    let bot = "mirilla[bot]".to_owned();
    assert_eq!(
        seen[0].reactions,
        [(bot.clone(), "eyes".to_owned()), (bot, "rocket".to_owned())]
    );
    let at = ("src/pay.rs", Side::Right, 10);
    let inline = world
        .gh()
        .comment_on_line(REPO, world.pull, "alice", at, "Hm.")
        .unwrap();
    let path = format!("/repos/{REPO}/pulls/comments/{inline}/reactions");
    assert_eq!(
        world
            .call("POST", &path, Some(json!({ "content": "+1" })))
            .status,
        201
    );
    let listed = world.get(&world.at("/comments")).json();
    assert_eq!(listed[0]["reactions"]["+1"], 1);
}

#[test]
fn comments_are_listed_since_a_time_and_in_order() {
    let world = World::new();
    let at = |line| ("src/pay.rs", Side::Right, line);
    let gh = world.gh();
    let first = gh
        .comment_on_line(REPO, world.pull, "alice", at(9), "First")
        .unwrap();
    world
        .sim
        .clock()
        .advance(std::time::Duration::from_secs(60));
    gh.comment_on_line(REPO, world.pull, "alice", at(10), "Second")
        .unwrap();
    world
        .sim
        .clock()
        .advance(std::time::Duration::from_secs(60));
    gh.edit_comment(REPO, first, "alice", "First, edited")
        .unwrap();
    let bodies = |query: &str| {
        let listed = world
            .get(&format!("{}{query}", world.at("/comments")))
            .json();
        let listed = listed.as_array().unwrap().clone();
        listed
            .iter()
            .map(|c| c["body"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        bodies("?sort=created&direction=asc"),
        ["First, edited", "Second"]
    );
    assert_eq!(
        bodies("?sort=created&direction=desc"),
        ["Second", "First, edited"]
    );
    assert_eq!(
        bodies("?sort=updated&direction=asc"),
        ["Second", "First, edited"]
    );
    assert_eq!(bodies("?since=2026-11-30T09:01:30Z"), ["First, edited"]);
}

#[test]
fn outsiders_cannot_talk_in_a_locked_conversation() {
    let world = World::new();
    world.gh().lock(REPO, world.pull, "alice").unwrap();
    let mallory = world
        .gh()
        .create_pat("mallory", &[("issues", "write")], None)
        .unwrap();
    let path = format!("/repos/{REPO}/issues/{}/comments", world.pull);
    let body = Some(json!({ "body": "x" }));
    assert_eq!(
        world.call_as(&mallory, "POST", &path, body.clone()).status,
        403
    );
    assert_eq!(world.call("POST", &path, body).status, 201, "the App may");
    world.gh().comments(REPO, world.pull).unwrap();
}

#[test]
fn head_of_a_deleted_fork_can_still_be_read() {
    let world = World::new();
    let gh = world.gh();
    let fork = gh.fork(REPO, "mallory").unwrap();
    let commit = Commit::by("mallory", "Patch").write("patch.rs", "fn patch() {}\n");
    let sha = gh.commit(&fork, "patch", &commit).unwrap();
    let open = OpenPull {
        from: Some(fork.clone()),
        ..OpenPull::new("mallory", "patch", "Patch")
    };
    let pull = gh.open_pull(REPO, open).unwrap();
    let path = format!("/repos/{REPO}/pulls/{pull}");
    let shown = world.get(&path).json();
    assert_eq!(shown["head"]["label"], "mallory:patch");
    assert_eq!(
        (&shown["head"]["repo"]["fork"], &shown["user"]["login"]),
        (&json!(true), &json!("mallory"))
    );
    let across = world
        .get(&format!("/repos/{REPO}/compare/main...mallory:patch"))
        .json();
    assert_eq!(across["ahead_by"], 1);
    gh.delete_repo(&fork).unwrap();
    let shown = world.get(&path).json();
    assert_eq!(
        (&shown["head"]["repo"], &shown["head"]["sha"]),
        (&Value::Null, &json!(sha))
    );
    let diff = world.get_as(&path, "application/vnd.github.diff").text();
    assert!(diff.contains("+fn patch() {}"));
    let file = world.get(&format!("/repos/{REPO}/contents/patch.rs?ref={sha}"));
    assert_eq!(file.status, 200);
    let review = json!({
        "event": "COMMENT", "body": "x", "commit_id": sha,
        "comments": [{ "path": "patch.rs", "line": 1, "body": "y" }],
    });
    assert_eq!(
        world
            .call("POST", &format!("{path}/reviews"), Some(review))
            .status,
        200
    );
    gh.reviews(REPO, pull).unwrap();
    world.sim.finish().unwrap();
}

#[test]
fn force_push_retarget_merge_and_branch_deletion_change_what_is_shown() {
    let world = World::new();
    let gh = world.gh();
    let main = gh.tip(REPO, "main").unwrap();
    let other = Commit::by("bob", "Other history").write("src/pay.rs", "all new\n");
    let sha = gh.write_commit(REPO, &[&main], &other).unwrap();
    gh.push(REPO, "feature", &sha, "bob").unwrap();
    let shown = world.get(&world.at("")).json();
    assert_eq!(
        (&shown["head"]["sha"], &shown["deletions"]),
        (&json!(sha), &json!(20))
    );
    gh.commit(
        REPO,
        "release",
        &Commit::by("alice", "Release").write("src/pay.rs", "all new\n"),
    )
    .unwrap();
    gh.retarget(REPO, world.pull, "release", "bob").unwrap();
    assert_eq!(world.get(&world.at("")).json()["base"]["ref"], "release");
    gh.retarget(REPO, world.pull, "main", "bob").unwrap();
    let merged = gh.merge(REPO, world.pull, "alice").unwrap();
    let shown = world.get(&world.at("")).json();
    assert_eq!(
        (&shown["merged"], &shown["merge_commit_sha"]),
        (&json!(true), &json!(merged))
    );
    assert_eq!(
        shown["changed_files"], 1,
        "still compared with what it went into"
    );
    assert_eq!(gh.tip(REPO, "main").unwrap(), merged);
    assert!(gh.merge(REPO, world.pull, "alice").is_err());
    let next = gh
        .open_pull(REPO, OpenPull::new("bob", "release", "Next"))
        .unwrap();
    gh.delete_branch(REPO, "release", "bob").unwrap();
    let shown = world.get(&format!("/repos/{REPO}/pulls/{next}")).json();
    assert_eq!(shown["state"], "closed");
    assert_eq!(
        shown["author_association"], "CONTRIBUTOR",
        "after the merge"
    );
}

#[test]
fn repository_on_this_machine_can_be_served() {
    let world = World::new();
    let gh = world.gh();
    let source = gh.git_dir(REPO).unwrap();
    gh.create_repo_from("acme/copy", &source, true).unwrap();
    assert_eq!(gh.tip("acme/copy", "feature").unwrap(), world.head());
    let shown = world.get("/repos/acme/copy").json();
    assert_eq!(
        (&shown["private"], &shown["default_branch"]),
        (&json!(true), &json!("main"))
    );
    let pull = gh
        .open_pull("acme/copy", OpenPull::new("bob", "feature", "Copy"))
        .unwrap();
    let diff = "application/vnd.github.diff";
    let copied = world
        .get_as(&format!("/repos/acme/copy/pulls/{pull}"), diff)
        .text();
    assert_eq!(copied, world.get_as(&world.at(""), diff).text());
}

#[test]
fn renamed_repository_keeps_its_number() {
    let world = World::new();
    let id = world.gh().repo_id(REPO).unwrap();
    world.gh().rename_repo(REPO, "acme/store").unwrap();
    assert_eq!(world.get("/repos/acme/store").json()["id"], id);
    let moved = world.get(&format!("/repos/{REPO}/pulls/1/files?per_page=1"));
    assert_eq!(
        (moved.status, &moved.json()["message"]),
        (301, &json!("Moved Permanently"))
    );
    let location = moved.header("location").unwrap();
    let expected = format!("/repositories/{id}/pulls/1/files?per_page=1");
    assert!(location.ends_with(&expected), "{location}");
    assert_eq!(world.get(location).json()[0]["filename"], "src/new.rs");
    let write = Some(json!({ "body": "x" }));
    assert_eq!(
        world
            .call("POST", &format!("/repos/{REPO}/issues/1/comments"), write)
            .status,
        307
    );
    // Whoever takes the old name gets its requests.
    world
        .gh()
        .create_repo(REPO, &mirilla_sim::RepoOptions::default())
        .unwrap();
    assert_ne!(world.get(&format!("/repos/{REPO}")).json()["id"], id);
}

#[test]
fn flood_on_a_line_is_listed_page_by_page() {
    let world = World::new();
    let at = ("src/pay.rs", Side::Right, 10);
    world
        .gh()
        .flood_line(REPO, world.pull, "mallory", at, 10_000)
        .unwrap();
    let first = world.get(&format!("{}?per_page=100", world.at("/comments")));
    assert!(
        first
            .header("link")
            .unwrap()
            .contains("page=100>; rel=\"last\"")
    );
    let last = world
        .get(&format!("{}?per_page=100&page=100", world.at("/comments")))
        .json();
    assert_eq!(
        (last.as_array().unwrap().len(), &last[99]["body"]),
        (100, &json!("comment 9999"))
    );
    assert_eq!(world.gh().threads(REPO, world.pull).unwrap().len(), 10_000);
}

#[test]
fn thumbs_of_people_are_counted() {
    let world = World::new();
    let at = ("src/pay.rs", Side::Right, 10);
    let inline = world
        .gh()
        .comment_on_line(REPO, world.pull, "alice", at, "Hm.")
        .unwrap();
    let whole = world
        .gh()
        .comment(REPO, world.pull, "alice", "Hm?")
        .unwrap();
    world.gh().react(REPO, inline, "bob", "-1").unwrap();
    world.gh().react(REPO, whole, "bob", "-1").unwrap();
    world.gh().react(REPO, whole, "bob", "-1").unwrap();
    assert_eq!(
        world.get(&world.at("/comments")).json()[0]["reactions"]["-1"],
        1
    );
    assert_eq!(
        world.gh().comments(REPO, world.pull).unwrap()[0]
            .reactions
            .len(),
        1
    );
    assert!(world.gh().react(REPO, 1, "bob", "-1").is_err());
}

#[test]
fn author_of_a_commit_is_a_claim_unless_it_is_verified() {
    let world = World::new();
    let gh = world.gh();
    gh.commit(
        REPO,
        "feature",
        &Commit::by("dependabot[bot]", "Bump").write("x", "1"),
    )
    .unwrap();
    let signed = Commit::by("dependabot[bot]", "Bump again")
        .write("x", "2")
        .verified();
    gh.commit(REPO, "feature", &signed).unwrap();
    let commits = world.get(&world.at("/commits")).json();
    let seen: Vec<_> = commits
        .as_array()
        .unwrap()
        .iter()
        .map(|c| {
            (
                c["author"]["login"].clone(),
                c["commit"]["verification"]["verified"].clone(),
            )
        })
        .collect();
    let bot = json!("dependabot[bot]");
    assert_eq!(seen[1..], [(bot.clone(), json!(false)), (bot, json!(true))]);
}
