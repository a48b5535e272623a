//! The processes that functions run in, and the credentials they were given.

use std::collections::BTreeMap;

use aws_credential_types::Credentials;

use super::World;
use crate::Services;

/// A function's process.
pub(super) struct Process {
    /// Its number.
    pub(super) pid: u32,
    /// What it was started with.
    environment: BTreeMap<String, String>,
}

impl World {
    /// Returns the processes in which a function waits or works.
    pub(super) fn processes(&self, function: &str) -> Vec<Process> {
        let name = format!("{}-{function}", self.stack.name());
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|pid| pid.parse().ok()) else {
                continue;
            };
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            let environment: BTreeMap<String, String> = String::from_utf8_lossy(&environment)
                .split('\0')
                .filter_map(|pair| pair.split_once('='))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
            let ours = environment.get("AWS_LAMBDA_FUNCTION_NAME") == Some(&name);
            if ours && group(pid) == Some(self.emulator.pid()) {
                found.push(Process { pid, environment });
            }
        }
        found
    }

    /// Returns AWS with the credentials that a function was started with: its role's.
    pub fn as_role_of(&self, function: &str) -> Services {
        let processes = self.processes(function);
        let process = processes
            .first()
            .unwrap_or_else(|| panic!("no process of {function} runs"));
        let given = |name: &str| process.environment[name].clone();
        let token = given("AWS_SESSION_TOKEN");
        assert!(!token.is_empty(), "{function} has no role's session");
        let (id, secret) = (given("AWS_ACCESS_KEY_ID"), given("AWS_SECRET_ACCESS_KEY"));
        let credentials = Credentials::new(id, secret, Some(token), None, "role");
        Services::with(&self.emulator.endpoint(), credentials)
    }
}

/// Returns a process's group.
fn group(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // After the name, which may hold blanks: state, parent, group.
    stat.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(2)?
        .parse()
        .ok()
}
