//! What was called, and what was wrong with it.
//!
//! **Invariant:** nothing is forgiven silently. What a real service would tolerate but our client
//! must not do is kept as a [`Problem`] until the test takes it or ends.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::sentinels::Sentinels;
use crate::server::{Reply, Request, Transport};

/// One call a simulated API received, in order of arrival.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// `GET`, `POST`, …
    pub method: String,
    /// Method and template, as in `GET /repos/{o}/{r}/pulls/{n}`; `unknown` if no route matched.
    pub route: String,
    /// Path and query as they were sent.
    pub path: String,
    /// Status of the answer; 0 if the connection was dropped.
    pub status: u16,
    /// What the call identified itself with: `app`, `installation`, `pat`, `key`, `none`, …
    pub token_kind: &'static str,
    /// Whether the token may push to a repository (`contents: write`).
    pub may_push: bool,
    /// Whether it asked GraphQL for a change.
    pub mutates: bool,
    /// Bytes of the answer's body.
    pub bytes: usize,
    /// Bytes of the request's body.
    pub request_bytes: usize,
}

/// What a call identified itself with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told {
    /// The kind of its token; see [`Call::token_kind`].
    pub(crate) kind: &'static str,
    /// Whether that may push.
    pub(crate) may_push: bool,
}

impl Told {
    /// A call without a token.
    pub(crate) const NOTHING: Self = Self::of("none");

    /// A token of which nobody asks whether it may push.
    pub(crate) const fn of(kind: &'static str) -> Self {
        Self {
            kind,
            may_push: false,
        }
    }
}

/// Something a test must not leave unexplained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// A call to a path that the service does not have.
    UnknownRoute(String),
    /// A call with the wrong kind of credential, or none.
    WrongAuth(String),
    /// A write with a credential that may only read.
    WriteWithReadToken(String),
    /// A request the service understood but that no client of ours may send.
    BadRequest(String),
    /// A planned fault that did not fire, or a write that has not landed.
    Unconsumed(String),
    /// Something that was posted and that the test did not read.
    Unread(String),
    /// A secret where it must not be.
    Leak(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, what) = match self {
            Self::UnknownRoute(what) => ("unknown route", what),
            Self::WrongAuth(what) => ("wrong credential", what),
            Self::WriteWithReadToken(what) => ("write with a read token", what),
            Self::BadRequest(what) => ("bad request", what),
            Self::Unconsumed(what) => ("never happened", what),
            Self::Unread(what) => ("posted but not read", what),
            Self::Leak(what) => ("secret leaked", what),
        };
        write!(f, "{kind}: {what}")
    }
}

/// Everything that was wrong, as one error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the simulator saw {} problem(s)", self.0.len())?;
        for problem in &self.0 {
            write!(f, "\n  {problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Gives a simulated API what tests ask of its calls; its state has the fields `log` and `faults`.
macro_rules! watched {
    ($api:ty) => {
        impl $api {
            /// Returns the fault script.
            pub fn faults(&self) -> &crate::faults::Faults {
                &self.0.faults
            }

            /// Returns the calls received so far, refused ones too, in order.
            pub fn calls(&self) -> Vec<crate::calls::Call> {
                self.0.log.calls()
            }

            /// Returns the latest call.
            pub fn last_call(&self) -> Option<crate::calls::Call> {
                self.0.log.last()
            }

            /// Returns how often each route was called.
            pub fn counts(&self) -> std::collections::BTreeMap<String, usize> {
                self.0.log.counts()
            }

            /// Takes the problems recorded so far, for a test that provokes one.
            pub fn take_problems(&self) -> Vec<crate::calls::Problem> {
                self.0.log.take_problems()
            }
        }
    };
}

pub(crate) use watched;

/// The log of one simulated API; clones are the same log.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallLog(Arc<Mutex<Entries>>);

#[derive(Debug, Default)]
struct Entries {
    calls: Vec<Call>,
    problems: Vec<Problem>,
}

impl CallLog {
    /// Adds a call.
    pub(crate) fn record(&self, call: Call) {
        self.lock().calls.push(call);
    }

    /// Adds the answer to a request.
    pub(crate) fn answered(&self, request: &Request, route: &str, told: Told, reply: &Reply) {
        let path = if request.query.is_empty() {
            request.path.clone()
        } else {
            format!("{}?{}", request.path, request.query)
        };
        self.record(Call {
            method: request.method.clone(),
            route: route.to_owned(),
            path,
            status: if reply.transport == Transport::Dropped {
                0
            } else {
                reply.status
            },
            token_kind: told.kind,
            may_push: told.may_push,
            mutates: route == "POST /graphql"
                && memchr::memmem::find(&request.body, b"mutation").is_some(),
            bytes: reply.body.len(),
            request_bytes: request.body.len(),
        });
    }

    /// Searches a request's address and body for secrets that must not be there.
    pub(crate) fn search_for_secrets(&self, request: &Request, sentinels: &Sentinels) {
        let places = [
            request.path.as_bytes(),
            request.query.as_bytes(),
            &request.body,
        ];
        if places.iter().any(|place| sentinels.found_in(place)) {
            let what = format!("in {} {}", request.method, request.path);
            self.problem(Problem::Leak(what));
        }
    }

    /// Adds a problem.
    pub(crate) fn problem(&self, problem: Problem) {
        self.lock().problems.push(problem);
    }

    /// Returns the calls so far.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.lock().calls.clone()
    }

    /// Returns the latest call.
    pub(crate) fn last(&self) -> Option<Call> {
        self.lock().calls.last().cloned()
    }

    /// Returns how often each route was called.
    pub(crate) fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for call in &self.lock().calls {
            let count = counts.entry(call.route.clone()).or_insert(0_usize);
            *count = count.saturating_add(1);
        }
        counts
    }

    /// Takes the problems so far.
    pub(crate) fn take_problems(&self) -> Vec<Problem> {
        std::mem::take(&mut self.lock().problems)
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
