//! Tokens: for one repository and one stage, kept while they last, asked for no more than needed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mirilla_domain::ids::{InstallationId, RepoId};
use mirilla_forge::github::{AppAuth, Identity, Minter, Permissions};
use mirilla_forge::{ReadToken, ResolveToken, TokenError, WriteToken};
use mirilla_sim::{InstallOptions, TEST_APP_KEY};
use proptest::prelude::*;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::support::{Fixed, Reply, Script, TestClock, World, settings};

pub(crate) fn minter(server: &Script, clock: &TestClock) -> Minter {
    let settings = settings(&server.base);
    let app = AppAuth::with_pem("4242", &TEST_APP_KEY.into()).unwrap();
    let client = settings.client().unwrap();
    Minter::new(
        client,
        settings,
        app,
        Arc::new(clock.clone()),
        Arc::new(Fixed),
    )
}

fn minted(token: &str, expires_at: &str) -> Reply {
    Reply::json(201, &json!({"token": token, "expires_at": expires_at}))
}

fn allowed(permissions: Permissions) -> BTreeMap<String, String> {
    let pairs = permissions.as_pairs().iter();
    pairs
        .map(|(name, level)| ((*name).to_owned(), (*level).to_owned()))
        .collect()
}

#[test]
fn permission_sets_are_these_and_no_more() {
    let set = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(n, l)| ((*n).to_owned(), (*l).to_owned()))
            .collect()
    };
    let read = [
        ("contents", "read"),
        ("metadata", "read"),
        ("pull_requests", "read"),
    ];
    assert_eq!(allowed(Permissions::Read), set(&read));
    let write = [
        ("checks", "write"),
        ("contents", "read"),
        ("metadata", "read"),
        ("pull_requests", "write"),
    ];
    assert_eq!(allowed(Permissions::Write), set(&write));
    let resolve = [
        ("contents", "write"),
        ("metadata", "read"),
        ("pull_requests", "write"),
    ];
    assert_eq!(allowed(Permissions::Resolve), set(&resolve));
}

/// What is asked of a minter.
#[derive(Debug, Clone)]
struct Ask {
    repo: u64,
    installation: u64,
    write: bool,
    fresh: bool,
    minutes_later: u64,
}

fn asks() -> impl Strategy<Value = Vec<Ask>> {
    let ask = (1_u64..4, 1_u64..3, any::<bool>(), any::<bool>(), 0_u64..40).prop_map(
        |(repo, installation, write, fresh, minutes_later)| Ask {
            repo,
            installation,
            write,
            fresh,
            minutes_later,
        },
    );
    proptest::collection::vec(ask, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Every request names exactly one repository and its stage's permissions, and nobody is handed a
    /// token that was minted for another repository, installation or stage, or that is about to expire.
    #[test]
    fn no_token_reaches_further_than_asked(asks in asks()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(check(asks))?;
    }
}

async fn check(asks: Vec<Ask>) -> Result<(), TestCaseError> {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    for installation in 1..3 {
        let path = format!("/app/installations/{installation}/access_tokens");
        // Tokens are told apart by order; each lasts an hour from the beginning of the hour it is made in.
        let replies = (0..40).map(|n| {
            let hour = if n < 20 { 1 } else { 9 };
            minted(
                &format!("token-{installation}-{n}"),
                &format!("2026-01-01T{hour:02}:00:00Z"),
            )
        });
        server.add("POST", &path, None, replies.collect());
    }
    let minter = minter(&server, &clock);
    let mut handed = Vec::new();
    for ask in asks {
        clock.pass(Duration::from_secs(ask.minutes_later * 60));
        let (repo, installation) = (RepoId::new(ask.repo), InstallationId::new(ask.installation));
        let token = if ask.write {
            minter
                .write(repo, installation, ask.fresh)
                .await
                .unwrap()
                .secret()
                .clone()
        } else {
            minter
                .read(repo, installation, ask.fresh)
                .await
                .unwrap()
                .secret()
                .clone()
        };
        handed.push((token.expose_secret().to_owned(), ask));
    }
    let mut of_token: BTreeMap<String, (u64, Value)> = BTreeMap::new();
    let mut counts = BTreeMap::new();
    for seen in server.seen() {
        let installation: u64 = seen.path.split('/').nth(3).unwrap().parse().unwrap();
        let n = counts.entry(installation).or_insert(0);
        of_token.insert(
            format!("token-{installation}-{n}"),
            (installation, seen.json()),
        );
        *n += 1;
    }
    for (token, ask) in handed {
        let (installation, body) = &of_token[&token];
        let stage = if ask.write {
            Permissions::Write
        } else {
            Permissions::Read
        };
        prop_assert_eq!(*installation, ask.installation);
        prop_assert_eq!(&body["repository_ids"], &json!([ask.repo]));
        prop_assert_eq!(&body["permissions"], &json!(allowed(stage)));
        prop_assert_eq!(body.as_object().unwrap().len(), 2);
    }
    Ok(())
}

#[tokio::test]
async fn token_is_kept_until_five_minutes_before_its_end() {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    let path = "/app/installations/31/access_tokens";
    server.add(
        "POST",
        path,
        None,
        vec![
            minted("first", "2026-01-01T01:00:00Z"),
            minted("second", "2026-01-01T02:00:00Z"),
            minted("third", "not a time"),
        ],
    );
    let minter = minter(&server, &clock);
    let read = async |fresh| {
        let token = minter
            .read(RepoId::new(2), InstallationId::new(31), fresh)
            .await
            .unwrap();
        token.secret().expose_secret().to_owned()
    };
    assert_eq!(read(false).await, "first");
    clock.pass(Duration::from_secs(54 * 60 + 59));
    assert_eq!(read(false).await, "first");
    clock.pass(Duration::from_secs(1));
    assert_eq!(read(false).await, "second");
    assert_eq!(server.seen().len(), 2);
    // A token whose end cannot be read serves once.
    assert_eq!(read(true).await, "third");
    assert_eq!(read(false).await, "third");
    assert_eq!(server.seen().len(), 4);
    server.finish();
}

#[tokio::test]
async fn wider_token_is_thrown_away() {
    let clock = TestClock::new();
    for wider in [
        json!({"permissions": {"contents": "write"}}),
        json!({"permissions": {"administration": "read"}}),
        json!({"permissions": {"pull_requests": "write"}}),
        json!({"repositories": [{"id": 2}, {"id": 3}]}),
    ] {
        let server = Script::start(&clock).await;
        let mut answer = json!({"token": "SENTINEL", "expires_at": "2026-01-01T01:00:00Z"});
        answer
            .as_object_mut()
            .unwrap()
            .extend(wider.as_object().unwrap().clone());
        let path = "/app/installations/31/access_tokens";
        server.add("POST", path, None, vec![Reply::json(201, &answer)]);
        let error = minter(&server, &clock)
            .read(RepoId::new(2), InstallationId::new(31), false)
            .await
            .unwrap_err();
        assert!(matches!(error, TokenError::TooWide), "{wider}: {error:?}");
        assert!(!format!("{error:?}").contains("SENTINEL"));
        server.finish();
    }
}

#[tokio::test]
async fn simulator_accepts_the_app_and_grants_what_was_asked() {
    let world = World::new();
    let minter = world.minter();
    let read = minter
        .read(world.id.repo, world.installation, false)
        .await
        .unwrap();
    let write = minter
        .write(world.id.repo, world.installation, false)
        .await
        .unwrap();
    assert_ne!(
        read.secret().expose_secret(),
        write.secret().expose_secret()
    );
    // GitHub's newer tokens are long; nothing here minds.
    assert!(read.secret().expose_secret().len() > 400);
    assert_eq!(
        minter.identity().await.unwrap(),
        Identity::of_app("mirilla")
    );
    assert_eq!(world.calls().len(), 3);
    world.sim.finish().unwrap();
}

#[tokio::test]
async fn what_an_installation_does_not_give_is_told_apart() {
    let world = World::new();
    let gh = world.gh();
    let minter = world.minter();
    let elsewhere = minter
        .read(world.id.repo, InstallationId::new(99), false)
        .await;
    assert!(
        matches!(elsewhere, Err(TokenError::NotInstalled)),
        "{elsewhere:?}"
    );
    gh.suspend(world.installation.get(), true, "acme").unwrap();
    let suspended = minter.read(world.id.repo, world.installation, false).await;
    assert!(
        matches!(suspended, Err(TokenError::NotInstalled)),
        "{suspended:?}"
    );
    gh.uninstall(world.installation.get(), "acme").unwrap();
    let narrow = InstallOptions {
        repos: None,
        permissions: Some(vec![("metadata".to_owned(), "read".to_owned())]),
    };
    let narrow = InstallationId::new(gh.install("acme", narrow).unwrap());
    let refused = minter.write(world.id.repo, narrow, false).await;
    assert!(
        matches!(refused, Err(TokenError::NotGranted)),
        "{refused:?}"
    );
    world.sim.finish().unwrap();
}

#[tokio::test]
async fn wrong_key_is_said_to_be_wrong() {
    let clock = TestClock::new();
    let server = Script::start(&clock).await;
    let path = "/app/installations/31/access_tokens";
    let refused = json!({"message": "A JSON web token could not be decoded"});
    server.add("POST", path, None, vec![Reply::json(401, &refused)]);
    let error = minter(&server, &clock)
        .read(RepoId::new(2), InstallationId::new(31), false)
        .await
        .unwrap_err();
    assert!(matches!(error, TokenError::BadKey), "{error:?}");
    assert_eq!(
        server.seen().len(),
        1,
        "another signature of the same key would not help"
    );
    server.finish();
    for pem in [
        "",
        "SENTINEL",
        "-----BEGIN RSA PRIVATE KEY-----\nSENTINEL\n-----END RSA PRIVATE KEY-----",
    ] {
        let error = AppAuth::with_pem("1", &pem.into()).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("SENTINEL"));
    }
    // As environment variables hold it.
    let folded = TEST_APP_KEY.trim().replace('\n', "\\n");
    assert!(AppAuth::with_pem("1", &folded.into()).is_ok());
}

#[test]
fn nothing_prints_a_token_or_a_key() {
    let app = AppAuth::with_pem("4242", &TEST_APP_KEY.into()).unwrap();
    let shown = format!(
        "{:?} {:?} {:?} {app:?}",
        ReadToken::plain("SENTINEL".into()),
        WriteToken::minted("SENTINEL".into()),
        ResolveToken::minted("SENTINEL".into())
    );
    assert!(
        !shown.contains("SENTINEL") && !shown.contains("PRIVATE"),
        "{shown}"
    );
    assert!(shown.contains("4242"));
}
