//! The words of the commands that a pipeline runs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use mirilla_domain::ids::{PrNumber, RepoName};

use crate::settings::Environment;

/// Where pull requests are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ForgeName {
    /// GitHub.com or GitHub Enterprise Server.
    Github,
    /// GitLab.com or a GitLab of one's own.
    Gitlab,
}

impl ForgeName {
    /// Returns the forge that is meant: the one that was said, that of a merge request's name, or the one whose
    /// pipeline this is.
    pub(crate) fn meant(
        said: Option<Self>,
        pull: Option<&PullName>,
        environment: &Environment,
    ) -> Self {
        let in_gitlab = environment
            .get("GITLAB_CI")
            .is_some_and(|value| !value.is_empty());
        match said {
            Some(said) => said,
            None if in_gitlab || pull.is_some_and(|pull| pull.is_merge_request) => Self::Gitlab,
            None => Self::Github,
        }
    }
}

/// A pull request by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PullName {
    /// The repository.
    pub(crate) repo: RepoName,
    /// The pull request's number.
    pub(crate) pr: PrNumber,
    /// Whether it was written with the mark that GitLab has for merge requests.
    is_merge_request: bool,
}

impl PullName {
    /// Reads `owner/name#12` or `group/sub/project!12`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let form = || {
            "a pull request such as acme/shop#12, or a merge request such as acme/web/shop!12"
                .to_owned()
        };
        let mark = text.find(['#', '!']).ok_or_else(form)?;
        let (repo, number) = text.split_at(mark);
        let is_merge_request = number.starts_with('!');
        let number = number.get(1..).unwrap_or_default();
        let pr: u64 = number.parse().map_err(|_not_a_number| form())?;
        Ok(Self {
            repo: RepoName::parse(repo).map_err(|_malformed| form())?,
            pr: PrNumber::new(pr),
            is_merge_request,
        })
    }
}

/// Which pull request to take.
#[derive(Debug, Args)]
pub(crate) struct Collect {
    /// Where the snapshot goes: a new or an empty folder.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: PathBuf,
    /// The pull request, on GitLab as `group/project!12`; default: the one that the event in
    /// `GITHUB_EVENT_PATH` is about, or that `CI_MERGE_REQUEST_IID` names.
    #[arg(long, value_name = "OWNER/NAME#N", value_parser = PullName::parse)]
    pub(crate) pull: Option<PullName>,
    /// Where it is; default: GitLab in a pipeline of GitLab's or for `group/project!12`, else GitHub.
    #[arg(long, value_enum)]
    pub(crate) forge: Option<ForgeName>,
    /// A file to which `collected=true` is added if there is a snapshot, else `collected=false`; default: the one
    /// that `GITHUB_OUTPUT` names, if any.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
}

/// What to post, and where.
#[derive(Debug, Args)]
pub(crate) struct Post {
    /// The folder that `mirilla collect` wrote. Only which commit it was taken of is believed.
    #[arg(
        long,
        value_name = "FOLDER",
        required_unless_present = "run",
        requires = "findings"
    )]
    pub(crate) snapshot: Option<PathBuf>,
    /// The folder that `mirilla review --snapshot` wrote. Nothing in it is believed.
    #[arg(long, value_name = "FOLDER", requires = "snapshot")]
    pub(crate) findings: Option<PathBuf>,
    /// The pull request, on GitLab as `group/project!12`; default: the one that the event in
    /// `GITHUB_EVENT_PATH` is about, or that `CI_MERGE_REQUEST_IID` names.
    #[arg(long, value_name = "OWNER/NAME#N", value_parser = PullName::parse)]
    pub(crate) pull: Option<PullName>,
    /// Where it is; default: GitLab in a pipeline of GitLab's or for `group/project!12`, else GitHub.
    #[arg(long, value_enum)]
    pub(crate) forge: Option<ForgeName>,
    /// Writes what stands on the pull request now as GitLab's code quality report.
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub(crate) codequality: Option<PathBuf>,
    /// Ends with exit code 10 if the gate does not let the change pass.
    #[arg(long)]
    pub(crate) gate: bool,
    /// Shows the plan and writes nothing; a token that reads is enough.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Prints the plan as JSON, as `mirilla replay` does.
    #[arg(long, requires = "dry_run")]
    pub(crate) json: bool,
    /// The plan of a kept run instead, made again as `mirilla replay` makes it.
    #[arg(value_name = "RUN", requires = "dry_run", conflicts_with_all = ["snapshot", "findings", "pull", "gate"])]
    pub(crate) run: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::arguments::Arguments;

    #[test]
    fn pull_request_is_named_as_people_do() {
        let name = PullName::parse("acme/shop#12").unwrap();
        assert_eq!((name.repo.as_str(), name.pr.get()), ("acme/shop", 12));
        let name = PullName::parse("acme/web/shop!12").unwrap();
        assert_eq!((name.repo.as_str(), name.pr.get()), ("acme/web/shop", 12));
        for bad in [
            "",
            "acme/shop",
            "acme/shop#",
            "acme/shop#x",
            "shop#1",
            "a/b#-1",
            "a/b#1#2",
            "a/b!1#2",
            "a/b!",
        ] {
            assert!(PullName::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn forge_is_the_one_that_was_said_or_that_of_the_pipeline() {
        let (github, gitlab) = (Some(ForgeName::Github), Some(ForgeName::Gitlab));
        for (said, pull, pipeline, meant) in [
            (None, "a/b#1", "", github),
            (None, "a/b!1", "", gitlab),
            (None, "a/b#1", "true", gitlab),
            (github, "a/b!1", "true", github),
            (gitlab, "a/b#1", "", gitlab),
        ] {
            let pull = PullName::parse(pull).unwrap();
            let environment = Environment::from([("GITLAB_CI".to_owned(), pipeline.to_owned())]);
            let found = ForgeName::meant(said, Some(&pull), &environment);
            assert_eq!(Some(found), meant, "{said:?} {pull:?} {pipeline:?}");
        }
    }

    #[test]
    fn commands_of_the_recipes_are_understood() {
        for recipe in [
            include_str!("../../../../infra/github-actions/mirilla.yml"),
            include_str!("../../../../infra/gitlab-ci/mirilla.gitlab-ci.yml"),
        ] {
            let commands: Vec<&str> = recipe
                .lines()
                .filter_map(|line| line.split_once(" bin/mirilla "))
                .map(|(_, words)| words)
                .filter(|words| words.starts_with(|c: char| c.is_ascii_lowercase()))
                .collect();
            assert_eq!(commands.len(), 3, "{commands:?}");
            for command in commands {
                let words = std::iter::once("mirilla").chain(command.split(' '));
                assert!(Arguments::try_parse_from(words).is_ok(), "{command}");
            }
        }
    }

    #[test]
    fn posting_takes_a_snapshot_with_findings_or_a_stored_run_to_look_at() {
        for (words, fine) in [
            ("post --snapshot s --findings f", true),
            ("post --snapshot s --findings f --dry-run --json", true),
            ("post --dry-run run", true),
            ("post", false),
            ("post --snapshot s", false),
            ("post --findings f", false),
            ("post run", false),
            ("post --snapshot s --findings f --json", false),
            ("post --dry-run run --snapshot s --findings f", false),
        ] {
            let words = std::iter::once("mirilla").chain(words.split_whitespace());
            let words: Vec<&str> = words.collect();
            let parsed = Arguments::try_parse_from(&words);
            assert_eq!(parsed.is_ok(), fine, "{words:?}");
        }
    }
}
