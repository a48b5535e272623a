//! How fast the floor reads a diff, against a plain scan over the lines of the same bytes, in one run.
//!
//! `cargo bench -p mirilla-domain --bench floor` generates 8 MB of diff; `-- FILE…` reads these instead,
//! such as the output of `git log -p`. Every round runs each competitor once, so that a machine that slows
//! down slows all of them. Times are processor time of one core: medians over the rounds, ratios as medians
//! of the ratio in each round.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::print_stdout,
    clippy::let_underscore_must_use,
    clippy::disallowed_methods,
    missing_docs,
    unreachable_pub,
    reason = "a benchmark measures time and prints a table"
)]

#[path = "../../diff/benches/diff/corpus.rs"]
mod corpus;

use std::hint::black_box;

use mirilla_diff::{SectionReader, parse};
use mirilla_domain::checks::Floor;

/// Bytes of the generated diff.
const BYTES: usize = 8_000_000;
const ROUNDS: usize = 15;

/// Something that reads a diff and counts.
struct Competitor {
    name: &'static str,
    run: fn(&[u8]) -> usize,
}

const COMPETITORS: [Competitor; 4] = [
    Competitor {
        name: "floor",
        run: |input| {
            let mut floor = Floor::default();
            parse(input).files.iter().for_each(|file| floor.file(file));
            floor.finish().len()
        },
    },
    Competitor {
        name: "floor, a section at a time",
        run: |input| {
            let (mut floor, mut reader) = (Floor::default(), SectionReader::new(input));
            while let Some(section) = reader.next_ref().unwrap() {
                let parsed = section.parse();
                parsed.files.iter().for_each(|file| floor.file(file));
            }
            floor.finish().len()
        },
    },
    Competitor {
        name: "reading the diff alone",
        run: |input| parse(input).files.len(),
    },
    Competitor {
        name: "plain scan over the lines",
        run: |input| {
            let mut rest = input;
            let mut added = 0;
            while let Some(end) = memchr::memchr(b'\n', rest) {
                added += usize::from(rest[0] == b'+');
                rest = &rest[end + 1..];
            }
            added
        },
    },
];

/// What the patterns, and the code around them, would go over again and again if they could.
const HOSTILE: &[&str] = &[
    "://",
    "a://b:c",
    "-----BEGIN ",
    "ignore all ",
    "token=\"a1",
    "secret: ",
    "eyJaaaaaaaa.",
    "sk-",
    "it('",
    "assert ",
    "\u{202e}",
    "_auth=",
    "xox",
    "ghp_",
    "Authorization: Bearer a1",
];

fn main() {
    // Cargo passes `--bench`.
    let files: Vec<String> = std::env::args()
        .skip(1)
        .filter(|text| !text.starts_with('-'))
        .collect();
    if files.is_empty() {
        measure("generated", &corpus::generate(BYTES));
        hostile();
    }
    for file in files {
        measure(&file, &std::fs::read(&file).unwrap());
    }
}

fn measure(name: &str, input: &[u8]) {
    let mut times = [const { Vec::new() }; COMPETITORS.len()];
    let mut counts = [0; COMPETITORS.len()];
    for round in 0..=ROUNDS {
        for (at, competitor) in COMPETITORS.iter().enumerate() {
            let start = thread_cpu();
            counts[at] = black_box((competitor.run)(black_box(input)));
            // The first round warms up.
            if round > 0 {
                times[at].push(thread_cpu() - start);
            }
        }
    }
    println!("\n{name}: {} bytes, {ROUNDS} rounds", input.len());
    println!(
        "{:28} {:>8} {:>8} {:>8} {:>10} {:>10}",
        "", "counts", "CPU ms", "MB/s", "best MB/s", "of plain"
    );
    for (at, competitor) in COMPETITORS.iter().enumerate() {
        let plain = &times[COMPETITORS.len() - 1];
        let ratios: Vec<f64> = times[at].iter().zip(plain).map(|(a, b)| a / b).collect();
        let time = middle(&times[at]);
        let best = times[at].iter().copied().fold(f64::MAX, f64::min);
        let rate = |seconds: f64| input.len() as f64 / seconds / 1e6;
        println!(
            "{:28} {:>8} {:>8.2} {:>8.0} {:>10.0} {:>9.1}x",
            competitor.name,
            counts[at],
            time * 1e3,
            rate(time),
            rate(best),
            middle(&ratios)
        );
    }
}

/// One line of the same again and again: if time grew with the square of its length, the rate at four times
/// the length would be a quarter.
fn hostile() {
    println!("\none long line of     MB/s    of 4 times the length, MB/s");
    for unit in HOSTILE {
        let rate = |times: usize| {
            let line = unit.repeat(times);
            let diff = format!(
                "diff --git a/a_test.js b/a_test.js\n--- a/a_test.js\n+++ b/a_test.js\n@@ -0,0 +1 @@\n+{line}\n"
            );
            let seconds: Vec<f64> = (0..ROUNDS)
                .map(|_| {
                    let start = thread_cpu();
                    black_box((COMPETITORS[0].run)(black_box(diff.as_bytes())));
                    thread_cpu() - start
                })
                .collect();
            diff.len() as f64 / middle(&seconds) / 1e6
        };
        println!("{:24?} {:>8.0} {:>8.0}", unit, rate(4_000), rate(16_000));
    }
}

/// Seconds of processor time this thread has used.
fn thread_cpu() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn middle(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
