//! A strict Messages API on loopback.
//!
//! It refuses what the real one refuses, in the same shape and with the same status; it keeps a
//! prompt cache with its minimum, its exact beginnings and its lifetimes on the simulators' clock;
//! and it says what a test scripted, bad answers too. Tokens are counted by a rule of its own (see
//! [`Prompt::tokens`]), prices are the real ones, and [`Messages::charged`] is what the provider
//! would bill, whether the answer arrived or not. It knows its own turns when they come back, so that a
//! conversation with tools must hold what it said, a result for each of its calls, and the same tools.
//! It is also Bedrock's `InvokeModel`: the same answers, with that service's address, signature and errors.
//!
//! ```text
//! let model = sim.messages();
//! model.answer_when("the payment file", |p| p.contains("Pay.java"), Scripted::findings("…", found));
//! model.answer(Scripted::overloaded());          // the next call that nothing else matches
//! model.answer_when("a look", |p| p.turns() == 0, Scripted::tool_calls(vec![("read_file", arguments)]));
//! model.otherwise(Otherwise::Reviewer);          // everything else
//! ```
//!
//! **Invariant:** what a client of ours must never send is a problem that fails the test, even where
//! the real API would put up with it.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::calls::{CallLog, Problem, watched};
use crate::clock::SimClock;
use crate::faults::Faults;
use crate::sentinels::Sentinels;
use crate::server::Api;

mod answers;
mod api;
mod bedrock;
mod books;
mod cache;
mod check;
mod finding;
mod fit;
mod issued;
mod models;
mod prompt;
mod refusal;
mod reviewer;
mod script;
mod tokens;

pub use books::{Charged, ModelCall, ModelUsage};
pub use finding::SimFinding;
pub use prompt::Prompt;
use script::About;
pub use script::{Otherwise, Scripted};

/// How the simulated Messages API is set up.
#[derive(Debug, Clone)]
pub struct MessagesOptions {
    /// The one key it accepts; made up.
    pub api_key: String,
    /// The one access key id that may sign a call of Bedrock's; made up. Signatures are looked at, not
    /// computed.
    pub access_key_id: String,
}

impl Default for MessagesOptions {
    fn default() -> Self {
        Self {
            api_key: "sk-ant-sim-made-up-Zq7Vt2Lx9Kd4".to_owned(),
            access_key_id: "AKIAMADEUPFORTHESIM0".to_owned(),
        }
    }
}

/// The simulated Messages API; clones are the same one.
#[derive(Clone)]
pub struct Messages(Arc<Inner>);

struct Inner {
    options: MessagesOptions,
    clock: SimClock,
    sentinels: Sentinels,
    faults: Faults,
    log: CallLog,
    addr: OnceLock<SocketAddr>,
    next_id: AtomicU64,
    script: Mutex<script::Script>,
    cache: Mutex<cache::Cache>,
    books: Mutex<Vec<ModelCall>>,
    issued: Mutex<issued::Issued>,
    windows: Mutex<HashMap<String, u64>>,
    cache_minimums: Mutex<HashMap<String, u64>>,
}

watched!(Messages);

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addr = self.0.addr.get();
        f.debug_struct("Messages")
            .field("addr", &addr)
            .finish_non_exhaustive()
    }
}

impl Messages {
    pub(crate) fn new(options: MessagesOptions, clock: SimClock, sentinels: Sentinels) -> Self {
        Self(Arc::new(Inner {
            options,
            clock,
            sentinels,
            faults: Faults::default(),
            log: CallLog::default(),
            addr: OnceLock::new(),
            next_id: AtomicU64::new(1),
            script: Mutex::default(),
            cache: Mutex::default(),
            books: Mutex::default(),
            issued: Mutex::default(),
            windows: Mutex::default(),
            cache_minimums: Mutex::default(),
        }))
    }

    pub(crate) fn api(&self) -> Arc<dyn Api> {
        Arc::<Inner>::clone(&self.0)
    }

    pub(crate) fn set_addr(&self, addr: SocketAddr) {
        // Set once, before the first request can arrive.
        self.0.addr.get_or_init(|| addr);
    }

    /// Returns the endpoint to set: `http://127.0.0.1:…`. The API is also there below `/anthropic`,
    /// as behind a gateway.
    pub fn url(&self) -> String {
        let addr = self.0.addr.get();
        addr.map_or_else(String::new, |addr| format!("http://{addr}"))
    }

    /// Returns the key that is accepted.
    pub fn api_key(&self) -> &str {
        &self.0.options.api_key
    }

    /// Returns the access key id that may sign a call of Bedrock's.
    pub fn access_key_id(&self) -> &str {
        &self.0.options.access_key_id
    }

    /// Scripts the answer to the next request that no other single answer matches.
    pub fn answer(&self, answer: Scripted) {
        self.answer_when("any request", |_| true, answer);
    }

    /// Scripts the answer to the first request that matches; of several, the one scripted first.
    ///
    /// `label` says in the problems at the end which answer was never asked for.
    pub fn answer_when(
        &self,
        label: &str,
        matches: impl Fn(&Prompt) -> bool + Send + 'static,
        answer: Scripted,
    ) {
        let matches = Box::new(matches);
        self.0.script().once(About::Code, label, matches, answer);
    }

    /// Scripts the answer to the next question whether a change does what its author says. Without one
    /// nothing is added.
    pub fn answer_intent(&self, answer: Scripted) {
        let any = Box::new(|_: &Prompt| true);
        self.0
            .script()
            .once(About::Intent, "the stated intent", any, answer);
    }

    /// Scripts the answer to the next second look. Without one every finding holds.
    pub fn answer_second_look(&self, answer: Scripted) {
        let any = Box::new(|_: &Prompt| true);
        self.0
            .script()
            .once(About::Findings, "the second look", any, answer);
    }

    /// Scripts the answer to every request that matches and has no single answer.
    pub fn answer_all_when(
        &self,
        label: &str,
        matches: impl Fn(&Prompt) -> bool + Send + 'static,
        make: impl Fn(&Prompt) -> Scripted + Send + 'static,
    ) {
        let (matches, make) = (Box::new(matches), Box::new(make));
        self.0.script().standing(label, matches, make);
    }

    /// Says what happens to requests nothing is scripted for.
    pub fn otherwise(&self, otherwise: Otherwise) {
        self.0.script().otherwise = otherwise;
    }

    /// Gives a model another window, so that a test can overflow it with little text.
    pub fn set_window(&self, model: &str, tokens: u64) {
        let mut windows = lock(&self.0.windows);
        windows.insert(model.to_owned(), tokens);
    }

    /// Gives a model another shortest cached beginning.
    pub fn set_cache_minimum(&self, model: &str, tokens: u64) {
        let mut minimums = lock(&self.0.cache_minimums);
        minimums.insert(model.to_owned(), tokens);
    }

    /// Forgets all cached prompts.
    pub fn forget_cache(&self) {
        self.0.cache().clear();
    }

    /// Returns the accepted requests for an answer, in order.
    pub fn model_calls(&self) -> Vec<ModelCall> {
        self.0.books().clone()
    }

    /// Returns what the provider would bill so far.
    pub fn charged(&self) -> Charged {
        Charged::of(&self.0.books())
    }

    /// Forgets faults and scripts, whose closures may hold the simulator itself.
    pub(crate) fn clear(&self) {
        self.0.faults.clear();
        let script = std::mem::take(&mut *self.0.script());
        drop(script);
    }

    /// Returns what was wrong, and what was scripted and never happened.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        let mut problems = self.0.log.take_problems();
        let unfired = self.0.faults.unfired().into_iter();
        let unused = self.0.script().unused();
        problems.extend(unfired.chain(unused).map(Problem::Unconsumed));
        problems
    }
}

impl Inner {
    fn script(&self) -> MutexGuard<'_, script::Script> {
        lock(&self.script)
    }

    fn cache(&self) -> MutexGuard<'_, cache::Cache> {
        lock(&self.cache)
    }

    fn books(&self) -> MutexGuard<'_, Vec<ModelCall>> {
        lock(&self.books)
    }

    fn issued(&self) -> MutexGuard<'_, issued::Issued> {
        lock(&self.issued)
    }

    fn window_of(&self, model: &str) -> Option<u64> {
        lock(&self.windows).get(model).copied()
    }

    fn cache_minimum_of(&self, model: &str) -> Option<u64> {
        lock(&self.cache_minimums).get(model).copied()
    }

    fn next_request_id(&self) -> String {
        let number = self.next_id.fetch_add(1, Ordering::Relaxed);
        format!("req_sim_{number:016}")
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
