//! Primary and secondary rate limits, by the simulator's clock.
//!
//! <https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api>

use std::collections::{HashMap, VecDeque};
use std::sync::PoisonError;

use chrono::DateTime;

use super::Github;
use super::auth::Caller;
use super::errors::{basic, secondary_limit};
use super::options::{Limits, RetryAfter};
use crate::server::Reply;

const HOUR: i64 = 3600;
const MINUTE: i64 = 60;

/// What each caller used.
#[derive(Debug, Default)]
pub(crate) struct Usage(HashMap<String, Purse>);

#[derive(Debug, Default)]
struct Purse {
    /// Start of the hour that is being counted.
    started: i64,
    used: u32,
    /// Times of content-creating requests in the last hour.
    content: VecDeque<i64>,
    /// Times and points in the last minute; REST and GraphQL apart.
    rest: VecDeque<(i64, u32)>,
    graphql: VecDeque<(i64, u32)>,
}

/// What a request costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) write: bool,
    pub(crate) content: bool,
    pub(crate) graphql: bool,
}

/// The state of a caller's hour, for headers and `/rate_limit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Balance {
    pub(crate) limit: u32,
    pub(crate) used: u32,
    pub(crate) reset: i64,
}

impl Balance {
    pub(crate) fn remaining(self) -> u32 {
        self.limit.saturating_sub(self.used)
    }
}

impl Github {
    /// Charges a request, or refuses it.
    pub(crate) fn charge(&self, caller: &Caller, cost: Cost) -> Result<(), Reply> {
        let now = self.now().timestamp();
        let limits = self.options().limits;
        let mut usage = self.0.usage.lock().unwrap_or_else(PoisonError::into_inner);
        let purse = usage.0.entry(key(caller, cost.graphql)).or_default();
        purse.roll(now);
        if purse.used >= limits.requests_per_hour {
            let message = format!("API rate limit exceeded for {}.", caller.purse());
            return Err(basic(limits.status, &message));
        }
        purse.used = purse.used.saturating_add(1);
        if purse.over(now, limits, cost) {
            return Err(self.told_to_wait(secondary_limit(self.options())));
        }
        Ok(())
    }

    /// Returns how a caller stands.
    pub(crate) fn balance(&self, caller: &Caller, graphql: bool) -> Balance {
        let now = self.now().timestamp();
        let mut usage = self.0.usage.lock().unwrap_or_else(PoisonError::into_inner);
        let purse = usage.0.entry(key(caller, graphql)).or_default();
        purse.roll(now);
        Balance {
            limit: self.options().limits.requests_per_hour,
            used: purse.used,
            reset: purse.started.saturating_add(HOUR),
        }
    }

    /// Uses up what a caller has left this hour: `installation 5000000001`, `user alice` or `app`.
    pub fn exhaust(&self, caller: &str) {
        let now = self.now().timestamp();
        let limit = self.options().limits.requests_per_hour;
        let mut usage = self.0.usage.lock().unwrap_or_else(PoisonError::into_inner);
        for kind in ["rest", "graphql"] {
            let purse = usage.0.entry(format!("{caller} {kind}")).or_default();
            purse.roll(now);
            purse.used = limit;
        }
    }

    fn told_to_wait(&self, reply: Reply) -> Reply {
        let wait = self.options().limits.wait;
        match self.options().retry_after {
            RetryAfter::Absent => reply,
            RetryAfter::Seconds => reply.with("retry-after", wait.as_secs().to_string()),
            RetryAfter::HttpDate => {
                let until: DateTime<_> = self.now() + wait;
                reply.with("retry-after", httpdate::fmt_http_date(until.into()))
            }
        }
    }
}

impl Purse {
    fn roll(&mut self, now: i64) {
        if now >= self.started.saturating_add(HOUR) {
            self.started = now;
            self.used = 0;
        }
    }

    /// Counts a request against the secondary limits; a refused one counts too, as on GitHub.
    fn over(&mut self, now: i64, limits: Limits, cost: Cost) -> bool {
        let (points, allowed) = if cost.graphql {
            (&mut self.graphql, limits.graphql_points_per_minute)
        } else {
            (&mut self.rest, limits.points_per_minute)
        };
        while points
            .front()
            .is_some_and(|(at, _)| at.saturating_add(MINUTE) <= now)
        {
            points.pop_front();
        }
        points.push_back((now, if cost.write { 5 } else { 1 }));
        let spent = points
            .iter()
            .fold(0_u32, |sum, (_, points)| sum.saturating_add(*points));
        if spent > allowed {
            return true;
        }
        while self
            .content
            .front()
            .is_some_and(|at| at.saturating_add(HOUR) <= now)
        {
            self.content.pop_front();
        }
        if !cost.content {
            return false;
        }
        self.content.push_back(now);
        let recent = self
            .content
            .iter()
            .filter(|at| at.saturating_add(MINUTE) > now)
            .count();
        over(recent, limits.content_per_minute) || over(self.content.len(), limits.content_per_hour)
    }
}

fn over(count: usize, limit: u32) -> bool {
    u32::try_from(count).unwrap_or(u32::MAX) > limit
}

fn key(caller: &Caller, graphql: bool) -> String {
    format!(
        "{} {}",
        caller.purse(),
        if graphql { "graphql" } else { "rest" }
    )
}
