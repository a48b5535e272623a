//! Takes from a reviewer what its job does not need, by the kernel's own means.
//!
//! Landlock (Linux 5.13 and later) bounds which files a process may open and, from 6.7, which TCP ports
//! it may connect to. It cannot be undone, and everything the process starts inherits it.
//!
//! What no kernel can take back, a credential in the environment, keeps the reviewer from starting.
//!
//! **Invariant:** after [`to_one_job`] no file of another job, no ledger and no queue can be opened
//! by this process; where the kernel cannot do that, the log says so.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use mirilla_domain::redact;

use crate::settings::Environment;

/// What one review needs.
pub(crate) struct Needs {
    /// Directories whose files it reads.
    pub(crate) read: Vec<PathBuf>,
    /// Directories whose files it reads, makes, replaces and removes.
    pub(crate) write: Vec<PathBuf>,
    /// Directories whose entries it lists.
    pub(crate) list: Vec<PathBuf>,
    /// The model's port.
    pub(crate) port: u16,
}

/// How far the kernel enforces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confined {
    /// Files and ports.
    Fully,
    /// Files, or some of the rights.
    Partly,
    /// Nothing: the kernel has no Landlock.
    Not,
}

/// Variables that hold a forge's token or a key over what stands on a pull request, whatever the value looks
/// like: before GitLab 15.9 the token of a job was twenty letters and nothing more.
/// <https://docs.gitlab.com/ci/variables/predefined_variables/>
const TOKEN_NAMES: [&str; 13] = [
    "CI_JOB_TOKEN",
    "CI_JOB_JWT",
    "CI_JOB_JWT_V1",
    "CI_JOB_JWT_V2",
    "CI_BUILD_TOKEN",
    "CI_REGISTRY_PASSWORD",
    "CI_DEPENDENCY_PROXY_PASSWORD",
    "CI_DEPLOY_PASSWORD",
    "CI_REPOSITORY_URL",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "GITLAB_TOKEN",
    "MIRILLA_MARKER_KEY",
];

/// What name resolution reads.
const RESOLVER: [&str; 9] = [
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/ld.so.cache",
    "/lib",
    "/lib64",
    "/usr/lib",
];

/// Port of name servers that answer over TCP.
#[cfg(target_os = "linux")]
const DNS_PORT: u16 = 53;

/// Confines this process.
#[cfg(target_os = "linux")]
pub(crate) fn to_one_job(needs: &Needs) -> Result<Confined> {
    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, NetPort, PathBeneath, PathFd, Ruleset,
        RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus,
    };
    let all = AccessFs::from_all(ABI::V5);
    let file_rights = AccessFs::from_file(ABI::V5);
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let change = AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
        | AccessFs::Refer;
    let mut rules: Vec<(&Path, _)> = Vec::new();
    rules.extend(RESOLVER.iter().map(|path| (Path::new(*path), read)));
    rules.extend(needs.read.iter().map(|path| (path.as_path(), read)));
    rules.extend(
        needs
            .write
            .iter()
            .map(|path| (path.as_path(), read | change)),
    );
    rules.extend(
        needs
            .list
            .iter()
            .map(|path| (path.as_path(), AccessFs::ReadDir.into())),
    );

    let mut ruleset = Ruleset::default()
        .handle_access(all)
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(ABI::V5)))
        .and_then(Ruleset::create)
        .context("the reviewer cannot be confined")?;
    for (path, rights) in rules {
        // What is not there cannot be opened either.
        let Ok(opened) = PathFd::new(path) else {
            continue;
        };
        let rights = if path.is_dir() {
            rights
        } else {
            rights & file_rights
        };
        ruleset = ruleset
            .add_rule(PathBeneath::new(opened, rights))
            .with_context(|| format!("the reviewer cannot be confined to {}", path.display()))?;
    }
    for port in [needs.port, DNS_PORT] {
        ruleset = ruleset
            .add_rule(NetPort::new(port, AccessNet::ConnectTcp))
            .context("the reviewer cannot be confined to one port")?;
    }
    let status = ruleset
        .restrict_self()
        .context("the reviewer cannot be confined")?;
    Ok(match status.ruleset {
        RulesetStatus::FullyEnforced => Confined::Fully,
        RulesetStatus::PartiallyEnforced => Confined::Partly,
        RulesetStatus::NotEnforced => Confined::Not,
    })
}

/// Other systems have no Landlock.
#[cfg(not(target_os = "linux"))]
pub(crate) fn to_one_job(needs: &Needs) -> Result<Confined> {
    let _unused = (&needs.read, &needs.write, &needs.list, needs.port, RESOLVER);
    Ok(Confined::Not)
}

/// A process that may be talked into anything must not find a forge's token beside it.
pub(crate) fn refuse_forge_credentials(environment: &Environment) -> Result<()> {
    for (name, value) in environment {
        let by_name = (is_named_token(name) && !value.trim().is_empty()).then_some("forge-token");
        if let Some(kind) = redact::credential_shape(value).or(by_name) {
            anyhow::bail!(
                "the reviewer's environment holds {kind:?} in {name}; it does not start beside a forge credential: remove the variable"
            );
        }
    }
    Ok(())
}

/// Returns whether a variable is a token by what it is called.
fn is_named_token(name: &str) -> bool {
    TOKEN_NAMES.contains(&name) || name.starts_with("MIRILLA_") && name.ends_with("_TOKEN")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_name_where_its_form_says_nothing() {
        let beside = |name: &str, value: &str| {
            let environment = Environment::from([(name.to_owned(), value.to_owned())]);
            refuse_forge_credentials(&environment)
        };
        for name in TOKEN_NAMES
            .into_iter()
            .chain(["MIRILLA_GITLAB_TOKEN", "MIRILLA_GITHUB_READ_TOKEN"])
        {
            let said = beside(name, "madeUpAndWithoutForm")
                .unwrap_err()
                .to_string();
            assert!(said.contains(name) && !said.contains("madeUp"), "{said}");
            beside(name, "").unwrap();
        }
        beside("ANTHROPIC_API_KEY", "madeUpAndWithoutForm").unwrap();
        beside("CI_PROJECT_PATH", "acme/shop").unwrap();
    }
}
