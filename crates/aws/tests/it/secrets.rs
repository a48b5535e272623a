//! Secrets: present, previous, empty and missing ones.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mirilla_aws::{HookNames, SecretError, SecretStore, StoredWebhookSecrets};
use mirilla_contract::ManualClock;
use mirilla_domain::ids::Timestamp;
use mirilla_domain::webhook::{
    GRACE_ENTERPRISE_SERVER, GRACE_GITHUB_COM, GitlabHeaders, HookSecrets, Secrets, SignatureError,
    WebhookSecret, sign_github, sign_gitlab, verify_github, verify_gitlab,
};
use mirilla_ports::{Clock as _, WebhookSecrets as _};
use mirilla_system::SystemClock;
use secrecy::ExposeSecret as _;

use crate::support::{World, clock};

async fn create(world: &World, name: &str, value: Option<&str>) {
    let secrets = world.aws.secrets();
    let create = secrets.create_secret().name(name);
    let create = create.set_secret_string(value.map(str::to_owned));
    create.send().await.unwrap();
}

async fn rotate(world: &World, name: &str, value: &str) {
    let secrets = world.aws.secrets();
    let put = secrets
        .put_secret_value()
        .secret_id(name)
        .secret_string(value);
    put.send().await.unwrap();
}

fn webhook(
    world: &World,
    name: &str,
    clock: Arc<dyn mirilla_ports::Clock>,
) -> StoredWebhookSecrets {
    let store = SecretStore::new(world.aws.secrets());
    let secret = name.to_owned();
    StoredWebhookSecrets::new(store, HookNames::Github { secret }, GRACE_GITHUB_COM, clock)
}

#[tokio::test]
async fn plain_secret_is_read_and_an_empty_one_names_the_way_out() {
    let world = World::start().await;
    let store = SecretStore::new(world.aws.secrets());
    create(&world, "model-key", Some(" made-up-key\n")).await;
    let key = store.text("model-key").await.unwrap();
    assert_eq!(key.expose_secret(), "made-up-key");

    create(&world, "blank", Some(" \n")).await;
    create(&world, "without", None).await;
    for name in ["blank", "without"] {
        let error = store.text(name).await.unwrap_err();
        assert!(
            matches!(error, SecretError::Empty { .. }),
            "{name}: {error:?}"
        );
        let text = error.to_string();
        assert!(
            text.contains(name) && text.contains("mirilla app create"),
            "{text}"
        );
    }
    let error = store.text("nowhere").await.unwrap_err();
    assert!(matches!(error, SecretError::Missing { .. }), "{error:?}");
}

fn github(secrets: HookSecrets) -> Secrets {
    match secrets {
        HookSecrets::Github(secrets) => secrets,
        HookSecrets::Gitlab(_) => panic!("they are GitLab's"),
    }
}

#[tokio::test]
async fn previous_webhook_secret_counts_while_it_is_young() {
    let world = World::start().await;
    let now = SystemClock.now();
    create(&world, "webhook", Some("first")).await;
    let secrets = github(webhook(&world, "webhook", clock()).fetch().await.unwrap());
    assert_eq!(secrets.current, WebhookSecret::parse("first").unwrap());
    assert_eq!(secrets.previous, None);

    rotate(&world, "webhook", "second").await;
    let secrets = github(webhook(&world, "webhook", clock()).fetch().await.unwrap());
    assert_eq!(secrets.current, WebhookSecret::parse("second").unwrap());
    let previous = secrets.previous.clone().unwrap();
    assert_eq!(previous.secret, WebhookSecret::parse("first").unwrap());
    let age = previous.replaced_at.get() - now.get();
    assert!(
        (-2_000..60_000).contains(&age),
        "replaced just now, not when the first was made"
    );
    let old = sign_github(&WebhookSecret::parse("first").unwrap(), b"body");
    assert_eq!(
        verify_github(&secrets, SystemClock.now(), b"body", Some(&old)),
        Ok(())
    );

    // After the grace it does not count, and is not even asked for.
    let later = now.plus(GRACE_GITHUB_COM + Duration::from_secs(60));
    let clock = Arc::new(ManualClock::at(later));
    let secrets = github(webhook(&world, "webhook", clock).fetch().await.unwrap());
    assert_eq!(secrets.previous, None);
    let refused = verify_github(&secrets, later, b"body", Some(&old));
    assert_eq!(refused, Err(SignatureError::Mismatch));
}

#[tokio::test]
async fn blank_is_neither_present_nor_previous_secret() {
    let world = World::start().await;
    create(&world, "webhook", Some(" ")).await;
    let error = webhook(&world, "webhook", clock())
        .fetch()
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the webhook secret could not be read from the secret `webhook`"
    );
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("mirilla app create"), "{source}");
    rotate(&world, "webhook", "filled").await;
    let secrets = github(webhook(&world, "webhook", clock()).fetch().await.unwrap());
    assert_eq!(
        secrets.previous, None,
        "what stood there before is no secret"
    );
    let nobody = webhook(&world, "none", Arc::new(ManualClock::at(Timestamp::new(0))));
    assert!(nobody.fetch().await.is_err());
}

#[tokio::test]
async fn gitlab_is_believed_by_its_token_and_by_a_signature_once_there_is_a_key() {
    let world = World::start().await;
    create(&world, "token", Some("made-up-token")).await;
    create(&world, "signing", None).await;
    let store = SecretStore::new(world.aws.secrets());
    let names = HookNames::Gitlab {
        token: "token".to_owned(),
        signing: Some("signing".to_owned()),
    };
    let stored = StoredWebhookSecrets::new(store, names, GRACE_ENTERPRISE_SERVER, clock());
    let now = SystemClock.now();
    let key_text = format!("whsec_{}", STANDARD.encode([7; 32]));
    let key = WebhookSecret::parse_signing_token(&key_text).unwrap();
    let (body, stamp) = (b"body", now.get() / 1_000);
    let signature = sign_gitlab(&key, "id", stamp, body);
    let stamp = stamp.to_string();
    let by_token = GitlabHeaders {
        token: Some("made-up-token"),
        ..GitlabHeaders::default()
    };
    let signed = GitlabHeaders {
        webhook_id: Some("id"),
        webhook_timestamp: Some(&stamp),
        webhook_signature: Some(&signature),
        ..GitlabHeaders::default()
    };
    let believed = async |headers| {
        let HookSecrets::Gitlab(secrets) = stored.fetch().await.unwrap() else {
            panic!("they are GitHub's");
        };
        verify_gitlab(&secrets, now, body, headers)
    };
    assert_eq!(believed(by_token).await, Ok(()));
    assert_eq!(believed(signed).await, Err(SignatureError::Mismatch));
    rotate(&world, "signing", &key_text).await;
    assert_eq!(believed(signed).await, Ok(()));
    assert_eq!(believed(by_token).await, Ok(()));

    rotate(&world, "signing", "made-up-but-no-signing-token").await;
    let error = stored.fetch().await.unwrap_err();
    assert!(error.place.contains("signing"), "{error:?}");
    // Once that is mended it must not stand in the way as the one before.
    rotate(&world, "signing", &key_text).await;
    assert_eq!(believed(signed).await, Ok(()));
}
