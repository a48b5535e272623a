//! A webhook's bytes: is it the forge's, and what does it ask for?
//!
//! [`verify_github`] and [`verify_gitlab`] look at the raw bytes, before anything is parsed. [`parse_github`] and
//! [`parse_gitlab`] take what may be acted on and leave the rest: a webhook body is a hint, so only ids leave this module.
//!
//! **Invariant:** nothing of a body is in an error or a log: errors name fields, never values.

mod command;
mod error;
mod form;
mod github;
mod gitlab;
mod payload;
mod signature;

pub use command::{dismissal, find_command};
pub use error::{FieldProblem, IgnoreReason, WebhookError};
pub use github::{GithubHeaders, Parsed, parse_github};
pub use gitlab::{
    GitlabHeaders, GitlabSecrets, MAX_CLOCK_SKEW, NoGitlabSecret, SigningTokenError, parse_gitlab,
    sign_gitlab, verify_gitlab,
};
pub use signature::{
    GRACE_ENTERPRISE_SERVER, GRACE_GITHUB_COM, PreviousSecret, SecretError, Secrets,
    SignatureError, WebhookSecret, sign_github, verify_github,
};

/// What the webhooks of a deployment's one forge are believed by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookSecrets {
    /// GitHub's.
    Github(Secrets),
    /// GitLab's.
    Gitlab(GitlabSecrets),
}

impl From<Secrets> for HookSecrets {
    fn from(secrets: Secrets) -> Self {
        Self::Github(secrets)
    }
}

impl From<GitlabSecrets> for HookSecrets {
    fn from(secrets: GitlabSecrets) -> Self {
        Self::Gitlab(secrets)
    }
}

/// The largest body that is looked at: GitHub delivers nothing above 25 MB
/// (<https://docs.github.com/en/webhooks/webhook-events-and-payloads>, "payloads are capped").
pub const MAX_BODY_BYTES: usize = 25 * 1024 * 1024;
