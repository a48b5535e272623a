//! Log lines, error chains and metric names, fixed in one place.
//!
//! [`init`] installs the process's only log. With [`Format::Json`] each event is one JSON object on
//! standard output, its fields and those of its spans side by side, as CloudWatch Logs Insights wants
//! them; with [`Format::Human`] it is one line on standard error.
//!
//! **Invariant:** every line is one line, whatever a field holds: control characters are escaped and
//! long values cut. What must not be logged at all (bodies, headers, diffs, prompts, answers,
//! secrets) is kept out where it is held: such types print sizes only.

pub mod field;
mod line;
pub mod metric;

use std::io::{self, Write as _};

use mirilla_domain::ids::Timestamp;
use mirilla_domain::signal::{About, Signal};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

pub use line::LogLayer;
pub use metric::{Metric, NAMESPACE, Unit};
pub use mirilla_domain::cause::chain;

/// How events are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// JSON lines on standard output, for machines; metrics are written too.
    Json,
    /// Text lines on standard error, for people; there are no metrics.
    Human,
}

/// The log could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter is not understood.
    #[error(
        "the log level `{filter}` is not understood: use error, warn, info, debug or trace, or target=level pairs"
    )]
    Filter {
        /// The filter.
        filter: String,
        /// What is wrong with it.
        #[source]
        source: tracing_subscriber::filter::ParseError,
    },
    /// The process has a log already.
    #[error("the log was set up twice")]
    Twice(#[source] tracing_subscriber::util::TryInitError),
}

/// The process's way to write metrics.
#[derive(Debug, Clone, Copy)]
pub struct Telemetry {
    stage: &'static str,
    format: Format,
}

/// Sets the process's log up.
///
/// `filter` is a level such as `info`, or `target=level` pairs; where it comes from (environment,
/// flags) is the program's business.
pub fn init(
    stage: &'static str,
    format: Format,
    filter: &str,
) -> Result<Telemetry, TelemetryError> {
    let levels = EnvFilter::try_new(filter).map_err(|source| TelemetryError::Filter {
        filter: filter.to_owned(),
        source,
    })?;
    let write = match format {
        Format::Json => write_stdout,
        Format::Human => write_stderr,
    };
    tracing_subscriber::registry()
        .with(levels)
        .with(LogLayer::new(stage, format, write))
        .try_init()
        .map_err(TelemetryError::Twice)?;
    Ok(Telemetry { stage, format })
}

impl Telemetry {
    /// Returns a way to write metrics that writes none, for tests and demonstrations.
    pub const fn silent() -> Self {
        Self {
            stage: "test",
            format: Format::Human,
        }
    }

    /// Returns the same, writing for another stage: for a process that does some of its work.
    pub const fn of_stage(self, stage: &'static str) -> Self {
        Self { stage, ..self }
    }

    /// Writes facts as lines of CloudWatch's embedded format, if the log is for machines.
    ///
    /// Every edge, function or child process, writes its metrics through this and nothing else.
    pub fn emit(&self, about: &About, signals: &[Signal], at: Timestamp) {
        if self.format == Format::Json {
            for line in metric::lines(self.stage, about, signals, at) {
                write_stdout(&line);
            }
        }
    }
}

/// Nobody is left to tell if the log cannot be written, and it is no reason to stop.
fn write_stdout(line: &str) {
    let _closed = writeln!(io::stdout().lock(), "{line}");
}

fn write_stderr(line: &str) {
    let _closed = writeln!(io::stderr().lock(), "{line}");
}
