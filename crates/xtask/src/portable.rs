//! Builds the `mirilla` command for machines older than this one, and reads off the file what it needs.
//!
//! A program takes the symbol versions of the C library that it is linked against, and starts on no older one. Zig
//! brings the symbols of every glibc, and `cargo zigbuild` links with them
//! (<https://github.com/rust-cross/cargo-zigbuild>); both come with `pip install ziglang cargo-zigbuild`.
//!
//! **Invariant:** what README.md says of old distributions is [`OLDEST`], and no file that needs more passes.

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::functions::Profile;
use crate::say;

/// The machine that is built for. The standard library for another one is a matter of `rustup target add`.
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// Rust's own floor on that machine: RHEL 7 has it, Debian 8 and Ubuntu 14.04 have a newer one.
/// <https://doc.rust-lang.org/rustc/platform-support.html>
const OLDEST: Glibc = Glibc(2, 17);
/// What may be asked of the system; everything else is in the file.
const LIBRARIES: [&str; 7] = [
    "libc.so.6",
    "libm.so.6",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
    "libgcc_s.so.1",
    "ld-linux-x86-64.so.2",
];

/// A version of the C library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Glibc(u32, u32);

impl fmt::Display for Glibc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "glibc {}.{}", self.0, self.1)
    }
}

/// Builds the command, and returns whether it starts on every machine that it should.
pub(crate) fn build(root: &Path, profile: Profile) -> Result<bool> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root).args([
        "zigbuild",
        "--locked",
        "--target-dir",
        "target",
        "--package",
        "mirilla",
        "--target",
        &format!("{TARGET}.{}.{}", OLDEST.0, OLDEST.1),
    ]);
    let folder = match profile {
        Profile::Release => {
            command.arg("--release");
            "release"
        }
        Profile::Debug => "debug",
    };
    if !command.status().context("cargo cannot be run")?.success() {
        say("hint: pip install ziglang cargo-zigbuild");
        return Ok(false);
    }
    let target = root.join("target");
    check(&target.join(TARGET).join(folder).join("mirilla"))
}

/// Returns whether a built program starts on every machine that it should.
pub(crate) fn check(program: &Path) -> Result<bool> {
    let read = |option: &str| -> Result<String> {
        let done = Command::new("readelf")
            .args(["--wide", option])
            .arg(program)
            .output();
        let done = done.context("readelf cannot be run: install binutils")?;
        ensure!(done.status.success(), "{} is no program", program.display());
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    };
    let needs = newest(&read("--version-info")?)?;
    let fits = needs <= OLDEST;
    say(&format!(
        "  {} needs {needs}; {OLDEST} is promised",
        program.display()
    ));
    let foreign = foreign(&read("--dynamic")?);
    for library in &foreign {
        say(&format!(
            "  {} needs {library}, which a machine may lack",
            program.display()
        ));
    }
    Ok(fits && foreign.is_empty())
}

/// Returns the newest glibc that a program asks for, out of `readelf --version-info`.
fn newest(version_info: &str) -> Result<Glibc> {
    let mut newest = None;
    let needs = version_info.split("Name: GLIBC_").skip(1);
    for need in needs {
        let version = need.split_whitespace().next().unwrap_or_default();
        let mut parts = version.split('.').map(str::parse::<u32>);
        let (Some(Ok(major)), Some(Ok(minor))) = (parts.next(), parts.next()) else {
            bail!("GLIBC_{version} is a version of its own kind");
        };
        newest = newest.max(Some(Glibc(major, minor)));
    }
    newest.context("no version of glibc is asked for: this is no program of a usual Linux")
}

/// Returns the libraries beyond the C library's own, out of `readelf --dynamic`.
fn foreign(dynamic: &str) -> Vec<String> {
    let needed = dynamic.lines().filter(|line| line.contains("(NEEDED)"));
    let names = needed.filter_map(|line| Some(line.split_once('[')?.1.split_once(']')?.0));
    names
        .filter(|name| !LIBRARIES.contains(name))
        .map(ToOwned::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_version_counts_by_its_numbers() {
        let info = "  0x0010:   Name: GLIBC_2.9  Flags: none  Version: 5\n  0x0020:   Name: GLIBC_2.17  Flags: none  Version: 4\n  0x0030:   Name: GCC_4.2.0  Flags: none  Version: 3\n  0x0040: Name: GLIBC_2.2.5  Flags: none  Version: 2\n";
        assert_eq!(newest(info).unwrap(), Glibc(2, 17));
        let newer = info.replace("2.17", "2.34");
        assert!(newest(&newer).unwrap() > OLDEST);
        assert!(newest("").is_err());
        assert!(newest("Name: GLIBC_PRIVATE  Flags: none").is_err());
    }

    #[test]
    fn a_library_that_a_machine_may_lack_is_named() {
        let dynamic = " 0x1 (NEEDED)  Shared library: [libc.so.6]\n 0x1 (NEEDED)  Shared library: [libssl.so.3]\n 0xe (SONAME) Library soname: [x]\n";
        assert_eq!(foreign(dynamic), ["libssl.so.3"]);
    }

    /// This test's own program was linked here, against whatever this machine has.
    #[test]
    fn a_program_is_read_as_the_linker_wrote_it() {
        let here = std::env::current_exe().unwrap();
        assert!(check(&here).is_ok());
        assert!(check(Path::new("/etc/passwd")).is_err());
    }
}
