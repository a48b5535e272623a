//! CloudWatch's embedded format: a log line that becomes numbers.
//!
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>
//!
//! A document that breaks the format is dropped without a word, so its limits are kept here: at most
//! 100 metrics a directive, 30 dimensions a set, dimension values that are texts and not empty.

use mirilla_domain::ids::Timestamp;
use mirilla_domain::signal::{About, Signal};
use serde_json::{Map, Number as JsonNumber, Value, json};

use super::points::{Number, points};
use super::{Metric, NAMESPACE};
use crate::field;

/// The longest value of a dimension; CloudWatch allows 1,024, and ours are short words.
pub const MAX_DIMENSION_CHARS: usize = 200;
/// What stands for a dimension without a value, which the format forbids.
const NO_VALUE: &str = "unknown";

/// Returns one line for each fact.
pub fn lines(stage: &str, about: &About, signals: &[Signal], at: Timestamp) -> Vec<String> {
    signals
        .iter()
        .map(|signal| line(stage, about, signal, at))
        .collect()
}

fn line(stage: &str, about: &About, signal: &Signal, at: Timestamp) -> String {
    let found = points(signal);
    let mut root = Map::new();
    root.insert(field::STAGE.to_owned(), dimension(stage));
    root.insert(field::VERSION.to_owned(), env!("CARGO_PKG_VERSION").into());
    for (name, value) in &found.dimensions {
        root.insert((*name).to_owned(), dimension(value));
    }
    for (name, value) in &found.properties {
        root.insert((*name).to_owned(), (*value).into());
    }
    properties(about, &mut root);
    let mut directives: Vec<(&[&[&str]], Vec<Metric>)> = Vec::new();
    for point in &found.points {
        let sets = point.metric.dimensions();
        match directives.iter_mut().find(|(known, _)| *known == sets) {
            Some((_, metrics)) => metrics.push(point.metric),
            None => directives.push((sets, vec![point.metric])),
        }
        root.insert(point.metric.name().to_owned(), number(point.value));
    }
    let directives: Vec<Value> = directives
        .iter()
        .map(|(sets, metrics)| directive(sets, metrics, &root))
        .collect();
    root.insert(
        "_aws".to_owned(),
        json!({"Timestamp": at.get(), "CloudWatchMetrics": directives}),
    );
    Value::Object(root).to_string()
}

fn directive(sets: &[&[&str]], metrics: &[Metric], root: &Map<String, Value>) -> Value {
    // A fact may not know every dimension of its metric (a dead worker's model): then only the sums
    // are written, because a set whose member is missing makes the whole line void.
    let known: Vec<_> = sets
        .iter()
        .filter(|set| set.iter().all(|name| root.contains_key(*name)))
        .collect();
    let metrics: Vec<Value> = metrics
        .iter()
        .map(|metric| json!({"Name": metric.name(), "Unit": metric.unit().as_str()}))
        .collect();
    json!({"Namespace": NAMESPACE, "Dimensions": known, "Metrics": metrics})
}

fn properties(about: &About, root: &mut Map<String, Value>) {
    let About {
        forge,
        repo,
        pr,
        job,
        attempt,
    } = about;
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            root.insert(name.to_owned(), value);
        }
    };
    put(field::FORGE, forge.map(|forge| forge.as_str().into()));
    put(field::REPO, repo.as_ref().map(|repo| repo.as_str().into()));
    put(field::PR, pr.map(|pr| pr.get().into()));
    put(field::JOB_ID, job.as_ref().map(|job| job.as_str().into()));
    put(field::ATTEMPT, attempt.map(|attempt| attempt.get().into()));
}

fn dimension(value: &str) -> Value {
    let kept: String = value
        .chars()
        .filter(char::is_ascii_graphic)
        .take(MAX_DIMENSION_CHARS)
        .collect();
    if kept.is_empty() {
        NO_VALUE.into()
    } else {
        kept.into()
    }
}

fn number(value: Number) -> Value {
    match value {
        Number::Whole(whole) => whole.into(),
        // The exact decimal text read back: no amount of ours is beyond what a float prints exactly
        // enough for a graph, and none is infinite.
        Number::Usd(amount) => amount
            .exact()
            .parse::<f64>()
            .ok()
            .and_then(JsonNumber::from_f64)
            .map_or(Value::from(0), Value::Number),
    }
}

#[cfg(test)]
mod tests {
    use mirilla_domain::ids::{AttemptNo, Forge, JobId, PrNumber, RepoName};
    use mirilla_domain::money::{PicoUsd, Usage};
    use mirilla_domain::signal::{PurseKind, RunOutcome};

    use super::*;

    fn parsed(signal: &Signal, about: &About) -> Value {
        let lines = lines(
            "reviewer",
            about,
            std::slice::from_ref(signal),
            Timestamp::new(1_000),
        );
        serde_json::from_str(&lines[0]).unwrap()
    }

    /// Checks a line against the format's own rules.
    fn assert_well_formed(line: &Value) {
        assert_eq!(line["_aws"]["Timestamp"], 1_000);
        let directives = line["_aws"]["CloudWatchMetrics"].as_array().unwrap();
        assert!(!directives.is_empty());
        for directive in directives {
            assert_eq!(directive["Namespace"], "Mirilla");
            let metrics = directive["Metrics"].as_array().unwrap();
            assert!((1..=100).contains(&metrics.len()));
            for metric in metrics {
                let name = metric["Name"].as_str().unwrap();
                assert!(line[name].is_number(), "{name} in {line}");
            }
            for set in directive["Dimensions"].as_array().unwrap() {
                let set = set.as_array().unwrap();
                assert!(set.len() <= 30);
                for name in set {
                    let value = line[name.as_str().unwrap()].as_str().unwrap();
                    assert!((1..=1_024).contains(&value.len()), "{name}");
                }
            }
        }
    }

    #[test]
    fn one_line_holds_numbers_of_several_units_and_whom_they_concern() {
        let signal = Signal::Ran {
            outcome: RunOutcome::Done,
            reason: "reviewed",
            duration_ms: 1_234,
        };
        let about = About {
            forge: Some(Forge::Github),
            repo: Some(RepoName::parse("acme/shop").unwrap()),
            pr: Some(PrNumber::new(212)),
            job: Some(JobId::parse(&"ab".repeat(16)).unwrap()),
            attempt: Some(AttemptNo::FIRST),
        };
        let line = parsed(&signal, &about);
        assert_well_formed(&line);
        assert_eq!(
            line,
            json!({
                "_aws": {"Timestamp": 1_000, "CloudWatchMetrics": [
                    {"Namespace": "Mirilla", "Dimensions": [["stage", "outcome"]],
                     "Metrics": [{"Name": "runs", "Unit": "Count"}]},
                    {"Namespace": "Mirilla", "Dimensions": [["stage"]],
                     "Metrics": [{"Name": "duration_ms", "Unit": "Milliseconds"}]},
                ]},
                "stage": "reviewer", "version": env!("CARGO_PKG_VERSION"), "outcome": "done",
                "reason": "reviewed", "runs": 1, "duration_ms": 1_234,
                "forge": "github", "repo": "acme/shop", "pr": 212, "job_id": "ab".repeat(16),
                "attempt": 1,
            })
        );
    }

    #[test]
    fn money_is_written_as_dollars_and_its_sum_stands_beside_the_models() {
        let signal = Signal::ModelCalled {
            model: "claude-sonnet-5-5".to_owned(),
            usage: Usage {
                input_tokens: 10,
                output_tokens: 2,
                cache_read_tokens: 3,
                cache_write_5m_tokens: 4,
                cache_write_1h_tokens: 5,
                estimated: false,
            },
            cost: PicoUsd::parse("0.025161").unwrap(),
        };
        let line = parsed(&signal, &About::default());
        assert_well_formed(&line);
        assert_eq!(line["spend_usd"], 0.025_161);
        assert_eq!(line["cache_write_tokens"], 9);
        let spend = line["_aws"]["CloudWatchMetrics"]
            .as_array()
            .unwrap()
            .iter()
            .find(|directive| directive["Metrics"][0]["Name"] == "spend_usd")
            .unwrap();
        assert_eq!(spend["Dimensions"], json!([["model"], []]));
    }

    #[test]
    fn a_dimension_is_never_empty_long_or_more_than_one_line() {
        for model in ["", "\n\u{202e}", &"x".repeat(5_000), "a b\nc"] {
            let signal = Signal::CallLost {
                model: model.to_owned(),
                cost: PicoUsd::ZERO,
            };
            let line = parsed(&signal, &About::default());
            assert_well_formed(&line);
            assert!(line["model"].as_str().unwrap().len() <= MAX_DIMENSION_CHARS);
        }
    }

    #[test]
    fn a_fact_without_its_dimension_is_written_as_a_sum() {
        let line = parsed(&Signal::CallsBooked { count: 3 }, &About::default());
        assert_well_formed(&line);
        assert_eq!(line["calls_lost"], 3);
        assert_eq!(
            line["_aws"]["CloudWatchMetrics"][0]["Dimensions"],
            json!([[]])
        );
        let used = Signal::PurseUsed {
            purse: PurseKind::RepositoryDay,
            percent: 81,
        };
        let line = parsed(&used, &About::default());
        assert_well_formed(&line);
        assert_eq!(line["purse"], "repository-day");
    }
}
