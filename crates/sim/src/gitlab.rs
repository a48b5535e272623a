//! A strict GitLab on loopback, of the version a test wants.
//!
//! Its state is real git repositories and plain data; HTTP routes read and change that state under
//! the rules GitLab enforces. What a version has, and how it words its refusals, is one table
//! ([`versions`]). Tests arrange the world through [`Gitlab`] and read back what a person would see.
//!
//! **Invariant:** diffs, archives, trees and blobs are git's own, and line codes are computed from
//! them; nothing about them is made up.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use chrono::{DateTime, Utc};
use tempfile::TempDir;

use crate::calls::{CallLog, Problem, watched};
use crate::clock::SimClock;
use crate::faults::Faults;
use crate::late::LateWrites;
use crate::sentinels::Sentinels;
use crate::server::Api;

mod arrange;
mod auth;
mod changes;
mod errors;
mod http;
mod limits;
mod options;
mod params;
mod positions;
mod render;
mod routes;
mod talk;
mod versions;
mod view;
mod webhooks;
mod world;

pub use arrange::{OpenMerge, ProjectOptions};
pub use options::{GitlabLimits, GitlabOptions, HookTimes, MisplacedDrafts, RateHeaders};
pub use routes::gitlab_route_names;
pub use versions::{GitlabFeature, GitlabVersion, gitlab_feature_table};
pub use view::{DiscussionView, MergeRequestPage, NotePlace, NoteView, StatusView};
pub use webhooks::{GitlabDelivery, HookOptions, gitlab_signature};
pub use world::{Access, Scope, Visibility};

use render::Show;
use world::World;

/// The simulated GitLab; clones are the same one.
#[derive(Clone)]
pub struct Gitlab(Arc<Inner>);

struct Inner {
    options: GitlabOptions,
    clock: SimClock,
    sentinels: Sentinels,
    faults: Faults,
    log: CallLog,
    addr: OnceLock<SocketAddr>,
    world: Mutex<World>,
    late: LateWrites,
    usage: Mutex<limits::Usage>,
    // Dropped after the world, whose git processes work in it.
    dir: TempDir,
}

watched!(Gitlab);

impl fmt::Debug for Gitlab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gitlab")
            .field("version", &self.0.options.version)
            .field("addr", &self.0.addr.get())
            .finish_non_exhaustive()
    }
}

impl Gitlab {
    pub(crate) fn new(
        options: GitlabOptions,
        clock: SimClock,
        sentinels: Sentinels,
    ) -> std::io::Result<Self> {
        Ok(Self(Arc::new(Inner {
            options,
            clock,
            sentinels,
            faults: Faults::default(),
            log: CallLog::default(),
            addr: OnceLock::new(),
            world: Mutex::new(World::default()),
            late: LateWrites::default(),
            usage: Mutex::new(limits::Usage::default()),
            dir: tempfile::Builder::new().prefix("sim-gitlab-").tempdir()?,
        })))
    }

    /// Returns what answers its listener.
    pub(crate) fn api(&self) -> Arc<dyn Api> {
        Arc::new(http::Front(self.clone()))
    }

    /// Tells the simulator where it listens; called once, before anybody knows the address.
    pub(crate) fn set_addr(&self, addr: SocketAddr) {
        self.0.addr.get_or_init(|| addr);
    }

    /// Returns the address of the instance, without a slash at the end.
    pub fn url(&self) -> String {
        let host = self
            .0
            .addr
            .get()
            .map_or_else(String::new, SocketAddr::to_string);
        format!("http://{host}{}", self.options().prefix)
    }

    /// Returns the base of the REST API, without a slash at the end.
    pub fn api_url(&self) -> String {
        format!("{}/api/v4", self.url())
    }

    /// Returns the version that is played.
    pub fn version(&self) -> GitlabVersion {
        self.options().version
    }

    /// Returns whether the version that is played has a feature.
    pub fn has(&self, feature: GitlabFeature) -> bool {
        self.version().has(feature)
    }

    /// Returns what was wrong, and what nobody looked at.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        let mut problems = self.0.log.take_problems();
        let unfired = self.0.faults.unfired().into_iter();
        problems.extend(
            unfired
                .chain(self.0.late.waiting())
                .map(Problem::Unconsumed),
        );
        problems.extend(self.unread().into_iter().map(Problem::Unread));
        problems
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.0.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> DateTime<Utc> {
        self.0.clock.now()
    }

    fn options(&self) -> &GitlabOptions {
        &self.0.options
    }

    fn show<'a>(&'a self, world: &'a World) -> Show<'a> {
        Show {
            world,
            url: self.url(),
            options: self.options(),
        }
    }
}
