//! Newtypes for every identity: a value of one kind cannot stand where another is meant.
//!
//! **Invariant:** a value that exists is well-formed; parsing is the only way to make one.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A text that is not an identity of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{value}` is not {expected}")]
pub struct IdError {
    /// The refused text, cut to 80 characters.
    pub value: String,
    /// What a well-formed value looks like.
    pub expected: &'static str,
}

impl IdError {
    fn new(value: &str, expected: &'static str) -> Self {
        Self {
            value: value
                .chars()
                .take(80)
                .map(|c| if c.is_control() { '\u{fffd}' } else { c })
                .collect(),
            expected,
        }
    }
}

/// Which kind of forge a repository lives on.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Forge {
    /// GitHub.com or a GitHub Enterprise Server.
    Github,
    /// GitLab.com or a self-managed GitLab.
    Gitlab,
}

impl Forge {
    /// Returns the lower-case name used in keys, logs and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Github => "github",
            Self::Gitlab => "gitlab",
        }
    }
}

impl fmt::Display for Forge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident, $inner:ty) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name($inner);

        impl $name {
            /// Wraps the forge's number.
            pub const fn new(value: $inner) -> Self {
                Self(value)
            }

            /// Returns the number.
            pub const fn get(self) -> $inner {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

number_id!(
    /// A repository's number on its forge: stays the same through renames and transfers.
    RepoId, u64
);
number_id!(
    /// An App installation's number.
    InstallationId, u64
);
number_id!(
    /// A pull request's (or merge request's) number within its repository.
    PrNumber, u64
);
number_id!(
    /// A person's or bot's number: stays the same when the account is renamed.
    AccountId, u64
);
number_id!(
    /// A comment's number.
    CommentId, u64
);
number_id!(
    /// A posted review's number.
    ReviewId, u64
);
number_id!(
    /// A check run's number.
    CheckId, u64
);
number_id!(
    /// How often the same head was asked to be reviewed again on purpose; part of the job key.
    Generation, u32
);
number_id!(
    /// Which try at a job this is, from 1.
    AttemptNo, u32
);
number_id!(
    /// A line number of the new side of a diff, from 1.
    NewLine, u32
);
number_id!(
    /// A line number of the old side of a diff, from 1.
    OldLine, u32
);
number_id!(
    /// Milliseconds since the Unix epoch.
    Timestamp, i64
);

impl Generation {
    /// Returns the generation after this one.
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl AttemptNo {
    /// The first try.
    pub const FIRST: Self = Self(1);

    /// Returns the attempt after this one.
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl Timestamp {
    /// Returns a moment given as other systems count it: milliseconds since the epoch.
    pub fn from_epoch_millis(millis: u64) -> Self {
        Self(i64::try_from(millis).unwrap_or(i64::MAX))
    }

    /// Returns this moment plus a duration, saturating.
    pub fn plus(self, duration: std::time::Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(millis))
    }

    /// Returns this moment less a duration, saturating.
    pub fn minus(self, duration: std::time::Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_sub(millis))
    }

    /// Returns how long after `earlier` this moment is; zero if it is not after it.
    pub fn since(self, earlier: Self) -> std::time::Duration {
        let millis = self.0.saturating_sub(earlier.0);
        std::time::Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $expected:expr, $valid:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Parses a text, refusing anything that is not well-formed.
            pub fn parse(value: &str) -> Result<Self, IdError> {
                let valid: fn(&str) -> bool = $valid;
                if valid(value) { Ok(Self(value.to_owned())) } else { Err(IdError::new(value, $expected)) }
            }

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({:?})", stringify!($name), self.0)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(value: &str) -> Result<Self, IdError> {
                Self::parse(value)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(value: String) -> Result<Self, IdError> {
                Self::parse(&value)
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.0
            }
        }
    };
}

fn is_lower_hex(value: &str) -> bool {
    value
        .bytes()
        .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

fn is_plain(value: &str, max: usize) -> bool {
    !value.is_empty() && value.len() <= max && !value.chars().any(char::is_control)
}

text_id!(
    /// A commit's object name: 40 (SHA-1) or 64 (SHA-256) lower-case hex digits.
    CommitSha, "a commit id of 40 or 64 lower-case hex digits",
    |v| matches!(v.len(), 40 | 64) && is_lower_hex(v)
);
text_id!(
    /// `owner/name`, or `group/subgroup/name` on GitLab; for display and URLs, never for identity.
    RepoName, "a repository name like `owner/name`",
    |v| is_plain(v, 400) && v.contains('/') && v.split('/').all(|part| {
        !part.is_empty() && part != "." && part != ".." && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
    })
);
text_id!(
    /// A branch name without `refs/heads/`.
    BranchName, "a branch name of 1 to 255 bytes without control characters or spaces",
    |v| is_plain(v, 255) && !v.contains(' ') && !v.contains("..")
);
text_id!(
    /// What the forge calls this delivery: unique per event, the same on a redelivery.
    DeliveryId, "a delivery id of 1 to 128 letters, digits, `-`, `_`, `:` or `.`",
    |v| is_plain(v, 128) && v.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_:.".contains(&b))
);
text_id!(
    /// A job's id: the first 32 hex digits of the SHA-256 over its key's length-prefixed fields.
    JobId, "a job id of 32 lower-case hex digits",
    |v| v.len() == 32 && is_lower_hex(v)
);
text_id!(
    /// What makes two findings the same finding: 32 hex digits, independent of line and wording.
    Fingerprint, "a fingerprint of 32 lower-case hex digits",
    |v| v.len() == 32 && is_lower_hex(v)
);
text_id!(
    /// A SHA-256 as 64 lower-case hex digits.
    Sha256Hex, "a SHA-256 of 64 lower-case hex digits",
    |v| v.len() == 64 && is_lower_hex(v)
);
text_id!(
    /// An account that owns repositories: a user, an organisation, or a GitLab top-level group.
    Account, "an account name of 1 to 255 characters without spaces or `/`",
    |v| is_plain(v, 255) && !v.contains(['/', ' '])
);

impl Account {
    /// Returns whether a forge gives names like this to accounts that are no person's: `name[bot]` on GitHub,
    /// `project_7_bot_0a1b`, `group_7_bot` and `service_account_…` on GitLab.
    pub fn is_bot(&self) -> bool {
        let of_token = ["project_", "group_"].iter().any(|prefix| {
            let rest = self.0.strip_prefix(prefix).unwrap_or_default();
            let number = rest.split('_').next().unwrap_or_default();
            let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
            is_number
                && rest
                    .get(number.len()..)
                    .is_some_and(|rest| rest.starts_with("_bot"))
        });
        of_token || self.0.ends_with("[bot]") || self.0.starts_with("service_account_")
    }
}

impl CommitSha {
    /// Returns the first 7 digits, for people.
    pub fn short(&self) -> &str {
        self.0.get(..7).unwrap_or(&self.0)
    }
}

impl DeliveryId {
    /// Returns the name of an event that the forge gave none: a hash of what makes it this event.
    pub fn of_fields(fields: &[&[u8]]) -> Self {
        Self(hash_fields(fields))
    }
}

impl RepoName {
    /// Returns what stands before the first `/`: the account the repository belongs to.
    pub fn owner(&self) -> &str {
        self.0.split('/').next().unwrap_or(&self.0)
    }

    /// Returns what stands after the last `/`.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }
}

/// Returns the SHA-256 over length-prefixed fields, as 64 hex digits: `ab`+`c` and `a`+`bc` differ.
pub fn hash_fields(fields: &[&[u8]]) -> String {
    use sha2::{Digest as _, Sha256};
    let mut hasher = Sha256::new();
    for field in fields {
        hasher.update(u64::try_from(field.len()).unwrap_or(u64::MAX).to_be_bytes());
        hasher.update(field);
    }
    hex::encode(hasher.finalize())
}

/// Returns the SHA-256 of some bytes.
pub fn sha256(bytes: &[u8]) -> Sha256Hex {
    use sha2::{Digest as _, Sha256};
    Sha256Hex(hex::encode(Sha256::digest(bytes)))
}

impl JobId {
    pub(crate) fn from_hash(hash: &str) -> Self {
        Self(hash.chars().take(32).collect())
    }
}

impl Fingerprint {
    /// Makes a fingerprint from the canonical fields of a finding.
    pub fn over(fields: &[&[u8]]) -> Self {
        Self(hash_fields(fields).chars().take(32).collect())
    }
}

/// One pull request, by numbers only: what keys and claims are made of.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct PullRequestRef {
    /// Which kind of forge.
    pub forge: Forge,
    /// The repository that the pull request wants to change.
    pub repo: RepoId,
    /// The pull request's number there.
    pub pr: PrNumber,
}

impl fmt::Display for PullRequestRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}#{}", self.forge, self.repo, self.pr)
    }
}
