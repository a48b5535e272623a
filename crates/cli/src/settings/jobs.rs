//! What the jobs of a pipeline are told that hold a forge's token.

use std::time::Duration;

use mirilla_domain::forge_place::ForgePlace;
use mirilla_domain::marker::MarkerKey;
use mirilla_domain::settings::OperatorPolicy;

use super::{Environment, Reader, Secret};
use crate::arguments::ForgeName;

/// Signs the markers of a pipeline that has no host.
const MARKER_KEY: &str = "MIRILLA_MARKER_KEY";
/// The variables that hold a forge's tokens.
struct TokenNames {
    read: &'static str,
    write: &'static str,
}

const fn token_names(forge: ForgeName) -> TokenNames {
    match forge {
        ForgeName::Github => TokenNames {
            read: "MIRILLA_GITHUB_READ_TOKEN",
            write: "MIRILLA_GITHUB_WRITE_TOKEN",
        },
        ForgeName::Gitlab => TokenNames {
            read: "MIRILLA_GITLAB_READ_TOKEN",
            write: "MIRILLA_GITLAB_WRITE_TOKEN",
        },
    }
}

/// What `mirilla collect` is told, and `mirilla post` too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobSettings {
    /// How the forge is reached.
    pub(crate) place: ForgePlace,
    /// With which token.
    pub(crate) token: Secret,
    /// What the operator decides about reviews.
    pub(crate) policy: OperatorPolicy,
    /// How long a write whose answer was lost may still land.
    pub(crate) write_grace: Duration,
}

/// Reads what `mirilla collect` needs; all problems together.
pub(crate) fn collect(
    forge: ForgeName,
    environment: &Environment,
) -> Result<JobSettings, Vec<String>> {
    let mut reader = Reader {
        environment,
        problems: Vec::new(),
    };
    let token = reader.required(token_names(forge).read).map(Secret::new);
    let settings = reader.job(forge, token);
    settings
        .filter(|_| reader.problems.is_empty())
        .ok_or(reader.problems)
}

/// Reads what `mirilla post` needs, and the key of its markers; all problems together. Who only looks may do
/// so with the token that reads.
///
/// A token of GitLab's lasts, so that a key can be made of it; one of a job on GitHub is another every time.
pub(crate) fn post(
    forge: ForgeName,
    environment: &Environment,
    looks_only: bool,
) -> Result<(JobSettings, Secret), Vec<String>> {
    let mut reader = Reader {
        environment,
        problems: Vec::new(),
    };
    let names = token_names(forge);
    let token = if looks_only && reader.get(names.read).is_some() {
        reader.required(names.read)
    } else {
        reader.required(names.write)
    };
    let key = match (forge, &token, reader.get(MARKER_KEY)) {
        (ForgeName::Gitlab, Some(token), None) => {
            let signs = reader.get(names.write).unwrap_or(token);
            Some(Secret::new(MarkerKey::text_of_token(signs)))
        }
        // The token that is missing is problem enough.
        (ForgeName::Gitlab, None, None) => None,
        _ => reader.required(MARKER_KEY).map(Secret::new),
    };
    if let Some(key) = &key
        && let Err(error) = MarkerKey::new(key.reveal().as_bytes())
    {
        reader.problem(MARKER_KEY, &format!("cannot be used ({error})"));
    }
    let settings = reader.job(forge, token.map(Secret::new)).zip(key);
    settings
        .filter(|_| reader.problems.is_empty())
        .ok_or(reader.problems)
}

impl Reader<'_> {
    fn job(&mut self, forge: ForgeName, token: Option<Secret>) -> Option<JobSettings> {
        let place = match forge {
            // The forge says whose token it is.
            ForgeName::Github => self
                .github_api_url()
                .map(|url| ForgePlace::Github(self.github_place(url, None))),
            ForgeName::Gitlab => self.gitlab_place(),
        };
        let policy = self.policy();
        let write_grace = self.timings().write_grace;
        Some(JobSettings {
            place: place?,
            token: token?,
            policy,
            write_grace,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(pairs: &[(&str, &str)]) -> Environment {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn a_key_is_made_of_a_lasting_token_and_never_of_a_jobs_own() {
        let gitlab = [
            ("CI_SERVER_URL", "https://gitlab.example.com"),
            ("MIRILLA_GITLAB_WRITE_TOKEN", "made-up-write"),
        ];
        let key = |more: &[(&str, &str)]| {
            let environment = told(&[&gitlab[..], more].concat());
            post(ForgeName::Gitlab, &environment, false).unwrap().1
        };
        let made = key(&[]);
        assert_eq!(made.reveal().len(), 64);
        assert_eq!(key(&[]), made, "the same in every run");
        assert!(!made.reveal().contains("made-up"));
        assert_ne!(key(&[("MIRILLA_GITLAB_WRITE_TOKEN", "another")]), made);
        let own = "made-up-key-of-16-bytes";
        assert_eq!(key(&[(MARKER_KEY, own)]).reveal(), own);

        let github = told(&[("MIRILLA_GITHUB_WRITE_TOKEN", "made-up-write")]);
        let problems = post(ForgeName::Github, &github, false).unwrap_err();
        assert!(problems[0].starts_with("MIRILLA_MARKER_KEY is missing"));
    }

    #[test]
    fn who_only_looks_knows_the_comments_of_who_writes() {
        let both = told(&[
            ("MIRILLA_GITLAB_URL", "https://gitlab.example.com"),
            ("MIRILLA_GITLAB_READ_TOKEN", "made-up-read"),
            ("MIRILLA_GITLAB_WRITE_TOKEN", "made-up-write"),
        ]);
        let (looks, key) = post(ForgeName::Gitlab, &both, true).unwrap();
        assert_eq!(looks.token.reveal(), "made-up-read");
        assert_eq!(key, post(ForgeName::Gitlab, &both, false).unwrap().1);
    }

    #[test]
    fn gitlab_is_the_pipelines_own_unless_another_is_named() {
        let url = |pairs: &[(&str, &str)]| {
            let mut all = vec![("MIRILLA_GITLAB_READ_TOKEN", "made-up-read")];
            all.extend_from_slice(pairs);
            collect(ForgeName::Gitlab, &told(&all)).map(|settings| match settings.place {
                ForgePlace::Gitlab(place) => place.url,
                ForgePlace::Github(_) => String::new(),
            })
        };
        let pipelines = ("CI_SERVER_URL", "https://one.example.com");
        let own = ("MIRILLA_GITLAB_URL", "https://two.example.com/git");
        assert_eq!(url(&[pipelines]).unwrap(), pipelines.1);
        assert_eq!(url(&[pipelines, own]).unwrap(), own.1);
        let missing = url(&[]).unwrap_err();
        assert!(missing[0].starts_with("MIRILLA_GITLAB_URL is missing"));
        let unreadable = url(&[pipelines, ("CI_SERVER_TLS_CA_FILE", "/not/there.pem")]);
        assert!(unreadable.unwrap_err()[0].starts_with("CI_SERVER_TLS_CA_FILE cannot be read"));
    }
}
