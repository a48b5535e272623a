//! What reviews of given commits cost in input tokens, with the settings that ship.
//!
//! ```text
//! cargo run -p mirilla-costs -- COMMITS.json CLONES [--chunk-tokens N] [--tools] [--described] [--only 3,9]
//! ```
//!
//! `COMMITS.json` is a list of `{"number", "repo", "base", "head"}`; `CLONES` holds the repositories as
//! `owner/name` or `owner+name/repo`. Each commit goes through the reviewer's own stage, production client
//! included, against the simulated Messages API, which finds nothing wrong. Then one file of the change is
//! touched and the next push is reviewed: once each for the smallest, the median and the largest of the files
//! that were read.
//!
//! Tokens are o200k's, so that they compare with tools that count by it; what the provider's cache saves is
//! split as the simulated API splits it, and weighted by price. A commit is a pull request of its own, and a
//! cache is cold when a review begins.

mod change;
mod reviewing;
mod table;
mod tokens;

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use change::Commit;
use reviewing::{Bench, Conditions, Run};
use table::{Push, Row};

fn main() -> Result<()> {
    let asked = Asked::read(std::env::args().skip(1))?;
    let commits = Commit::read(&asked.commits)?;
    let mut rows = Vec::new();
    for commit in commits {
        if !asked.only.is_empty() && !asked.only.contains(&commit.number) {
            continue;
        }
        let row = measure(&asked, &commit).with_context(|| commit.name())?;
        say(&row.line());
        rows.push(row);
    }
    say(&table::markdown(&rows));
    Ok(())
}

/// Reviews a commit, and then the pushes that touch one file of it.
fn measure(asked: &Asked, commit: &Commit) -> Result<Row> {
    let change = commit.change(&asked.clones)?;
    let bench = Bench::set_up(&asked.conditions)?;
    let first = bench.review(&change, None)?;
    let mut pushes: Vec<Push> = Vec::new();
    for path in first.sample(&change) {
        if let Some(same) = pushes.iter().find(|push| push.path == path) {
            pushes.push(same.clone());
            continue;
        }
        let touched = change.touching(&path)?;
        let second = bench.review(&touched, Some(&first.file))?;
        pushes.push(Push::of(path, &second));
    }
    Ok(Row::of(commit, &change, &first, pushes))
}

/// What the command line asks for.
struct Asked {
    commits: PathBuf,
    clones: PathBuf,
    conditions: Conditions,
    only: Vec<u32>,
}

impl Asked {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut places = Vec::new();
        let mut asked = Self {
            commits: PathBuf::new(),
            clones: PathBuf::new(),
            conditions: Conditions::default(),
            only: Vec::new(),
        };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--chunk-tokens" => {
                    let value = arguments.next().context("--chunk-tokens needs a number")?;
                    asked.conditions.chunk_tokens = Some(value.parse().context("--chunk-tokens")?);
                }
                "--tools" => asked.conditions.tools = true,
                "--described" => asked.conditions.described = true,
                "--only" => {
                    let value = arguments.next().context("--only needs numbers")?;
                    let numbers: Result<Vec<u32>, _> = value.split(',').map(str::parse).collect();
                    asked.only = numbers.context("--only")?;
                }
                _ => places.push(PathBuf::from(argument)),
            }
        }
        let [commits, clones] = places.as_slice() else {
            bail!(
                "usage: mirilla-costs COMMITS.json CLONES [--chunk-tokens N] [--tools] [--described] [--only N,N]"
            );
        };
        asked.commits.clone_from(commits);
        asked.clones.clone_from(clones);
        Ok(asked)
    }
}

/// Prints a line.
#[expect(
    clippy::print_stdout,
    reason = "the one place where this program prints"
)]
fn say(line: &str) {
    println!("{line}");
}

impl Run {
    /// Returns the smallest, the median and the largest of the files that were read.
    fn sample(&self, change: &change::Change) -> Vec<String> {
        let mut read: Vec<(u64, String)> = (self.reviewed.iter())
            .map(|path| (change.tokens_of(path), path.clone()))
            .collect();
        read.sort();
        let mut sample = Vec::new();
        for at in [0, read.len() / 2, read.len().saturating_sub(1)] {
            if let Some((_, path)) = read.get(at) {
                sample.push(path.clone());
            }
        }
        sample
    }
}
