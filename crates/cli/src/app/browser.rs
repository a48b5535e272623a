//! Opens a page in the person's browser, as far as the system knows how.

use std::process::{Command, Stdio};

/// Programs that open an address, most fitting first.
const OPENERS: &[&str] = if cfg!(target_os = "macos") {
    &["open"]
} else {
    &["xdg-open", "wslview"]
};

/// Opens an address; returns whether a program took it.
pub(super) fn open(url: &str) -> bool {
    OPENERS.iter().any(|opener| {
        Command::new(opener)
            .arg(url)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .is_ok()
    })
}
