//! Whatever fails after GitHub made the App, nothing is lost: the page tries again, and later
//! `mirilla app key` finishes.

use mirilla_sim::{Fault, Sim, TEST_APP_KEY};
use serde_json::json;

use super::app::{assert_connected, create, press};
use super::support::{
    Account, Creating, Proxy, Ran, StackUnderTest, app_key, environment, form_of, get, github, run,
};

const CONVERSION: &str = "POST /app-manifests/{code}/conversions";

/// One call that can fail after the App is there.
struct Failing {
    /// The stack's name, and the case's.
    name: &'static str,
    operation: &'static str,
    /// The output whose value the refused call names; empty for any.
    about: &'static str,
    /// What the operator is told.
    said: &'static str,
}

const FAILING: [Failing; 5] = [
    Failing {
        name: "description",
        operation: "PutSecretValue",
        about: "AppSecretArn",
        said: "store the App's description",
    },
    Failing {
        name: "webhook",
        operation: "PutSecretValue",
        about: "WebhookSecretArn",
        said: "store the webhook secret",
    },
    Failing {
        name: "label",
        operation: "UpdateSecretVersionStage",
        about: "",
        said: "label the webhook secret",
    },
    Failing {
        name: "wrapping",
        operation: "GetParametersForImport",
        about: "",
        said: "prepare the import into KMS",
    },
    Failing {
        name: "import",
        operation: "ImportKeyMaterial",
        about: "",
        said: "import the App's key into KMS",
    },
];

fn key(sim: &Sim, stack: &str, more: &[&str], environment: &[(String, String)]) -> Ran {
    app_key(sim, stack, more, TEST_APP_KEY, environment)
}

/// An App was made, and one step after that fails, again and again.
struct Broken {
    sim: Sim,
    stack: StackUnderTest,
    proxy: Proxy,
    creating: Creating,
    /// The address that the browser was sent back to.
    back: String,
}

fn broken(account: &Account, failing: &Failing) -> Broken {
    let sim = github();
    let stack = account.deploy(failing.name, &sim, &[]);
    let proxy = Proxy::start(&account.endpoint());
    let creating = create(failing.name, &sim, &environment(&proxy.url));
    let about = if failing.about.is_empty() {
        ""
    } else {
        stack.output(failing.about)
    };
    proxy.refuse(failing.operation, about);
    let back = press(&sim, &creating.address);
    Broken {
        sim,
        stack,
        proxy,
        creating,
        back,
    }
}

#[test]
fn each_step_that_failed_is_done_by_the_page_s_button() {
    let account = Account::new();
    for failing in FAILING {
        let Broken {
            sim,
            stack,
            proxy,
            creating,
            back,
        } = broken(&account, &failing);
        let page = get(&back);
        assert_eq!(page.status, 502, "{}: {}", failing.name, page.body);
        let text = page.text();
        assert!(
            text.contains(failing.said) && text.contains("mirilla app key"),
            "{text}"
        );
        assert_eq!(
            text.matches("FAIL").count(),
            1,
            "the others are done: {text}"
        );
        // Loading GitHub's address again shows the same and exchanges nothing.
        assert_eq!(get(&back).status, 502);
        let button = form_of(&page.body);
        assert_eq!(button.submit(&back).status, 502, "it fails still");
        proxy.allow();
        assert_eq!(button.submit(&back).status, 200);
        let ran = creating.end();
        assert_eq!(ran.code, 0, "{}: {}", failing.name, ran.said());
        assert_connected(&sim, &stack);
        assert_eq!(sim.github().counts().get(CONVERSION), Some(&1));
        sim.finish().unwrap();
    }
}

#[test]
fn each_step_that_failed_is_done_by_another_process_with_another_key_file() {
    let account = Account::new();
    for failing in FAILING {
        let Broken {
            sim,
            stack,
            proxy: _refusing,
            creating,
            back,
        } = broken(&account, &failing);
        assert_eq!(get(&back).status, 502);
        let said = creating.kill();
        let hint = format!(
            "mirilla app key --stack {} --app-id 4242 --pem FILE",
            failing.name
        );
        assert!(said.contains(&hint), "{}: {said}", failing.name);

        // A second `create` makes no second App, and says the same.
        let arguments = [
            "app",
            "create",
            "--no-browser",
            "--stack",
            failing.name,
            "--github-url",
            &sim.github().website_url(),
        ];
        let again = run(&arguments, b"", &account.environment());
        assert_eq!(again.code, 1, "{}", again.said());
        assert!(again.stderr.contains("mirilla app key"), "{}", again.stderr);

        let ran = key(
            &sim,
            failing.name,
            &["--app-id", "4242"],
            &account.environment(),
        );
        assert_eq!(ran.code, 0, "{}: {}", failing.name, ran.said());
        assert!(ran.stdout.contains("/installations/new"), "{}", ran.stdout);
        assert_connected(&sim, &stack);
        // Once more changes nothing: neither the secret nor the key.
        let secret = sim.github().hook_secret();
        let ran = key(&sim, failing.name, &[], &account.environment());
        assert_eq!(ran.code, 0, "{}", ran.said());
        assert_eq!(sim.github().hook_secret(), secret);
        assert_connected(&sim, &stack);
        sim.finish().unwrap();
    }
}

#[test]
fn code_whose_answer_is_lost_is_tried_again_and_then_explained() {
    let account = Account::new();
    let sim = github();
    let stack = account.deploy("lost-before", &sim, &[]);
    let github_ = sim.github();
    github_.faults().on(CONVERSION, 1, Fault::DropBeforeEffect);
    github_.faults().on(CONVERSION, 2, Fault::status(502, "{}"));
    let creating = create("lost-before", &sim, &account.environment());
    let back = press(&sim, &creating.address);
    let page = get(&back);
    assert_eq!(page.status, 502);
    assert!(
        page.text().contains("GitHub may have made the App"),
        "{}",
        page.text()
    );
    let button = form_of(&page.body);
    assert_eq!(button.submit(&back).status, 502);
    assert_eq!(button.submit(&back).status, 200);
    let ran = creating.end();
    assert_eq!(ran.code, 0, "{}", ran.said());
    assert_connected(&sim, &stack);
    sim.finish().unwrap();

    let sim = github();
    let stack = account.deploy("lost-after", &sim, &[]);
    sim.github()
        .faults()
        .on(CONVERSION, 1, Fault::DropAfterEffect);
    let creating = create("lost-after", &sim, &account.environment());
    let back = press(&sim, &creating.address);
    let page = get(&back);
    let answer = form_of(&page.body).submit(&back);
    assert!(
        answer.text().contains("was used already"),
        "{}",
        answer.text()
    );
    let ran = creating.end();
    assert_eq!(ran.code, 1, "{}", ran.said());
    assert!(
        ran.stderr
            .contains("mirilla app key --stack lost-after --app-id ID --pem FILE"),
        "{}",
        ran.stderr
    );
    let ran = key(
        &sim,
        "lost-after",
        &["--app-id", "4242"],
        &account.environment(),
    );
    assert_eq!(ran.code, 0, "{}", ran.said());
    assert_connected(&sim, &stack);
    sim.finish().unwrap();
}

#[test]
fn key_of_another_app_or_another_key_changes_nothing() {
    let account = Account::new();
    let sim = github();
    let stack = account.deploy("prod", &sim, &[]);
    let env = account.environment();

    let ran = key(&sim, "prod", &[], &env);
    assert_eq!(ran.code, 2, "{}", ran.said());
    assert!(ran.stderr.contains("--app-id"), "{}", ran.stderr);
    let ran = key(&sim, "prod", &["--app-id", "999"], &env);
    assert_eq!(ran.code, 1, "{}", ran.said());
    assert!(
        ran.stderr.contains("GitHub does not know this key"),
        "{}",
        ran.stderr
    );

    let other = other_pem();
    let with = |pem: &str| app_key(&sim, "prod", &["--app-id", "4242"], pem, &env);
    let ran = with(&other);
    assert_eq!(ran.code, 1, "{}", ran.said());
    assert!(
        ran.stderr.contains("SHA256:"),
        "names the key: {}",
        ran.stderr
    );
    let ran = with("no key SENTINEL");
    assert!(
        ran.code == 1 && ran.stderr.contains("PEM") && !ran.said().contains("SENTINEL"),
        "{}",
        ran.said()
    );
    assert_eq!(stack.secret("AppSecretArn"), None);
    assert_eq!(
        stack.key("DescribeKey", &json!({})).unwrap()["KeyMetadata"]["KeyState"],
        "PendingImport"
    );

    // KMS takes one key in its life: with another one in it nothing is overwritten.
    let ran = key(&sim, "prod", &["--app-id", "4242"], &env);
    assert_eq!(ran.code, 0, "{}", ran.said());
    assert_connected(&sim, &stack);
    let rotated = mirilla_sim::SimOptions {
        github: mirilla_sim::GithubOptions {
            app: mirilla_sim::AppOptions {
                public_key: public_pem(&other),
                ..mirilla_sim::AppOptions::default()
            },
            ..mirilla_sim::GithubOptions::default()
        },
        ..mirilla_sim::SimOptions::default()
    };
    let elsewhere = Sim::start(rotated).unwrap();
    let second = account.deploy("second", &elsewhere, &[]);
    import(&second, TEST_APP_KEY);
    let ran = app_key(&elsewhere, "second", &["--app-id", "4242"], &other, &env);
    assert_eq!(ran.code, 1, "{}", ran.said());
    assert!(
        ran.stderr.contains("one private key in its life"),
        "{}",
        ran.stderr
    );
    elsewhere.finish().unwrap();
    sim.finish().unwrap();
}

/// Another RSA key, made for this test.
fn other_pem() -> String {
    use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
    let key = aws_lc_rs::rsa::KeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa2048).unwrap();
    let der: Pkcs8V1Der<'_> = key.as_der().unwrap();
    pem("PRIVATE KEY", der.as_ref())
}

fn pem(kind: &str, der: &[u8]) -> String {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: Vec<&str> = text
        .as_bytes()
        .chunks(64)
        .map(|line| std::str::from_utf8(line).unwrap())
        .collect();
    format!(
        "-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n",
        lines.join("\n")
    )
}

fn public_pem(private: &str) -> String {
    let key = mirilla_stack::AppKey::parse(private.into()).unwrap();
    pem("PUBLIC KEY", key.public())
}

fn pkcs8(private: &str) -> Vec<u8> {
    use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
    use base64::Engine as _;
    let text: String = private
        .lines()
        .filter(|line| !line.starts_with("---"))
        .collect();
    let der = base64::engine::general_purpose::STANDARD
        .decode(text)
        .unwrap();
    let key = aws_lc_rs::rsa::KeyPair::from_der(&der).unwrap();
    let der: Pkcs8V1Der<'_> = key.as_der().unwrap();
    der.as_ref().to_vec()
}

/// Puts a key into KMS behind the program's back.
fn import(stack: &StackUnderTest, private: &str) {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    let parameters = stack
        .key(
            "GetParametersForImport",
            &json!({ "WrappingAlgorithm": "RSA_AES_KEY_WRAP_SHA_256", "WrappingKeySpec": "RSA_4096" }),
        )
        .unwrap();
    let wrapping = STANDARD
        .decode(parameters["PublicKey"].as_str().unwrap())
        .unwrap();
    let wrapped = mirilla_stack::wrap_for_import(&wrapping, &pkcs8(private)).unwrap();
    stack
        .key(
            "ImportKeyMaterial",
            &json!({
                "ImportToken": parameters["ImportToken"],
                "EncryptedKeyMaterial": STANDARD.encode(wrapped),
                "ExpirationModel": "KEY_MATERIAL_DOES_NOT_EXPIRE",
            }),
        )
        .unwrap();
}
