//! GraphQL: the shapes a reviewer needs, its traps, and its refusals.

use serde_json::{Value, json};

use crate::world::{REPO, World};

const THREADS: &str = "query($o:String!,$r:String!,$n:Int!,$c:String){
  repository(owner:$o,name:$r){ pullRequest(number:$n){ headRefOid
    reviewThreads(first:100, after:$c){ pageInfo{hasNextPage endCursor}
      nodes{ id isResolved isOutdated isCollapsed viewerCanResolve viewerCanReply path line
        originalLine startLine diffSide subjectType resolvedBy{login}
        comments(first:50){ totalCount nodes{ id fullDatabaseId author{login __typename}
          authorAssociation body isMinimized createdAt replyTo{id} originalCommit{oid}
          viewerDidAuthor } } } } } } }";

fn ask_as(world: &World, token: &str, query: &str, variables: &Value) -> Value {
    let url = world.gh().graphql_url();
    let body = json!({ "query": query, "variables": variables });
    let answer = world.call_as(token, "POST", &url, Some(body));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

fn ask(world: &World, query: &str, variables: &Value) -> Value {
    ask_as(world, &world.token, query, variables)
}

fn variables(world: &World) -> Value {
    json!({ "o": "acme", "r": "shop", "n": world.pull })
}

/// Posts a review with one comment and returns the thread's id.
fn thread(world: &World) -> String {
    let review = json!({
        "event": "COMMENT", "body": "One thing.",
        "comments": [{ "path": "src/pay.rs", "line": 10, "body": "Hm." }],
    });
    assert_eq!(
        world
            .call("POST", &world.at("/reviews"), Some(review))
            .status,
        200
    );
    world.gh().threads(REPO, world.pull).unwrap()[0]
        .node_id
        .clone()
}

#[test]
fn threads_query_shows_what_was_posted() {
    let world = World::new();
    let id = thread(&world);
    let comment = world.gh().threads(REPO, world.pull).unwrap()[0].comments[0].id;
    world.gh().reply(REPO, comment, "alice", "Agreed").unwrap();
    let mut asked = variables(&world);
    asked["c"] = Value::Null;
    let answer = ask(&world, THREADS, &asked);
    let pull = &answer["data"]["repository"]["pullRequest"];
    assert_eq!(pull["headRefOid"], world.head());
    let found = &pull["reviewThreads"]["nodes"][0];
    assert_eq!(found["id"], id);
    assert_eq!(
        (&found["line"], &found["diffSide"]),
        (&json!(10), &json!("RIGHT"))
    );
    assert_eq!(
        (&found["viewerCanResolve"], &found["resolvedBy"]),
        (&json!(false), &Value::Null)
    );
    let first = &found["comments"]["nodes"][0];
    assert_eq!(
        first["author"],
        json!({ "login": "mirilla", "__typename": "Bot" })
    );
    assert_eq!(first["fullDatabaseId"], json!(comment.to_string()));
    assert_eq!(first["originalCommit"]["oid"], world.head());
    let second = &found["comments"]["nodes"][1];
    assert_eq!(second["replyTo"]["id"], first["id"]);
    assert_eq!(second["author"]["__typename"], "User");
    world.gh().reviews(REPO, world.pull).unwrap();
    world.sim.finish().unwrap();
}

#[test]
fn settings_and_rules_come_in_one_query() {
    let world = World::new();
    let tip = world.gh().tip(REPO, "main").unwrap();
    let query = "query($o:String!,$r:String!,$a:String!,$b:String!,$c:String!){
      repository(owner:$o,name:$r){ databaseId defaultBranchRef{ name target{ oid } }
        readme: object(expression:$a){ __typename ... on Blob{ text oid byteSize isTruncated } }
        none: object(expression:$b){ ... on Blob{ text } }
        src: object(expression:$c){ ... on Tree{ entries{ name type object{ ... on Blob{ oid } } } } }
      } }";
    let asked = json!({
        "o": "acme", "r": "shop", "a": format!("{tip}:README.md"),
        "b": format!("{tip}:.mirilla.toml"), "c": format!("{tip}:src"),
    });
    let repo = ask(&world, query, &asked)["data"]["repository"].clone();
    assert_eq!(
        repo["defaultBranchRef"],
        json!({ "name": "main", "target": { "oid": tip } })
    );
    assert_eq!(repo["readme"]["text"], "# Shop\n");
    assert_eq!(
        (&repo["none"], &repo["readme"]["byteSize"]),
        (&Value::Null, &json!(7))
    );
    assert_eq!(repo["src"]["entries"][0]["name"], "pay.rs");
    assert!(repo["src"]["entries"][0]["object"]["oid"].is_string());
    world.sim.finish().unwrap();
}

#[test]
fn resolving_needs_contents_write() {
    let world = World::new();
    let id = thread(&world);
    let mutation = "mutation($t:ID!){ resolveReviewThread(input:{threadId:$t}){
        thread{ id isResolved resolvedBy{login} } } }";
    let refused = ask(&world, mutation, &json!({ "t": id }));
    assert_eq!(
        refused,
        crate::material::error("graphql.resolve_forbidden.json")
    );
    world
        .gh()
        .grant(world.installation, "contents", "write")
        .unwrap();
    let strong = world
        .gh()
        .mint_token(world.installation, None, None)
        .unwrap();
    let done = ask_as(&world, &strong, mutation, &json!({ "t": id }));
    let thread = &done["data"]["resolveReviewThread"]["thread"];
    assert_eq!(
        (&thread["isResolved"], &thread["id"]),
        (&json!(true), &json!(id))
    );
    let seen = world.gh().threads(REPO, world.pull).unwrap();
    assert_eq!(seen[0].resolved_by.as_deref(), Some("mirilla[bot]"));
    // A person without write access who opened the pull request may, too.
    let author = world
        .gh()
        .create_pat("bob", &[("pull_requests", "write")], None)
        .unwrap();
    let undo = mutation.replace("resolveReviewThread", "unresolveReviewThread");
    let undone = ask_as(&world, &author, &undo, &json!({ "t": id }));
    assert_eq!(
        undone["data"]["unresolveReviewThread"]["thread"]["isResolved"],
        false
    );
}

#[test]
fn comments_can_be_hidden_and_answered() {
    let world = World::new();
    let id = thread(&world);
    let subject = ask(&world, THREADS, &variables(&world))["data"]["repository"]["pullRequest"]
        ["reviewThreads"]["nodes"][0]["comments"]["nodes"][0]["id"]
        .clone();
    let hide = "mutation($s:ID!){ minimizeComment(input:{subjectId:$s, classifier:OUTDATED}){
        minimizedComment{ isMinimized minimizedReason } } }";
    let hidden = ask(&world, hide, &json!({ "s": subject }));
    assert_eq!(
        hidden["data"]["minimizeComment"]["minimizedComment"],
        json!({ "isMinimized": true, "minimizedReason": "outdated" })
    );
    let answer = "mutation($t:ID!,$b:String!){ addPullRequestReviewThreadReply(
        input:{pullRequestReviewThreadId:$t, body:$b}){ comment{ id body } } }";
    let added = ask(&world, answer, &json!({ "t": id, "b": "Addressed." }));
    assert_eq!(
        added["data"]["addPullRequestReviewThreadReply"]["comment"]["body"],
        "Addressed."
    );
    let comments = world.gh().threads(REPO, world.pull).unwrap()[0]
        .comments
        .clone();
    assert_eq!(comments[0].minimized.as_deref(), Some("outdated"));
    assert_eq!(comments[1].body, "Addressed.");
}

#[test]
fn pages_end_where_they_say() {
    let world = World::new();
    world.gh().flood(REPO, world.pull, "mallory", 250).unwrap();
    let query = "query($o:String!,$r:String!,$n:Int!,$c:String){ repository(owner:$o,name:$r){
        pullRequest(number:$n){ comments(first:100, after:$c){ totalCount
        pageInfo{ hasNextPage endCursor } nodes{ body author{ login } } } } } }";
    let mut asked = variables(&world);
    asked["c"] = Value::Null;
    let mut seen = Vec::new();
    loop {
        let answer = ask(&world, query, &asked);
        let page = &answer["data"]["repository"]["pullRequest"]["comments"];
        assert_eq!(page["totalCount"], 250);
        seen.extend(
            page["nodes"]
                .as_array()
                .unwrap()
                .iter()
                .map(|n| n["body"].clone()),
        );
        if page["pageInfo"]["hasNextPage"] == false {
            break;
        }
        asked["c"] = page["pageInfo"]["endCursor"].clone();
    }
    assert_eq!(seen.len(), 250);
    assert_eq!(
        (&seen[0], &seen[249]),
        (&json!("comment 0"), &json!("comment 249"))
    );
}

#[test]
fn unknown_fields_arguments_and_types_fail_the_test() {
    for query in [
        "query($o:String!,$r:String!,$n:Int!){ repository(owner:$o,name:$r){
          pullRequest(number:$n){ reviewDecision } } }",
        "query($o:String!,$r:String!,$n:Int!){ repository(owner:$o,name:$r,followRenames:true){
          pullRequest(number:$n){ id } } }",
        "query($o:String!,$r:String!,$n:Int!){ repository(owner:$o,name:$r){
          pullRequest(number:$n){ ... on Issue{ id } } } }",
        "query($o:String!,$r:String!,$n:Int!){ repository(owner:$o,name:$r){
          pullRequest(number:$n){ comments{ totalCount } } } }",
        "query($o:String!,$r:String!,$n:Int!){ repository(owner:$o,name:$r){
          pullRequest(number:$n){ comments(first:101){ totalCount } } } }",
        "query($o:String!,$r:String!,$n:Int!){ repository(owner:$o,name:$r){
          pullRequest(number:$n) } }",
        "query($o:String!,$r:String!,$n:Int!){ repository(owner:$o,name:$r){ name } }",
    ] {
        let world = World::new();
        let answer = ask(&world, query, &variables(&world));
        assert!(answer.get("data").is_none(), "{query}");
        assert!(answer["errors"][0]["message"].is_string());
        assert!(world.sim.finish().is_err(), "{query}");
    }
}

#[test]
fn what_a_token_may_not_see_is_null_with_an_error() {
    let world = World::new();
    let query = "query($o:String!,$r:String!){ repository(owner:$o,name:$r){ name } }";
    let answer = ask(&world, query, &json!({ "o": "acme", "r": "secret" }));
    assert_eq!(answer["data"]["repository"], Value::Null);
    assert_eq!(answer["errors"][0]["type"], "NOT_FOUND");
    let narrow = world
        .gh()
        .mint_token(world.installation, Some(&[("checks", "read")]), None)
        .unwrap();
    let query = "query($o:String!,$r:String!,$n:Int!){ repository(owner:$o,name:$r){ name
        pullRequest(number:$n){ id } } }";
    let answer = ask_as(&world, &narrow, query, &variables(&world));
    assert_eq!(
        answer["data"]["repository"],
        json!({ "name": "shop", "pullRequest": null })
    );
    assert_eq!(answer["errors"][0]["type"], "FORBIDDEN");
    assert_eq!(
        answer["errors"][0]["path"],
        json!(["repository", "pullRequest"])
    );
    world.sim.finish().unwrap();
}

#[test]
fn mutation_with_a_read_token_fails_the_test() {
    let world = World::new();
    let id = thread(&world);
    let mutation = "mutation($t:ID!){ resolveReviewThread(input:{threadId:$t}){ thread{ id } } }";
    let refused = ask_as(&world, &world.reader, mutation, &json!({ "t": id }));
    assert_eq!(refused["errors"][0]["type"], "FORBIDDEN");
    world.gh().reviews(REPO, world.pull).unwrap();
    let problems = world.sim.finish().unwrap_err().to_string();
    assert!(problems.contains("write with a read token"), "{problems}");
}
