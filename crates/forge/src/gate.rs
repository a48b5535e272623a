//! Writes to one installation, or with one token, one after the other.
//!
//! GitHub asks for serial writes with a second between them, and blocks longer whoever writes on while
//! blocked. GitLab.com takes sixty notes a minute.
//! <https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api>

use std::time::Duration;

use mirilla_domain::ids::Timestamp;
use mirilla_ports::Clock;
use tokio::sync::{Mutex, MutexGuard};

use crate::api::{Answer, Api, Call, Service};
use crate::error::CallError;
use crate::refused::{Limit, Refused, UNNAMED_WAIT};

/// Between the end of one write and the begin of the next.
const SPACING: Duration = Duration::from_secs(1);
/// The longest wait that repeated limits without a named time grow to.
const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);

/// Lets one write through at a time. Share one per installation (or per plain token).
#[derive(Debug, Default)]
pub struct WriteGate(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last_write: Option<Timestamp>,
    blocked_until: Option<Timestamp>,
    /// Limits in a row that named no time.
    unnamed: u32,
}

/// The right to write once; the next writer waits until it is dropped.
#[derive(Debug)]
pub(crate) struct Pass<'g>(MutexGuard<'g, State>);

impl WriteGate {
    /// Waits for the turn; `Err` with the time that is left if the forge said to stop writing.
    pub(crate) async fn enter(&self, clock: &dyn Clock) -> Result<Pass<'_>, Duration> {
        let state = self.0.lock().await;
        let now = clock.now();
        if let Some(until) = state.blocked_until.filter(|until| *until > now) {
            return Err(until.since(now));
        }
        if let Some(last) = state.last_write {
            let due = last.plus(SPACING);
            if due > now {
                clock.sleep(due.since(now)).await;
            }
        }
        Ok(Pass(state))
    }

    /// Makes one write, in its turn. A limit comes back as the wait that it ends with here.
    pub(crate) async fn write<S: Service>(
        &self,
        api: &Api<S>,
        call: &Call,
    ) -> Result<Answer, CallError> {
        let limited = |after| {
            let named = true;
            CallError::Refused(Refused::Limited(Limit { after, named }))
        };
        let pass = self.enter(api.clock()).await.map_err(limited)?;
        match api.write(call).await {
            Err(CallError::Refused(Refused::Limited(limit))) => {
                Err(limited(pass.limited(limit, api.clock())))
            }
            outcome => {
                pass.done(api.clock());
                outcome
            }
        }
    }
}

impl Pass<'_> {
    /// Notes that the write ended without a limit.
    pub(crate) fn done(mut self, clock: &dyn Clock) {
        self.0.last_write = Some(clock.now());
        self.0.unnamed = 0;
    }

    /// Notes a limit and returns how long nothing may be written: what the forge named, else a minute,
    /// doubled with every further limit in a row.
    pub(crate) fn limited(mut self, limit: Limit, clock: &dyn Clock) -> Duration {
        let now = clock.now();
        let after = if limit.named {
            limit.after
        } else {
            let factor = 1_u32.checked_shl(self.0.unnamed).unwrap_or(u32::MAX);
            self.0.unnamed = self.0.unnamed.saturating_add(1);
            UNNAMED_WAIT.saturating_mul(factor).min(LONGEST_WAIT)
        };
        self.0.last_write = Some(now);
        self.0.blocked_until = Some(now.plus(after));
        after
    }
}
