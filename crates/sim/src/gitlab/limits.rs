//! Rate limits, by the simulator's clock.
//!
//! The general one is a counter in front of the application, which answers in plain text. Those of
//! single actions are GitLab's own, which answers in JSON.

use std::collections::{HashMap, VecDeque};
use std::sync::PoisonError;

use serde_json::json;

use super::Gitlab;
use super::auth::Caller;
use super::options::RateHeaders;
use super::versions::GitlabFeature;
use crate::server::Reply;

const MINUTE: i64 = 60;

/// What each caller used: the minute that is counted, and the calls in it.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    general: HashMap<String, (i64, u32)>,
    actions: HashMap<(String, &'static str), VecDeque<i64>>,
}

/// What a caller has left of its minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Balance {
    limit: u32,
    used: u32,
    reset: i64,
}

impl Gitlab {
    /// Counts a request against the general limit, or refuses it.
    pub(crate) fn charge(&self, caller: &Caller) -> Result<(), Reply> {
        let limit = self.options().limits.requests_per_minute;
        let now = self.now().timestamp();
        let mut usage = self.0.usage.lock().unwrap_or_else(PoisonError::into_inner);
        let minute = now - now.rem_euclid(MINUTE);
        let purse = usage.general.entry(purse(caller)).or_default();
        if purse.0 != minute {
            *purse = (minute, 0);
        }
        purse.1 = purse.1.saturating_add(1);
        if purse.1 <= limit {
            return Ok(());
        }
        let wait = (minute + MINUTE - now).max(1);
        let reply = Reply::new(429, "text/plain", "Retry later\n");
        Err(if self.tells_limits() == RateHeaders::Full {
            reply.with("retry-after", wait.to_string())
        } else {
            reply
        })
    }

    /// Counts one action of a kind that has its own limit, or refuses it.
    pub(crate) fn charge_action(
        &self,
        caller: &Caller,
        action: &'static str,
        limit: u32,
    ) -> Result<(), Reply> {
        let now = self.now().timestamp();
        let mut usage = self.0.usage.lock().unwrap_or_else(PoisonError::into_inner);
        let times = usage.actions.entry((purse(caller), action)).or_default();
        while times
            .front()
            .is_some_and(|at| at.saturating_add(MINUTE) <= now)
        {
            times.pop_front();
        }
        times.push_back(now);
        if u32::try_from(times.len()).unwrap_or(u32::MAX) <= limit {
            return Ok(());
        }
        let text = "This endpoint has been requested too many times. Try again later.";
        let reply = Reply::json(429, &json!({ "message": { "error": text } }));
        Err(if self.tells_limits() == RateHeaders::Full {
            reply.with("retry-after", MINUTE.to_string())
        } else {
            reply
        })
    }

    /// Adds the headers that say how a caller stands.
    pub(crate) fn with_balance(&self, caller: &Caller, reply: Reply) -> Reply {
        let limit = self.options().limits.requests_per_minute;
        if limit == u32::MAX || self.tells_limits() == RateHeaders::Absent {
            return reply;
        }
        let usage = self.0.usage.lock().unwrap_or_else(PoisonError::into_inner);
        let (minute, used) = usage
            .general
            .get(&purse(caller))
            .copied()
            .unwrap_or_default();
        let balance = Balance {
            limit,
            used,
            reset: minute.saturating_add(MINUTE),
        };
        reply
            .with("ratelimit-name", "throttle_authenticated_api")
            .with("ratelimit-limit", balance.limit.to_string())
            .with("ratelimit-observed", balance.used.to_string())
            .with(
                "ratelimit-remaining",
                balance.limit.saturating_sub(balance.used).to_string(),
            )
            .with("ratelimit-reset", balance.reset.to_string())
    }

    fn tells_limits(&self) -> RateHeaders {
        if self.has(GitlabFeature::RateLimitHeaders) {
            self.options().rate_headers
        } else {
            RateHeaders::Absent
        }
    }
}

fn purse(caller: &Caller) -> String {
    caller.user().unwrap_or("nobody").to_owned()
}
