//! A function's start: the log first, then what `main.rs` wires, then one event after another.

use std::process::ExitCode;

use lambda_runtime::{Diagnostic, LambdaEvent, service_fn};
use mirilla_telemetry::{Format, Telemetry, chain};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Environment;

/// The Lambda runtime's loop ended.
#[derive(Debug, thiserror::Error)]
#[error("the Lambda runtime ended")]
pub struct ServeError(#[source] lambda_runtime::Error);

/// Sets the log up and runs a function until its runtime ends; why it failed is the log's last line.
///
/// A function works on one event at a time, so one thread is enough and starts soonest.
pub fn start<F, E>(stage: &'static str, run: impl FnOnce(Environment, Telemetry) -> F) -> ExitCode
where
    F: Future<Output = Result<(), E>>,
    E: std::fmt::Display,
{
    let environment = Environment::read();
    let level = environment.get("MIRILLA_LOG_LEVEL").unwrap_or("info");
    let telemetry = match mirilla_telemetry::init(stage, Format::Json, level) {
        Ok(telemetry) => telemetry,
        Err(error) => {
            #[expect(clippy::print_stderr, reason = "there is no log to write to")]
            {
                eprintln!("the {stage} function cannot work: {}", chain(&error));
            }
            return ExitCode::FAILURE;
        }
    };
    // A panic becomes a failed message; its text goes to the log as one line.
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(
            place,
            "the {stage} function panicked; its message comes back"
        );
    }));
    let ended = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("its runtime cannot be made: {error}"))
        .and_then(|runtime| {
            let ended = runtime.block_on(run(environment, telemetry));
            ended.map_err(|error| format!("{error:#}"))
        });
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            tracing::error!("the {stage} function cannot work: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// Answers one event after another with what the function was wired with.
///
/// # Errors
///
/// When the Lambda runtime cannot be asked for events.
pub async fn serve<S, E, R, X>(
    state: S,
    handle: impl AsyncFn(&S, LambdaEvent<E>) -> Result<R, X>,
) -> Result<(), ServeError>
where
    E: DeserializeOwned,
    R: Serialize,
    X: Into<Diagnostic> + std::fmt::Debug,
{
    let (state, handle) = (&state, &handle);
    lambda_runtime::run(service_fn(async move |event| handle(state, event).await))
        .await
        .map_err(ServeError)
}
