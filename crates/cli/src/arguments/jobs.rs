//! The words of the commands that a pipeline runs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use mirilla_domain::ids::{PrNumber, RepoName};

/// Where pull requests are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ForgeName {
    /// GitHub.com or GitHub Enterprise Server.
    Github,
}

/// A pull request by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PullName {
    /// The repository.
    pub(crate) repo: RepoName,
    /// The pull request's number.
    pub(crate) pr: PrNumber,
}

impl PullName {
    /// Reads `owner/name#12`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let form = || "a pull request such as acme/shop#12".to_owned();
        let (repo, pr) = text.split_once('#').ok_or_else(form)?;
        let pr: u64 = pr.parse().map_err(|_not_a_number| form())?;
        Ok(Self {
            repo: RepoName::parse(repo).map_err(|_malformed| form())?,
            pr: PrNumber::new(pr),
        })
    }
}

/// Which pull request to take.
#[derive(Debug, Args)]
pub(crate) struct Collect {
    /// Where the snapshot goes: a new or an empty folder.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: PathBuf,
    /// The pull request; default: the one that the event in `GITHUB_EVENT_PATH` is about.
    #[arg(long, value_name = "OWNER/NAME#N", value_parser = PullName::parse)]
    pub(crate) pull: Option<PullName>,
    /// Where it is.
    #[arg(long, value_enum, default_value_t = ForgeName::Github)]
    pub(crate) forge: ForgeName,
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
    /// The pull request; default: the one that the event in `GITHUB_EVENT_PATH` is about.
    #[arg(long, value_name = "OWNER/NAME#N", value_parser = PullName::parse)]
    pub(crate) pull: Option<PullName>,
    /// Where it is.
    #[arg(long, value_enum, default_value_t = ForgeName::Github)]
    pub(crate) forge: ForgeName,
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
        for bad in [
            "",
            "acme/shop",
            "acme/shop#",
            "acme/shop#x",
            "shop#1",
            "a/b#-1",
            "a/b#1#2",
        ] {
            assert!(PullName::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn commands_of_the_recipe_are_understood() {
        let recipe = include_str!("../../../../infra/github-actions/mirilla.yml");
        let commands: Vec<&str> = recipe
            .lines()
            .filter_map(|line| line.split_once("run: bin/mirilla "))
            .map(|(_, words)| words)
            .collect();
        assert_eq!(commands.len(), 3, "{commands:?}");
        for command in commands {
            let words = std::iter::once("mirilla").chain(command.split(' '));
            assert!(Arguments::try_parse_from(words).is_ok(), "{command}");
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
