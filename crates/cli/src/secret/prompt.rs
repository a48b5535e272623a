//! Asks for a secret on a terminal without showing it.

use std::io::BufRead as _;

use anyhow::{Context as _, Result};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use secrecy::SecretString;

use crate::failure::Failure;
use crate::output;

/// What a terminal sends for the key combination that interrupts.
const INTERRUPT: char = '\u{3}';

/// A terminal that shows nothing; dropped, it shows again what is typed.
struct Silent(Termios);

impl Silent {
    fn begin() -> Result<Self> {
        let input = std::io::stdin();
        let before = tcgetattr(&input).context("the terminal cannot be asked for its settings")?;
        let mut silent = before.clone();
        // An interrupt arrives as a character, so that nothing ends before the settings are back.
        silent
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ISIG);
        tcsetattr(&input, OptionalActions::Flush, &silent)
            .context("the terminal cannot be told to show nothing")?;
        Ok(Self(before))
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        // There is nothing left to try if this fails.
        tcsetattr(std::io::stdin(), OptionalActions::Flush, &self.0).unwrap_or_default();
        output::note("");
    }
}

/// Shows a question and reads one line.
pub(super) fn ask(question: &str) -> Result<SecretString> {
    output::question(question);
    let mut line = String::new();
    {
        let _silent = Silent::begin()?;
        std::io::stdin()
            .lock()
            .read_line(&mut line)
            .context("the terminal cannot be read")?;
    }
    if line.contains(INTERRUPT) {
        return Err(Failure::new("interrupted; nothing was changed").into());
    }
    Ok(line.into())
}
