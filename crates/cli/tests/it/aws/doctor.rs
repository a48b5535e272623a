//! `mirilla doctor --stack`: everything fine, and each single defect found and named.

use std::time::Duration;

use mirilla_sim::{Access, ProjectOptions, Scope, Sim, SimOptions, TEST_APP_KEY};
use serde_json::{Value, json};

use super::support::{Account, Proxy, Ran, StackUnderTest, app_key, environment, github, run};

/// What the doctor said.
struct Diagnosis {
    ran: Ran,
    checks: Vec<Value>,
}

impl Diagnosis {
    fn of(stack: &str, environment: &[(String, String)]) -> Self {
        Self::with(&["--stack", stack], environment)
    }

    fn with(arguments: &[&str], environment: &[(String, String)]) -> Self {
        let arguments = [&["doctor", "--json"], arguments].concat();
        let ran = run(&arguments, b"", environment);
        let json: Value = serde_json::from_str(&ran.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", ran.said()));
        assert_eq!(json["ok"], json!(ran.code == 0), "{}", ran.said());
        Self {
            checks: json["checks"].as_array().unwrap().clone(),
            ran,
        }
    }

    /// The checks that did not end `ok`, as `check level`.
    fn trouble(&self) -> Vec<String> {
        let bad = self.checks.iter().filter(|check| check["level"] != "ok");
        bad.map(|check| {
            assert!(check["fix"].is_string(), "names no fix: {check}");
            format!(
                "{} {}",
                check["check"].as_str().unwrap(),
                check["level"].as_str().unwrap()
            )
        })
        .collect()
    }

    fn what(&self, check: &str) -> String {
        let said: Vec<String> = self
            .checks
            .iter()
            .filter(|one| one["check"] == check)
            .map(|one| format!("{} {}", one["what"], one["fix"]))
            .collect();
        said.join("\n")
    }
}

/// A stack to which everything was done that the guide says.
fn healthy(
    account: &Account,
    sim: &Sim,
    name: &str,
    parameters: &[(&str, &str)],
) -> StackUnderTest {
    let stack = account.deploy(name, sim, parameters);
    heal(&stack, account, sim, name);
    stack
}

fn heal(stack: &StackUnderTest, account: &Account, sim: &Sim, name: &str) {
    stack.put_secret("ModelKeyArn", sim.messages().api_key());
    let ran = app_key(
        sim,
        name,
        &["--app-id", "4242"],
        TEST_APP_KEY,
        &account.environment(),
    );
    assert_eq!(ran.code, 0, "{}", ran.said());
}

/// One thing that is wrong.
struct Defect {
    name: &'static str,
    make: fn(&StackUnderTest),
    /// Undoes what healing does not.
    undo: fn(&StackUnderTest),
    /// The check that finds it, its level, and words that it says.
    found: (&'static str, &'static str),
}

/// Each is made on a healthy stack, which is healed before the next.
const fn healing(_: &StackUnderTest) {}

const DEFECTS: &[Defect] = &[
    Defect {
        name: "webhook secret that cannot be one",
        make: |stack| stack.put_secret("WebhookSecretArn", " "),
        undo: healing,
        found: ("webhook-secret fail", "app create"),
    },
    Defect {
        name: "webhook secret that the App does not sign with",
        make: |stack| stack.put_secret("WebhookSecretArn", "made-up-by-somebody-else"),
        undo: healing,
        found: ("app fail", "does not sign with the stack's webhook secret"),
    },
    Defect {
        name: "description of the App that is not one",
        make: |stack| stack.put_secret("AppSecretArn", "{}"),
        undo: healing,
        found: ("app fail", "client_id, slug and id"),
    },
    Defect {
        name: "App's key that is disabled",
        make: |stack| {
            stack.key("DisableKey", &json!({})).unwrap();
        },
        undo: |stack| {
            stack.key("EnableKey", &json!({})).unwrap();
        },
        found: ("app-key fail", "enable it in the KMS console"),
    },
    Defect {
        name: "App's key without material",
        make: |stack| {
            stack.key("DeleteImportedKeyMaterial", &json!({})).unwrap();
        },
        undo: healing,
        found: ("app-key fail", "KMS has no private key of the App"),
    },
    Defect {
        name: "empty model key",
        make: |stack| stack.put_secret("ModelKeyArn", " "),
        undo: healing,
        found: ("model-key fail", "mirilla secret set model-key"),
    },
    Defect {
        name: "model key that the provider does not take",
        make: |stack| stack.put_secret("ModelKeyArn", "sk-ant-SENTINEL-of-somebody-else"),
        undo: healing,
        found: ("model fail", "refuses the key (status 401)"),
    },
    Defect {
        name: "queue that does not feed its function",
        make: |stack| set_mapping(stack, false),
        undo: |stack| set_mapping(stack, true),
        found: ("queues fail", "is not fed from"),
    },
    Defect {
        name: "message that gave up",
        make: |stack| {
            let url = stack.output("PostDeadLettersUrl");
            let body = json!({ "QueueUrl": url, "MessageBody": "x" });
            stack.call("AmazonSQS.SendMessage", &body).unwrap();
        },
        undo: |stack| {
            let url = json!({ "QueueUrl": stack.output("PostDeadLettersUrl") });
            stack.call("AmazonSQS.PurgeQueue", &url).unwrap();
        },
        found: ("dead-letters warn", "1 messages gave up in prod-post-dead"),
    },
    Defect {
        name: "alarms that nobody confirmed",
        make: |stack| {
            let topic = stack.output("AlarmTopicArn");
            stack.subscribe(topic, "https", "https://alarms.example.test/");
        },
        undo: healing,
        found: ("alarms warn", "have not confirmed"),
    },
    Defect {
        name: "function for another processor",
        make: |stack| set_architecture(stack, "x86_64"),
        undo: |stack| set_architecture(stack, "arm64"),
        found: ("functions fail", "runs on x86_64"),
    },
];

fn set_mapping(stack: &StackUnderTest, enabled: bool) {
    let path = format!(
        "/2015-03-31/event-source-mappings/?FunctionName={}",
        stack.output("ReviewerFunction")
    );
    let found = stack.lambda("GET", &path, &json!({}));
    let id = found["EventSourceMappings"][0]["UUID"].as_str().unwrap();
    let path = format!("/2015-03-31/event-source-mappings/{id}");
    stack.lambda("PUT", &path, &json!({ "Enabled": enabled }));
}

fn set_architecture(stack: &StackUnderTest, architecture: &str) {
    use base64::Engine as _;
    let path = format!(
        "/2015-03-31/functions/{}/code",
        stack.output("SweeperFunction")
    );
    // The smallest zip file there is: empty.
    let empty = b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let zip = base64::engine::general_purpose::STANDARD.encode(empty);
    let change = json!({ "ZipFile": zip, "Architectures": [architecture] });
    stack.lambda("PUT", &path, &change);
    let path = path.replace("/code", "/configuration");
    crate::support::wait_for("the function's change", Duration::from_secs(20), || {
        let facts = stack.lambda("GET", &path, &json!({}));
        if facts["LastUpdateStatus"] == "Successful" {
            Ok(())
        } else {
            Err(facts.to_string())
        }
    });
}

#[test]
fn healthy_stack_is_fine_and_each_defect_is_found_alone() {
    let account = Account::new();
    let sim = github();
    let stack = healthy(&account, &sim, "prod", &[]);
    let env = account.environment();
    let fine = Diagnosis::of("prod", &env);
    // Nobody was named who would hear of alarms.
    assert_eq!(fine.trouble(), ["alarms warn"], "{}", fine.ran.said());
    assert_eq!(fine.ran.code, 0);
    for check in [
        "stack",
        "functions",
        "dead-letters",
        "webhook-secret",
        "webhook",
        "app",
        "app-key",
        "price",
        "model-key",
        "model",
    ] {
        assert!(!fine.what(check).is_empty(), "{check} was not looked at");
    }
    for defect in DEFECTS {
        (defect.make)(&stack);
        let found = Diagnosis::of("prod", &env);
        let (check, words) = defect.found;
        let trouble = found.trouble();
        assert!(
            trouble.iter().any(|one| one == check),
            "{}: {trouble:?}",
            defect.name
        );
        let name = check.split(' ').next().unwrap();
        let said = found.what(name);
        assert!(said.contains(words), "{}: {said}", defect.name);
        assert_eq!(
            found.ran.code,
            i32::from(check.ends_with("fail")),
            "{}",
            defect.name
        );
        assert!(!found.ran.said().contains("SENTINEL"), "{}", defect.name);
        (defect.undo)(&stack);
        heal(&stack, &account, &sim, "prod");
        let healed = Diagnosis::of("prod", &env).trouble();
        assert_eq!(healed, ["alarms warn"], "after {}", defect.name);
    }
    let text = run(&["doctor", "--stack", "prod"], b"", &env);
    assert!(
        text.stdout
            .lines()
            .all(|line| line.starts_with("ok ") || line.starts_with("warn")),
        "{}",
        text.stdout
    );
    for secret in [
        sim.github().hook_secret().as_str(),
        sim.messages().api_key(),
    ] {
        assert!(!text.said().contains(secret));
    }
    sim.github().take_problems();
    drop(sim);
}

#[test]
fn intake_that_believes_everybody_or_nobody_is_found() {
    let account = Account::new();
    let sim = github();
    let answer = |status: u16| {
        format!(
            "#!/usr/bin/env python3\nimport json, os, urllib.request\n\
             api = f\"http://{{os.environ['AWS_LAMBDA_RUNTIME_API']}}/2018-06-01/runtime/invocation\"\n\
             while True:\n    with urllib.request.urlopen(f\"{{api}}/next\") as event:\n        \
             number = event.headers['Lambda-Runtime-Aws-Request-Id']\n        event.read()\n    \
             body = json.dumps({{'statusCode': {status}}}).encode()\n    \
             urllib.request.urlopen(urllib.request.Request(f\"{{api}}/{{number}}/response\", body)).close()\n"
        )
    };
    for (name, status, words) in [
        (
            "believes",
            200,
            "a forged ping is answered with 200, not 401",
        ),
        (
            "doubts",
            401,
            "a ping signed with the stored secret is turned away",
        ),
        ("fails", 500, "a forged ping is answered with 500"),
        ("closed", 403, "closed to everybody"),
    ] {
        let stack = account.deploy_with(name, &sim, &[], &answer(status));
        heal(&stack, &account, &sim, name);
        let found = Diagnosis::of(name, &account.environment());
        assert_eq!(found.trouble(), ["alarms warn", "webhook fail"], "{name}");
        assert!(
            found.what("webhook").contains(words),
            "{}",
            found.what("webhook")
        );
    }
    sim.finish().unwrap();
}

#[test]
fn policy_of_a_stack_counts_as_its_functions_read_it() {
    let account = Account::new();
    let sim = github();
    for (name, policy, check, words) in [
        (
            "talkative",
            "max-tokens = 900000",
            "price fail",
            "set another model or cap",
        ),
        (
            "broken",
            "max-tokens = ",
            "policy fail",
            "`mirilla config policy` prints",
        ),
    ] {
        let stack = healthy(&account, &sim, name, &[("Policy", policy)]);
        let found = Diagnosis::of(name, &account.environment());
        let trouble = found.trouble();
        assert!(trouble.iter().any(|one| one == check), "{trouble:?}");
        let said = found.what(check.split(' ').next().unwrap());
        assert!(said.contains(words), "{said}");
        drop(stack);
    }
    // What has a parameter of its own is not the text's to say.
    let stack = healthy(&account, &sim, "thrifty", &[("Policy", "max-usd = 0.0001")]);
    let found = Diagnosis::of("thrifty", &account.environment());
    assert_eq!(found.trouble(), ["alarms warn"], "{}", found.ran.said());
    drop(stack);
    sim.github().take_problems();
}

#[test]
fn without_credentials_one_sentence_says_what_is_missing_and_what_to_do() {
    let nobody = [
        ("AWS_REGION", "us-east-1"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
    ];
    let nobody = nobody.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let found = Diagnosis::of("prod", &nobody);
    assert_eq!(found.trouble(), ["stack fail"]);
    let said = found.what("stack");
    assert!(said.contains("no AWS credentials"), "{said}");
    assert!(
        said.contains("AWS_PROFILE") && said.contains("aws sso login"),
        "{said}"
    );
    for word in ["Attempted", "provider", "Ec2InstanceMetadata"] {
        assert!(!said.contains(word), "{said}");
    }
}

#[test]
fn stack_that_was_only_deployed_names_every_next_step() {
    let account = Account::new();
    let sim = github();
    account.deploy("fresh", &sim, &[("AlarmEmail", "ops@example.test")]);
    let found = Diagnosis::of("fresh", &account.environment());
    assert_eq!(found.ran.code, 1);
    let trouble = found.trouble();
    for check in ["app fail", "app-key fail", "model-key fail"] {
        assert!(trouble.iter().any(|one| one == check), "{trouble:?}");
    }
    assert!(
        found
            .what("app")
            .contains("mirilla app create --stack fresh")
    );
    assert!(
        found
            .what("model-key")
            .contains("mirilla secret set model-key --stack fresh")
    );
    assert!(!trouble.contains(&"alarms warn".to_owned()), "{trouble:?}");

    account.deploy("tokens", &sim, &[("GitHubAuth", "token")]);
    let found = Diagnosis::of("tokens", &account.environment());
    let said = found.what("tokens");
    assert!(
        said.contains("secret set read-token") && said.contains("secret set write-token"),
        "{said}"
    );

    let found = Diagnosis::of("nobody", &account.environment());
    assert_eq!(found.trouble(), ["stack fail"]);
    assert!(found.what("stack").contains("there is no stack `nobody`"));
    sim.finish().unwrap();
}

#[test]
fn stack_of_gitlabs_is_seen_through_to_what_its_tokens_may_do_in_a_project() {
    const PROJECT: &str = "acme/web/shop";
    let account = Account::new();
    let sim = Sim::start(SimOptions::default()).unwrap();
    let lab = sim.gitlab();
    lab.create_project(PROJECT, &ProjectOptions::default())
        .unwrap();
    let token = |access, scope| {
        let token = lab.create_project_token(PROJECT, "mirilla", access, scope);
        token.unwrap()
    };
    let [read, write] = [
        token(Access::Reporter, Scope::ReadApi),
        token(Access::Developer, Scope::Api),
    ];
    let url = lab.url();
    let stack = account.deploy("lab", &sim, &[("GitLabUrl", url.as_str())]);
    let look = || {
        let arguments = ["--stack", "lab", "--project", PROJECT];
        Diagnosis::with(&arguments, &account.environment())
    };
    let found = look();
    let said = found.what("tokens");
    assert!(
        said.contains("secret set read-token") && said.contains("secret set write-token"),
        "{said}"
    );

    for (output, value) in [
        ("ModelKeyArn", sim.messages().api_key()),
        ("ReadTokenArn", read.as_str()),
        ("WriteTokenArn", write.as_str()),
    ] {
        stack.put_secret(output, value);
    }
    let found = look();
    assert_eq!(found.trouble(), ["alarms warn"], "{}", found.ran.said());
    for (check, words) in [
        ("gitlab", "GitLab 19.6 answers; nothing is missing"),
        ("signing-token", "there is none"),
        ("project", "the token that writes reaches far enough"),
        ("functions", "5 functions"),
    ] {
        let said = found.what(check);
        assert!(said.contains(words), "{check}: {said}");
    }
    for token in [&read, &write] {
        assert!(!found.ran.said().contains(token.as_str()));
    }

    stack.put_secret("ReadTokenArn", &token(Access::Developer, Scope::Api));
    stack.put_secret("SigningTokenArn", "made-up-and-no-signing-token");
    let found = look();
    let trouble = [
        "alarms warn",
        "signing-token fail",
        "webhook warn",
        "read-token fail",
    ];
    assert_eq!(found.trouble(), trouble, "{}", found.ran.said());
    let said = found.what("read-token");
    assert!(
        said.contains("mirilla secret set read-token --stack lab"),
        "{said}"
    );

    // The functions may see a GitLab that this machine does not.
    let nowhere = [("GitLabUrl", "http://127.0.0.1:9")];
    let stack = account.deploy("hidden", &sim, &nowhere);
    stack.put_secret("ModelKeyArn", sim.messages().api_key());
    stack.put_secret("ReadTokenArn", &read);
    stack.put_secret("WriteTokenArn", &write);
    let found = Diagnosis::of("hidden", &account.environment());
    let trouble = ["alarms warn", "gitlab warn"];
    assert_eq!(found.trouble(), trouble, "{}", found.ran.said());
    sim.finish().unwrap();
}

#[test]
fn model_without_a_price_and_a_cap_below_one_call_are_found() {
    let account = Account::new();
    let sim = github();
    healthy(&account, &sim, "unpriced", &[("Model", "claude-opus-4-1")]);
    let found = Diagnosis::of("unpriced", &account.environment());
    assert!(
        found.what("price").contains("claude-opus-4-1"),
        "{}",
        found.what("price")
    );
    assert!(found.trouble().contains(&"price fail".to_owned()));
    let sim = github();
    healthy(&account, &sim, "poor", &[("ReviewUsd", "0.01")]);
    let found = Diagnosis::of("poor", &account.environment());
    assert!(
        found.what("price").contains("set it to"),
        "{}",
        found.what("price")
    );
    assert!(found.trouble().contains(&"price fail".to_owned()));
    sim.finish().unwrap();
}

#[test]
fn what_the_operator_may_not_see_is_said_and_is_no_failure() {
    let account = Account::new();
    let sim = github();
    healthy(&account, &sim, "prod", &[]);
    let proxy = Proxy::start(&account.endpoint());
    proxy.refuse("GetSecretValue", "");
    proxy.refuse("DescribeKey", "");
    let found = Diagnosis::of("prod", &environment(&proxy.url));
    assert_eq!(found.ran.code, 0, "{}", found.ran.said());
    let mut trouble = found.trouble();
    trouble.sort();
    assert_eq!(
        trouble,
        [
            "alarms warn",
            "app warn",
            "app-key warn",
            "model-key warn",
            "webhook warn",
            "webhook-secret warn"
        ]
    );
    assert!(
        found.what("model-key").contains("it is filled"),
        "{}",
        found.what("model-key")
    );
    sim.finish().unwrap();
}
