//! Build, check and generate: `cargo xtask ci` is what CI runs and what a contributor runs.
//!
//! **Invariant:** a check that fails names the file, what is wrong and how to mend it; a later step
//! runs even when an earlier one failed.

mod check;
mod ci;
mod floor;
mod functions;
mod lives;
mod local;
mod operations;
mod portable;
mod template;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use functions::{Profile, Programs};

const USAGE: &str = "usage: cargo xtask <command>

  ci               everything CI checks, one line per step (add --quick to leave out the slow ones)
  check            the workspace's own rules: dependency directions, file lengths, lint inheritance
  template         what CloudFormation, SAM and checkov say of the templates
  generate         write what is made from other files: the dashboard in template.yaml
  functions        build everything that is shipped: the functions into target/lambda/<name>/bootstrap,
                   and the `mirilla` command (--debug: quickly, for trying a change)
  portable         build the `mirilla` command for old Linux machines, and fail if it needs a newer one
                   (pip install ziglang cargo-zigbuild; --debug as above; --check FILE: look at a built one)
  local test       build the functions, deploy them with the template to an emulated AWS on this
                   machine, and run every end-to-end scenario (--debug: with a quick build)
  local up         the same deployment with one reviewed pull request, until Ctrl-C (--debug as above)
  floor CLONES     run the fixed checks over the last 1,000 commits of the repositories that
                   tests/fixtures/floor names, cloned to CLONES/owner/name
  fuzz SECONDS     run every fuzz target for so many seconds
  lives [COUNT] [FROM]
                   let so many pull requests live through random events (1,000), from seed FROM on (1)";

fn main() -> Result<ExitCode> {
    let root = root()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let fine = match words.as_slice() {
        ["ci"] => ci::run(&root, ci::Extent::Full),
        ["ci", "--quick"] => ci::run(&root, ci::Extent::Quick),
        ["check"] => check::run(&root)?,
        ["template"] => template::lint(&root)?,
        ["generate"] => template::generate(&root)?,
        ["functions"] => functions::build(&root, Profile::Release, Programs::All)?,
        ["functions", "--debug"] => functions::build(&root, Profile::Debug, Programs::All)?,
        ["portable"] => portable::build(&root, Profile::Release)?,
        ["portable", "--debug"] => portable::build(&root, Profile::Debug)?,
        ["portable", "--check", program] => portable::check(program.as_ref())?,
        ["local", "test"] => local::test(&root, Profile::Release)?,
        ["local", "test", "--debug"] => local::test(&root, Profile::Debug)?,
        ["local", "up"] => local::up(&root, Profile::Release)?,
        ["local", "up", "--debug"] => local::up(&root, Profile::Debug)?,
        ["floor", clones] => floor::survey(&root, clones.as_ref())?,
        ["lives"] => lives::run(&root, 1_000, 1)?,
        ["lives", count] => lives::run(&root, count.parse()?, 1)?,
        ["lives", count, from] => lives::run(&root, count.parse()?, from.parse()?)?,
        ["fuzz", seconds] => ci::fuzz(&root, seconds.parse()?)?,
        _ => {
            say(USAGE);
            return Ok(ExitCode::from(2));
        }
    };
    Ok(if fine {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Returns the workspace's root.
fn root() -> Result<PathBuf> {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2);
    Ok(root
        .ok_or_else(|| anyhow::anyhow!("xtask does not lie in crates/"))?
        .to_path_buf())
}

/// Prints a line.
#[expect(clippy::print_stdout, reason = "the one place where xtask prints")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}
