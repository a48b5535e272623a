//! From an event and its spans to one line.

use std::error::Error;
use std::fmt;

use mirilla_domain::escape;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, Scope};

use crate::{Format, chain, field};

/// The longest text of a field; an error that quotes an answer must not flood the log.
const MAX_FIELD_CHARS: usize = 1_000;
const MESSAGE: &str = "message";
const LEVEL: &str = "level";

/// Writes each event as one line, without time (the collector of the log has its own) and target.
#[derive(Debug, Clone, Copy)]
pub struct LogLayer<W> {
    stage: &'static str,
    format: Format,
    write: W,
}

impl<W: Fn(&str)> LogLayer<W> {
    /// Writes lines of `format` through `write`, which gets a line without its end.
    pub const fn new(stage: &'static str, format: Format, write: W) -> Self {
        Self {
            stage,
            format,
            write,
        }
    }

    fn json(&self, level: Level, spans: Fields, event: Fields) -> String {
        let mut line = Map::new();
        line.insert(LEVEL.to_owned(), level.as_str().to_ascii_lowercase().into());
        line.insert(MESSAGE.to_owned(), event.message.clone().into());
        line.insert(field::STAGE.to_owned(), self.stage.into());
        line.insert(field::VERSION.to_owned(), env!("CARGO_PKG_VERSION").into());
        for (name, value) in spans.values.into_iter().chain(event.values) {
            line.insert(name.to_owned(), value);
        }
        Value::Object(line).to_string()
    }

    fn human(&self, level: Level, event: &Fields) -> String {
        let weight = match level {
            Level::ERROR => "error: ",
            Level::WARN => "warning: ",
            _ => "",
        };
        let mut line = format!("{}: {weight}{}", self.stage, event.message);
        for (name, value) in &event.values {
            let text = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let text = if text.is_empty() || text.contains(' ') {
                format!("{text:?}")
            } else {
                text
            };
            line.extend([" ", name, "=", &text]);
        }
        line
    }
}

impl<S, W> Layer<S> for LogLayer<W>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: Fn(&str) + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let level = *event.metadata().level();
        let line = match self.format {
            Format::Human => self.human(level, &fields),
            Format::Json => {
                let mut spans = Fields::default();
                for span in context
                    .event_scope(event)
                    .into_iter()
                    .flat_map(Scope::from_root)
                {
                    if let Some(found) = span.extensions().get::<Fields>() {
                        spans.values.extend(found.values.iter().cloned());
                    }
                }
                self.json(level, spans, fields)
            }
        };
        (self.write)(&line);
    }
}

/// Fields in the order they were named.
#[derive(Debug, Default)]
struct Fields {
    message: String,
    values: Vec<(&'static str, Value)>,
}

impl Fields {
    fn set(&mut self, field: &Field, value: Value) {
        let name = field.name();
        self.values.retain(|(known, _)| *known != name);
        self.values.push((name, value));
    }

    fn text(&mut self, field: &Field, text: &str) {
        let text: String = text.chars().take(MAX_FIELD_CHARS).collect();
        let text = escape::terminal(&text).into_owned();
        if field.name() == MESSAGE {
            self.message = text;
        } else {
            self.set(field, text.into());
        }
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field, value.into());
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.text(field, &chain(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.text(field, &format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::json;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    /// Returns the lines that are written while `run` logs.
    fn lines(format: Format, run: impl FnOnce()) -> Vec<String> {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&lines);
        let write = move |line: &str| sink.lock().unwrap().push(line.to_owned());
        let layer = LogLayer::new("intake", format, write);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), run);
        std::mem::take(&mut *lines.lock().unwrap())
    }

    #[test]
    fn json_line_holds_event_and_span_fields_side_by_side() {
        let found = lines(Format::Json, || {
            let outer = tracing::info_span!("a", { field::JOB_ID } = "j1", { field::ATTEMPT } = 1);
            let _outer = outer.entered();
            let inner =
                tracing::info_span!("b", { field::ATTEMPT } = 2, late = tracing::field::Empty);
            inner.record("late", true);
            let _inner = inner.entered();
            tracing::warn!({ field::PR } = 7, { field::REPO } = %"acme/shop", "pull request {} waits", 7);
        });
        let [line] = found.as_slice() else {
            panic!("{found:?}");
        };
        let parsed: Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            parsed,
            json!({
                "level": "warn", "message": "pull request 7 waits", "stage": "intake",
                "version": env!("CARGO_PKG_VERSION"), "job_id": "j1", "attempt": 2, "late": true,
                "pr": 7, "repo": "acme/shop",
            })
        );
    }

    #[test]
    fn errors_are_written_with_their_causes() {
        let error = crate::TelemetryError::Filter {
            filter: "x=y=z".to_owned(),
            source: "x=y=z"
                .parse::<tracing_subscriber::EnvFilter>()
                .unwrap_err(),
        };
        let cause = Error::source(&error).unwrap().to_string();
        let error: &(dyn Error + 'static) = &error;
        let found = lines(Format::Json, || {
            tracing::error!({ field::ERROR } = error, "stopped");
        });
        let parsed: Value = serde_json::from_str(&found[0]).unwrap();
        let text = parsed["error"].as_str().unwrap();
        assert!(
            text.contains("`x=y=z` is not understood") && text.ends_with(&cause),
            "{text}"
        );
    }

    #[test]
    fn every_line_is_one_line_whatever_a_field_holds() {
        let hostile = "a\nb\r\u{1b}[31m::error::x\u{202e}";
        let long = "y".repeat(5_000);
        for format in [Format::Json, Format::Human] {
            let found = lines(format, || {
                tracing::info!({ field::REPO } = hostile, long = %long, "hello {hostile}");
            });
            assert_eq!(found.len(), 1);
            let line = &found[0];
            assert!(
                !line.contains(['\n', '\r', '\u{1b}', '\u{202e}']),
                "{line:?}"
            );
            assert!(line.len() < 2_500, "{}", line.len());
        }
    }

    #[test]
    fn human_line_reads_as_a_sentence_with_its_fields() {
        let found = lines(Format::Human, || {
            tracing::info!({ field::PR } = 7, { field::REASON } = "two words", "queued");
            tracing::error!("the ledger is locked");
        });
        assert_eq!(
            found,
            [
                "intake: queued pr=7 reason=\"two words\"",
                "intake: error: the ledger is locked"
            ]
        );
    }

    #[test]
    fn field_names_are_snake_case_and_unique() {
        let mut names = field::ALL.to_vec();
        assert!(names.iter().all(|name| {
            name.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        }));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), field::ALL.len());
    }
}
