//! Reads a diff a section at a time, as a worker does, and prints what it took.
//!
//! `read_sections FILE`; the peak of resident memory, which Linux tells, does not grow with the diff.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program, unlike the crate, opens the file and prints"
)]

use std::{
    env,
    error::Error,
    fs::{self, File},
};

use mirilla_diff::SectionReader;

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args_os().nth(1).ok_or("usage: read_sections FILE")?;
    let (mut sections, mut cut, mut files, mut largest) = (0_u64, 0_u64, 0_usize, 0_usize);
    for section in SectionReader::new(File::open(path)?) {
        let section = section?;
        sections = sections.saturating_add(1);
        cut = cut.saturating_add(u64::from(section.cut));
        largest = largest.max(section.bytes.len());
        files = files.saturating_add(section.parse().files.len());
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!(
        "sections={sections} cut={cut} files={files} largest_section={largest} peak={}",
        peak.unwrap_or("unknown").trim()
    );
    Ok(())
}
