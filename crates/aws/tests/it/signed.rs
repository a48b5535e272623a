//! Signed addresses: what a reviewer may do with them, and what nobody may.

use std::time::Duration;

use aws_credential_types::Credentials;
use mirilla_aws::{BucketClient, S3Artifacts, SignedArtifacts, SignedError};
use mirilla_contract::sample;
use mirilla_domain::ids::{AttemptNo, JobId};
use mirilla_domain::snapshot::{Keys, StoredObject};
use mirilla_http::{Client, ClientSettings, Method, Request, StatusCode, header};
use mirilla_localaws::Options;
use mirilla_ports::artifacts::{Grant, Right};
use mirilla_ports::{ArtifactError, Artifacts as _, GrantObjects as _, Grants};

use crate::stub::{Say, Stub};
use crate::support::{BUCKET, World, clock};

const HOUR: Duration = Duration::from_secs(3600);

/// A bucket whose signatures and rights are checked, a reviewer's client of it, and one without rules.
struct Signing {
    _world: World,
    store: S3Artifacts,
    client: BucketClient,
    anyone: Client,
}

impl Signing {
    async fn start() -> Self {
        let options = Options {
            auth: true,
            ..Options::default()
        };
        let world = World::start_with(&options).await;
        let store = world.artifacts().await;
        let client = BucketClient::new(&world.aws, BUCKET).unwrap();
        let anyone = Client::new(ClientSettings {
            allow_plain_loopback: true,
            ..ClientSettings::new([client.host()], "test")
        });
        Self {
            _world: world,
            store,
            client,
            anyone: anyone.unwrap(),
        }
    }

    async fn grants(&self, objects: &[(String, Right)], valid: Duration) -> Grants {
        self.store.grant(objects, valid).await.unwrap().unwrap()
    }

    fn with(&self, grants: Grants) -> SignedArtifacts {
        SignedArtifacts::new(self.client.clone(), grants, clock())
    }

    async fn status(&self, method: Method, url: &str, condition: bool) -> StatusCode {
        let request = Request::new(method, url.parse().unwrap()).body("text/plain", "planted");
        let request = if condition {
            request.header(header::IF_NONE_MATCH, "*")
        } else {
            request
        };
        self.anyone.send(request).await.unwrap().status()
    }
}

fn id(head: char) -> JobId {
    sample::job(head, sample::at(0)).id
}

/// The rights of one review, as the collector asks for them.
fn rights(job: &JobId) -> Vec<(String, Right)> {
    let findings = Keys::findings(job, AttemptNo::FIRST);
    vec![
        (Keys::meta(job), Right::Read),
        (Keys::diff(job), Right::Read),
        (Keys::progress(job), Right::Read),
        (Keys::progress(job), Right::Replace),
        (Keys::run(job, AttemptNo::FIRST), Right::Replace),
        (findings.clone(), Right::Read),
        (findings, Right::Create),
    ]
}

fn url_of(grants: &Grants, key: &str, right: Right) -> String {
    let mut all = grants.grants.iter();
    let grant = all.find(|it| it.key == key && it.right == right);
    grant.unwrap().url.clone()
}

fn reason<T: std::fmt::Debug>(outcome: Result<T, ArtifactError>) -> SignedError {
    match outcome.unwrap_err() {
        ArtifactError::Unavailable { source, .. } => *source.downcast().unwrap(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn reviewer_does_its_work_with_addresses_alone() {
    let signing = Signing::start().await;
    let job = id('a');
    let diff = signing
        .store
        .put(&Keys::diff(&job), b"0123456789")
        .await
        .unwrap();
    signing.store.put(&Keys::meta(&job), b"{}").await.unwrap();
    let review = signing.with(signing.grants(&rights(&job), HOUR).await);

    // In the order of a review: is it done, what is there, what was done before.
    let findings = Keys::findings(&job, AttemptNo::FIRST);
    assert!(review.list(&findings).await.unwrap().is_empty());
    assert_eq!(review.get(&Keys::meta(&job), 2).await.unwrap(), b"{}");
    assert_eq!(review.get(&diff.key, 10).await.unwrap(), b"0123456789");
    let large = review.get(&diff.key, 9).await;
    assert!(
        matches!(large, Err(ArtifactError::TooLarge { limit: 9, .. })),
        "{large:?}"
    );
    let progress = Keys::progress(&job);
    let missing = review.get(&progress, 100).await;
    assert!(
        matches!(missing, Err(ArtifactError::NotFound { .. })),
        "{missing:?}"
    );
    for text in [&b"one"[..], b"", b"three"] {
        let stored = review.put(&progress, text).await.unwrap();
        assert_eq!(usize::try_from(stored.size_bytes).unwrap(), text.len());
        assert!(!stored.etag.is_empty());
        assert_eq!(review.get(&progress, 100).await.unwrap(), text);
        assert_eq!(review.list(&progress).await.unwrap(), [progress.as_str()]);
    }

    // The findings are written once, and are there for the next try.
    let stored = review.put_new(&findings, b"first").await.unwrap();
    assert_eq!(
        stored,
        signing
            .store
            .put("twin", b"first")
            .await
            .map(|twin| StoredObject {
                key: findings.clone(),
                ..twin
            })
            .unwrap()
    );
    let again = review.put_new(&findings, b"second").await;
    assert!(
        matches!(again, Err(ArtifactError::Exists { .. })),
        "{again:?}"
    );
    assert_eq!(signing.store.get(&findings, 100).await.unwrap(), b"first");
    assert_eq!(review.list(&findings).await.unwrap(), [findings.as_str()]);
    let below = review.list(&Keys::snapshot(&job)).await.unwrap();
    assert_eq!(below, [Keys::diff(&job), Keys::meta(&job)]);
}

#[tokio::test]
async fn ranges_are_of_exactly_the_object_that_was_collected() {
    let signing = Signing::start().await;
    let job = id('a');
    let diff = signing
        .store
        .put(&Keys::diff(&job), b"0123456789")
        .await
        .unwrap();
    let review = signing.with(signing.grants(&rights(&job), HOUR).await);
    for (offset, length, want) in [
        (0, 4, "0123"),
        (8, 4, "89"),
        (9, 1, "9"),
        (10, 4, ""),
        (99, 4, ""),
        (3, 0, ""),
        (0, u64::MAX, "0123456789"),
    ] {
        let range = review.get_range(&diff, offset, length).await.unwrap();
        assert_eq!(range, want.as_bytes(), "{length} from {offset}");
    }
    signing
        .store
        .put(&Keys::diff(&job), b"9876543210")
        .await
        .unwrap();
    let changed = review.get_range(&diff, 0, 4).await;
    assert!(
        matches!(changed, Err(ArtifactError::Changed { .. })),
        "{changed:?}"
    );
}

#[tokio::test]
async fn what_is_not_granted_is_refused_before_it_is_sent() {
    let stub = Stub::start(Vec::new());
    let aws = stub.aws().await;
    let store = S3Artifacts::new(aws.s3(), BUCKET, clock());
    let grants = store.grant(&rights(&id('a')), HOUR).await.unwrap().unwrap();
    let client = BucketClient::new(&aws, BUCKET).unwrap();
    let review = SignedArtifacts::new(client.clone(), grants.clone(), clock());
    let (mine, others) = (Keys::diff(&id('a')), Keys::diff(&id('b')));
    for (outcome, what) in [
        (review.get(&others, 10).await.map(drop), "read"),
        (review.put(&mine, b"x").await.map(drop), "replace"),
        (
            review
                .put_new(&Keys::progress(&id('a')), b"x")
                .await
                .map(drop),
            "create",
        ),
        (review.list("findings/none").await.map(drop), "read"),
    ] {
        let reason = reason(outcome);
        assert!(
            matches!(reason, SignedError::NotGranted { what: it } if it == what),
            "{reason:?}"
        );
    }
    let unsupported = reason(review.delete("snapshots/").await);
    assert!(matches!(unsupported, SignedError::Unsupported(_)));
    let unsupported = reason(review.writer(&mine, 10).await.map(drop));
    assert!(matches!(unsupported, SignedError::Unsupported(_)));
    for key in ["", "../x", "a//b"] {
        assert!(review.get(key, 1).await.is_err() && review.put(key, b"").await.is_err());
    }

    // An address that leads elsewhere is not followed either.
    for url in [
        "https://evil.example/x",
        "http://127.0.0.1:1/x",
        "not a url",
    ] {
        let grants = Grants {
            grants: vec![Grant {
                key: mine.clone(),
                right: Right::Read,
                url: url.to_owned(),
            }],
            ..grants.clone()
        };
        let astray = SignedArtifacts::new(client.clone(), grants, clock());
        assert!(astray.get(&mine, 10).await.is_err(), "{url}");
    }
    assert!(stub.asked().is_empty(), "nothing was sent");
    let shown = format!("{review:?} {:?}", review.get(&others, 10).await);
    assert!(
        !shown.contains("Signature") && !shown.contains("http"),
        "{shown}"
    );
}

#[tokio::test]
async fn address_is_good_for_its_object_and_its_right_alone() {
    let signing = Signing::start().await;
    let (job, other) = (id('a'), id('b'));
    for job in [&job, &other] {
        signing.store.put(&Keys::diff(job), b"diff").await.unwrap();
    }
    let grants = signing.grants(&rights(&job), HOUR).await;
    let read = url_of(&grants, &Keys::diff(&job), Right::Read);
    let replace = url_of(&grants, &Keys::progress(&job), Right::Replace);
    let findings = Keys::findings(&job, AttemptNo::FIRST);
    let create = url_of(&grants, &findings, Right::Create);

    // Each refusal has its control: the same address as it was signed.
    assert_eq!(signing.status(Method::GET, &read, false).await, 200);
    assert_eq!(signing.status(Method::PUT, &replace, false).await, 200);
    let elsewhere = |url: &str| url.replace(job.as_str(), other.as_str());
    let longer = read.replace("X-Amz-Expires=3600", "X-Amz-Expires=360000");
    let (before, signature) = read.split_once("X-Amz-Signature=").unwrap();
    let turned: String = signature.chars().rev().collect();
    let forged = format!("{before}X-Amz-Signature={turned}");
    assert!(longer != read && forged != read);
    for (what, method, url, condition) in [
        ("another job's diff", Method::GET, elsewhere(&read), false),
        (
            "another job's progress",
            Method::PUT,
            elsewhere(&replace),
            false,
        ),
        (
            "another job's findings",
            Method::PUT,
            elsewhere(&create),
            true,
        ),
        (
            "a write with a right to read",
            Method::PUT,
            read.clone(),
            false,
        ),
        ("a deletion", Method::DELETE, replace.clone(), false),
        (
            "findings without the condition",
            Method::PUT,
            create.clone(),
            false,
        ),
        ("a longer life", Method::GET, longer, false),
        ("another signature", Method::GET, forged, false),
    ] {
        let status = signing.status(method, &url, condition).await;
        assert_eq!(status, 403, "{what}");
    }
    assert_eq!(signing.status(Method::PUT, &create, true).await, 200);
    assert_eq!(
        signing.status(Method::PUT, &create, true).await,
        412,
        "once"
    );
    assert_eq!(signing.store.get(&findings, 100).await.unwrap(), b"planted");
    assert_eq!(
        signing.store.get(&Keys::diff(&other), 100).await.unwrap(),
        b"diff"
    );

    // The adapter says what happened, and nothing of the address.
    let tampered = Grants {
        grants: vec![Grant {
            key: Keys::diff(&job),
            right: Right::Read,
            url: elsewhere(&read),
        }],
        ..grants
    };
    let error = signing
        .with(tampered)
        .get(&Keys::diff(&job), 10)
        .await
        .unwrap_err();
    assert!(!SignedError::is_expiry(&error));
    let reason = reason::<()>(Err(error));
    assert!(
        matches!(reason, SignedError::Refused { status: 403, .. }),
        "{reason:?}"
    );
}

#[tokio::test]
async fn address_of_a_record_writes_that_record_and_nothing_else() {
    let signing = Signing::start().await;
    let (job, other) = (id('a'), id('b'));
    let (first, second) = (AttemptNo::FIRST, AttemptNo::FIRST.next());
    let record = Keys::run(&job, first);
    let grants = signing.grants(&rights(&job), HOUR).await;
    let mut of_record = grants.grants.iter().filter(|grant| grant.key == record);
    let granted = of_record.next().unwrap();
    assert!(granted.right == Right::Replace && of_record.next().is_none());
    let address = granted.url.clone();

    // The control: as it was signed it writes, and again after a reviewer that died.
    for _ in 0..2 {
        assert_eq!(signing.status(Method::PUT, &address, false).await, 200);
    }
    let before = signing.store.list("").await.unwrap();
    assert_eq!(before, [record.as_str()]);
    let at = |key: &str| {
        assert!(address.contains(&record), "the address names its key");
        address.replace(&record, key)
    };
    for (method, key) in [
        (Method::PUT, Keys::run(&other, first)),
        (Method::PUT, Keys::run(&job, second)),
        (Method::PUT, Keys::progress(&job)),
        (Method::PUT, Keys::findings(&job, first)),
        (Method::PUT, Keys::diff(&job)),
        (Method::PUT, Keys::kept(&job, first, "run.json")),
        (Method::GET, record.clone()),
        (Method::HEAD, record.clone()),
        (Method::DELETE, record.clone()),
    ] {
        let status = signing.status(method.clone(), &at(&key), false).await;
        assert_eq!(status, 403, "{method} {key}");
    }
    assert_eq!(signing.store.list("").await.unwrap(), before);

    // The adapter does not even send what the right does not cover.
    let review = signing.with(grants);
    review.put(&record, b"a record").await.unwrap();
    for (outcome, what) in [
        (review.get(&record, 100).await.map(drop), "read"),
        (review.put_new(&record, b"x").await.map(drop), "create"),
        (
            review.put(&Keys::run(&job, second), b"x").await.map(drop),
            "replace",
        ),
        (
            review.put(&Keys::run(&other, first), b"x").await.map(drop),
            "replace",
        ),
    ] {
        let reason = reason(outcome);
        assert!(
            matches!(reason, SignedError::NotGranted { what: it } if it == what),
            "{reason:?}"
        );
    }
    let stored = signing.store.get(&record, 100).await.unwrap();
    assert_eq!(stored, b"a record");
}

#[tokio::test]
async fn expired_address_says_so() {
    let signing = Signing::start().await;
    let job = id('a');
    signing.store.put(&Keys::diff(&job), b"diff").await.unwrap();
    let review = signing.with(signing.grants(&rights(&job), Duration::from_secs(1)).await);
    tokio::time::sleep(Duration::from_millis(2100)).await;
    let error = review.get(&Keys::diff(&job), 10).await.unwrap_err();
    assert!(SignedError::is_expiry(&error), "{error:?}");
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "the signed address has expired");
    let error = review.put(&Keys::progress(&job), b"x").await.unwrap_err();
    assert!(SignedError::is_expiry(&error), "{error:?}");
}

#[tokio::test]
async fn answers_of_s3_are_told_apart() {
    let get = async |script: Vec<Say>| {
        let stub = Stub::start(script);
        let aws = stub.aws().await;
        let store = S3Artifacts::new(aws.s3(), BUCKET, clock());
        let grants = store.grant(&rights(&id('a')), HOUR).await.unwrap().unwrap();
        let client = BucketClient::new(&aws, BUCKET).unwrap();
        let review = SignedArtifacts::new(client, grants, clock());
        let outcome = review.get(&Keys::diff(&id('a')), 10).await;
        (outcome, stub.asked().len())
    };
    let text = || Say::Answer(200, ("etag", "\"x\""), "diff".to_owned());
    let (outcome, asked) = get(vec![Say::s3(503, "SlowDown"), Say::Nothing, text()]).await;
    assert_eq!(
        (outcome.unwrap(), asked),
        (b"diff".to_vec(), 3),
        "tried again"
    );
    let (outcome, asked) = get((0..9).map(|_| Say::s3(500, "InternalError")).collect()).await;
    assert_eq!(asked, 4, "bounded");
    let kind = reason(outcome);
    assert!(
        matches!(kind, SignedError::Unexpected { status: 500, .. }),
        "{kind:?}"
    );
    for say in [
        Say::s3_saying(403, "AccessDenied", "Request has expired"),
        Say::s3(400, "ExpiredToken"),
    ] {
        let (outcome, asked) = get(vec![say]).await;
        assert_eq!(asked, 1);
        assert!(SignedError::is_expiry(&outcome.unwrap_err()));
    }
    let (outcome, _) = get(vec![Say::s3(403, "<script>\u{1b}[31m")]).await;
    let text = reason(outcome).to_string();
    assert_eq!(text, "the signed address was refused (403 script31m)");
}

#[tokio::test]
async fn host_is_the_one_that_addresses_are_signed_for() {
    for region in ["us-east-1", "eu-central-1", "us-gov-west-1", "cn-north-1"] {
        let config = aws_config::SdkConfig::builder()
            .behavior_version(aws_config::BehaviorVersion::latest())
            .region(aws_config::Region::new(region))
            .credentials_provider(aws_sdk_s3::config::SharedCredentialsProvider::new(
                Credentials::new("AKIDMADEUP", "made-up-secret", None, None, "test"),
            ))
            .build();
        let aws = mirilla_aws::Aws::over(config).unwrap();
        let store = S3Artifacts::new(aws.s3(), "mirilla-artifacts-1a2b", clock());
        let objects = [("findings/a/1.json".to_owned(), Right::Create)];
        let grants = store.grant(&objects, HOUR).await.unwrap().unwrap();
        let url: url::Url = grants.grants[0].url.parse().unwrap();
        let client = BucketClient::new(&aws, "mirilla-artifacts-1a2b").unwrap();
        assert_eq!(url.host_str().unwrap(), client.host());
        assert_eq!(url.scheme(), "https");
        let signed = url
            .query_pairs()
            .find(|(name, _)| name == "X-Amz-SignedHeaders");
        assert_eq!(signed.unwrap().1, "host;if-none-match");
        let names: Vec<_> = url
            .query_pairs()
            .map(|(name, _)| name.into_owned())
            .collect();
        assert!(!names.iter().any(|it| it.contains("checksum")), "{names:?}");
    }
}
