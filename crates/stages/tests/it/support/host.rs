//! One host: stores in a temporary directory, simulated services, one clock for all of them.

#[path = "host/clients.rs"]
mod clients;
#[path = "host/outcome.rs"]
mod outcome;
#[path = "host/reviewing.rs"]
mod reviewing;
#[path = "host/stores.rs"]
mod stores;
#[path = "host/sweeping.rs"]
mod sweeping;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use mirilla_domain::ids::*;
use mirilla_domain::job::{Job, JobKey};
use mirilla_domain::marker::MarkerKey;
use mirilla_domain::money::{PicoUsd, Purse};
use mirilla_domain::redact::Redactor;
use mirilla_domain::settings::OperatorPolicy;
use mirilla_domain::signal::{About, Signal};
use mirilla_domain::snapshot::Keys;
use mirilla_domain::webhook::{GitlabSecrets, HookSecrets, Secrets, WebhookSecret, sign_github};
use mirilla_forge::github::Minter;
use mirilla_forge::{Reader, Writer};
use mirilla_local::{
    DataDir, DirArtifacts, FindingsEvents, LocalHeads, LocalLedger, LocalMeter, LocalQueue,
};
use mirilla_model::{AnthropicModel, AnthropicSettings};
use mirilla_ports::message::Message;
use mirilla_ports::queue::{QueueName, Received};
use mirilla_ports::tokens::{MintRequest, NoToken};
use mirilla_ports::{
    Clock, Entropy, ForgeResolve, Ledger as _, Meter as _, Queue as _, QueueDepth as _,
    QueueSend as _,
};
use mirilla_sim::{Commit, OpenPull, Otherwise, Sim, SimClock, SimOptions, WebhookDelivery};
use mirilla_stages::collect::{self, CollectPorts, CollectSettings};
use mirilla_stages::error::{Disposition, StageError};
use mirilla_stages::intake::{
    self, FixedSecrets, IncomingWebhook, IntakeAnswer, IntakePorts, IntakeSettings, SecretCache,
};
use mirilla_stages::post::{self, KeepRuns, PostPorts, PostSettings};
use mirilla_stages::report::{self, Report};
use mirilla_stages::review;
use mirilla_system::OsEntropy;
use tokio::sync::OnceCell;

use super::gate::Gate;
use super::place::{Place, Sent, Town};
use super::ports::Gated;
use stores::Stores;

pub(crate) const REPO: &str = "acme/shop";
/// How long records of ended jobs are kept.
pub(crate) const KEEP_RUNS: Duration = Duration::from_secs(7 * 86_400);

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Nothing is left to do.
    Quiet,
    /// It was killed.
    Killed,
}

/// The simulated clock as the stages' clock: nobody really waits.
struct TestClock(SimClock);

#[async_trait]
impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::new(self.0.now().timestamp_millis())
    }
    async fn sleep(&self, duration: Duration) {
        self.0.advance(duration);
    }
}

/// Files by path and text.
type Files<'f, T> = &'f [(T, T)];

/// What stands in the repository before the test.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Story {
    pub(crate) base: &'static [(&'static str, &'static str)],
    pub(crate) head: &'static [(&'static str, &'static str)],
}

/// Two files with one planted defect each, in folders of their own so that they can be two chunks.
pub(crate) const TWO_DEFECTS: Story = Story {
    base: &[
        ("a/Pay.java", "class Pay {\n}\n"),
        ("b/orders.py", "def none():\n    return 0\n"),
    ],
    head: &[
        (
            "a/Pay.java",
            "class Pay {\n  void pay() {\n    try {\n      charge();\n    } catch (Exception e) {\n    }\n  }\n}\n",
        ),
        (
            "b/orders.py",
            "def none():\n    return 0\n\n\ndef find(db, text):\n    return db.execute(\"SELECT id FROM orders WHERE note = '\" + text + \"'\")\n",
        ),
    ],
};

pub(crate) struct Host {
    pub(crate) sim: Sim,
    /// The forge it is on.
    pub(crate) town: Town,
    stores: Stores,
    _dir: tempfile::TempDir,
    data: PathBuf,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    pub(crate) policy: OperatorPolicy,
    pub(crate) keep_runs: KeepRuns,
    pub(crate) keep_archive: bool,
    /// Whether the operator opted into resolving threads.
    pub(crate) resolve_threads: bool,
    /// How far the clock moves when nothing is due.
    pub(crate) idle: Duration,
    /// Whether the processes live on from message to message, and with them their connections and tokens.
    pub(crate) warm: bool,
    /// Whether the token that the poster has on GitLab may write.
    pub(crate) may_write: bool,
    /// With whose token the poster writes, where it is no App's.
    pub(crate) plain_token: Option<(String, String)>,
    reader: OnceCell<Reader>,
    writer: OnceCell<Writer>,
    model: OnceCell<AnthropicModel>,
    pub(crate) pr: u64,
    installation: u64,
    seen: Mutex<Vec<(About, Signal)>>,
    looks: Mutex<Vec<String>>,
}

impl Host {
    /// A host with an App on `acme` and one open pull request whose webhook nobody took yet.
    pub(crate) fn new(story: Story) -> Self {
        Self::described(story, None)
    }

    /// The same, with a description of the pull request.
    pub(crate) fn described(story: Story, description: Option<&str>) -> Self {
        let pull = OpenPull {
            body: description.map(str::to_owned),
            ..OpenPull::new("dana", "change", "A change")
        };
        Self::open(story.base, story.head, "change", pull)
    }

    /// The same on a forge of choice.
    pub(crate) fn at(place: Place, story: Story) -> Self {
        let pull = OpenPull::new("dana", "change", "A change");
        Self::open_at(place, (story.base, story.head), "change", pull)
    }

    /// The same with a pull request of the branch `change`, whose commit has this message.
    pub(crate) fn open<T: AsRef<str>>(
        base: &[(T, T)],
        head: &[(T, T)],
        message: &str,
        pull: OpenPull,
    ) -> Self {
        Self::open_at(Place::Github, (base, head), message, pull)
    }

    pub(crate) fn open_at<T: AsRef<str>>(
        place: Place,
        (base, head): (Files<'_, T>, Files<'_, T>),
        message: &str,
        pull: OpenPull,
    ) -> Self {
        let options = SimOptions {
            start_at: Some("2026-11-29T10:00:00Z".parse().unwrap()),
            gitlab: place.gitlab_options(),
            ..SimOptions::default()
        };
        let sim = Sim::start(options).unwrap();
        sim.messages().otherwise(Otherwise::Reviewer);
        let (town, installation) = Town::found(&sim, place);
        town.commit("main", &commit("before", base));
        town.commit("change", &commit(message, head));
        drop(town.sent());
        let pr = town.open(pull);
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        DataDir::create(&data).unwrap();
        let clock: Arc<dyn Clock> = Arc::new(TestClock(sim.clock().clone()));
        let entropy = Arc::new(OsEntropy::open().unwrap());
        Self {
            stores: Stores::open(&DataDir::at(&data), &clock),
            sim,
            town,
            _dir: dir,
            data,
            clock,
            entropy,
            policy: OperatorPolicy::default(),
            keep_runs: KeepRuns::Whole,
            keep_archive: true,
            resolve_threads: false,
            idle: Duration::from_secs(10),
            warm: false,
            may_write: true,
            plain_token: None,
            reader: OnceCell::new(),
            writer: OnceCell::new(),
            model: OnceCell::new(),
            pr,
            installation,
            seen: Mutex::default(),
            looks: Mutex::default(),
        }
    }

    /// Takes facts as a host's edge does.
    fn saw(&self, about: &About, signals: &[Signal]) {
        let facts = signals.iter().map(|signal| (about.clone(), signal.clone()));
        self.seen.lock().unwrap().extend(facts);
    }

    /// Everything that was counted so far.
    pub(crate) fn seen(&self) -> Vec<Signal> {
        let seen = self.seen.lock().unwrap();
        seen.iter().map(|(_, signal)| signal.clone()).collect()
    }

    /// Every job that anything was counted about.
    pub(crate) fn jobs(&self) -> BTreeSet<JobId> {
        let seen = self.seen.lock().unwrap();
        seen.iter()
            .filter_map(|(about, _)| about.job.clone())
            .collect()
    }

    /// The same, but the operator opted into resolving threads, and the account granted what it takes.
    pub(crate) fn that_resolves(story: Story) -> Self {
        Self::that_resolves_at(Place::Github, story)
    }

    /// The same on a forge of choice; on GitLab it takes no further right.
    pub(crate) fn that_resolves_at(place: Place, story: Story) -> Self {
        let mut host = Self::at(place, story);
        if place == Place::Github {
            host.resolve_threads = true;
            host.grant("contents", "write");
        }
        host
    }

    /// Lets the account grant the App something else.
    pub(crate) fn grant(&self, permission: &str, level: &str) {
        let github = self.sim.github();
        github.grant(self.installation, permission, level).unwrap();
    }

    /// How every message, webhook and run ended so far: whose it was, and the code that says how.
    pub(crate) fn ran(&self) -> Vec<(JobId, &'static str)> {
        let seen = self.seen.lock().unwrap();
        let of = |(about, signal): &(About, Signal)| match signal {
            Signal::Ran { reason, .. } => Some((about.job.clone()?, *reason)),
            _ => None,
        };
        seen.iter().filter_map(of).collect()
    }

    /// The same on a forge of choice, but the host may not write: the installation did not grant it, or the
    /// token only reads.
    pub(crate) fn without_write_permission_at(place: Place, story: Story) -> Self {
        let mut host = Self::at(place, story);
        match place {
            Place::Github => host.grant("pull_requests", "read"),
            Place::Gitlab(_) => host.may_write = false,
        }
        host
    }

    /// Commits to the pull request's branch.
    pub(crate) fn push(&self, message: &str, files: &[(&str, &str)]) -> String {
        self.town.commit("change", &commit(message, files))
    }

    pub(crate) fn deliveries(&self) -> Vec<WebhookDelivery> {
        let deliveries = self.sim.github().take_deliveries();
        deliveries
            .into_iter()
            .filter(|delivery| delivery.event == "pull_request")
            .collect()
    }

    /// Lets somebody say something on the pull request; returns its webhook and the comment.
    pub(crate) fn said(&self, by: &str, body: &str) -> (WebhookDelivery, u64) {
        drop(self.sim.github().take_deliveries());
        let comment = self.sim.github().comment(REPO, self.pr, by, body).unwrap();
        let mut deliveries = self.sim.github().take_deliveries();
        deliveries.retain(|delivery| delivery.event == "issue_comment");
        (deliveries.remove(0), comment)
    }

    /// Puts another body into a webhook and signs it, as whoever has the secret can.
    pub(crate) fn signed(
        &self,
        mut delivery: WebhookDelivery,
        body: &serde_json::Value,
    ) -> WebhookDelivery {
        delivery.body = serde_json::to_vec(body).unwrap();
        let secret = WebhookSecret::parse(&self.sim.github().hook_secret()).unwrap();
        let signature = sign_github(&secret, &delivery.body);
        for (name, value) in &mut delivery.headers {
            if name.eq_ignore_ascii_case("x-hub-signature-256") {
                value.clone_from(&signature);
            }
        }
        delivery
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.sim.clock().advance(by);
    }

    fn dir(&self) -> DataDir {
        DataDir::at(&self.data)
    }

    pub(crate) fn ledger(&self) -> &LocalLedger {
        &self.stores.ledger
    }

    pub(crate) fn meter(&self) -> &LocalMeter {
        &self.stores.meter
    }

    pub(crate) fn queue(&self) -> &LocalQueue {
        &self.stores.queue
    }

    pub(crate) fn artifacts(&self) -> &DirArtifacts {
        &self.stores.artifacts
    }

    /// The key of the job for the pull request's present head.
    pub(crate) fn key(&self, generation: u32) -> JobKey {
        let head = self.town.tip("change");
        JobKey {
            forge: self.town.place.forge(),
            repo: RepoId::new(self.town.repo_id()),
            pr: PrNumber::new(self.pr),
            head: CommitSha::parse(&head).unwrap(),
            base_ref: BranchName::parse("main").unwrap(),
            generation: Generation::new(generation),
        }
    }

    pub(crate) async fn job(&self) -> Option<Job> {
        self.ledger().job(&self.key(0).id()).await.unwrap()
    }

    pub(crate) async fn spent_on_review(&self) -> PicoUsd {
        self.meter()
            .spent(&Purse::Review(self.key(0).id()))
            .await
            .unwrap()
    }

    /// Takes a fact that no stage of this host told.
    pub(crate) fn told(&self, signals: impl IntoIterator<Item = Signal>) {
        let signals: Vec<Signal> = signals.into_iter().collect();
        self.saw(&About::default(), &signals);
    }

    pub(crate) async fn deliver(
        &self,
        gate: &Arc<Gate>,
        delivery: &WebhookDelivery,
    ) -> IntakeAnswer {
        self.take(gate, &["acme"], &Sent::from(delivery)).await
    }

    /// Hands in a webhook of whichever forge it is.
    pub(crate) async fn hand_in(&self, gate: &Arc<Gate>, sent: &Sent) -> IntakeAnswer {
        self.take(gate, &["acme"], sent).await
    }

    /// Delivers to a host that serves other accounts.
    pub(crate) async fn deliver_to(
        &self,
        accounts: &[&str],
        delivery: &WebhookDelivery,
    ) -> IntakeAnswer {
        let sent = Sent::from(delivery);
        self.take(&Arc::new(Gate::open()), accounts, &sent).await
    }

    async fn take(&self, gate: &Arc<Gate>, accounts: &[&str], sent: &Sent) -> IntakeAnswer {
        let (ledger, queue) = (self.ledger(), self.queue());
        let (ledger, queue) = (gated(ledger, gate), gated(queue, gate));
        let secrets = Secrets {
            current: WebhookSecret::parse(&self.town.hook_secret()).unwrap(),
            previous: None,
            grace: Duration::ZERO,
        };
        let secrets = match self.town.place.forge() {
            Forge::Github => HookSecrets::from(secrets),
            Forge::Gitlab => GitlabSecrets::new(Some(secrets), None).unwrap().into(),
        };
        let secrets = SecretCache::open(Arc::new(FixedSecrets(secrets)), self.now())
            .await
            .unwrap();
        let ports = IntakePorts {
            ledger: &ledger,
            queue: &queue,
            secrets: &secrets,
            clock: self.clock.as_ref(),
        };
        let settings = IntakeSettings::new(accounts.iter().copied()).unwrap();
        let forge = self.town.place.forge();
        let incoming =
            IncomingWebhook::from_parts(forge, sent.headers.clone(), sent.body.clone(), false)
                .unwrap();
        let answer = intake::intake(ports, &settings, &incoming).await;
        let (about, facts) = answer.facts(Duration::ZERO);
        self.saw(&about, &facts);
        answer
    }

    /// Runs all stages until nothing is left to do or the gate kills the process.
    pub(crate) async fn run(&self, gate: &Arc<Gate>) -> Ended {
        tokio::select! {
            biased;
            () = gate.killed() => Ended::Killed,
            () = self.until_quiet(gate) => Ended::Quiet,
        }
    }

    /// Delivers and runs, as one process.
    pub(crate) async fn deliver_and_run(
        &self,
        gate: &Arc<Gate>,
        delivery: &WebhookDelivery,
    ) -> Ended {
        tokio::select! {
            biased;
            () = gate.killed() => Ended::Killed,
            () = Box::pin(async { self.deliver(gate, delivery).await; self.until_quiet(gate).await }) => Ended::Quiet,
        }
    }

    /// What a host does when it starts after a crash.
    pub(crate) fn restart(&self) {
        self.ledger().release_claims().unwrap();
        self.meter().release_leases().unwrap();
        self.queue().release_hidden().unwrap();
        // What the dead process had on the wire has landed by now, or never will.
        self.town.land_now();
    }

    async fn until_quiet(&self, gate: &Arc<Gate>) {
        self.announce(gate).await;
        for _ in 0..400 {
            if let Some(name) = Box::pin(self.one_message(gate)).await {
                if name == QueueName::Review {
                    self.announce(gate).await;
                }
                continue;
            }
            let queue = self.queue();
            let mut waiting = 0;
            for name in [QueueName::Collect, QueueName::Review, QueueName::Post] {
                waiting += queue.depth(name).await.unwrap();
            }
            let unfinished = self
                .ledger()
                .unfinished(Timestamp::new(i64::MAX), 10)
                .await
                .unwrap();
            if waiting == 0 && unfinished.is_empty() {
                return;
            }
            self.advance(self.idle);
            if waiting == 0 {
                Box::pin(self.sweep(gate, false)).await;
            }
        }
        let jobs = self
            .ledger()
            .unfinished(Timestamp::new(i64::MAX), 10)
            .await
            .unwrap();
        panic!(
            "no quiet after 400 rounds; unfinished: {jobs:#?}; calls: {:?}",
            gate.names()
        );
    }

    async fn announce(&self, gate: &Arc<Gate>) {
        let events =
            FindingsEvents::open(&self.dir().artifacts(), &self.dir().announced()).unwrap();
        for key in events.pending().await.unwrap() {
            if let Some((job, attempt)) = Keys::parse_findings(&key) {
                let queue = self.queue();
                let message = Message::PostV1 {
                    job,
                    attempt,
                    findings: Some(key.clone()),
                };
                gated(queue, gate)
                    .send(QueueName::Post, &message, Duration::ZERO)
                    .await
                    .unwrap();
            }
            gate.pass("events.announced", events.announced(&key))
                .await
                .unwrap();
        }
    }

    /// Handles a message that is due, and returns the queue it was in.
    async fn one_message(&self, gate: &Arc<Gate>) -> Option<QueueName> {
        let queue = self.queue();
        let queue = gated(queue, gate);
        for name in [QueueName::Collect, QueueName::Review, QueueName::Post] {
            let Some(received) = queue.receive(name, Duration::from_secs(600)).await.unwrap()
            else {
                continue;
            };
            let message: Message = serde_json::from_str(&received.body).unwrap();
            let begun = self.now();
            let result = self.handle(gate, &message, &received).await;
            let took = self.now().since(begun);
            let (about, facts) = report::facts(message.job(), &result, took);
            self.saw(&about, &facts);
            match result.as_ref().map_err(StageError::disposition) {
                Ok(_) | Err(Disposition::Stale | Disposition::Reject) => {
                    queue.delete(name, &received.receipt).await.unwrap();
                }
                Err(Disposition::Retry { after }) => {
                    let after = after.unwrap_or(Duration::from_secs(2));
                    queue
                        .put_back(name, &received.receipt, after)
                        .await
                        .unwrap();
                }
            }
            return Some(name);
        }
        None
    }

    fn collect_settings(&self) -> CollectSettings {
        CollectSettings {
            keep_archive: self.keep_archive,
            policy: self.policy.clone(),
        }
    }

    async fn handle(
        &self,
        gate: &Arc<Gate>,
        message: &Message,
        received: &Received,
    ) -> Result<Report, StageError> {
        let (ledger, queue, artifacts) = (self.ledger(), self.queue(), self.artifacts());
        let (ledger, queue, artifacts) = (
            gated(ledger, gate),
            gated(queue, gate),
            gated(artifacts, gate),
        );
        let (clock, entropy) = (self.clock.as_ref(), self.entropy.as_ref());
        match message {
            Message::CollectV1 { .. } | Message::ProbeV1 { .. } | Message::CommandV1(_) => {
                let heads = gated(&self.stores.heads, gate);
                let fresh = OnceCell::new();
                let reader = if self.warm { &self.reader } else { &fresh };
                let reader = reader.get_or_init(|| self.reader(message)).await;
                let forge = gated(reader.as_port(), gate);
                let ports = CollectPorts {
                    ledger: &ledger,
                    heads: &heads,
                    artifacts: &artifacts,
                    grants: self.artifacts(),
                    queue: &queue,
                    forge: &forge,
                    clock,
                    entropy,
                };
                match message {
                    Message::CommandV1(about) => collect::command(ports, about).await,
                    Message::ProbeV1 { job } => collect::probe(ports, job).await,
                    other => collect::collect(ports, &self.collect_settings(), other.job()).await,
                }
            }
            Message::ReviewV1 {
                job,
                attempt,
                purses,
                grants: _,
            } => {
                let (meter, count) = (self.meter(), received.receive_count);
                let meter = gated(meter, gate);
                let work = self.review_as(gate, (job, *attempt), purses, count);
                review::alone(&meter, clock, entropy, job, Duration::from_secs(660), work).await
            }
            Message::PostV1 { .. }
            | Message::CheckV1 { .. }
            | Message::MergeGroupV1(_)
            | Message::AcknowledgeV1(_) => {
                let fresh = OnceCell::new();
                let writer = if self.warm { &self.writer } else { &fresh };
                let writer = writer.get_or_init(|| self.writer(message)).await;
                let (read, write) = (gated(writer.read(), gate), gated(writer.write(), gate));
                let checks = gated(writer.checks(), gate);
                let by_app = self.resolver(message);
                let opted: Option<&dyn ForgeResolve> = by_app.as_ref().map(|port| port as _);
                let resolver = writer.resolves().or(opted).map(|port| gated(port, gate));
                let ports = PostPorts {
                    ledger: &ledger,
                    artifacts: &artifacts,
                    queue: &queue,
                    read: &read,
                    write: &write,
                    checks: &checks,
                    resolve: resolver.as_ref().map(|port| port as &dyn ForgeResolve),
                    clock,
                    entropy,
                };
                let settings = PostSettings {
                    policy: self.policy.clone(),
                    marker_key: marker_key(),
                    redactor: Redactor::default(),
                    write_grace: Duration::from_secs(60),
                    keep_runs: self.keep_runs,
                };
                match message {
                    Message::PostV1 {
                        job,
                        attempt,
                        findings,
                    } => post::post(ports, &settings, job, *attempt, findings.as_deref()).await,
                    Message::AcknowledgeV1(about) => post::acknowledge(ports, about).await,
                    Message::CheckV1 { job } => post::check(ports, &settings, job).await,
                    Message::MergeGroupV1(about) => {
                        post::merge_group(ports, &settings, about).await
                    }
                    other => panic!("not for the poster: {other:?}"),
                }
            }
        }
    }
}

/// The poster's key.
pub(crate) fn marker_key() -> MarkerKey {
    MarkerKey::new(&[7; 32]).unwrap()
}

fn gated<'a, P: ?Sized>(port: &'a P, gate: &Arc<Gate>) -> Gated<&'a P> {
    Gated {
        port,
        gate: Arc::clone(gate),
    }
}

fn commit<T: AsRef<str>>(message: &str, files: &[(T, T)]) -> Commit {
    files
        .iter()
        .fold(Commit::by("dana", message), |commit, (path, text)| {
            commit.write(path.as_ref(), text.as_ref())
        })
}
