//! The emulated account, its stacks, and its calls without an SDK.

use std::fs;
use std::path::PathBuf;

use mirilla_localaws::{Emulator, Options, REGION, Stack, StackRequest};
use mirilla_sim::Sim;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::browser::send;

/// Verifies signatures, and nothing else.
const INTAKE: &str = include_str!("intake.py");
/// For functions that nobody calls here.
const IDLE: &str = "#!/bin/sh\nexec sleep 1\n";

/// An account of AWS on this machine.
pub(crate) struct Account {
    emulator: Emulator,
    programs: TempDir,
}

impl Account {
    pub(crate) fn new() -> Self {
        Self {
            emulator: Emulator::start(&Options::default()).unwrap(),
            programs: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn endpoint(&self) -> String {
        self.emulator.endpoint()
    }

    /// What an operator of this account has in the environment.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        environment(&self.endpoint())
    }

    fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.programs.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Deploys the project's template with stand-ins for its functions.
    pub(crate) fn deploy(
        &self,
        name: &str,
        sim: &Sim,
        parameters: &[(&str, &str)],
    ) -> StackUnderTest {
        self.deploy_with(name, sim, parameters, INTAKE)
    }

    /// The same, with another program for intake.
    pub(crate) fn deploy_with(
        &self,
        name: &str,
        sim: &Sim,
        parameters: &[(&str, &str)],
        intake: &str,
    ) -> StackUnderTest {
        let idle = self.program("idle", IDLE);
        let intake = self.program(&format!("intake-{name}"), intake);
        let mut request = StackRequest::new(name)
            .bootstraps(|_| &idle)
            .bootstrap("intake", intake)
            .parameter("AllowedAccounts", "acme")
            .parameter("GitHubApiUrl", sim.github_api_url())
            .parameter("ModelUrl", sim.messages().url());
        for (name, value) in parameters {
            request = request.parameter(*name, *value);
        }
        let stack = StackUnderTest {
            endpoint: self.endpoint(),
            stack: Stack::deploy(&self.endpoint(), &request).unwrap(),
        };
        if stack.stack.output("AppKeyArn").is_ok() {
            // The emulator calls a key enabled that waits for its material, if a stack made it.
            let emptied = stack.key("DeleteImportedKeyMaterial", &json!({}));
            emptied.unwrap();
        }
        stack
    }
}

pub(crate) fn environment(endpoint: &str) -> Vec<(String, String)> {
    [
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_REGION", REGION),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

/// A deployed stack, and ways to look into it and to break it.
pub(crate) struct StackUnderTest {
    endpoint: String,
    stack: Stack,
}

impl StackUnderTest {
    pub(crate) fn output(&self, name: &str) -> &str {
        self.stack.output(name).unwrap()
    }

    /// Calls AWS by the JSON protocol: `secretsmanager.GetSecretValue`.
    pub(crate) fn call(&self, target: &str, body: &Value) -> Result<Value, String> {
        let service = match target.split('.').next().unwrap() {
            "TrentService" => "kms",
            "AmazonSQS" => "sqs",
            _ => "secretsmanager",
        };
        let signed = signed(service);
        let headers = [
            ("x-amz-target", target),
            ("content-type", "application/x-amz-json-1.1"),
            ("authorization", signed.as_str()),
        ];
        let url = format!("{}/", self.endpoint);
        let answer = send("POST", &url, &headers, body.to_string().as_bytes());
        if answer.status == 200 {
            Ok(serde_json::from_str(&answer.body).unwrap_or(Value::Null))
        } else {
            Err(answer.body)
        }
    }

    /// Calls Lambda's own protocol.
    pub(crate) fn lambda(&self, method: &str, path: &str, body: &Value) -> Value {
        let signed = signed("lambda");
        let headers = [
            ("content-type", "application/json"),
            ("authorization", signed.as_str()),
        ];
        let url = format!("{}{path}", self.endpoint);
        let answer = send(method, &url, &headers, body.to_string().as_bytes());
        assert!(answer.status < 300, "{path}: {}", answer.body);
        serde_json::from_str(&answer.body).unwrap()
    }

    /// Subscribes somebody to a topic.
    pub(crate) fn subscribe(&self, topic: &str, protocol: &str, endpoint: &str) {
        let signed = signed("sns");
        let headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("authorization", signed.as_str()),
        ];
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.extend_pairs([
            ("Action", "Subscribe"),
            ("Version", "2010-03-31"),
            ("TopicArn", topic),
            ("Protocol", protocol),
            ("Endpoint", endpoint),
        ]);
        let url = format!("{}/", self.endpoint);
        let answer = send("POST", &url, &headers, form.finish().as_bytes());
        assert_eq!(answer.status, 200, "{}", answer.body);
    }

    /// Reads a secret by its output; `None` if it is empty.
    pub(crate) fn secret(&self, output: &str) -> Option<String> {
        let id = json!({ "SecretId": self.output(output) });
        let answer = self.call("secretsmanager.GetSecretValue", &id).ok()?;
        // AWS has no value for a secret that was never filled, the emulator an empty one.
        let text = answer["SecretString"]
            .as_str()
            .filter(|text| !text.is_empty());
        text.map(ToOwned::to_owned)
    }

    pub(crate) fn put_secret(&self, output: &str, value: &str) {
        let body = json!({ "SecretId": self.output(output), "SecretString": value });
        self.call("secretsmanager.PutSecretValue", &body).unwrap();
    }

    /// Calls KMS about the App's key.
    pub(crate) fn key(&self, operation: &str, more: &Value) -> Result<Value, String> {
        let mut body = json!({ "KeyId": self.output("AppKeyArn") });
        let fields = body.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        self.call(&format!("TrentService.{operation}"), &body)
    }

    /// Signs with the App's key as a minter does.
    pub(crate) fn sign(&self, message: &str) -> Vec<u8> {
        use base64::Engine as _;
        use base64::engine::general_purpose::STANDARD;
        let answer = self.key(
            "Sign",
            &json!({
                "Message": STANDARD.encode(message),
                "MessageType": "RAW",
                "SigningAlgorithm": "RSASSA_PKCS1_V1_5_SHA_256",
            }),
        );
        let answer = answer.unwrap();
        STANDARD
            .decode(answer["Signature"].as_str().unwrap())
            .unwrap()
    }
}

/// Enough for the emulator to see the service; it checks no signatures here.
fn signed(service: &str) -> String {
    format!(
        "AWS4-HMAC-SHA256 Credential=test/20260101/{REGION}/{service}/aws4_request, SignedHeaders=host, Signature=0"
    )
}
