//! One pull request, local stores, and a forge's side of a webhook.

use std::sync::Arc;
use std::time::Duration;

use mirilla_contract::{ManualClock, sample};
use mirilla_domain::ids::{Forge, JobId};
use mirilla_domain::job::{Job, JobState, PostedHead, PullRequestRecord};
use mirilla_domain::webhook::{GRACE_GITHUB_COM, Secrets, WebhookSecret, sign_github};
use mirilla_local::{DataDir, LocalLedger, LocalQueue};
use mirilla_ports::ledger::{Recorded, Transaction};
use mirilla_ports::message::Message;
use mirilla_ports::queue::QueueName;
use mirilla_ports::{Clock as _, Ledger, Queue as _, QueueSend};
use mirilla_stages::intake::{
    FixedSecrets, IncomingWebhook, IntakeAnswer, IntakePorts, IntakeSettings, SecretCache, intake,
};
use serde_json::{Value, json};

/// Runs a future that never waits: all local stores are synchronous inside.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

pub(crate) const SECRET: &str = "case-secret-not-real";

pub(crate) fn secret() -> WebhookSecret {
    WebhookSecret::parse(SECRET).unwrap()
}

pub(crate) fn fixed_secrets() -> SecretCache {
    let secrets = Secrets {
        current: secret(),
        previous: None,
        grace: GRACE_GITHUB_COM,
    };
    block_on(SecretCache::open(
        Arc::new(FixedSecrets(secrets.into())),
        sample::at(0),
    ))
    .unwrap()
}

/// A payload of `pull_request`.
pub(crate) fn payload(action: &str, head: &str) -> Value {
    json!({
        "action": action,
        "number": 7,
        "pull_request": {"head": {"sha": head, "repo": null}, "base": {"ref": "main"}},
        "repository": {"id": 2, "full_name": "acme/shop"},
        "installation": {"id": 31},
        "sender": {"login": "human-1", "type": "User"},
    })
}

/// Returns a head made of one hex digit.
pub(crate) fn head(digit: char) -> String {
    sample::sha(digit).to_string()
}

/// A signed request.
pub(crate) fn signed(event: &str, id: &str, body: &Value) -> IncomingWebhook {
    let body = serde_json::to_vec(body).unwrap();
    let signature = sign_github(&secret(), &body);
    request(event, id, body, Some(&signature))
}

pub(crate) fn request(
    event: &str,
    id: &str,
    body: Vec<u8>,
    signature: Option<&str>,
) -> IncomingWebhook {
    let mut headers = vec![
        ("X-GitHub-Event", event.to_owned()),
        ("X-GitHub-Delivery", id.to_owned()),
        ("Content-Type", "application/json".to_owned()),
    ];
    headers.extend(signature.map(|it| ("X-Hub-Signature-256", it.to_owned())));
    IncomingWebhook::from_parts(Forge::Github, headers, body, false).unwrap()
}

pub(crate) struct World {
    pub(crate) ledger: LocalLedger,
    pub(crate) queue: LocalQueue,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) secrets: SecretCache,
    pub(crate) settings: IntakeSettings,
    pub(crate) data: DataDir,
    _temp: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let data = DataDir::create(temp.path()).unwrap();
        let clock = Arc::new(ManualClock::at(sample::at(1_000_000)));
        let shared = Arc::<ManualClock>::clone(&clock);
        Self {
            ledger: LocalLedger::open(&data.ledger()).unwrap(),
            queue: LocalQueue::open(&data.queue(), shared).unwrap(),
            clock,
            secrets: fixed_secrets(),
            settings: IntakeSettings::new(["Acme"]).unwrap(),
            data,
            _temp: temp,
        }
    }

    pub(crate) fn ports<'a>(
        &'a self,
        ledger: &'a dyn Ledger,
        queue: &'a dyn QueueSend,
    ) -> IntakePorts<'a> {
        IntakePorts {
            ledger,
            queue,
            secrets: &self.secrets,
            clock: &*self.clock,
        }
    }

    pub(crate) fn take(&self, http: &IncomingWebhook) -> IntakeAnswer {
        let ports = self.ports(&self.ledger, &self.queue);
        block_on(intake(ports, &self.settings, http))
    }

    /// Delivers an action for a head under an id; returns status and text. Another id is another
    /// event, so it has another body, as the forge's times make sure.
    pub(crate) fn deliver(&self, id: &str, action: &str, head: &str) -> (u16, String) {
        let mut body = payload(action, head);
        body["pull_request"]["updated_at"] = json!(format!("at the time of {id}"));
        let answer = self.take(&signed("pull_request", id, &body));
        (answer.status, answer.text)
    }

    pub(crate) fn job(&self, id: &JobId) -> Job {
        block_on(self.ledger.job(id)).unwrap().unwrap()
    }

    /// Returns every job that was not finished.
    pub(crate) fn open_jobs(&self) -> Vec<Job> {
        block_on(self.ledger.unfinished(sample::at(i64::MAX / 2000), 10_000)).unwrap()
    }

    pub(crate) fn the_job(&self) -> Job {
        let mut jobs = self.open_jobs();
        assert_eq!(jobs.len(), 1, "{jobs:?}");
        jobs.remove(0)
    }

    pub(crate) fn record(&self) -> PullRequestRecord {
        block_on(self.ledger.pull_request(&sample::pull_request(7)))
            .unwrap()
            .unwrap()
    }

    /// Writes a job as a later stage would.
    pub(crate) fn put(&self, job: Job) {
        let transaction = Transaction {
            jobs: vec![job],
            ..Transaction::default()
        };
        assert_eq!(
            block_on(self.ledger.commit(transaction)).unwrap(),
            Recorded::New
        );
    }

    pub(crate) fn end(&self, id: &JobId, state: JobState) {
        let job = self.job(id);
        self.put(Job {
            state,
            claim: None,
            ..job
        });
    }

    /// Ends a job as the poster does.
    pub(crate) fn post(&self, id: &JobId) {
        let job = self.job(id);
        let mut record = self.record();
        record.last_posted = Some(PostedHead {
            job: id.clone(),
            head: job.key.head.clone(),
            base_ref: job.key.base_ref.clone(),
            merge_base: sample::sha('0'),
            review_id: mirilla_domain::ids::ReviewId::new(1),
        });
        let transaction = Transaction {
            jobs: vec![Job {
                state: JobState::Posted,
                claim: None,
                ..job
            }],
            pull_request: Some(record),
            ..Transaction::default()
        };
        assert_eq!(
            block_on(self.ledger.commit(transaction)).unwrap(),
            Recorded::New
        );
    }

    /// Receives every message that is visible, now or within a day; returns whose they are.
    pub(crate) fn drain(&self) -> Vec<JobId> {
        self.clock.pass(Duration::from_secs(24 * 60 * 60));
        let mut jobs = Vec::new();
        while let Some(received) =
            block_on(self.queue.receive(QueueName::Collect, Duration::ZERO)).unwrap()
        {
            let message: Message = serde_json::from_str(&received.body).unwrap();
            jobs.push(message.job().clone());
            block_on(self.queue.delete(QueueName::Collect, &received.receipt)).unwrap();
        }
        jobs
    }

    pub(crate) fn now(&self) -> mirilla_domain::ids::Timestamp {
        self.clock.now()
    }
}
