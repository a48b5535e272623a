//! A strict GitHub on loopback.
//!
//! Its state is real git repositories and plain data; HTTP routes read and change that state under
//! the rules GitHub enforces. Tests arrange the world through [`Github`] and read back what a
//! person would see.
//!
//! **Invariant:** diffs, archives, trees and blobs are git's own; nothing about them is made up.

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

mod anchors;
mod arrange;
mod auth;
mod errors;
mod graphql;
mod http;
mod limits;
mod options;
mod registering;
mod render;
mod routes;
mod talk;
mod view;
mod webhooks;
mod world;

pub use arrange::{InstallOptions, OpenPull, RepoOptions};
pub use options::{
    AppOptions, GithubOptions, HookEncoding, Limits, OutdatedLine, RetryAfter, Wording,
};
pub use view::{
    CheckView, CommentView, FileView, IssueCommentView, LineView, PullRequestPage, ReviewView,
    ThreadView,
};
pub use webhooks::{WebhookDelivery, hook_signature};
pub use world::{AccountKind, Role};

pub use http::route_names;
pub(crate) use http::{Codeload, Front};
pub(crate) use registering::Website;

use render::{Show, Urls};
use world::World;

/// Where archives lie on a GHES, which has no host of its own for them.
const ARCHIVES_ON_GHES: &str = "/_codeload";

/// The simulated GitHub; clones are the same one.
#[derive(Clone)]
pub struct Github(Arc<Inner>);

struct Inner {
    options: GithubOptions,
    clock: SimClock,
    sentinels: Sentinels,
    faults: Faults,
    log: CallLog,
    urls: OnceLock<Urls>,
    world: Mutex<World>,
    late: LateWrites,
    usage: Mutex<limits::Usage>,
    // Dropped after the world, whose git processes work in it.
    dir: TempDir,
}

watched!(Github);

impl fmt::Debug for Github {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Github")
            .field("urls", &self.0.urls.get())
            .finish_non_exhaustive()
    }
}

impl Github {
    pub(crate) fn new(
        options: GithubOptions,
        clock: SimClock,
        sentinels: Sentinels,
    ) -> std::io::Result<Self> {
        let mut world = World::default();
        world.account(&format!("{}[bot]", options.app.slug));
        world.hook = world::HookConfig {
            url: "http://127.0.0.1/webhooks/github".to_owned(),
            secret: options.app.hook_secret.clone(),
            form: webhooks::starts_as_form(options.hook_encoding),
        };
        Ok(Self(Arc::new(Inner {
            options,
            clock,
            sentinels,
            faults: Faults::default(),
            log: CallLog::default(),
            urls: OnceLock::new(),
            world: Mutex::new(world),
            late: LateWrites::default(),
            usage: Mutex::new(limits::Usage::default()),
            dir: tempfile::Builder::new().prefix("sim-github-").tempdir()?,
        })))
    }

    /// Tells the simulator where it listens; called once, before anybody knows the address.
    pub(crate) fn set_addresses(
        &self,
        front: SocketAddr,
        codeload: SocketAddr,
        website: SocketAddr,
    ) {
        let prefix = &self.options().prefix;
        let (graphql, archives) = if prefix.is_empty() {
            ("/graphql", format!("http://{codeload}"))
        } else {
            // A GHES serves everything on one host.
            ("/api/graphql", format!("http://{front}{ARCHIVES_ON_GHES}"))
        };
        let urls = Urls {
            api: format!("http://{front}{prefix}"),
            graphql: format!("http://{front}{graphql}"),
            codeload: archives,
            html: "https://github.test".to_owned(),
            website: format!("http://{website}"),
        };
        drop(self.0.urls.set(urls));
    }

    /// Returns the base of the REST API, without a slash at the end.
    pub fn api_url(&self) -> String {
        self.urls().api.clone()
    }

    /// Returns the address of the GraphQL API.
    pub fn graphql_url(&self) -> String {
        self.urls().graphql.clone()
    }

    /// Returns the base of the archive host, without a slash at the end.
    pub fn archive_url(&self) -> String {
        self.urls().codeload.clone()
    }

    /// Returns the base of the website, where Apps are registered, without a slash at the end.
    pub fn website_url(&self) -> String {
        self.urls().website.clone()
    }

    /// Returns the address that the App's webhook has at the moment.
    pub fn hook_url(&self) -> String {
        self.world().hook.url.clone()
    }

    /// Returns the secret that the App's webhook has at the moment.
    pub fn hook_secret(&self) -> String {
        self.world().hook.secret.clone()
    }

    /// Returns the login of the App's bot.
    pub fn bot(&self) -> String {
        format!("{}[bot]", self.0.options.app.slug)
    }

    /// Returns what was wrong, and what nobody looked at.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        let mut problems = self.0.log.take_problems();
        problems.extend(self.0.faults.unfired().into_iter().map(Problem::Unconsumed));
        problems.extend(self.0.late.waiting().into_iter().map(Problem::Unconsumed));
        problems.extend(self.unread().into_iter().map(Problem::Unread));
        problems
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.0.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> DateTime<Utc> {
        self.0.clock.now()
    }

    fn options(&self) -> &GithubOptions {
        &self.0.options
    }

    fn urls(&self) -> &Urls {
        static NOWHERE: OnceLock<Urls> = OnceLock::new();
        self.0
            .urls
            .get()
            .unwrap_or_else(|| NOWHERE.get_or_init(Urls::default))
    }

    fn show<'a>(&'a self, world: &'a World) -> Show<'a> {
        Show {
            world,
            urls: self.urls(),
            options: self.options(),
        }
    }
}
