//! Clients made from a function's environment, each case in a process of its own.

use std::process::Command;

use mirilla_aws::{Aws, ClientsError, CredentialSource};
use mirilla_localaws::{REGION, TEST_ACCESS_KEY_ID, TEST_SECRET_ACCESS_KEY};

use crate::support::{World, clock};

/// Set in a process that is to connect from its environment; says what must come of it.
const EXPECTED: &str = "MIRILLA_TEST_EXPECTED";

/// Runs this file's test again with exactly these variables.
fn connect(expected: &str, environment: &[(&str, &str)]) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg("clients::clients_are_made_from_the_environment_alone")
        .env_clear()
        .env(EXPECTED, expected)
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{expected}: {text}{errors}");
    assert!(text.contains("connected as expected"), "{text}");
}

async fn run(expected: &str) {
    match (expected, Aws::connect(CredentialSource::Environment).await) {
        ("no region", Err(ClientsError::NoRegion)) => {}
        ("no credentials", Err(ClientsError::NoCredentials(_))) => {}
        ("endpoint", Ok(aws)) => {
            assert_eq!(aws.region(), REGION);
            assert!(aws.endpoint_override().is_some());
            let store = mirilla_aws::S3Artifacts::new(aws.s3(), "made-here", clock());
            aws.s3()
                .create_bucket()
                .bucket("made-here")
                .send()
                .await
                .unwrap();
            mirilla_ports::Artifacts::put(&store, "a", b"x")
                .await
                .unwrap();
            let tables = aws.dynamodb().list_tables().send().await.unwrap();
            assert_eq!(tables.table_names(), ["ledger"]);
        }
        ("aws", Ok(aws)) => assert_eq!(aws.endpoint_override(), None),
        (_, outcome) => panic!("{outcome:?}"),
    }
    println!("connected as expected");
}

#[tokio::test]
async fn clients_are_made_from_the_environment_alone() {
    if let Ok(expected) = std::env::var(EXPECTED) {
        return run(&expected).await;
    }
    let world = World::start().await;
    world.ledger().await;
    let endpoint = world.emulator.endpoint();
    let region = ("AWS_REGION", REGION);
    let key = ("AWS_ACCESS_KEY_ID", TEST_ACCESS_KEY_ID);
    let secret = ("AWS_SECRET_ACCESS_KEY", TEST_SECRET_ACCESS_KEY);
    connect(
        "endpoint",
        &[region, key, secret, ("AWS_ENDPOINT_URL", &endpoint)],
    );
    connect("aws", &[region, key, secret]);
    connect("no region", &[key, secret]);
    connect("no credentials", &[region]);
}
