//! What the operator decides, read from the environment once, and what each child is told of it.
//!
//! Every variable has one row in [`VARIABLES`]; all problems are reported together, each with the
//! variable's name and the form it takes.
//!
//! **Invariant:** nothing here comes from a repository, and no child is told a secret it does not
//! need.

mod children;
mod forge;
pub(crate) mod jobs;
mod provider;
mod timings;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use mirilla_domain::forge_place::ForgePlace;
use mirilla_domain::settings::{GivenProblem, OperatorPolicy, Single};
use serde::{Deserialize, Serialize};
use url::Url;

pub(crate) use children::{
    AppSettings, CollectorSettings, IntakeChildSettings, MinterSettings, PosterSettings,
    ReviewerSettings, SweeperSettings,
};
pub(crate) use forge::{Credentials, HookSettings, TokenFrom, WebhookSecrets};
pub(crate) use provider::{ModelAccess, Provider};
pub(crate) use timings::Timings;
use timings::days;

/// A secret text that is never printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Secret(String);

impl Secret {
    /// Wraps a secret.
    pub(crate) fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// Returns the secret itself.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns it in the type the adapters take.
    pub(crate) fn to_secret_string(&self) -> secrecy::SecretString {
        self.0.clone().into()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secret({} bytes)", self.0.len())
    }
}

/// One environment variable of the commands that run stages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variable {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it takes, with the default.
    pub(crate) form: &'static str,
}

/// Holds the signing token of GitLab's webhooks.
const SIGNING_TOKEN: &str = "MIRILLA_GITLAB_SIGNING_TOKEN";
/// Names the model on Bedrock.
const BEDROCK: &str = "MIRILLA_BEDROCK_MODEL_ID";

/// Every variable that is read.
pub(crate) const VARIABLES: &[Variable] = &[
    Variable {
        name: "MIRILLA_DATA_DIR",
        form: "a directory for the databases and snapshots; default `./mirilla-data`",
    },
    Variable {
        name: "MIRILLA_LISTEN",
        form: "an address and port for webhooks; default `127.0.0.1:8080`",
    },
    Variable {
        name: "MIRILLA_LISTEN_BEYOND_LOOPBACK",
        form: "`yes` if MIRILLA_LISTEN may be reached from other machines; a TLS proxy on this one is safer",
    },
    Variable {
        name: "MIRILLA_ALLOWED_ACCOUNTS",
        form: "accounts that are served, separated by commas; required",
    },
    Variable {
        name: "MIRILLA_WEBHOOK_SECRET",
        form: "the webhook's secret, on GitLab its secret token; required, but on GitLab with a signing token",
    },
    Variable {
        name: "MIRILLA_WEBHOOK_SECRET_PREVIOUS",
        form: "the secret before it, while a rotation lasts",
    },
    Variable {
        name: "MIRILLA_WEBHOOK_SECRET_CREATED",
        form: "when the present secret was made, as RFC 3339; required with a previous one",
    },
    Variable {
        name: "MIRILLA_GITHUB_API_URL",
        form: "the REST base URL; default `https://api.github.com`",
    },
    Variable {
        name: "MIRILLA_GITHUB_ARCHIVE_HOSTS",
        form: "hosts that archives are served from, separated by commas; default: GitHub's own, or the server itself",
    },
    Variable {
        name: "MIRILLA_GITHUB_APP_ID",
        form: "the App's client id or number; with the App's key",
    },
    Variable {
        name: "MIRILLA_GITHUB_APP_SLUG",
        form: "the App's name in URLs: it comments as `slug[bot]`; with the App's key",
    },
    Variable {
        name: "MIRILLA_GITHUB_APP_KEY_FILE",
        form: "path of the App's private key (PEM); or two tokens instead",
    },
    Variable {
        name: "MIRILLA_GITHUB_READ_TOKEN",
        form: "a token that may read contents and pull requests",
    },
    Variable {
        name: "MIRILLA_GITHUB_WRITE_TOKEN",
        form: "a token that may write pull request reviews",
    },
    Variable {
        name: "MIRILLA_RESOLVE_THREADS",
        form: "`yes` if threads of ours whose finding is gone shall be resolved, for which GitHub wants the right to push (SECURITY.md); default `no`",
    },
    Variable {
        name: "MIRILLA_GITHUB_RESOLVE_TOKEN",
        form: "a third token, of the account that writes, which may push; with two tokens and MIRILLA_RESOLVE_THREADS",
    },
    Variable {
        name: "MIRILLA_GITLAB_URL",
        form: "the address of a GitLab, such as `https://gitlab.example.com`: what is set here serves GitLab and no GitHub; in a pipeline of GitLab's its own is the default",
    },
    Variable {
        name: "MIRILLA_GITLAB_CA_FILE",
        form: "path of a PEM file with the authority of that GitLab's certificate; in a pipeline of GitLab's its own is the default",
    },
    Variable {
        name: SIGNING_TOKEN,
        form: "the signing token of GitLab's webhook (`whsec_` and base64), from GitLab 19 on",
    },
    Variable {
        name: "MIRILLA_GITLAB_SIGNING_TOKEN_PREVIOUS",
        form: "the signing token before it, while a rotation lasts",
    },
    Variable {
        name: "MIRILLA_GITLAB_SIGNING_TOKEN_CREATED",
        form: "when the present signing token was made, as RFC 3339; required with a previous one",
    },
    Variable {
        name: "MIRILLA_GITLAB_READ_TOKEN",
        form: "a token with the scope `read_api` and the role Reporter",
    },
    Variable {
        name: "MIRILLA_GITLAB_WRITE_TOKEN",
        form: "a token with the scope `api` and the role Developer",
    },
    Variable {
        name: "MIRILLA_MARKER_KEY",
        form: "random text of at least 16 bytes (`openssl rand -hex 32`) by which `mirilla post` knows its own comments again; never change it; on GitLab the default is made of the token that writes; `mirilla post` only, a host makes its own",
    },
    Variable {
        name: "ANTHROPIC_API_KEY",
        form: "the key of the Messages API; without one only deterministic checks run",
    },
    Variable {
        name: "MIRILLA_MODEL_URL",
        form: "the Messages API's base URL; default `https://api.anthropic.com`",
    },
    Variable {
        name: BEDROCK,
        form: "the id or ARN of a model or inference profile on Amazon Bedrock, asked instead of the Messages API with the AWS credentials of the environment; `mirilla review` and `mirilla eval` only",
    },
    Variable {
        name: "MIRILLA_POLICY_FILE",
        form: "path of a TOML file with the operator's policy (`mirilla config policy` prints one); default: built-in defaults",
    },
    Variable {
        name: "MIRILLA_MODEL",
        form: "the model's id; default: the policy's, `claude-sonnet-5-5`",
    },
    Variable {
        name: "MIRILLA_REVIEW_USD",
        form: "dollars one review may cost; default: the policy's, 1.00",
    },
    Variable {
        name: "MIRILLA_REPOSITORY_DAY_USD",
        form: "dollars one repository may cost on one UTC day; default: the policy's, 10.00",
    },
    Variable {
        name: "MIRILLA_ACCOUNT_MONTH_USD",
        form: "dollars one account may cost in one UTC month; default: the policy's, 100.00",
    },
    Variable {
        name: "MIRILLA_TRUSTED_BASES",
        form: "branches whose own settings and rules count, separated by commas; default: the policy's, the default branch alone",
    },
    Variable {
        name: "MIRILLA_CONCURRENT_REVIEWS",
        form: "how many reviews run at once, 1 to 16; default 2",
    },
    Variable {
        name: "MIRILLA_DEBOUNCE_SECONDS",
        form: "whole seconds before a push is read; default 20, and 90 while pushes come in a row",
    },
    Variable {
        name: "MIRILLA_WRITE_GRACE_SECONDS",
        form: "whole seconds in which a write whose answer was lost may still land; default 60",
    },
    Variable {
        name: "MIRILLA_SWEEP_SECONDS",
        form: "whole seconds between two looks for dead workers, at least 1; default 30",
    },
    Variable {
        name: "MIRILLA_KEEP_RUN_DAYS",
        form: "whole days for which ended runs are kept, with their diffs, 0 to 90; 0 keeps none; default 7",
    },
    Variable {
        name: "MIRILLA_LOG",
        form: "`human` or `json`; default `human`",
    },
];

/// Everything `mirilla serve` needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostSettings {
    /// Where databases and snapshots live.
    pub(crate) data_dir: PathBuf,
    /// Where webhooks arrive.
    pub(crate) listen: SocketAddr,
    /// Whether an address that other machines reach is meant.
    pub(crate) listen_beyond_loopback: bool,
    /// Who is served.
    pub(crate) allowed_accounts: Vec<String>,
    /// What webhooks are believed by.
    pub(crate) hooks: HookSettings,
    /// How the forge is reached.
    pub(crate) forge: ForgePlace,
    /// With which rights.
    pub(crate) credentials: Credentials,
    /// Whether threads of ours whose finding is gone are resolved.
    pub(crate) resolve_threads: bool,
    /// How the model is reached; without one only the deterministic checks run.
    pub(crate) model: Option<ModelAccess>,
    /// What the operator decides about reviews.
    pub(crate) policy: OperatorPolicy,
    /// How many reviews run at once.
    pub(crate) concurrent_reviews: u8,
    /// How long things wait.
    pub(crate) timings: Timings,
}

/// The environment as a value.
pub(crate) type Environment = BTreeMap<String, String>;

/// Reads this process's environment.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the environment"
)]
pub(crate) fn environment() -> Environment {
    std::env::vars_os()
        .filter_map(|(name, value)| {
            Some((
                name.into_string().ok()?,
                value.to_string_lossy().into_owned(),
            ))
        })
        .collect()
}

/// Reads all settings of `mirilla serve`; all problems together.
pub(crate) fn host(environment: &Environment) -> Result<HostSettings, Vec<String>> {
    let mut reader = Reader {
        environment,
        problems: Vec::new(),
    };
    let settings = reader.host();
    match settings {
        Some(settings) if reader.problems.is_empty() => Ok(settings),
        _ => Err(reader.problems),
    }
}

/// Reads what `mirilla review` needs: who is asked, if anybody, and the policy.
pub(crate) fn preview(
    environment: &Environment,
) -> Result<(Option<Provider>, OperatorPolicy), Vec<String>> {
    let mut reader = Reader {
        environment,
        problems: Vec::new(),
    };
    let bedrock = reader.get(BEDROCK).map(ToOwned::to_owned);
    let provider = match bedrock {
        Some(model_id) => Some(Provider::Bedrock { model_id }),
        None => reader.model().map(Provider::Messages),
    };
    let settings = (provider, reader.policy());
    if reader.problems.is_empty() {
        Ok(settings)
    } else {
        Err(reader.problems)
    }
}

struct Reader<'a> {
    environment: &'a Environment,
    problems: Vec<String>,
}

impl Reader<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.environment
            .get(name)
            .map(|value| value.trim())
            .filter(|value| !value.is_empty())
    }

    fn problem(&mut self, name: &str, what: &str) {
        let form = VARIABLES
            .iter()
            .find(|variable| variable.name == name)
            .map_or("", |v| v.form);
        self.problems
            .push(format!("{name} {what}: it takes {form}"));
    }

    fn parsed<T>(&mut self, name: &str, default: T, parse: impl FnOnce(&str) -> Option<T>) -> T {
        match self.get(name) {
            None => default,
            Some(value) => {
                let parsed = parse(value);
                if parsed.is_none() {
                    self.problem(name, "is not well-formed");
                }
                parsed.unwrap_or(default)
            }
        }
    }

    fn list(&self, name: &str) -> Vec<String> {
        let value = self.get(name).unwrap_or("");
        value
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(ToOwned::to_owned)
            .collect()
    }

    fn required(&mut self, name: &str) -> Option<String> {
        let value = self.get(name).map(ToOwned::to_owned);
        if value.is_none() {
            self.problem(name, "is missing");
        }
        value
    }

    fn host(&mut self) -> Option<HostSettings> {
        let allowed_accounts = self.list("MIRILLA_ALLOWED_ACCOUNTS");
        if allowed_accounts.is_empty() {
            self.problem("MIRILLA_ALLOWED_ACCOUNTS", "is missing");
        }
        let yes_or_no = |value: &str| match value {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        };
        let resolve_threads = self.parsed("MIRILLA_RESOLVE_THREADS", false, yes_or_no);
        let forge = self.forge_of_host(resolve_threads);
        self.no_bedrock();
        let model = self.model();
        let policy = self.policy();
        let data_dir = PathBuf::from(self.get("MIRILLA_DATA_DIR").unwrap_or("mirilla-data"));
        let listen = self.parsed(
            "MIRILLA_LISTEN",
            SocketAddr::from(([127, 0, 0, 1], 8080)),
            |v| v.parse().ok(),
        );
        let listen_beyond_loopback =
            self.parsed("MIRILLA_LISTEN_BEYOND_LOOPBACK", false, yes_or_no);
        let concurrent_reviews = self.parsed("MIRILLA_CONCURRENT_REVIEWS", 2, |value| {
            value.parse().ok().filter(|count| (1..=16).contains(count))
        });
        let (hooks, forge, credentials) = forge?;
        Some(HostSettings {
            data_dir,
            listen,
            listen_beyond_loopback,
            allowed_accounts,
            hooks,
            forge,
            credentials,
            resolve_threads,
            model,
            policy,
            concurrent_reviews,
            timings: self.timings(),
        })
    }

    fn timings(&mut self) -> Timings {
        let defaults = Timings::default();
        let seconds = |value: &str| value.parse().ok().map(Duration::from_secs);
        let debounce = self.parsed("MIRILLA_DEBOUNCE_SECONDS", None, |value| {
            seconds(value).map(Some)
        });
        let sweep_every = self.parsed("MIRILLA_SWEEP_SECONDS", defaults.sweep_every, |value| {
            seconds(value).filter(|every| !every.is_zero())
        });
        Timings {
            debounce_first: debounce.unwrap_or(defaults.debounce_first),
            debounce_busy: debounce.unwrap_or(defaults.debounce_busy),
            write_grace: self.parsed("MIRILLA_WRITE_GRACE_SECONDS", defaults.write_grace, seconds),
            sweep_every,
            lost_after: sweep_every.saturating_mul(4),
            keep_runs: self.parsed("MIRILLA_KEEP_RUN_DAYS", defaults.keep_runs, |value| {
                value.parse().ok().filter(|count| *count <= 90).map(days)
            }),
            ..defaults
        }
    }

    fn url(&mut self, name: &str, default: &str) -> Option<Url> {
        let parsed = Url::parse(self.get(name).unwrap_or(default)).ok();
        if parsed.is_none() {
            self.problem(name, "is not a URL");
        }
        parsed
    }

    /// A reviewer's process on this host is confined to its files and one port, and has no AWS credentials.
    fn no_bedrock(&mut self) {
        if self.get(BEDROCK).is_some() {
            self.problems.push(format!(
                "{BEDROCK} is for `mirilla review` and for a stack; on one host set ANTHROPIC_API_KEY instead"
            ));
        }
    }

    fn model(&mut self) -> Option<ModelAccess> {
        let api_key = self.get("ANTHROPIC_API_KEY").map(Secret::new)?;
        let endpoint = self.url("MIRILLA_MODEL_URL", "https://api.anthropic.com")?;
        Some(ModelAccess { endpoint, api_key })
    }

    /// Returns the operator's policy: the file's, with the variables that have one of its values.
    fn policy(&mut self) -> OperatorPolicy {
        const FILE: &str = "MIRILLA_POLICY_FILE";
        let path = self.get(FILE).map(ToOwned::to_owned);
        let text = path.as_ref().map(std::fs::read_to_string);
        let readable = text.as_ref().and_then(|text| text.as_deref().ok());
        let single = |single: Single| self.get(single.variable()).map(ToOwned::to_owned);
        let (policy, problems) = OperatorPolicy::given(readable, single);
        let path = path.unwrap_or_default();
        if let Some(Err(error)) = text {
            self.problem(FILE, &format!("cannot be used ({path}: {error})"));
        }
        for problem in problems {
            match problem {
                GivenProblem::Text(why) => {
                    self.problem(FILE, &format!("cannot be used ({path}: {why})"));
                }
                GivenProblem::Single(single) => {
                    self.problem(single.variable(), "is not well-formed");
                }
            }
        }
        policy
    }
}

#[cfg(test)]
mod tests;
