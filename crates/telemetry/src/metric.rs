//! Metrics in CloudWatch's embedded format: a log line that becomes a number.
//!
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>
//!
//! **Invariant:** dimensions are closed lists of ours; a repository or a user is never one, because
//! every new value of a dimension is a new metric to pay for.

use mirilla_domain::ids::Timestamp;
use serde_json::{Map, Value, json};

const NAMESPACE: &str = "Mirilla";

/// Something that is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Metric {
    /// A stage handled something.
    Run {
        /// The stage.
        stage: &'static str,
        /// What became of it, one of the log's outcomes.
        outcome: &'static str,
        /// How long it took, in milliseconds.
        duration_ms: u64,
    },
}

impl Metric {
    /// Returns the metric's line, for a moment.
    pub fn line(&self, at: Timestamp) -> String {
        let Self::Run {
            stage,
            outcome,
            duration_ms,
        } = self;
        let dimensions = [("stage", *stage), ("outcome", *outcome)];
        let values = [
            ("runs", "Count", 1),
            ("duration_ms", "Milliseconds", *duration_ms),
        ];
        let names: Vec<_> = dimensions.iter().map(|(name, _)| *name).collect();
        let units: Vec<_> = values
            .iter()
            .map(|(name, unit, _)| json!({"Name": name, "Unit": unit}))
            .collect();
        let mut line = Map::new();
        line.insert(
            "_aws".to_owned(),
            json!({
                "Timestamp": at.get(),
                "CloudWatchMetrics": [{
                    "Namespace": NAMESPACE,
                    "Dimensions": [names],
                    "Metrics": units,
                }],
            }),
        );
        for (name, value) in dimensions {
            line.insert(name.to_owned(), value.into());
        }
        for (name, _, value) in values {
            line.insert(name.to_owned(), value.into());
        }
        Value::Object(line).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dimension_and_metric_named_is_there() {
        let metric = Metric::Run {
            stage: "intake",
            outcome: "accepted",
            duration_ms: 7,
        };
        let line: Value = serde_json::from_str(&metric.line(Timestamp::new(1_000))).unwrap();
        assert_eq!(line["_aws"]["Timestamp"], 1_000);
        let group = &line["_aws"]["CloudWatchMetrics"][0];
        assert_eq!(group["Namespace"], "Mirilla");
        for name in group["Dimensions"][0].as_array().unwrap() {
            assert!(line[name.as_str().unwrap()].is_string(), "{name}");
        }
        for metric in group["Metrics"].as_array().unwrap() {
            assert!(line[metric["Name"].as_str().unwrap()].is_u64(), "{metric}");
        }
        assert_eq!(
            (&line["runs"], &line["duration_ms"]),
            (&json!(1), &json!(7))
        );
    }
}
