//! Threads are resolved with a token that does nothing else and does not outlive it.

use std::sync::Arc;

use mirilla_domain::ids::CommentId;
use mirilla_forge::WriteGate;
use mirilla_forge::github::GithubResolver;
use mirilla_forge::{ResolveToken, TokenError, TokenSource};
use mirilla_ports::forge::{ForgeError, NewReview};
use mirilla_ports::resolve::ForgeResolve as _;
use mirilla_ports::{ForgeRead as _, ForgeWrite as _};
use secrecy::ExposeSecret as _;

use crate::cases_writes::comment;
use crate::support::{Fixed, REPO, World, repo};

const MUTATION: &str = "POST /graphql";
const REVOCATION: &str = "DELETE /installation/token";

/// design.md, section 10: one call per resolved thread. Beside them the threads are read again, the token is
/// made, and it is revoked.
const CALLS_BESIDE: usize = 3;

fn resolver(world: &World, tokens: Arc<dyn TokenSource<ResolveToken>>) -> GithubResolver {
    let settings = world.settings();
    GithubResolver::new(
        settings.client().unwrap(),
        settings,
        tokens,
        Arc::new(WriteGate::default()),
        world.clock(),
        Arc::new(Fixed),
    )
}

fn minting(world: &World) -> GithubResolver {
    let tokens = world.minter().source(world.id.repo, world.installation);
    resolver(world, Arc::new(tokens))
}

/// A review of ours with two threads; returns their names.
async fn reviewed(world: &World) -> Vec<String> {
    let (gh, writer) = (world.gh(), world.writer());
    let installation = world.installation.get();
    gh.grant(installation, "contents", "write").unwrap();
    let live = writer.reader().pull_request(&repo(), &world.id).await;
    let review = NewReview {
        commit: live.unwrap().head,
        body: "Two findings.".to_owned(),
        comments: vec![comment("src/pay.rs", 10), comment("src/new.rs", 1)],
    };
    let (repo, pr) = (repo(), world.id.pr);
    writer.create_review(&repo, pr, &review).await.unwrap();
    let threads = writer.reader().threads(&repo, pr).await.unwrap();
    assert!(
        threads
            .iter()
            .all(|thread| thread.complete && !thread.resolved)
    );
    threads.into_iter().map(|thread| thread.id).collect()
}

/// The routes of calls whose token may push.
fn pushing(world: &World) -> Vec<String> {
    let calls = world.gh().calls().into_iter();
    let pushing = calls.filter(|call| call.may_push);
    pushing.map(|call| call.route).collect()
}

fn read(world: &World) {
    world.gh().reviews(REPO, world.id.pr.get()).unwrap();
}

#[tokio::test]
async fn each_thread_is_a_call_and_the_token_is_gone_afterwards() {
    let world = World::new();
    let threads = reviewed(&world).await;
    let before = world.calls().len();
    let now = world.reader().threads(&repo(), world.id.pr).await.unwrap();
    assert_eq!(now.len(), 2);
    let names: Vec<&str> = threads.iter().map(String::as_str).collect();
    let said = minting(&world).resolve_threads(&names).await;
    assert_eq!((said.done, said.failed), (2, 0), "{said:?}");
    assert!(said.not_revoked.is_none());
    let calls = world.calls()[before..].to_vec();
    println!(
        "two threads resolved: {} calls\n{}",
        calls.len(),
        calls.join("\n")
    );
    // The reader here has a token of its own, which a poster has already.
    assert_eq!(calls.len(), 2 + CALLS_BESIDE + 1, "{calls:#?}");
    assert_eq!(pushing(&world), [MUTATION, MUTATION, REVOCATION]);
    let after = world.writer().reader().threads(&repo(), world.id.pr).await;
    assert!(after.unwrap().iter().all(|one| one.resolved_by_us));
    read(&world);
    world.sim.finish().unwrap();
}

#[tokio::test]
async fn a_thread_that_is_gone_spares_the_others_and_the_token_is_revoked() {
    let world = World::new();
    let threads = reviewed(&world).await;
    let names = ["PRRT_gone", threads[1].as_str()];
    let said = minting(&world).resolve_threads(&names).await;
    assert_eq!((said.done, said.failed), (1, 1), "{said:?}");
    assert!(matches!(said.why, Some(ForgeError::NotFound { .. })));
    assert_eq!(pushing(&world), [MUTATION, MUTATION, REVOCATION]);
    read(&world);
    world.sim.finish().unwrap();
}

#[tokio::test]
async fn nothing_to_resolve_makes_no_token() {
    let world = World::new();
    let said = minting(&world).resolve_threads(&[]).await;
    assert_eq!((said.done, said.failed, world.calls().len()), (0, 0, 0));
    world.sim.finish().unwrap();
}

#[tokio::test]
async fn an_account_that_did_not_grant_it_is_told_apart() {
    let world = World::new();
    let said = minting(&world).resolve_threads(&["a", "b"]).await;
    assert_eq!((said.done, said.failed), (0, 2));
    assert!(matches!(said.why, Some(ForgeError::Forbidden { .. })));
    assert_eq!(pushing(&world), [""; 0]);
    world.sim.finish().unwrap();
}

#[tokio::test]
async fn a_token_that_may_not_push_stops_at_the_first_thread() {
    let world = World::new();
    let threads = reviewed(&world).await;
    let given = ("pull_requests", "write");
    let narrow = world
        .gh()
        .mint_token(world.installation.get(), Some(&[given]), Some(&[REPO]))
        .unwrap();
    let half = resolver(&world, Arc::new(ResolveToken::plain(narrow.into())));
    let names: Vec<&str> = threads.iter().map(String::as_str).collect();
    let before = world.calls().len();
    let said = half.keeping_its_token().resolve_threads(&names).await;
    assert_eq!((said.done, said.failed), (0, 2));
    assert!(matches!(said.why, Some(ForgeError::Forbidden { .. })));
    // The operator's own token is not revoked.
    assert_eq!(
        world.calls()[before..],
        ["200 POST /graphql (installation)"]
    );
    read(&world);
    world.sim.finish().unwrap();
}

#[tokio::test]
async fn every_token_is_made_anew_and_none_is_shown() {
    let world = World::new();
    world
        .gh()
        .grant(world.installation.get(), "contents", "write")
        .unwrap();
    let minter = world.minter();
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let token = minter.resolve(world.id.repo, world.installation).await;
        let token = token.unwrap();
        let secret = token.secret().expose_secret().to_owned();
        assert!(!format!("{token:?}").contains(&secret));
        tokens.push(secret);
    }
    assert_ne!(tokens[0], tokens[1]);
    let plain = ResolveToken::plain("made-up".into());
    let fresh = TokenSource::<ResolveToken>::token(&plain, true).await;
    assert!(matches!(fresh, Err(TokenError::NoFresh)));
    world.sim.finish().unwrap();
}

#[tokio::test]
async fn an_answer_shows_when_threads_are_read_again() {
    let world = World::new();
    reviewed(&world).await;
    let listed = world.writer().reader().threads(&repo(), world.id.pr).await;
    let first: CommentId = listed.unwrap()[0].comments[0];
    let gh = world.gh();
    gh.reply(REPO, first.get(), "bob", "Why?").unwrap();
    let again = world.writer().reader().threads(&repo(), world.id.pr).await;
    assert_eq!(again.unwrap()[0].comments.len(), 2);
    read(&world);
    world.sim.finish().unwrap();
}
