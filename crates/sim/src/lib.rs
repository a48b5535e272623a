//! A strict GitHub, a strict GitLab and a strict Messages API on loopback, for the demo and the tests.
//!
//! [`Sim::start`] opens the simulated services. Tests and the demo arrange the world through a
//! state API, point the production clients at the URLs, and read back what a person would see.
//! What the real service refuses is refused here; what our own clients must never do is recorded
//! and fails the test in [`Sim::finish`].
//!
//! ```
//! use mirilla_sim::{Commit, InstallOptions, OpenPull, RepoOptions, Sim, SimOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let sim = Sim::start(SimOptions::default())?;
//! let github = sim.github();
//! github.create_repo("acme/shop", &RepoOptions::default())?;
//! github.commit("acme/shop", "main", &Commit::by("alice", "Start").write("a.txt", "1\n"))?;
//! github.install("acme", InstallOptions::default())?;
//! github.commit("acme/shop", "topic", &Commit::by("bob", "Change").write("a.txt", "2\n"))?;
//! let number = github.open_pull("acme/shop", OpenPull::new("bob", "topic", "A change"))?;
//! // Point the production client at `sim.github_api_url()` and hand it these.
//! let webhooks = github.take_deliveries();
//! assert_eq!(webhooks.last().map(|webhook| webhook.event.as_str()), Some("pull_request"));
//! // … and look at what it did.
//! assert_eq!(github.pull_request_page("acme/shop", number)?.reviews.len(), 0);
//! sim.finish()?;
//! # Ok(())
//! # }
//! ```
//!
//! Git 2.38 or newer has to be on the path.
//!
//! **Invariant:** nothing here listens or connects outside 127.0.0.1.

// GitHub's objects have more fields than serde_json's macro can nest by default.
#![recursion_limit = "256"]

mod calls;
mod clock;
mod diff;
mod faults;
mod git;
mod github;
mod gitlab;
mod json;
mod late;
mod messages;
mod path;
mod sentinels;
mod server;
mod sim;
mod state;

pub use calls::{Call, Problem, Problems};
pub use clock::SimClock;
pub use diff::Side;
pub use faults::{Fault, Faults, Hook};
pub use git::{Change, Commit, GitError};
pub use github::{
    AccountKind, AppOptions, CheckView, CommentView, FileView, Github, GithubOptions, HookEncoding,
    InstallOptions, IssueCommentView, Limits, LineView, OpenPull, OutdatedLine, PullRequestPage,
    RepoOptions, RetryAfter, ReviewView, Role, ThreadView, WebhookDelivery, Wording,
    hook_signature, route_names,
};
pub use gitlab::{
    Access, DiscussionView, Gitlab, GitlabDelivery, GitlabFeature, GitlabLimits, GitlabOptions,
    GitlabVersion, HookOptions, HookTimes, MergeRequestPage, MisplacedDrafts, NotePlace, NoteView,
    OpenMerge, ProjectOptions, RateHeaders, Scope, StatusView, Visibility, gitlab_feature_table,
    gitlab_route_names, gitlab_signature,
};
pub use messages::{
    Charged, Messages, MessagesOptions, ModelCall, ModelUsage, Otherwise, Prompt, Scripted,
    SimFinding,
};
pub use sentinels::Sentinels;
pub use sim::{Sim, SimError, SimOptions};
pub use state::StateError;

/// The private key of the simulated App, PEM (PKCS#1): made up, of no use anywhere else.
pub const TEST_APP_KEY: &str = include_str!("../keys/test-app-key.pem");

/// The public key that belongs to [`TEST_APP_KEY`].
pub const TEST_APP_PUBLIC_KEY: &str = include_str!("../keys/test-app-key.pub.pem");
