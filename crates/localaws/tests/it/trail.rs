//! Attacks that only the trail sees, told as it tells them, against the deployed rules.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use mirilla_localaws::{Emulator, Options, Stack};
use serde_json::{Value, json};

use crate::stack::request;

/// Calls the event service; the emulator looks at no signature unless it is told to.
fn events(port: u16, operation: &str, body: &Value) -> Value {
    let body = body.to_string();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(
        stream,
        "POST / HTTP/1.1\r\nHost: events.us-east-1.amazonaws.com\r\nConnection: close\r\n\
         X-Amz-Target: AWSEvents.{operation}\r\nContent-Type: application/x-amz-json-1.1\r\n\
         Authorization: AWS4-HMAC-SHA256 Credential=test/20261130/us-east-1/events/aws4_request, \
         SignedHeaders=host, Signature=00\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
    serde_json::from_str(body).unwrap()
}

/// A deployed rule.
struct Rule {
    port: u16,
    pattern: String,
}

impl Rule {
    fn of(port: u16, stack: &Stack, name: &str) -> Self {
        let rule = stack.resource(name).unwrap();
        let found = events(port, "DescribeRule", &json!({"Name": rule}));
        assert_eq!(
            found["State"], "ENABLED_WITH_ALL_CLOUDTRAIL_MANAGEMENT_EVENTS",
            "reads are told only then"
        );
        Self {
            port,
            pattern: found["EventPattern"].as_str().unwrap().to_owned(),
        }
    }

    /// Whether the rule tells of a call.
    fn tells(&self, source: &str, call: &Value) -> bool {
        let event = json!({
            "id": "1", "account": "000000000000", "source": source, "region": "us-east-1",
            "time": "2026-11-30T00:00:00Z", "resources": [],
            "detail-type": "AWS API Call via CloudTrail", "detail": call,
        });
        let asked = json!({"EventPattern": self.pattern, "Event": event.to_string()});
        events(self.port, "TestEventPattern", &asked)["Result"]
            .as_bool()
            .unwrap()
    }
}

/// Somebody who took a role.
fn role(name: &str) -> Value {
    let arn = format!("arn:aws:iam::000000000000:role/{name}");
    json!({"type": "AssumedRole", "sessionContext": {"sessionIssuer": {"arn": arn}}})
}

#[test]
fn rules_tell_of_refused_calls_and_of_others_with_our_credentials() {
    let folder = tempfile::tempdir().unwrap();
    let emulator = Emulator::start(&Options::default()).unwrap();
    let stack = Stack::deploy(&emulator.endpoint(), &request("trail", folder.path())).unwrap();
    let ours = |name: &str| role(stack.resource(name).unwrap());
    let (admin, user) = (role("Administrator"), json!({"type": "IAMUser"}));

    let refused = Rule::of(emulator.port(), &stack, "RefusedCall");
    let call = |who: &Value, error: &str| json!({"eventName": "GetObject", "errorCode": error, "userIdentity": who});
    for name in ["ReviewerRole", "CollectorRole", "MinterWriteRole"] {
        assert!(
            refused.tells("aws.s3", &call(&ours(name), "AccessDenied")),
            "{name}"
        );
    }
    let reviewer = ours("ReviewerRole");
    assert!(refused.tells("aws.dynamodb", &call(&reviewer, "AccessDeniedException")));
    assert!(!refused.tells("aws.s3", &call(&reviewer, "NoSuchKey")));
    assert!(!refused.tells("aws.s3", &call(&admin, "AccessDenied")));

    let used = Rule::of(emulator.port(), &stack, "AppKeyUsed");
    let key = stack.output("AppKeyArn").unwrap();
    let call = |name: &str, who: &Value, key: &str| json!({"eventName": name, "resources": [{"ARN": key}], "userIdentity": who});
    assert!(!used.tells("aws.kms", &call("Sign", &ours("MinterReadRole"), key)));
    for who in [&admin, &user, &ours("CollectorRole")] {
        assert!(used.tells("aws.kms", &call("Sign", who, key)), "{who}");
    }
    assert!(used.tells("aws.kms", &call("PutKeyPolicy", &user, key)));
    assert!(!used.tells("aws.kms", &call("DescribeKey", &user, key)));
    let other = "arn:aws:kms:us-east-1:000000000000:key/another";
    assert!(!used.tells("aws.kms", &call("Sign", &user, other)));

    let read = Rule::of(emulator.port(), &stack, "SecretRead");
    let call = |who: &Value, secret: &str| json!({"eventName": "GetSecretValue", "requestParameters": {"secretId": secret}, "userIdentity": who});
    let model_key = stack.output("ModelKeyArn").unwrap();
    assert!(!read.tells("aws.secretsmanager", &call(&reviewer, model_key)));
    assert!(read.tells("aws.secretsmanager", &call(&admin, model_key)));
    // By its name, without the six letters that end its address.
    let (address, _) = model_key.rsplit_once('-').unwrap();
    let name = address.rsplit(':').next().unwrap();
    assert!(read.tells("aws.secretsmanager", &call(&user, name)));
    assert!(!read.tells("aws.secretsmanager", &call(&user, "payroll")));
    // It has no secret to read.
    assert!(read.tells("aws.secretsmanager", &call(&ours("SweeperRole"), model_key)));
}
