//! Floods of bad signatures, and rotation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use mirilla_contract::{ManualClock, sample};
use mirilla_domain::ids::{DeliveryId, Forge, JobId, PullRequestRef, Timestamp};
use mirilla_domain::job::{Claim, Job, JobState, PullRequestRecord};
use mirilla_domain::webhook::{
    GRACE_GITHUB_COM, GitlabSecrets, HookSecrets, PreviousSecret, Secrets, WebhookSecret,
    sign_github, sign_gitlab,
};
use mirilla_ports::ledger::{Claimed, Recorded, Transaction};
use mirilla_ports::message::Message;
use mirilla_ports::queue::QueueName;
use mirilla_ports::{
    Clock as _, Ledger, LedgerError, QueueError, QueueSend, SecretsError, WebhookSecrets,
};
use mirilla_stages::intake::{
    IncomingWebhook, IntakeAnswer, IntakePorts, IntakeSettings, SecretCache, intake,
};

use super::world::{block_on, head, payload, request};

/// Stores that nobody may touch.
struct Untouchable;

#[async_trait]
impl Ledger for Untouchable {
    async fn job(&self, _: &JobId) -> Result<Option<Job>, LedgerError> {
        panic!("the ledger was read")
    }

    async fn pull_request(
        &self,
        _: &PullRequestRef,
    ) -> Result<Option<PullRequestRecord>, LedgerError> {
        panic!("the ledger was read")
    }

    async fn has_delivery(&self, _: Forge, _: &DeliveryId) -> Result<bool, LedgerError> {
        panic!("the ledger was read")
    }

    async fn commit(&self, _: Transaction) -> Result<Recorded, LedgerError> {
        panic!("the ledger was written")
    }

    async fn claim(
        &self,
        _: &JobId,
        _: &[JobState],
        _: Claim,
        _: Timestamp,
    ) -> Result<Claimed, LedgerError> {
        panic!("the ledger was written")
    }

    async fn unfinished(&self, _: Timestamp, _: usize) -> Result<Vec<Job>, LedgerError> {
        panic!("the ledger was read")
    }

    async fn touched(&self, _: Timestamp, _: usize) -> Result<Vec<PullRequestRecord>, LedgerError> {
        panic!("the ledger was read")
    }
}

#[async_trait]
impl QueueSend for Untouchable {
    async fn send(&self, _: QueueName, _: &Message, _: Duration) -> Result<(), QueueError> {
        panic!("something was sent")
    }
}

/// A secret store that counts and can be changed or broken.
struct Store {
    secrets: std::sync::Mutex<Option<HookSecrets>>,
    reads: AtomicU32,
}

#[async_trait]
impl WebhookSecrets for Store {
    async fn fetch(&self) -> Result<HookSecrets, SecretsError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        let secrets = self.secrets.lock().unwrap().clone();
        secrets.ok_or_else(|| SecretsError {
            place: "the test's store".to_owned(),
            source: "it is closed".into(),
        })
    }
}

struct Door {
    store: Arc<Store>,
    cache: SecretCache,
    clock: ManualClock,
}

fn secret(text: &str) -> WebhookSecret {
    WebhookSecret::parse(text).unwrap()
}

fn only(text: &str) -> Secrets {
    Secrets {
        current: secret(text),
        previous: None,
        grace: GRACE_GITHUB_COM,
    }
}

impl Door {
    fn new() -> Self {
        Self::of(only("first"))
    }

    fn of(secrets: impl Into<HookSecrets>) -> Self {
        let store = Arc::new(Store {
            secrets: std::sync::Mutex::new(Some(secrets.into())),
            reads: AtomicU32::new(0),
        });
        let clock = ManualClock::at(sample::at(1_000));
        let source: Arc<dyn WebhookSecrets> = Arc::<Store>::clone(&store);
        let cache = block_on(SecretCache::open(source, clock.now())).unwrap();
        Self {
            store,
            cache,
            clock,
        }
    }

    fn reads(&self) -> u32 {
        self.store.reads.load(Ordering::SeqCst)
    }

    fn set(&self, secrets: Option<impl Into<HookSecrets>>) {
        *self.store.secrets.lock().unwrap() = secrets.map(Into::into);
    }

    /// Sends something that is ignored if it is believed, so that no store is needed.
    fn knock(&self, signature: Option<&str>) -> IntakeAnswer {
        self.take(&request("push", "d-1", b"{}".to_vec(), signature))
    }

    fn take(&self, http: &IncomingWebhook) -> IntakeAnswer {
        let ports = IntakePorts {
            ledger: &Untouchable,
            queue: &Untouchable,
            secrets: &self.cache,
            clock: &self.clock,
        };
        let settings = IntakeSettings::new(["acme"]).unwrap();
        block_on(intake(ports, &settings, http))
    }

    fn knock_with(&self, text: &str) -> u16 {
        self.knock(Some(&sign_github(&secret(text), b"{}"))).status
    }
}

#[test]
fn thousand_unsigned_requests_cost_no_write_and_one_secret_read() {
    let door = Door::new();
    let wrong = format!("sha256={}", "0".repeat(64));
    for number in 0..1000 {
        let signature = match number % 4 {
            0 => None,
            1 => Some("sha256=short"),
            2 => Some("sha1=0000000000000000000000000000000000000000"),
            _ => Some(wrong.as_str()),
        };
        let answer = door.knock(signature);
        assert_eq!(
            (answer.status, answer.text.as_str()),
            (401, "bad signature")
        );
    }
    assert_eq!(door.reads(), 1, "the one at the start");
}

#[test]
fn unsigned_bodies_are_not_parsed_and_say_nothing_about_themselves() {
    let door = Door::new();
    let ports = IntakePorts {
        ledger: &Untouchable,
        queue: &Untouchable,
        secrets: &door.cache,
        clock: &door.clock,
    };
    let settings = IntakeSettings::new(["acme"]).unwrap();
    for body in [
        serde_json::to_vec(&payload("opened", &head('a'))).unwrap(),
        b"not json".to_vec(),
        Vec::new(),
    ] {
        let http = request("pull_request", "d-1", body, None);
        let answer = block_on(intake(ports, &settings, &http));
        assert_eq!(
            (answer.status, answer.text.as_str()),
            (401, "bad signature")
        );
        assert!(answer.delivery.is_none());
    }
}

#[test]
fn bad_signature_reads_the_secret_again_at_most_once_a_minute() {
    let door = Door::new();
    let minute = Duration::from_secs(60);
    for round in 0..5 {
        for _ in 0..100 {
            assert_eq!(door.knock_with("wrong"), 401);
        }
        assert_eq!(door.reads(), 1 + round);
        door.clock.pass(minute);
    }
    for _ in 0..100 {
        assert_eq!(door.knock(None).status, 401);
        assert_eq!(door.knock(Some("sha256=zz")).status, 401);
    }
    assert_eq!(door.reads(), 5, "what no secret could sign reads none");
}

#[test]
fn rotation_drops_nothing_and_a_leaked_secret_ends() {
    let door = Door::new();
    assert_eq!(door.knock_with("first"), 200);
    door.clock.pass(Duration::from_secs(61));
    door.set(Some(Secrets {
        current: secret("second"),
        previous: Some(PreviousSecret {
            secret: secret("first"),
            replaced_at: door.clock.now(),
        }),
        grace: GRACE_GITHUB_COM,
    }));
    assert_eq!(door.knock_with("second"), 200, "read again because of it");
    assert_eq!(door.knock_with("first"), 200, "still on its way");
    door.clock.pass(GRACE_GITHUB_COM);
    assert_eq!(door.knock_with("first"), 401);
    assert_eq!(door.knock_with("second"), 200);
}

#[test]
fn gitlabs_key_that_is_stored_later_is_learnt_from_what_is_signed_with_it() {
    let token = || only("made-up-token");
    let door = Door::of(GitlabSecrets::with_token(token(), None));
    let key = || WebhookSecret::parse_signing_token(&format!("whsec_{}", "QUJD".repeat(8)));
    let signed = || {
        let stamp = door.clock.now().get() / 1_000;
        let body = br#"{"object_kind":"push"}"#;
        let headers = [
            ("x-gitlab-event", "Push Hook".to_owned()),
            ("webhook-id", "made-up-id".to_owned()),
            ("webhook-timestamp", stamp.to_string()),
            (
                "webhook-signature",
                sign_gitlab(&key().unwrap(), "made-up-id", stamp, body),
            ),
        ];
        let http = IncomingWebhook::from_parts(Forge::Gitlab, headers, body.to_vec(), false);
        door.take(&http.unwrap()).status
    };
    assert_eq!(signed(), 401);
    door.clock.pass(Duration::from_secs(61));
    let signing = Secrets {
        current: key().unwrap(),
        ..token()
    };
    door.set(Some(GitlabSecrets::with_token(token(), Some(signing))));
    assert_eq!(signed(), 200, "read again because of it");
}

#[test]
fn replaced_secret_is_not_believed_for_ever_without_a_new_one_in_use() {
    let door = Door::new();
    door.set(Some(only("second")));
    door.clock.pass(Duration::from_secs(14 * 60));
    assert_eq!(door.knock_with("first"), 200);
    door.clock.pass(Duration::from_secs(60));
    assert_eq!(door.knock_with("first"), 401);
}

#[test]
fn store_that_fails_leaves_the_known_secret_and_is_reported() {
    let door = Door::new();
    door.set(None::<HookSecrets>);
    door.clock.pass(Duration::from_secs(20 * 60));
    let answer = door.knock(Some(&sign_github(&secret("first"), b"{}")));
    assert_eq!(answer.status, 200);
    let failure = answer.failure.expect("somebody must look at the store");
    assert!(failure.to_string().contains("the test's store"));
    assert_eq!(door.knock_with("first"), 200);
    assert_eq!(door.reads(), 2, "a failing store is not asked by everyone");
}

#[test]
fn missing_secret_stops_the_start() {
    let store = Store {
        secrets: std::sync::Mutex::new(None),
        reads: AtomicU32::new(0),
    };
    let error = block_on(SecretCache::open(Arc::new(store), sample::at(0))).unwrap_err();
    assert!(error.to_string().contains("the test's store"));
}
