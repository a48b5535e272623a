//! What each adapter's documentation says a role needs is enough, and what it must not have is not used.

use std::process::Command;

use aws_credential_types::Credentials;
use mirilla_aws::{
    Aws, BucketClient, DynamoHeads, DynamoLedger, DynamoMeter, S3Artifacts, SignedArtifacts,
};
use mirilla_contract::sample;
use mirilla_domain::ids::AttemptNo;
use mirilla_domain::snapshot::Keys;
use mirilla_localaws::{ACCOUNT_ID, Options, REGION, Venv};
use mirilla_ports::artifacts::Right;
use mirilla_ports::{
    ArtifactError, Artifacts as _, Clock as _, GrantObjects as _, Heads as _, HeadsWrite as _,
    Ledger as _,
};
use mirilla_system::SystemClock;
use serde_json::{Value, json};

use crate::support::{BUCKET, HEADS, LEDGER, METER, World, aws, clock};

/// Makes a user with one policy and prints its key.
const MAKE_USER: &str = "
import boto3, json, sys
endpoint, region, name, policy = sys.argv[1:]
iam = boto3.client('iam', endpoint_url=endpoint, region_name=region,
                   aws_access_key_id='test', aws_secret_access_key='test')
iam.create_user(UserName=name)
iam.put_user_policy(UserName=name, PolicyName='only', PolicyDocument=policy)
key = iam.create_access_key(UserName=name)['AccessKey']
print(json.dumps({'id': key['AccessKeyId'], 'secret': key['SecretAccessKey']}))
";

async fn checked() -> World {
    let options = Options {
        auth: true,
        ..Options::default()
    };
    World::start_with(&options).await
}

fn table(name: &str) -> String {
    format!("arn:aws:dynamodb:{REGION}:{ACCOUNT_ID}:table/{name}")
}

/// Returns clients that may do these things, each a list of actions and a resource, and nothing else.
async fn allowed(world: &World, name: &str, rights: &[(&[&str], String)]) -> Aws {
    let statements: Vec<Value> = rights
        .iter()
        .map(|(actions, resource)| json!({"Effect": "Allow", "Action": actions, "Resource": resource}))
        .collect();
    let policy = json!({"Version": "2012-10-17", "Statement": statements});
    let endpoint = world.emulator.endpoint();
    let output = Command::new(Venv::ensure().unwrap().python())
        .args([
            "-c",
            MAKE_USER,
            &endpoint,
            REGION,
            name,
            &policy.to_string(),
        ])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let key: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |name: &str| key[name].as_str().unwrap().to_owned();
    let credentials = Credentials::new(text("id"), text("secret"), None, None, "user");
    aws(&endpoint, credentials).await
}

#[tokio::test]
async fn reviewer_updates_and_gets_on_meter_and_nothing_more() {
    let world = checked().await;
    let sweep = world.meter().await;
    let rights: [(&[&str], _); 1] = [(&["dynamodb:GetItem", "dynamodb:UpdateItem"], table(METER))];
    let reviewer = allowed(&world, "reviewer", &rights).await;
    let meter = DynamoMeter::new(reviewer.dynamodb(), METER, clock());
    mirilla_contract::meter(&meter, &sweep).await;
    mirilla_contract::leases(&meter, &sweep).await;
    // The policy is one: what it does not name is denied.
    let heads = world.heads().await;
    let denied = DynamoHeads::new(reviewer.dynamodb(), HEADS, clock());
    let (pull_request, head) = (sample::pull_request(7), sample::sha('a'));
    let wrote = heads.record(&pull_request, &head, sample::at(1));
    wrote.await.unwrap();
    assert!(denied.newest(&pull_request).await.is_err());
    let deleted = reviewer.dynamodb().delete_item().table_name(METER);
    let pk = aws_sdk_dynamodb::types::AttributeValue::S("purse#x".to_owned());
    assert!(deleted.key("pk", pk).send().await.is_err());
}

#[tokio::test]
async fn sweeper_queries_the_index_and_closes_by_updates() {
    let world = checked().await;
    let root = world.meter().await;
    let rights: [(&[&str], _); 2] = [
        (&["dynamodb:GetItem", "dynamodb:UpdateItem"], table(METER)),
        (
            &["dynamodb:Query"],
            format!("{}/index/expiring", table(METER)),
        ),
    ];
    let sweeper = allowed(&world, "sweeper", &rights).await;
    let sweep = DynamoMeter::new(sweeper.dynamodb(), METER, clock());
    mirilla_contract::meter(&root, &sweep).await;
}

#[tokio::test]
async fn ledger_and_heads_need_get_put_and_query() {
    let world = checked().await;
    world.ledger().await;
    world.heads().await;
    let rights: [(&[&str], _); 2] = [
        (&["dynamodb:GetItem", "dynamodb:PutItem"], table(LEDGER)),
        (&["dynamodb:Query"], format!("{}/index/*", table(LEDGER))),
    ];
    let worker = allowed(&world, "worker", &rights).await;
    let ledger = DynamoLedger::new(worker.dynamodb(), LEDGER, clock());
    mirilla_contract::ledger(&ledger, SystemClock.now()).await;
    mirilla_contract::bookmarks(&ledger).await;
    assert!(
        ledger
            .job(&sample::job('a', sample::at(0)).id)
            .await
            .is_ok()
    );
    let write: [(&[&str], _); 1] = [(&["dynamodb:PutItem"], table(HEADS))];
    let read: [(&[&str], _); 1] = [(&["dynamodb:GetItem"], table(HEADS))];
    let collector = allowed(&world, "collector", &write).await;
    let reviewer = allowed(&world, "reviewer", &read).await;
    let write = DynamoHeads::new(collector.dynamodb(), HEADS, clock());
    let read = DynamoHeads::new(reviewer.dynamodb(), HEADS, clock());
    mirilla_contract::heads(&read, &write).await;
    let (pull_request, head) = (sample::pull_request(1), sample::sha('a'));
    let refused = read.record(&pull_request, &head, sample::at(1)).await;
    assert!(refused.is_err());
}

#[tokio::test]
async fn address_is_worth_what_its_signer_may_do() {
    let world = checked().await;
    world.artifacts().await;
    let objects = |prefix: &str| format!("arn:aws:s3:::{BUCKET}/{prefix}/*");
    let bucket = format!("arn:aws:s3:::{BUCKET}");
    let rights: [(&[&str], _); 3] = [
        (&["s3:GetObject", "s3:PutObject"], objects("work")),
        (&["s3:GetObject", "s3:PutObject"], objects("findings")),
        (&["s3:ListBucket"], bucket),
    ];
    let collector = allowed(&world, "collector", &rights).await;
    let store = S3Artifacts::new(collector.s3(), BUCKET, clock());
    let job = sample::job('a', sample::at(0)).id;
    let findings = Keys::findings(&job, AttemptNo::FIRST);
    let wanted = [
        (Keys::progress(&job), Right::Read),
        (Keys::progress(&job), Right::Replace),
        (findings.clone(), Right::Read),
        (findings.clone(), Right::Create),
        (Keys::diff(&job), Right::Read),
    ];
    let valid = std::time::Duration::from_secs(600);
    let grants = store.grant(&wanted, valid).await.unwrap().unwrap();
    let client = BucketClient::new(&collector, BUCKET).unwrap();
    let review = SignedArtifacts::new(client, grants, clock());
    let missing = review.get(&Keys::progress(&job), 10).await;
    assert!(
        matches!(missing, Err(ArtifactError::NotFound { .. })),
        "{missing:?}"
    );
    review.put(&Keys::progress(&job), b"x").await.unwrap();
    assert_eq!(review.get(&Keys::progress(&job), 10).await.unwrap(), b"x");
    assert!(review.list(&findings).await.unwrap().is_empty());
    review.put_new(&findings, b"{}").await.unwrap();
    let refused = review.get(&Keys::diff(&job), 10).await;
    assert!(
        matches!(refused, Err(ArtifactError::Unavailable { .. })),
        "{refused:?}"
    );
}
