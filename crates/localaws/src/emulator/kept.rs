//! What an emulator keeps for tests beside its log: the functions' output, and every message.
//!
//! CloudWatch's log groups are made of the first, less what a function wrote before its first event or
//! while it was killed.

use std::fs;

use anyhow::{Context as _, Result};

use super::Emulator;

/// Names in the emulator's own folder, as `infra/local-aws/emulator.py` writes them.
const FUNCTIONS: &str = "functions.jsonl";
const MESSAGES: &str = "messages.jsonl";

impl Emulator {
    /// Returns every line that functions wrote so far, each as `{"function": …, "line": …}`.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn functions_output(&self) -> Result<String> {
        self.kept(FUNCTIONS)
    }

    /// Returns every message so far: each `{"queue": …, "sent": request}` or `{"queue": …, "received": body}`.
    /// Notifications of the emulator's own services are received without having been sent.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn messages(&self) -> Result<String> {
        self.kept(MESSAGES)
    }

    fn kept(&self, name: &str) -> Result<String> {
        let path = self.folder.path().join(name);
        let bytes =
            fs::read(&path).with_context(|| format!("could not read {}", path.display()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
