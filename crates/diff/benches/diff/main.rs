//! How fast a diff is read, against `git apply --numstat`, `diffy` and `flickzeug`, all in one run.
//!
//! `cargo bench -p mirilla-diff` measures 1, 20 and 200 MB; `-- 20` one size. Every round runs each
//! competitor once, so that a machine that slows down slows all of them. Times are processor time of one
//! core, so that others' work does not count: medians over the rounds, ratios as medians of the ratio in
//! each round. For git, a process, it is the mean over all rounds, as Linux counts it in hundredths.
//!
//! The *counted scan* finds each LF and looks at the first byte of each line, and nothing else: what any
//! reader of lines has to do at least.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::print_stdout,
    clippy::let_underscore_must_use,
    clippy::disallowed_methods,
    missing_docs,
    unreachable_pub,
    reason = "a benchmark measures time, runs git and prints a table"
)]

mod corpus;

use std::{
    hint::black_box,
    path::Path,
    process::{Command, Stdio},
};

use diffy::patch_set::{ParseOptions, PatchSet};
use mirilla_diff::{SectionReader, parse, summary};

/// Something that reads a diff and returns how many files it saw.
struct Competitor {
    name: &'static str,
    run: fn(&[u8], &Path) -> usize,
}

const COMPETITORS: [Competitor; 7] = [
    Competitor {
        name: "mirilla: full line map",
        run: |input, _| parse(input).files.len(),
    },
    Competitor {
        name: "mirilla: a section at a time",
        run: |input, _| {
            let mut reader = SectionReader::new(input);
            let mut files = 0;
            while let Some(section) = reader.next_ref().unwrap() {
                files += section.parse().files.len();
            }
            files
        },
    },
    Competitor {
        name: "mirilla: summary",
        run: |input, _| summary::of_bytes(input).files,
    },
    Competitor {
        name: "counted scan",
        run: |input, _| counted_scan(input),
    },
    Competitor {
        name: "diffy 0.5",
        run: |input, _| {
            PatchSet::parse_bytes(input, ParseOptions::gitdiff())
                .map(|patch| usize::from(black_box(patch).is_ok()))
                .sum()
        },
    },
    Competitor {
        name: "flickzeug 0.6",
        run: |input, _| {
            let patch = flickzeug::Patch::from_bytes(input);
            patch.map_or(0, |patch| patch.diffs().len())
        },
    },
    Competitor {
        name: "git apply --numstat (process)",
        run: |_, path| {
            let child = Command::new("git")
                .args(["apply", "--numstat"])
                .arg(path)
                // In a repository it would leave out what is not below the current folder.
                .current_dir(path.parent().unwrap())
                .stdin(Stdio::null())
                .output()
                .expect("git runs");
            assert!(child.status.success(), "git refuses the corpus");
            memchr::memchr_iter(b'\n', &child.stdout).count()
        },
    },
];

/// The floor: one LF search and one first byte per line.
fn counted_scan(mut rest: &[u8]) -> usize {
    let (mut added, mut deleted, mut files) = (0_usize, 0_usize, 0_usize);
    while let Some(end) = memchr::memchr(b'\n', rest) {
        match rest[0] {
            b'+' => added += 1,
            b'-' => deleted += 1,
            b'd' => files += 1,
            _ => {}
        }
        rest = &rest[end + 1..];
    }
    black_box((added, deleted));
    files
}

fn main() {
    // Cargo passes `--bench`; a number is a size in MB.
    let wanted: Vec<usize> = std::env::args()
        .filter_map(|text| text.parse().ok())
        .collect();
    let sizes = if wanted.is_empty() {
        vec![1, 20, 200]
    } else {
        wanted
    };
    let folder = tempfile::tempdir().unwrap();
    for megabytes in sizes {
        let input = corpus::generate(megabytes * 1_000_000);
        let path = folder.path().join("corpus.diff");
        std::fs::write(&path, &input).unwrap();
        measure(megabytes, &input, &path);
    }
}

fn measure(megabytes: usize, input: &[u8], path: &Path) {
    let rounds = (400 / megabytes).clamp(7, 40);
    let mut times = vec![Vec::new(); COMPETITORS.len()];
    let mut files = [0; COMPETITORS.len()];
    for round in 0..=rounds {
        for (at, competitor) in COMPETITORS.iter().enumerate() {
            let (start, children) = (thread_cpu(), children_cpu());
            files[at] = black_box((competitor.run)(black_box(input), path));
            let children = children_cpu() - children;
            // The first round warms up.
            if round > 0 {
                times[at].push(thread_cpu() - start + children);
            }
        }
    }
    let lines = memchr::memchr_iter(b'\n', input).count();
    println!(
        "\n{megabytes} MB: {} bytes, {lines} lines, {rounds} rounds",
        input.len()
    );
    println!(
        "{:32} {:>8} {:>8} {:>8} {:>10} {:>12}",
        "", "files", "CPU ms", "GB/s", "best GB/s", "mirilla is"
    );
    for (at, competitor) in COMPETITORS.iter().enumerate() {
        let is_process = at + 1 == COMPETITORS.len();
        let (time, ratio) = if is_process {
            let mean = times[at].iter().sum::<f64>() / rounds as f64;
            (mean, mean / middle(&times[0]))
        } else {
            let ratios: Vec<f64> = times[at]
                .iter()
                .zip(&times[0])
                .map(|(a, b)| a / b)
                .collect();
            (middle(&times[at]), middle(&ratios))
        };
        let best = if is_process {
            time
        } else {
            times[at].iter().copied().fold(f64::MAX, f64::min)
        };
        let rate = |seconds: f64| input.len() as f64 / seconds / 1e9;
        println!(
            "{:32} {:>8} {:>8.2} {:>8.2} {:>10.2} {:>11.2}x",
            competitor.name,
            files[at],
            time * 1e3,
            rate(time),
            rate(best),
            ratio,
        );
    }
}

/// Seconds of processor time this thread has used.
fn thread_cpu() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Seconds of processor time of the processes this one has waited for.
fn children_cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses can hold blanks; user and system time of children are fields 16 and 17.
    let after_name = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks: f64 = after_name
        .split_whitespace()
        .skip(13)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok())
        .sum();
    ticks / 100.0
}

fn middle(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
