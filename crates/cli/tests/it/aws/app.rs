//! `mirilla app create`, from the page to a key that signs.

use mirilla_sim::{AppOptions, Sim, TEST_APP_KEY};
use serde_json::{Value, json};

use super::support::{
    Account, Answer, Creating, Proxy, StackUnderTest, environment, form_of, get, github, post, run,
    send,
};

/// Words of the App's private key, none of which may be seen anywhere.
fn pieces_of_the_key() -> Vec<&'static str> {
    TEST_APP_KEY
        .lines()
        .filter(|line| line.len() > 20)
        .collect()
}

/// Starts `mirilla app create` for a stack.
pub(super) fn create(stack: &str, sim: &Sim, environment: &[(String, String)]) -> Creating {
    let web = sim.github().website_url();
    let arguments = [
        "app",
        "create",
        "--no-browser",
        "--owner",
        "acme",
        "--stack",
        stack,
        "--github-url",
        &web,
    ];
    Creating::start(&arguments, environment)
}

/// Does what a person does on GitHub's page; returns the address that the browser is sent back to.
pub(super) fn press(sim: &Sim, address: &str) -> String {
    let page = get(address);
    assert_eq!(page.status, 200, "{}", page.body);
    let asked = form_of(&page.body).submit(address);
    assert_eq!(asked.status, 200, "{}", asked.body);
    let back = form_of(&asked.body).submit(&sim.github().website_url());
    assert_eq!(back.status, 302, "{}", back.body);
    back.header("location").unwrap().to_owned()
}

/// Asks GitHub who the App is, with a token that the key in KMS signs.
pub(super) fn ask_as_the_app(sim: &Sim, stack: &StackUnderTest) -> Answer {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let app: Value = serde_json::from_str(&stack.secret("AppSecretArn").unwrap()).unwrap();
    let now = sim.clock().now().timestamp();
    let claims = json!({ "iss": app["client_id"], "iat": now - 60, "exp": now + 300 });
    let part = |json: &Value| URL_SAFE_NO_PAD.encode(json.to_string());
    let message = format!("{}.{}", part(&json!({ "alg": "RS256" })), part(&claims));
    let signature = URL_SAFE_NO_PAD.encode(stack.sign(&message));
    let bearer = format!("Bearer {message}.{signature}");
    let headers = [("user-agent", "test"), ("authorization", bearer.as_str())];
    send(
        "GET",
        &format!("{}/app", sim.github_api_url()),
        &headers,
        b"",
    )
}

/// Checks that nothing is left to do: both sides have one secret, and the key signs.
pub(super) fn assert_connected(sim: &Sim, stack: &StackUnderTest) {
    assert_eq!(
        stack.secret("WebhookSecretArn").as_deref(),
        Some(sim.github().hook_secret().as_str())
    );
    assert_eq!(sim.github().hook_url(), stack.output("WebhookUrl"));
    let app: Value = serde_json::from_str(&stack.secret("AppSecretArn").unwrap()).unwrap();
    assert_eq!(
        app,
        json!({ "client_id": "Iv23liSIMULATED00001", "slug": "mirilla", "id": 4242 })
    );
    let answer = ask_as_the_app(sim, stack);
    assert_eq!(answer.status, 200, "{}", answer.body);
}

#[test]
fn app_is_made_connected_and_signs() {
    let account = Account::new();
    let sim = github();
    let stack = account.deploy("prod", &sim, &[]);
    let creating = create("prod", &sim, &account.environment());
    let page = get(&creating.address);
    let manifest: Value = serde_json::from_str(form_of(&page.body).field("manifest")).unwrap();
    assert_eq!(
        manifest["hook_attributes"]["url"],
        json!(stack.output("WebhookUrl"))
    );
    assert_eq!(manifest["public"], false);
    assert!(
        page.header("content-security-policy")
            .is_some_and(|policy| policy.starts_with("default-src 'none'")),
        "{}",
        page.head
    );
    assert!(!page.body.contains("<script"));
    let back = press(&sim, &creating.address);
    let done = get(&back);
    assert_eq!(done.status, 200, "{}", done.body);
    assert!(done.text().contains("/apps/mirilla/installations/new"));
    let ran = creating.end();
    assert_eq!(ran.code, 0, "{}", ran.said());
    assert_eq!(
        ran.stdout.trim(),
        format!(
            "{}/apps/mirilla/installations/new",
            sim.github().website_url()
        )
    );
    assert!(
        ran.stderr.contains("mirilla doctor --stack prod"),
        "{}",
        ran.stderr
    );
    assert_connected(&sim, &stack);

    let secret = AppOptions::default().hook_secret;
    for seen in [&ran.said(), &page.body, &done.body] {
        assert!(!seen.contains(&secret), "the webhook secret was shown");
        for piece in pieces_of_the_key() {
            assert!(!seen.contains(piece), "the private key was shown");
        }
    }

    // A second run changes nothing and says so.
    let arguments = [
        "app",
        "create",
        "--stack",
        "prod",
        "--github-url",
        &sim.github().website_url(),
    ];
    let again = run(&arguments, b"", &account.environment());
    assert_eq!(again.code, 0, "{}", again.said());
    assert!(
        again.stderr.contains("has its App already"),
        "{}",
        again.stderr
    );
    assert_eq!(again.stdout, ran.stdout);
    let conversions = sim.github().counts();
    assert_eq!(
        conversions.get("POST /app-manifests/{code}/conversions"),
        Some(&1)
    );
    sim.finish().unwrap();
}

#[test]
fn strangers_start_nothing() {
    let account = Account::new();
    let sim = github();
    let stack = account.deploy("prod", &sim, &[]);
    let creating = create("prod", &sim, &account.environment());
    let base = creating.address.rsplit_once('/').unwrap().0.to_owned();
    let port = base.rsplit(':').next().unwrap();

    // Another host's name for this machine, as a page elsewhere would use it.
    for host in [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        "127.0.0.1:1".to_owned(),
    ] {
        let answer = send("GET", &creating.address, &[("host", &host)], b"");
        assert_eq!(answer.status, 421, "{host}");
        assert!(!answer.body.contains("manifest"), "{}", answer.body);
    }
    assert_eq!(get(&format!("{base}/")).status, 404);
    assert_eq!(
        get(&format!("{base}/0123456789abcdef0123456789abcdef")).status,
        404
    );

    // Somebody else's App, by a guessed or an empty state.
    let back = press(&sim, &creating.address);
    let (to, state) = back.split_once("&state=").unwrap();
    let mut last = state.to_owned();
    let flipped = if last.pop() == Some('0') { '1' } else { '0' };
    last.push(flipped);
    for wrong in [
        to.to_owned(),
        format!("{to}&state="),
        format!("{to}&state={last}"),
        format!("{to}&state={state}0"),
    ] {
        let answer = get(&wrong);
        assert_eq!(answer.status, 403, "{wrong}");
    }
    let nothing = get(&format!("{base}/created?state={state}"));
    assert_eq!(nothing.status, 400, "a state without a code");
    let again = post(&format!("{base}/again"), &[("state", "x")]);
    assert_eq!(again.status, 403);
    assert_eq!(stack.secret("AppSecretArn"), None, "nothing was stored");
    assert!(
        !sim.github()
            .counts()
            .contains_key("POST /app-manifests/{code}/conversions")
    );

    // The right one still works, once.
    assert_eq!(get(&back).status, 200);
    let ran = creating.end();
    assert_eq!(ran.code, 0, "{}", ran.said());
    assert_connected(&sim, &stack);
    sim.finish().unwrap();
}

#[test]
fn app_that_was_not_asked_for_is_not_connected() {
    let account = Account::new();
    let sim = github();
    let stack = account.deploy("prod", &sim, &[]);
    let creating = create("prod", &sim, &account.environment());
    let page = get(&creating.address);
    let mut form = form_of(&page.body);
    let mut manifest: Value = serde_json::from_str(form.field("manifest")).unwrap();
    manifest["default_permissions"]["contents"] = json!("write");
    form.fields = vec![("manifest".to_owned(), manifest.to_string())];
    let asked = form.submit(&creating.address);
    let back = form_of(&asked.body).submit(&sim.github().website_url());
    let answer = get(back.header("location").unwrap());
    assert_eq!(answer.status, 502);
    let ran = creating.end();
    assert_eq!(ran.code, 1, "{}", ran.said());
    assert!(
        ran.stderr.contains("contents: write") && ran.stderr.contains("delete the App"),
        "{}",
        ran.stderr
    );
    assert_eq!(stack.secret("AppSecretArn"), None);
    sim.finish().unwrap();
}

#[test]
fn what_would_fail_later_fails_before_there_is_an_app() {
    let account = Account::new();
    let sim = github();
    account.deploy("tokens", &sim, &[("GitHubAuth", "token")]);
    account.deploy("prod", &sim, &[]);
    let ours = account.environment();
    let web = sim.github().website_url();
    let try_it = |stack: &str, environment: &[(String, String)]| {
        let arguments = [
            "app",
            "create",
            "--no-browser",
            "--stack",
            stack,
            "--github-url",
            &web,
        ];
        let ran = run(&arguments, b"", environment);
        assert_eq!(ran.code, 1, "{}", ran.said());
        assert!(ran.stderr.contains("hint:"), "{}", ran.stderr);
        ran.stderr
    };
    assert!(try_it("nobody", &ours).contains("there is no stack `nobody`"));
    assert!(try_it("tokens", &ours).contains("plain tokens"));
    let without = |name: &str| -> Vec<_> {
        let kept = ours.iter().filter(|(have, _)| have != name);
        kept.cloned().collect()
    };
    assert!(try_it("prod", &without("AWS_REGION")).contains("AWS_REGION"));
    let mut nobody = without("AWS_ACCESS_KEY_ID");
    nobody.push(("AWS_EC2_METADATA_DISABLED".to_owned(), "true".to_owned()));
    assert!(try_it("prod", &nobody).contains("no AWS credentials"));

    let proxy = Proxy::start(&account.endpoint());
    let through = environment(&proxy.url);
    proxy.refuse("GetParametersForImport", "");
    assert!(try_it("prod", &through).contains("prepare the import"));
    proxy.allow();
    sim.finish().unwrap();
}
