//! The one module that prints: data on standard output, everything else on standard error.
//!
//! **Invariant:** a text that a stranger wrote passes the escaper before it reaches a terminal.

use std::io::IsTerminal as _;

use mirilla_domain::escape;

/// Prints data, exactly as it is.
pub(crate) fn data(text: &str) {
    write_to(&mut std::io::stdout().lock(), text);
}

/// Prints a line of data.
pub(crate) fn data_line(text: &str) {
    data(&format!("{text}\n"));
}

/// Prints a line for the person who waits.
pub(crate) fn note(text: &str) {
    write_to(&mut std::io::stderr().lock(), &format!("{text}\n"));
}

/// Prints a question, after which the person types.
pub(crate) fn question(text: &str) {
    write_to(&mut std::io::stderr().lock(), text);
}

/// Prints a line of a worker; control characters from file names and titles are shown escaped.
pub(crate) fn worker_line(text: &str) {
    note(&escape::terminal(text));
}

/// Prints lines about what a person did; what is untrusted in them is shown escaped.
pub(crate) fn notes(text: &str) {
    note(&escape::terminal_lines(text));
}

/// Returns whether colours and progress are wanted on standard error.
pub(crate) fn is_interactive(environment: &crate::settings::Environment) -> bool {
    std::io::stderr().is_terminal() && !environment.contains_key("NO_COLOR")
}

/// A closed pipe is the reader's choice, not an error to report.
fn write_to(to: &mut impl std::io::Write, text: &str) {
    drop(to.write_all(text.as_bytes()).and_then(|()| to.flush()));
}
