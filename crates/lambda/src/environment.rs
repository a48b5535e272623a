//! What the template tells a function: its environment, read once.
//!
//! All problems are reported together, each with the variable's name and the form it takes.
//!
//! **Invariant:** no secret stands in an environment: the variables name where one is kept.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use mirilla_domain::forge_place::{
    ForgePlace, GITHUB_API_URL, GITHUB_COM_API, GITLAB_URL, GithubPlace, GitlabPlace,
};
use mirilla_domain::job::Debounce;
use mirilla_domain::redact;
use mirilla_domain::settings::{GivenProblem, OperatorPolicy, Single};

/// The variable with certificates of authorities of the operator's own.
const FORGE_CA_PEM: &str = "MIRILLA_FORGE_CA_PEM";

/// The environment as a value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Reads this process's environment.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place of the functions that reads the environment"
    )]
    pub fn read() -> Self {
        std::env::vars_os()
            .map(|(name, value)| {
                (
                    name.to_string_lossy().into_owned(),
                    value.to_string_lossy().into_owned(),
                )
            })
            .collect()
    }

    /// Returns a variable that is set to more than blanks.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .get(name)
            .map(|value| value.trim())
            .filter(|value| !value.is_empty())
    }

    /// Returns this process's own AWS credentials, by name, for what must never leave it.
    pub fn own_credentials(&self) -> Vec<(&'static str, String)> {
        [
            ("aws-secret-key", "AWS_SECRET_ACCESS_KEY"),
            ("aws-session-token", "AWS_SESSION_TOKEN"),
        ]
        .into_iter()
        .filter_map(|(name, variable)| Some((name, self.get(variable)?.to_owned())))
        .collect()
    }

    /// Refuses what a process that reads strangers' code must not find beside it: a variable that is
    /// neither Lambda's own nor in `known`, or any value of a forge credential's shape.
    pub fn refuse_strangers(&self, known: &[&str]) -> Result<(), Problems> {
        let mut problems = Vec::new();
        for (name, value) in &self.0 {
            if let Some(kind) = redact::credential_shape(value) {
                problems.push(format!(
                    "{name} holds {kind:?}: this function does not start beside a forge credential; \
                     remove the variable"
                ));
            } else if !is_lambdas_own(name) && !known.contains(&name.as_str()) {
                problems.push(format!(
                    "{name} is not a variable of this function: remove it from its configuration"
                ));
            }
        }
        Problems::unless_empty(problems)
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(pairs: T) -> Self {
        Self(pairs.into_iter().collect())
    }
}

/// Returns whether Lambda's runtime or the system below it sets a variable.
/// <https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html>
fn is_lambdas_own(name: &str) -> bool {
    const PREFIXES: [&str; 4] = ["AWS_", "_AWS_", "LAMBDA_", "LC_"];
    const NAMES: [&str; 16] = [
        "_HANDLER",
        "_X_AMZN_TRACE_ID",
        "HOME",
        "LANG",
        "LD_LIBRARY_PATH",
        "PATH",
        "PWD",
        "SHLVL",
        "TMPDIR",
        "TZ",
        "USER",
        "LOGNAME",
        "SHELL",
        "NODE_PATH",
        "PYTHONPATH",
        "_",
    ];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || NAMES.contains(&name)
}

/// Where a function's tokens come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenPlace {
    /// A minter, which makes one for each job: the function's name.
    Minter(String),
    /// The operator: the secret's name.
    Secret(String),
}

/// Everything that is wrong with an environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(Vec<String>);

impl Problems {
    fn unless_empty(problems: Vec<String>) -> Result<(), Self> {
        if problems.is_empty() {
            Ok(())
        } else {
            Err(Self(problems))
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("; "))
    }
}

impl std::error::Error for Problems {}

/// Reads settings and collects what is wrong with them.
#[derive(Debug)]
pub struct Settings<'a> {
    environment: &'a Environment,
    problems: Vec<String>,
}

impl<'a> Settings<'a> {
    /// Begins reading.
    pub const fn of(environment: &'a Environment) -> Self {
        Self {
            environment,
            problems: Vec::new(),
        }
    }

    /// Returns what was read if nothing was wrong.
    pub fn finish<T>(self, settings: T) -> Result<T, Problems> {
        Problems::unless_empty(self.problems).map(|()| settings)
    }

    /// Notes something wrong with a variable.
    pub fn problem(&mut self, name: &str, what: &str) {
        self.problems.push(format!("{name} {what}"));
    }

    /// Returns a variable that must be there; an empty text, and a problem, if it is not.
    pub fn required(&mut self, name: &str) -> String {
        self.optional(name).unwrap_or_else(|| {
            self.problem(name, "is missing: the template sets it");
            String::new()
        })
    }

    /// Returns a variable that may be missing.
    pub fn optional(&self, name: &str) -> Option<String> {
        self.environment.get(name).map(ToOwned::to_owned)
    }

    /// Returns the items of a list separated by commas.
    pub fn list(&self, name: &str) -> Vec<String> {
        let items = self.environment.get(name).unwrap_or_default().split(',');
        items
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(ToOwned::to_owned)
            .collect()
    }

    /// Returns a parsed variable, or the default if it is missing.
    pub fn parsed<T>(
        &mut self,
        name: &str,
        default: T,
        form: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> T {
        let Some(value) = self.environment.get(name) else {
            return default;
        };
        parse(value).unwrap_or_else(|| {
            self.problem(name, &format!("is not well-formed: it takes {form}"));
            default
        })
    }

    /// Returns where the forge is: GitLab if its address is set, else GitHub.
    pub fn forge(&self) -> ForgePlace {
        match self.optional(GITLAB_URL) {
            Some(url) => ForgePlace::Gitlab(GitlabPlace {
                url,
                extra_ca_pem: self.optional(FORGE_CA_PEM),
            }),
            None => ForgePlace::Github(self.github()),
        }
    }

    /// Returns where GitHub is.
    pub fn github(&self) -> GithubPlace {
        let slug = self.optional("MIRILLA_GITHUB_APP_SLUG");
        GithubPlace {
            api_url: self
                .optional(GITHUB_API_URL)
                .unwrap_or_else(|| GITHUB_COM_API.to_owned()),
            archive_hosts: self.list("MIRILLA_GITHUB_ARCHIVE_HOSTS"),
            extra_ca_pem: self.optional(FORGE_CA_PEM),
            login: slug.map(|slug| format!("{slug}[bot]")),
        }
    }

    /// Returns where tokens come from: the minter that one variable names, or else the secret that another does.
    pub fn tokens(&self, minter: &str, secret: &str) -> Option<TokenPlace> {
        let minter = self.optional(minter).map(TokenPlace::Minter);
        minter.or_else(|| self.optional(secret).map(TokenPlace::Secret))
    }

    /// Returns the same where there must be one.
    pub fn required_tokens(&mut self, minter: &str, secret: &str) -> TokenPlace {
        self.tokens(minter, secret).unwrap_or_else(|| {
            self.problem(
                minter,
                &format!("and {secret} are both missing: the template sets one"),
            );
            TokenPlace::Secret(String::new())
        })
    }

    /// Returns how long pushes wait.
    pub fn debounce(&mut self) -> Debounce {
        self.parsed(
            "MIRILLA_DEBOUNCE_SECONDS",
            Debounce::default(),
            "whole seconds, one number or two such as `20,90`",
            debounce,
        )
    }

    /// Returns the operator's policy: the text of `MIRILLA_POLICY` (TOML, as `mirilla config policy`
    /// prints it), with the variables that hold one of its values.
    pub fn policy(&mut self) -> OperatorPolicy {
        let text = self.environment.get("MIRILLA_POLICY");
        let single = |single: Single| self.optional(single.variable());
        let (policy, problems) = OperatorPolicy::given(text, single);
        for problem in problems {
            match problem {
                GivenProblem::Text(why) => {
                    self.problem("MIRILLA_POLICY", &format!("cannot be used: {why}"));
                }
                GivenProblem::Single(single) => self.problem(
                    single.variable(),
                    &format!("is not well-formed: it takes {}", single.form()),
                ),
            }
        }
        policy
    }
}

fn debounce(text: &str) -> Option<Debounce> {
    let (first, busy) = text.split_once(',').unwrap_or((text, text));
    let seconds = |text: &str| text.trim().parse().ok().map(Duration::from_secs);
    Some(Debounce {
        first: seconds(first)?,
        busy: seconds(busy)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn all_problems_are_named_at_once() {
        let environment = environment(&[("MIRILLA_REVIEW_USD", "much"), ("MIRILLA_POLICY", "x =")]);
        let mut settings = Settings::of(&environment);
        settings.required("MIRILLA_BUCKET");
        settings.policy();
        let problems = settings.finish(()).unwrap_err().to_string();
        for name in [
            "MIRILLA_BUCKET is missing",
            "MIRILLA_REVIEW_USD",
            "MIRILLA_POLICY",
        ] {
            assert!(problems.contains(name), "{problems}");
        }
    }

    #[test]
    fn variables_win_over_the_policy_text() {
        let environment = environment(&[
            ("MIRILLA_MODEL", "another"),
            ("MIRILLA_ACCOUNT_MONTH_USD", "7.50"),
            ("MIRILLA_TRUSTED_BASES", "main, release"),
        ]);
        let mut settings = Settings::of(&environment);
        let policy = settings.policy();
        assert_eq!(policy.model, "another");
        assert_eq!(policy.account_month_usd.exact(), "7.50");
        assert_eq!(policy.trusted_bases, ["main", "release"]);
        assert_eq!(policy.max_usd, OperatorPolicy::default().max_usd);
        settings.finish(()).unwrap();
    }

    #[test]
    fn debounce_is_one_number_or_two() {
        let read = |text: &str| {
            let environment = environment(&[("MIRILLA_DEBOUNCE_SECONDS", text)]);
            let mut settings = Settings::of(&environment);
            let debounce = settings.debounce();
            settings.finish((debounce.first.as_secs(), debounce.busy.as_secs()))
        };
        assert_eq!(read("7"), Ok((7, 7)));
        assert_eq!(read("20, 90"), Ok((20, 90)));
        let default = Debounce::default();
        let default = (default.first.as_secs(), default.busy.as_secs());
        assert_eq!(read(""), Ok(default));
        for text in ["soon", "1,2,3", "-1", "1,"] {
            let problems = read(text).unwrap_err().to_string();
            assert!(problems.contains("MIRILLA_DEBOUNCE_SECONDS"), "{problems}");
        }
    }

    #[test]
    fn whoever_names_a_gitlab_has_it_served() {
        let ca = ("MIRILLA_FORGE_CA_PEM", "made-up");
        let github = ("MIRILLA_GITHUB_API_URL", "https://git.corp.test/api/v3");
        let gitlab = ("MIRILLA_GITLAB_URL", "https://gitlab.corp.test");
        let place = |pairs: &[(&str, &str)]| Settings::of(&environment(pairs)).forge();
        let extra_ca_pem = Some("made-up".to_owned());
        assert_eq!(
            place(&[gitlab, ca]),
            ForgePlace::Gitlab(GitlabPlace {
                url: gitlab.1.to_owned(),
                extra_ca_pem: extra_ca_pem.clone(),
            })
        );
        assert_eq!(
            place(&[github, ca, ("MIRILLA_GITLAB_URL", " ")]),
            ForgePlace::Github(GithubPlace {
                api_url: github.1.to_owned(),
                archive_hosts: Vec::new(),
                extra_ca_pem,
                login: None,
            })
        );
    }

    #[test]
    fn tokens_are_minted_or_kept_and_neither_is_a_problem() {
        let read = |pairs: &[(&str, &str)]| {
            let environment = environment(pairs);
            let mut settings = Settings::of(&environment);
            let place =
                settings.required_tokens("MIRILLA_MINTER_FUNCTION", "MIRILLA_READ_TOKEN_ARN");
            settings.finish(place)
        };
        let minter = ("MIRILLA_MINTER_FUNCTION", "minter-read");
        let secret = ("MIRILLA_READ_TOKEN_ARN", "read-token");
        assert_eq!(
            read(&[minter, secret]),
            Ok(TokenPlace::Minter("minter-read".to_owned()))
        );
        assert_eq!(
            read(&[secret]),
            Ok(TokenPlace::Secret("read-token".to_owned()))
        );
        let problems = read(&[]).unwrap_err().to_string();
        assert!(
            problems.contains(minter.0) && problems.contains(secret.0),
            "{problems}"
        );
    }

    #[test]
    fn strangers_and_credentials_are_refused_and_lambdas_own_are_not() {
        let fine = environment(&[
            ("AWS_SESSION_TOKEN", "made-up"),
            ("_HANDLER", "bootstrap"),
            ("MIRILLA_METER_TABLE", "meter"),
        ]);
        fine.refuse_strangers(&["MIRILLA_METER_TABLE"]).unwrap();
        let bad = environment(&[
            ("MY_BOT_PAT", "anything"),
            ("AWS_FOO", "ghp_0123456789abcdefghijklmnopqrstuvwxyz"),
        ]);
        let problems = bad.refuse_strangers(&[]).unwrap_err().to_string();
        assert!(problems.contains("MY_BOT_PAT is not"), "{problems}");
        assert!(problems.contains("AWS_FOO holds"), "{problems}");
        assert!(!problems.contains("ghp_"), "{problems}");
    }
}
