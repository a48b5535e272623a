//! What the jobs of a pipeline are told that hold a forge's token.

use std::time::Duration;

use mirilla_domain::marker::MarkerKey;
use mirilla_domain::settings::OperatorPolicy;

use super::{Environment, GithubAccess, Reader, Secret};

/// Signs the markers of a pipeline that has no host.
const MARKER_KEY: &str = "MIRILLA_MARKER_KEY";
const READ_TOKEN: &str = "MIRILLA_GITHUB_READ_TOKEN";
const WRITE_TOKEN: &str = "MIRILLA_GITHUB_WRITE_TOKEN";

/// What `mirilla collect` is told, and `mirilla post` too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobSettings {
    /// How the forge is reached.
    pub(crate) github: GithubAccess,
    /// With which token.
    pub(crate) token: Secret,
    /// What the operator decides about reviews.
    pub(crate) policy: OperatorPolicy,
    /// How long a write whose answer was lost may still land.
    pub(crate) write_grace: Duration,
}

/// Reads what `mirilla collect` needs; all problems together.
pub(crate) fn collect(environment: &Environment) -> Result<JobSettings, Vec<String>> {
    let mut reader = Reader {
        environment,
        problems: Vec::new(),
    };
    let token = reader.required(READ_TOKEN).map(Secret::new);
    let settings = reader.job(token);
    settings
        .filter(|_| reader.problems.is_empty())
        .ok_or(reader.problems)
}

/// Reads what `mirilla post` needs, and the key of its markers; all problems together. Who only looks may do
/// so with the token that reads.
pub(crate) fn post(
    environment: &Environment,
    looks_only: bool,
) -> Result<(JobSettings, Secret), Vec<String>> {
    let mut reader = Reader {
        environment,
        problems: Vec::new(),
    };
    let token = if looks_only && reader.get(READ_TOKEN).is_some() {
        reader.required(READ_TOKEN)
    } else {
        reader.required(WRITE_TOKEN)
    };
    let key = reader.required(MARKER_KEY).map(Secret::new);
    if let Some(key) = &key
        && let Err(error) = MarkerKey::new(key.reveal().as_bytes())
    {
        reader.problem(MARKER_KEY, &format!("cannot be used ({error})"));
    }
    let settings = reader.job(token.map(Secret::new)).zip(key);
    settings
        .filter(|_| reader.problems.is_empty())
        .ok_or(reader.problems)
}

impl Reader<'_> {
    fn job(&mut self, token: Option<Secret>) -> Option<JobSettings> {
        let api_url = self.url("MIRILLA_GITHUB_API_URL", "https://api.github.com");
        let policy = self.policy();
        let write_grace = self.timings().write_grace;
        Some(JobSettings {
            github: GithubAccess {
                api_url: api_url?,
                archive_hosts: self.list("MIRILLA_GITHUB_ARCHIVE_HOSTS"),
                // The forge says whose token it is.
                login: None,
            },
            token: token?,
            policy,
            write_grace,
        })
    }
}
