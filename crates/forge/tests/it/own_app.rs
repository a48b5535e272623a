//! The App as its owner sees it, and the one exchange that gives its secrets.

use std::sync::Arc;

use mirilla_forge::github::{Access, AppAuth, ConversionError};
use mirilla_http::Method;
use mirilla_ports::forge::ForgeError;
use mirilla_sim::{AccountKind, Fault, TEST_APP_KEY};
use secrecy::ExposeSecret as _;

use crate::support::{Fixed, World};

const CONVERSION: &str = "POST /app-manifests/{code}/conversions";

fn access(world: &World) -> Access {
    let settings = (*world.settings()).clone();
    Access::new(settings, None, world.clock(), Arc::new(Fixed)).unwrap()
}

/// Registers the App as a browser does, and returns the code.
async fn register(world: &World) -> String {
    let website = world.gh().website_url();
    let manifest = serde_json::json!({
        "name": "Reviewer", "url": "https://example.test", "redirect_url": "http://127.0.0.1:1/created",
        "default_permissions": { "pull_requests": "write" }, "default_events": ["pull_request"],
    });
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.append_pair("name", "Reviewer");
    form.append_pair("manifest", &manifest.to_string());
    let host = website.trim_start_matches("http://");
    let mut settings = mirilla_http::ClientSettings::new([host], "test");
    settings.allow_plain_loopback = true;
    let client = mirilla_http::Client::new(settings).unwrap();
    let url = format!("{website}/settings/apps").parse().unwrap();
    let request = mirilla_http::Request::new(Method::POST, url)
        .body("application/x-www-form-urlencoded", form.finish());
    let answer = client.send(request).await.unwrap();
    let to = url::Url::parse(answer.header("location").unwrap()).unwrap();
    to.query_pairs().next().unwrap().1.into_owned()
}

#[tokio::test]
async fn code_gives_the_app_once_and_shows_no_secret() {
    let world = World::new();
    let access = access(&world);
    let code = register(&world).await;
    let app = access.convert_manifest(&code).await.unwrap();
    assert_eq!((app.facts.id, app.facts.slug.as_str()), (4242, "mirilla"));
    assert_eq!(app.facts.issuer(), "Iv23liSIMULATED00001");
    assert_eq!(app.facts.owner(), Some("operator"));
    assert_eq!(app.facts.organisation(), None);
    assert_eq!(app.pem.expose_secret(), TEST_APP_KEY);
    let secret = app.webhook_secret.as_ref().unwrap().expose_secret();
    assert_eq!(secret, world.gh().hook_secret());
    let shown = format!("{app:?}");
    assert!(
        !shown.contains("PRIVATE") && !shown.contains(secret),
        "{shown}"
    );
    let error = access.convert_manifest(&code).await.unwrap_err();
    assert!(matches!(error, ConversionError::Code), "{error:?}");
    world.sim.finish().unwrap();
}

#[tokio::test]
async fn code_is_never_sent_again_by_itself() {
    let world = World::new();
    let access = access(&world);
    let code = register(&world).await;
    world
        .gh()
        .faults()
        .on(CONVERSION, 1, Fault::DropAfterEffect);
    let error = access.convert_manifest(&code).await.unwrap_err();
    assert!(matches!(error, ConversionError::Lost(_)), "{error:?}");
    assert_eq!(world.gh().counts().get(CONVERSION), Some(&1));
    world
        .gh()
        .faults()
        .on(CONVERSION, 2, Fault::status(502, "{}"));
    let error = access.convert_manifest("unused").await.unwrap_err();
    assert!(matches!(error, ConversionError::Status(_)), "{error:?}");
    world.sim.finish().unwrap();
}

#[tokio::test]
async fn app_tells_what_it_may_and_where_it_is_and_takes_a_new_hook() {
    let world = World::new();
    world.gh().add_account("other", AccountKind::Organization);
    let access = access(&world);
    let auth = AppAuth::with_pem("4242", &TEST_APP_KEY.into()).unwrap();
    let own = access.own_app(auth);
    let facts = own.facts().await.unwrap();
    assert_eq!(facts.permissions["checks"], "write");
    assert!(facts.events.iter().any(|event| event == "pull_request"));
    assert_eq!(own.accounts().await.unwrap(), ["acme"]);
    let url = "https://hooks.example.test/webhooks/github"
        .parse()
        .unwrap();
    own.set_hook(&url, &"made-up-new-secret".into())
        .await
        .unwrap();
    let hook = own.hook().await.unwrap();
    assert_eq!(hook.url.as_deref(), Some(url.as_str()));
    assert_eq!(hook.content_type.as_deref(), Some("json"));
    assert_eq!(world.gh().hook_secret(), "made-up-new-secret");
    let time = access.server_time().await.unwrap().unwrap();
    assert_eq!(
        time.get() / 1000,
        world.sim.clock().now().timestamp(),
        "by GitHub's own clock"
    );
    world.sim.finish().unwrap();
}

#[tokio::test]
async fn strange_id_and_strange_token_are_refused_by_name() {
    let world = World::new();
    let access = access(&world);
    let auth = AppAuth::with_pem("999", &TEST_APP_KEY.into()).unwrap();
    let error = access.own_app(auth).facts().await.unwrap_err();
    assert!(
        matches!(
            error,
            ForgeError::NotFound { .. } | ForgeError::Unauthorized
        ),
        "{error:?}"
    );
    let token = world.gh().create_pat("dana", &[], None).unwrap();
    let facts = access.token_facts(&token.into()).await.unwrap();
    assert_eq!((facts.login.as_str(), facts.scopes.len()), ("dana", 0));
    let error = access.token_facts(&"ghp_made_up".into()).await.unwrap_err();
    assert!(matches!(error, ForgeError::Unauthorized), "{error:?}");
    world.gh().take_problems();
    world.sim.finish().unwrap();
}
