//! A function's start: the log first, then what `main.rs` wires.

use mirilla_telemetry::{Format, Telemetry, TelemetryError};

use crate::Environment;

/// Why a function does not start. Its text is what an operator finds in the function's log.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The log cannot be set up.
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
    /// The runtime cannot be made.
    #[error("the runtime cannot be started")]
    Runtime(#[source] std::io::Error),
    /// The function itself refused to start or failed.
    #[error("the {stage} function cannot work: {reason}")]
    Function {
        /// Which function.
        stage: &'static str,
        /// Why, with all causes.
        reason: String,
    },
}

/// Sets the log up and runs a function until its runtime ends.
///
/// A function works on one event at a time, so one thread is enough and starts soonest.
pub fn start<F, E>(
    stage: &'static str,
    run: impl FnOnce(Environment, Telemetry) -> F,
) -> Result<(), StartError>
where
    F: Future<Output = Result<(), E>>,
    E: std::fmt::Display,
{
    let environment = Environment::read();
    let level = environment.get("MIRILLA_LOG_LEVEL").unwrap_or("info");
    let telemetry = mirilla_telemetry::init(stage, Format::Json, level)?;
    // A panic becomes a failed message; its text goes to the log as one line.
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(
            place,
            "the {stage} function panicked; its message comes back"
        );
    }));
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(StartError::Runtime)?
        .block_on(run(environment, telemetry))
        .map_err(|error| {
            let reason = format!("{error:#}");
            tracing::error!("the {stage} function cannot work: {reason}");
            StartError::Function { stage, reason }
        })
}
