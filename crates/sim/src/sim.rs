//! The simulators together: their listeners, their clock and their end.

use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};

use chrono::{DateTime, Utc};

use crate::calls::{CallLog, Problem, Problems};
use crate::clock::SimClock;
use crate::github::{Codeload, Front, Github, GithubOptions, Website};
use crate::gitlab::{Gitlab, GitlabOptions};
use crate::messages::{Messages, MessagesOptions};
use crate::sentinels::Sentinels;
use crate::server::{Api, Reply, Request, Shell};

/// How the simulated services are set up.
#[derive(Debug, Clone, Default)]
pub struct SimOptions {
    /// Pins the clock at this time; by default it runs with the machine's.
    pub start_at: Option<DateTime<Utc>>,
    /// The simulated GitHub.
    pub github: GithubOptions,
    /// The simulated GitLab.
    pub gitlab: GitlabOptions,
    /// The simulated Messages API.
    pub messages: MessagesOptions,
}

/// Why the simulators could not start.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// No listener, thread or directory could be had.
    #[error("cannot set up the simulators on 127.0.0.1")]
    Setup(#[source] io::Error),
}

/// The simulated services; they stop when this is dropped.
///
/// Each service has its own listener on the shared shell.
#[derive(Debug)]
pub struct Sim {
    clock: SimClock,
    sentinels: Sentinels,
    github: Github,
    gitlab: Gitlab,
    messages: Messages,
    trap: OnceLock<(String, CallLog)>,
    shell: Shell,
}

impl Sim {
    /// Opens the services.
    pub fn start(options: SimOptions) -> Result<Self, SimError> {
        let clock = options
            .start_at
            .map_or_else(SimClock::running, SimClock::pinned);
        let sentinels = Sentinels::default();
        let shell = Shell::start().map_err(SimError::Setup)?;
        let github = Github::new(options.github, clock.clone(), sentinels.clone())
            .map_err(SimError::Setup)?;
        let front = shell
            .serve(Arc::new(Front(github.clone())))
            .map_err(SimError::Setup)?;
        let codeload = shell
            .serve(Arc::new(Codeload(github.clone())))
            .map_err(SimError::Setup)?;
        let website = shell
            .serve(Arc::new(Website(github.clone())))
            .map_err(SimError::Setup)?;
        github.set_addresses(front, codeload, website);
        let gitlab = Gitlab::new(options.gitlab, clock.clone(), sentinels.clone())
            .map_err(SimError::Setup)?;
        let addr = shell.serve(gitlab.api()).map_err(SimError::Setup)?;
        gitlab.set_addr(addr);
        let messages = Messages::new(options.messages, clock.clone(), sentinels.clone());
        let addr = shell.serve(messages.api()).map_err(SimError::Setup)?;
        messages.set_addr(addr);
        Ok(Self {
            clock,
            sentinels,
            github,
            gitlab,
            messages,
            trap: OnceLock::new(),
            shell,
        })
    }

    /// Returns the clock that all services follow.
    pub fn clock(&self) -> &SimClock {
        &self.clock
    }

    /// Returns the simulated GitHub.
    pub fn github(&self) -> &Github {
        &self.github
    }

    /// Returns the base of GitHub's REST API, without a slash at the end.
    pub fn github_api_url(&self) -> String {
        self.github.api_url()
    }

    /// Returns the simulated GitLab.
    pub fn gitlab(&self) -> &Gitlab {
        &self.gitlab
    }

    /// Returns the base of GitLab's REST API, without a slash at the end.
    pub fn gitlab_api_url(&self) -> String {
        self.gitlab.api_url()
    }

    /// Returns the simulated Messages API.
    pub fn messages(&self) -> &Messages {
        &self.messages
    }

    /// Registers a made-up secret that must not appear in any URL or request body.
    pub fn sentinel(&self, secret: &str) {
        self.sentinels.add(secret);
    }

    /// Returns the URL of a host that nobody may contact: a request to it is a problem.
    ///
    /// Tests send clients there through redirects, `Link` headers and payloads.
    pub fn trap_url(&self) -> Result<String, SimError> {
        if let Some((url, _)) = self.trap.get() {
            return Ok(url.clone());
        }
        let log = CallLog::default();
        let addr = self
            .shell
            .serve(Arc::new(Trap(log.clone())))
            .map_err(SimError::Setup)?;
        let (url, _) = self.trap.get_or_init(|| (format!("http://{addr}"), log));
        Ok(url.clone())
    }

    /// Ends the run: everything that was wrong, or that nobody looked at, is an error.
    pub fn finish(self) -> Result<(), Problems> {
        let mut problems: Vec<Problem> = self.github.problems();
        problems.extend(self.gitlab.problems());
        problems.extend(self.messages.problems());
        if let Some((_, log)) = self.trap.get() {
            problems.extend(log.take_problems());
        }
        if problems.is_empty() {
            Ok(())
        } else {
            Err(Problems(problems))
        }
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        // Hooks may hold the simulator itself, which would then never be freed.
        self.github.faults().clear();
        self.gitlab.faults().clear();
        self.messages.clear();
    }
}

/// The host that nobody may contact.
struct Trap(CallLog);

impl fmt::Debug for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trap")
    }
}

impl Api for Trap {
    fn answer(&self, request: &Request) -> Reply {
        let credential = if request.headers.contains_key("authorization") {
            ", with its credential"
        } else {
            ""
        };
        let what = format!(
            "a foreign host was sent {} {}{credential}",
            request.method, request.path
        );
        self.0.problem(Problem::Leak(what));
        Reply::empty(204)
    }
}
