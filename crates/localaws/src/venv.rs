//! The Python environments that the emulator and the template's checks run in.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, Result, bail};
use sha2::{Digest as _, Sha256};

/// The project's own cache folder, relative to its root; git ignores it.
const CACHE: &str = ".cache/local-aws";
/// Present once everything is installed.
const READY: &str = ".ready";
/// What to do when Python cannot make one.
const INSTALL_HINT: &str =
    "install Python 3.11 or later with its venv module (Debian, Ubuntu: apt install python3-venv)";

/// Returns the project's root: the folder of the workspace's `Cargo.toml`.
pub fn project_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent()
        .and_then(Path::parent)
        .unwrap_or(here)
        .to_path_buf()
}

/// What an environment is for. Each has packages of its own: those of two need different versions of the
/// same third.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tools {
    /// The emulator, the translation of templates, and cfn-lint.
    LocalAws,
    /// The command line of SAM.
    Sam,
    /// Checkov.
    Checkov,
}

impl Tools {
    /// Returns the file of the packages, with exact versions, relative to the project's root.
    const fn requirements(self) -> &'static str {
        match self {
            Self::LocalAws => "infra/local-aws/requirements.txt",
            Self::Sam => "infra/checks/sam.txt",
            Self::Checkov => "infra/checks/checkov.txt",
        }
    }

    /// Returns what an error calls it.
    const fn name(self) -> &'static str {
        match self {
            Self::LocalAws => "the local AWS",
            Self::Sam => "SAM's command line",
            Self::Checkov => "checkov",
        }
    }
}

/// An installed Python environment.
#[derive(Debug, Clone)]
pub struct Venv {
    root: PathBuf,
}

impl Venv {
    /// Returns the emulator's environment, installing it if it is not there yet.
    ///
    /// # Errors
    ///
    /// As [`Venv::of`].
    pub fn ensure() -> Result<Self> {
        Self::of(Tools::LocalAws)
    }

    /// Returns an environment of this checkout, installing it if it is not there yet.
    ///
    /// Takes up to a minute and pip's registry the first time, milliseconds afterwards. Several
    /// processes may ask at once: one installs, the others wait.
    ///
    /// # Errors
    ///
    /// Without Python, its venv module or the registry, saying which and what to do.
    pub fn of(tools: Tools) -> Result<Self> {
        let project = project_root();
        let requirements = project.join(tools.requirements());
        let wanted = fs::read(&requirements)
            .with_context(|| format!("could not read {}", requirements.display()))?;
        let cache = project.join(CACHE);
        fs::create_dir_all(&cache)
            .with_context(|| format!("could not create {}", cache.display()))?;
        let name = format!("venv-{}", fingerprint(&wanted, &python_version()?));
        let venv = Self {
            root: cache.join(&name),
        };
        if venv.is_ready() {
            return Ok(venv);
        }
        let lock = cache.join(format!("{name}.lock"));
        let lock =
            File::create(&lock).with_context(|| format!("could not create {}", lock.display()))?;
        lock.lock()
            .context("could not take the lock of the cache folder")?;
        if !venv.is_ready() {
            venv.install(tools, &requirements)?;
        }
        Ok(venv)
    }

    /// Returns the environment's Python interpreter.
    pub fn python(&self) -> PathBuf {
        self.root.join("bin/python")
    }

    /// Returns a program that one of the packages brings, such as `cfn-lint`.
    pub fn program(&self, name: &str) -> PathBuf {
        self.root.join("bin").join(name)
    }

    fn is_ready(&self) -> bool {
        self.root.join(READY).exists()
    }

    /// Installs from nothing: what an interrupted run left is removed first.
    fn install(&self, tools: Tools, requirements: &Path) -> Result<()> {
        match fs::remove_dir_all(&self.root) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| {
                    format!("could not remove the unfinished {}", self.root.display())
                });
            }
            _ => {}
        }
        run(Command::new("python3").args(["-m", "venv"]).arg(&self.root))
            .with_context(|| format!("could not make a Python environment: {INSTALL_HINT}"))?;
        run(Command::new(self.python())
            .args(["-m", "pip", "install", "--quiet", "--no-input", "--no-deps"])
            .args(["--disable-pip-version-check", "--requirement"])
            .arg(requirements))
        .with_context(|| {
            format!(
                "could not install {}: pip needs its package registry for this one time",
                tools.name()
            )
        })?;
        fs::write(self.root.join(READY), b"").context("could not mark the environment as ready")
    }
}

/// Names an environment after what is in it and the Python it was made with.
fn fingerprint(requirements: &[u8], python: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(requirements);
    hash.update(python);
    hex::encode(hash.finalize()).chars().take(16).collect()
}

fn python_version() -> Result<String> {
    let output = run(Command::new("python3").arg("--version"))
        .with_context(|| format!("could not run python3: {INSTALL_HINT}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command to its end; a failure carries what it printed.
fn run(command: &mut Command) -> Result<Output> {
    let output = command
        .output()
        .with_context(|| format!("could not start {}", command.get_program().display()))?;
    if !output.status.success() {
        bail!(
            "{} ended with {}:\n{}{}",
            command.get_program().display(),
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_is_named_after_packages_and_python() {
        let name = fingerprint(b"a==1\n", "Python 3.11.7\n");
        assert_eq!(name.len(), 16);
        assert_ne!(name, fingerprint(b"a==2\n", "Python 3.11.7\n"));
        assert_ne!(name, fingerprint(b"a==1\n", "Python 3.12.0\n"));
    }

    #[test]
    fn failed_command_says_what_it_printed() {
        let error = run(Command::new("sh").args(["-c", "echo no venv here >&2; exit 3"]));
        let text = format!("{:#}", error.unwrap_err());
        assert!(
            text.contains("no venv here") && text.contains('3'),
            "{text}"
        );
        let error = run(&mut Command::new("mirilla-no-such-program")).unwrap_err();
        assert!(error.to_string().contains("mirilla-no-such-program"));
    }

    #[test]
    fn every_package_has_one_exact_version() {
        for tools in [Tools::LocalAws, Tools::Sam, Tools::Checkov] {
            let text = fs::read_to_string(project_root().join(tools.requirements())).unwrap();
            for line in text.lines().filter(|line| !line.starts_with('#')) {
                let (name, version) = line.split_once("==").expect(line);
                assert!(
                    !name.is_empty() && !version.is_empty() && !version.contains('*'),
                    "{line}"
                );
            }
        }
    }
}
