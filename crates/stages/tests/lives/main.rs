//! A pull request lives through random events against the simulated GitHub and the simulated model, and
//! after each it is looked at whether what must hold does.
//!
//! `MIRILLA_LIVES_SEED=7 cargo test -p mirilla-stages --test lives` runs one seed alone and tells what
//! happened; `cargo xtask lives 1000` runs many. Seeds that ever failed are in
//! `tests/fixtures/lives/seeds.txt` and run every time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::arithmetic_side_effects,
    clippy::print_stdout,
    reason = "test code"
)]

mod commands;
mod coverage;
mod event;
mod gate;
mod happen;
mod invariants;
mod life;
mod model;
mod runs;
mod scene;
#[expect(dead_code, unused_imports, reason = "shared with another test target")]
#[path = "../it/support.rs"]
mod support;
mod tree;
mod trouble;

use runs::{Failed, many, one};
use support::Bend;

/// Events in a life.
const EVENTS: usize = 50;
/// Lives of a run that is not told how many (docs/PERFORMANCE.md says what they take).
const LIVES: u64 = 200;
/// Lives within which a poster with a defect has to be noticed.
const LIVES_OF_A_MUTANT: u64 = 20;

#[expect(
    clippy::disallowed_methods,
    reason = "what is to be run is said there, and nothing depends on it"
)]
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

#[test]
fn everything_holds_after_every_event_of_many_lives() {
    if let Some(seed) = number("MIRILLA_LIVES_SEED") {
        return alone(seed);
    }
    let count = number("MIRILLA_LIVES").unwrap_or(LIVES);
    let from = number("MIRILLA_LIVES_FROM").unwrap_or(1);
    let seeds: Vec<u64> = (from..from + count).collect();
    println!(
        "seeds {from} to {} of {EVENTS} events each",
        from + count - 1
    );
    let coverage = many(&seeds, EVENTS, Bend::Straight).unwrap_or_else(|failed| panic!("{failed}"));
    println!("{coverage}");
    if count >= LIVES {
        assert_eq!(coverage.missing(), Vec::<String>::new());
    }
}

fn alone(seed: u64) {
    for (at, event) in event::of_seed(seed, EVENTS).iter().enumerate() {
        println!("{at:3} {event}");
    }
    let coverage = one(seed, EVENTS, Bend::Straight).unwrap_or_else(|failed| panic!("{failed}"));
    println!("{coverage}");
}

#[test]
fn seeds_that_ever_failed_hold() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/fixtures/lives/seeds.txt"
    );
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().filter_map(|line| {
        let seed = line.split('#').next().unwrap().trim();
        (!seed.is_empty()).then(|| seed.parse().expect("a seed on every line"))
    });
    let seeds: Vec<u64> = lines.collect();
    many(&seeds, EVENTS, Bend::Straight).unwrap_or_else(|failed| panic!("{failed}"));
}

/// Lets a poster with a defect live until it is noticed.
fn noticed(bend: Bend) -> Failed {
    let seeds: Vec<u64> = (1..=LIVES_OF_A_MUTANT).collect();
    match many(&seeds, EVENTS, bend) {
        Err(failed) => failed,
        Ok(coverage) => panic!("nobody noticed {bend:?}: {coverage}"),
    }
}

#[test]
fn a_poster_that_forgets_what_is_there_is_noticed() {
    let failed = noticed(Bend::ForgetsWhatIsThere);
    let expected = [
        "one open thread for a finding",
        "one open thread for a defect",
    ];
    assert!(expected.contains(&failed.invariant), "{failed}");
}

#[test]
fn a_poster_that_writes_again_after_a_lost_answer_is_noticed() {
    let failed = noticed(Bend::WritesAgain);
    let expected = [
        "one open thread for a finding",
        "one open thread for a defect",
        "one review for a job",
    ];
    assert!(expected.contains(&failed.invariant), "{failed}");
}

#[test]
fn a_poster_that_lets_authors_decline_is_noticed() {
    let failed = noticed(Bend::LetsAuthorsDecline);
    let expected = ["no pass that is forbidden", "authors decline nothing"];
    assert!(expected.contains(&failed.invariant), "{failed}");
}

#[test]
fn a_poster_that_drops_a_comment_is_noticed() {
    let failed = noticed(Bend::DropsAComment);
    assert_eq!(failed.invariant, "no finding is lost", "{failed}");
}
