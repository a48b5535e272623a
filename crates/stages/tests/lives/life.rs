//! One pull request that lives through events, and is looked at after each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mirilla_domain::ids::{Fingerprint, Timestamp};
use mirilla_domain::money::PicoUsd;
use mirilla_domain::request::Verb;
use mirilla_domain::settings::{Gate as Threshold, OnInconclusive};
use mirilla_ports::MeterSweep as _;
use mirilla_sim::{OpenPull, Role, ThreadView, WebhookDelivery};

use crate::commands::{BOT, Said, words};
use crate::coverage::Coverage;
use crate::event::{Dice, Event, Kind};
use crate::invariants::{INVARIANTS, Scene};
use crate::model::{Mood, speak};
use crate::scene::{Seen, passed_since, pull_request};
use crate::support::{Bend, Ended, Gate, Host, KillAt, REPO, When};
use crate::tree::{Tree, defect};

/// How many old webhooks are remembered, to come again.
const OLD_WEBHOOKS: usize = 40;
/// After so many events somebody has enough of a pull request that nobody reviews.
const PATIENCE: u64 = 4;

/// How a life is led, by its seed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    /// What is written about a change that was not read in full; `None` without a gate.
    pub(super) gate: Option<OnInconclusive>,
    /// Whether the author of the change may write to the repository.
    pub(super) author_writes: bool,
}

impl Manner {
    fn of(seed: u64) -> Self {
        let mut dice = Dice::new(seed.wrapping_mul(2).wrapping_add(1) << 8);
        Self {
            gate: match dice.roll(4) {
                0 => Some(OnInconclusive::Block),
                1 => Some(OnInconclusive::Allow),
                _ => None,
            },
            author_writes: dice.roll(2) == 0,
        }
    }
}

/// What was found wrong.
#[derive(Debug)]
pub(crate) struct Wrong {
    pub(crate) invariant: &'static str,
    pub(crate) words: String,
}

/// A head the branch had.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) sha: String,
    pub(crate) tree: Tree,
    /// Where it forked from, and what stood there.
    pub(crate) fork: (String, Tree),
    /// Whether one of its commits is somebody else's than the author's.
    pub(crate) by_cory: bool,
}

/// A life so far.
pub(crate) struct Life {
    pub(super) manner: Manner,
    pub(super) host: Host,
    bend: Bend,
    bot: String,
    pub(super) mood: Arc<Mutex<Mood>>,
    pub(super) main: (String, Tree),
    pub(super) heads: Vec<Head>,
    pub(super) now: Head,
    pub(super) base: &'static str,
    pub(super) open: bool,
    pub(super) draft: bool,
    pub(super) defects: u64,
    pub(super) touched: BTreeMap<String, ThreadView>,
    pub(super) edited: BTreeMap<u64, Option<Fingerprint>>,
    pub(super) twins: BTreeSet<u64>,
    /// What people and bots said.
    pub(super) said: Vec<Said>,
    /// How many of it were there when all was done last.
    pub(super) looked_at: usize,
    /// Whether reviews are off, by what people said until then.
    pub(super) paused: bool,
    paused_steps: u64,
    /// How many reasons there were to read a head again.
    pub(super) raises: u64,
    /// The other open pull request with the same head.
    pub(super) beside: Option<u64>,
    /// Whether all was done after the last event.
    pub(super) is_settled: bool,
    pub(super) outbox: Vec<WebhookDelivery>,
    /// When was looked last.
    last_look: Timestamp,
    pub(super) old: Vec<WebhookDelivery>,
    /// Whether somebody has to look for heads that were not announced.
    pub(super) lost: bool,
    /// When the model speaks again.
    pub(super) silent_steps: u64,
    /// Whether calls may have been cut off since money was last looked after.
    pub(super) cut_off: bool,
    pub(super) seen: Seen,
    pub(crate) coverage: Coverage,
}

impl Life {
    /// Opens a pull request and lets it be reviewed.
    pub(crate) async fn begin(seed: u64, bend: Bend) -> Self {
        let main = Tree::start();
        let mut tree = main.clone();
        tree.insert(0, 5, &[defect(1, 0)]);
        tree.insert(1, 8, &[defect(2, 9)]);
        let manner = Manner::of(seed);
        let pull = OpenPull::new("dana", "change", "A change");
        let mut host = Host::open(&main.texts(), &tree.texts(), "change", pull);
        host.idle = Duration::from_secs(50);
        host.warm = true;
        host.keep_archive = seed.is_multiple_of(4);
        host.policy.verify = seed.is_multiple_of(3);
        if seed.is_multiple_of(5) {
            // Used up within a day of a busy life.
            host.policy.repository_day_usd = PicoUsd::parse("0.60").unwrap();
        }
        if let Some(on_inconclusive) = manner.gate {
            host.policy.gate = Threshold::High;
            host.policy.on_inconclusive = on_inconclusive;
            host.policy.trusted_bases = vec!["next".to_owned()];
        }
        let github = host.sim.github();
        let tip = github.tip(REPO, "main").unwrap();
        for branch in ["release", "next"] {
            github.push(REPO, branch, &tip, "rita").unwrap();
        }
        let author = manner.author_writes.then_some(("dana", Role::Write));
        let writers = ["rita", "cory", BOT].map(|login| (login, Role::Write));
        let roles = writers.into_iter().chain([("sam", Role::None)]);
        for (login, role) in roles.chain(author) {
            github.set_role(REPO, login, role).unwrap();
        }
        let mood = Arc::default();
        speak(host.sim.messages(), &mood);
        let now = Head {
            sha: github.tip(REPO, "change").unwrap(),
            tree,
            fork: (tip.clone(), main.clone()),
            by_cory: false,
        };
        let mut life = Self {
            manner,
            bend,
            bot: github.bot(),
            mood,
            main: (tip, main),
            heads: vec![now.clone()],
            now,
            base: "main",
            open: true,
            draft: false,
            defects: 2,
            touched: BTreeMap::new(),
            edited: BTreeMap::new(),
            twins: BTreeSet::new(),
            said: Vec::new(),
            looked_at: 0,
            paused: false,
            paused_steps: 0,
            raises: 0,
            beside: None,
            is_settled: true,
            outbox: github.take_deliveries(),
            last_look: host.now(),
            old: Vec::new(),
            lost: false,
            silent_steps: 0,
            cut_off: false,
            seen: Seen::default(),
            coverage: Coverage::default(),
            host,
        };
        life.deliver(&Arc::new(Gate::open())).await;
        life.quiet().await;
        life.seen = life.look().await;
        life.coverage.lives = 1;
        life
    }

    /// Lets one thing happen and all that follows from it, and looks whether everything holds.
    pub(crate) async fn step(&mut self, event: Event) -> Result<(), Wrong> {
        let reviews = self.seen.reviews.len();
        let mut before = self.seen.clone();
        self.silent_steps = self.silent_steps.saturating_sub(1);
        self.mood.lock().unwrap().silent = self.silent_steps > 0;
        let paused_before = self.paused && self.is_settled;
        let said_before = self.said.len();
        self.lose_patience(event);
        if self.happen(event) {
            *self.coverage.happened.entry(event.kind).or_default() += 1;
        }
        // What people did comes before what we do about it.
        for thread in &mut before.threads {
            if let Some(left) = self.touched.get(&thread.node_id) {
                thread.clone_from(left);
            }
        }
        self.outbox.extend(self.host.sim.github().take_deliveries());
        self.arrange_webhooks(event, said_before);
        let armed = self.arm(event);
        self.run(event).await;
        if let Some((name, planned)) = armed {
            if self.unfired() < planned {
                *self.coverage.faults.entry(name).or_default() += 1;
                self.cut_off = true;
            }
            self.host.sim.github().faults().clear();
            self.host.sim.messages().faults().clear();
            self.host.sim.github().land_now();
        }
        let left_open = if event.settles {
            Some(self.look_after_money().await)
        } else {
            None
        };
        self.seen = self.look().await;
        if event.settles && self.is_check_running() {
            // Whatever was lost on the way, the sweeper brings it to its end.
            self.host.advance(Duration::from_secs(120));
            self.lost = true;
            self.quiet().await;
            self.seen = self.look().await;
        }
        self.learn_what_was_obeyed();
        self.is_settled = event.settles;
        if event.settles {
            self.learn_whether_paused();
        }
        let passed = passed_since(&self.host, &before, &self.seen).await;
        let ran = self.host.ran();
        let shown = self.mood.lock().unwrap().shown.clone();
        let turned = self.said[said_before..].iter().any(Said::turns);
        self.coverage.reviews += (self.seen.reviews.len() - reviews) as u64;
        let complaints: Vec<String> = self
            .host
            .sim
            .github()
            .take_problems()
            .iter()
            .chain(&self.host.sim.messages().take_problems())
            .map(ToString::to_string)
            .collect();
        let scene = Scene {
            place: pull_request(&self.host),
            bot: &self.bot,
            before: &before,
            now: &self.seen,
            head: &self.now.sha,
            base: self.base,
            heads: &self.heads,
            open: self.open,
            reviewable: self.open && !self.draft,
            paused_throughout: paused_before && !turned,
            paused: self.paused,
            beside: self.beside,
            gate: self.manner.gate,
            passed: &passed,
            shown: &shown,
            said: &self.said,
            ran: &ran,
            raises: self.raises,
            settled: event.settles,
            touched: &self.touched,
            edited: &self.edited,
            twins: &self.twins,
            complaints: &complaints,
            left_open,
        };
        for one in INVARIANTS {
            if one.when_settled && !scene.settled {
                continue;
            }
            match (one.judge)(&scene) {
                Ok(judged) => *self.coverage.judged.entry(one.name).or_default() += judged,
                Err(words) => {
                    let invariant = one.name;
                    return Err(Wrong { invariant, words });
                }
            }
        }
        Ok(())
    }

    async fn look(&self) -> Seen {
        let heads = match self.manner.gate {
            Some(_) => self.heads.iter().map(|head| head.sha.clone()).collect(),
            // Of one head it can be seen that there are no checks.
            None => BTreeSet::from([self.now.sha.clone()]),
        };
        let at = (self.now.sha.as_str(), self.base);
        Seen::look(&self.host, at, &heads, &self.said).await
    }

    /// Notes which commands were obeyed since the last look.
    fn learn_what_was_obeyed(&mut self) {
        let between = (self.last_look, self.host.now());
        for one in &mut self.said {
            if one.obeyed.is_none() && self.seen.obeyed.contains(&one.id) {
                one.obeyed = Some(between);
            }
        }
        self.last_look = self.host.now();
    }

    fn is_check_running(&self) -> bool {
        let mut checks = self.seen.checks.iter();
        checks.any(|check| check.status != "completed")
    }

    /// Has reviews begin again if they were off for long.
    fn lose_patience(&mut self, event: Event) {
        self.paused_steps = match &self.seen.record {
            Some(record) if record.paused => self.paused_steps + 1,
            _ => 0,
        };
        if self.paused_steps > PATIENCE && self.open {
            let verb = Verb::Resume;
            self.say("rita", None, Some(verb), &words(verb, event.b));
        }
    }

    fn unfired(&self) -> usize {
        let sim = &self.host.sim;
        sim.github().faults().unfired().len() + sim.messages().faults().unfired().len()
    }

    /// Plans the faults of an event; returns the name and how many are planned.
    fn arm(&self, event: Event) -> Option<(&'static str, usize)> {
        let sim = &self.host.sim;
        let name = match event.kind {
            Kind::ForgeFault => crate::trouble::at_forge(sim, event.a, event.b),
            Kind::WriteFault => crate::trouble::at_write(sim, event.a, event.b),
            Kind::ModelFault => crate::trouble::at_model(sim, event.a, event.b),
            _ => return None,
        };
        Some((name, self.unfired()))
    }

    /// Brings what waits to be delivered into the order it will arrive in.
    fn arrange_webhooks(&mut self, event: Event, said_before: usize) {
        match event.kind {
            Kind::LostWebhook => {
                self.lost = true;
                self.outbox.clear();
                // Nobody but a webhook tells of a command.
                for one in &mut self.said[said_before..] {
                    one.must = false;
                }
            }
            Kind::Scramble => {
                let again = self.outbox.clone();
                self.outbox.extend(again);
                let by = event.b as usize % self.outbox.len().max(1);
                self.outbox.rotate_left(by);
                self.outbox.reverse();
            }
            Kind::Replay => {
                let from = event.a as usize % (self.old.len() + 1);
                let again = self.old.iter().skip(from).take(4).rev().cloned();
                self.outbox.extend(again);
            }
            _ => {}
        }
    }

    /// Hands over what waits to be delivered.
    async fn deliver(&mut self, gate: &Arc<Gate>) {
        for delivery in std::mem::take(&mut self.outbox) {
            self.host.deliver(gate, &delivery).await;
            // What the forge tells of our own doing asks for nothing.
            let asks = delivery.action.as_deref() == Some("rerequested")
                || ["pull_request", "issue_comment"].contains(&delivery.event.as_str());
            if asks {
                self.old.push(delivery);
            }
        }
        let excess = self.old.len().saturating_sub(OLD_WEBHOOKS);
        self.old.drain(..excess);
    }

    /// Lets the stages work, and die where the event says so.
    async fn run(&mut self, event: Event) {
        let kill = match event.kind {
            Kind::CrashBefore => Some(When::Before),
            Kind::CrashAfter => Some(When::After),
            _ => None,
        };
        if let Some(when) = kill {
            let call = event.a % 110;
            let gate = Arc::new(Gate::killing(KillAt { call, when }).bent(self.bend));
            let ended = tokio::select! {
                biased;
                () = gate.killed() => Ended::Killed,
                () = async {
                    for delivery in &self.outbox {
                        self.host.deliver(&gate, delivery).await;
                    }
                    self.host.run(&gate).await;
                } => Ended::Quiet,
            };
            if ended == Ended::Killed {
                self.coverage.kills += 1;
                self.cut_off = true;
                self.host.restart();
            }
            // What was not answered is delivered again.
        }
        let gate = Arc::new(Gate::open().bent(self.bend));
        self.deliver(&gate).await;
        if event.settles {
            self.quiet().await;
        } else {
            for _ in 0..event.b % 7 {
                self.host.one_step(&gate).await;
            }
        }
    }

    /// Lets the stages work until nothing is left to do.
    async fn quiet(&mut self) {
        let gate = Arc::new(Gate::open().bent(self.bend));
        assert_eq!(self.host.run(&gate).await, Ended::Quiet);
        if std::mem::take(&mut self.lost) {
            self.host.sweep(&gate, true).await;
            assert_eq!(self.host.run(&gate).await, Ended::Quiet);
        }
    }

    /// Returns how many reservations are open although nobody works. Those of calls that were cut off lapse
    /// with time.
    async fn look_after_money(&mut self) -> u64 {
        let meter = self.host.meter();
        if std::mem::take(&mut self.cut_off) {
            let in_an_hour = self.host.now().plus(Duration::from_secs(3_600));
            meter.settle_expired(in_an_hour).await.unwrap();
        }
        let (held, sent) = meter
            .settle_expired(Timestamp::new(i64::MAX))
            .await
            .unwrap();
        held + sent
    }
}
