//! Whatever the dashboard shows and the alarms watch is a metric that is written.

use std::collections::{BTreeMap, BTreeSet};

use mirilla_domain::checks::Check;
use mirilla_domain::job::JobState;
use mirilla_domain::signal::{OddFindings, PurseKind, RunOutcome};
use mirilla_telemetry::{Metric, NAMESPACE};
use serde_json::Value;

use crate::symbol::symbol;
use crate::template::Template;

/// A metric as an alarm or a widget names it; a value is unknown where it is searched for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Named {
    namespace: String,
    metric: String,
    dimensions: BTreeMap<String, Option<String>>,
}

/// AWS's own metrics that are used, with their dimensions.
const OF_AWS: &[(&str, &str, &str)] = &[
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName"),
    ("AWS/SQS", "ApproximateAgeOfOldestMessage", "QueueName"),
    ("AWS/Lambda", "Errors", "FunctionName"),
    ("AWS/Lambda", "Invocations", "FunctionName"),
    ("AWS/Lambda", "Throttles", "FunctionName"),
    ("AWS/Lambda", "Url5xxCount", "FunctionName"),
];

/// Returns what is wrong with a name, if anything is.
fn problem(named: &Named) -> Option<String> {
    let dimensions: BTreeSet<&str> = named.dimensions.keys().map(String::as_str).collect();
    if named.namespace != NAMESPACE {
        let known = OF_AWS.iter().any(|(namespace, metric, dimension)| {
            named.namespace == *namespace
                && named.metric == *metric
                && dimensions == BTreeSet::from([*dimension])
        });
        return (!known).then(|| "AWS has no such metric that we know of".to_owned());
    }
    let Some(metric) = Metric::ALL
        .iter()
        .find(|metric| metric.name() == named.metric)
    else {
        return Some("no such metric is written".to_owned());
    };
    let written = metric.dimensions();
    if !written
        .iter()
        .any(|set| set.iter().copied().collect::<BTreeSet<_>>() == dimensions)
    {
        return Some(format!("it is written under {written:?}"));
    }
    named
        .dimensions
        .iter()
        .filter_map(|(name, value)| Some((name, value.as_deref()?)))
        .find(|(name, value)| !values(name).contains(*value))
        .map(|(name, value)| format!("{name} is never {value}"))
}

/// The values a dimension can have.
fn values(dimension: &str) -> BTreeSet<&'static str> {
    match dimension {
        "check" => Check::ALL.iter().map(|check| check.as_str()).collect(),
        "outcome" => RunOutcome::ALL
            .iter()
            .map(|outcome| outcome.as_str())
            .chain(["complete", "partial", "failed", "superseded"])
            .collect(),
        "purse" => PurseKind::ALL.iter().map(|purse| purse.as_str()).collect(),
        "source" => ["model", "checks"].into(),
        "stage" => [
            "intake",
            "collector",
            "reviewer",
            "poster",
            "sweeper",
            "minter",
        ]
        .into(),
        "state" => [
            JobState::Posted,
            JobState::Skipped,
            JobState::Superseded,
            JobState::Failed,
        ]
        .map(JobState::as_str)
        .into(),
        "what" => OddFindings::ALL.iter().map(|what| what.as_str()).collect(),
        other => panic!("the values of {other} are not known here"),
    }
}

/// All metrics an alarm watches.
fn of_alarm(alarm: &Value) -> Vec<Named> {
    let one = |metric: &Value| {
        let dimensions = metric["Dimensions"].as_array();
        Named {
            namespace: symbol(&metric["Namespace"]),
            metric: symbol(&metric["MetricName"]),
            dimensions: dimensions
                .into_iter()
                .flatten()
                .map(|pair| (symbol(&pair["Name"]), Some(symbol(&pair["Value"]))))
                .collect(),
        }
    };
    match alarm["Metrics"].as_array() {
        Some(metrics) => metrics
            .iter()
            .map(|metric| &metric["MetricStat"]["Metric"])
            .filter(|metric| !metric.is_null())
            .map(one)
            .collect(),
        None => vec![one(alarm)],
    }
}

/// All metrics a widget shows.
fn of_widget(widget: &Value) -> Vec<Named> {
    let rows = widget["properties"]["metrics"].as_array();
    rows.into_iter()
        .flatten()
        .filter_map(|row| {
            let row = row.as_array().unwrap();
            match row[0]["expression"].as_str() {
                Some(expression) if expression.starts_with("SEARCH") => Some(searched(expression)),
                Some(_) => None,
                None => Some(listed(row)),
            }
        })
        .collect()
}

/// `["Mirilla", "runs", "stage", "intake", {…}]`
fn listed(row: &[Value]) -> Named {
    let words: Vec<&str> = row.iter().map_while(Value::as_str).collect();
    Named {
        namespace: words[0].to_owned(),
        metric: words[1].to_owned(),
        dimensions: words[2..]
            .chunks(2)
            .map(|pair| (pair[0].to_owned(), Some(pair[1].to_owned())))
            .collect(),
    }
}

/// `SEARCH('{Mirilla,stage,outcome} MetricName="runs" outcome="rejected"', 'Sum', 300)`
fn searched(expression: &str) -> Named {
    let query = expression.split('\'').nth(1).unwrap();
    let (schema, terms) = query
        .trim_start_matches('{')
        .split_once("} ")
        .unwrap_or_else(|| panic!("{expression}"));
    let mut words = schema.split(',').map(str::to_owned);
    let namespace = words.next().unwrap();
    let mut dimensions: BTreeMap<String, Option<String>> = words.map(|name| (name, None)).collect();
    let mut metric = None;
    for (name, value) in terms.split(' ').filter_map(|term| term.split_once('=')) {
        let value = value.trim_matches('"').to_owned();
        if name == "MetricName" {
            metric = Some(value);
        } else {
            let old = dimensions.insert(name.to_owned(), Some(value));
            assert!(old.is_some(), "{name} is not in the schema: {expression}");
        }
    }
    Named {
        namespace,
        metric: metric.unwrap_or_else(|| panic!("{expression} names no metric")),
        dimensions,
    }
}

#[test]
fn alarms_watch_what_is_written() {
    let template = Template::here();
    let alarms = template.of_type("AWS::CloudWatch::Alarm");
    let problems: Vec<String> = alarms
        .iter()
        .flat_map(|(name, alarm)| {
            of_alarm(&alarm["Properties"])
                .into_iter()
                .filter_map(|named| {
                    problem(&named).map(|what| format!("{name} watches {named:?}: {what}"))
                })
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(alarms.len() > 20, "{} alarms", alarms.len());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn alarms_reach_the_topic_and_say_what_to_do() {
    let template = Template::here();
    for (name, alarm) in template.of_type("AWS::CloudWatch::Alarm") {
        let properties = &alarm["Properties"];
        let text = symbol(&properties["AlarmDescription"]);
        let (_, section) = text
            .split_once(" See docs/OPERATIONS.md#")
            .unwrap_or_else(|| panic!("{name} sends nobody anywhere: {text}"));
        // A section may be about several alarms.
        let alarm = symbol(&properties["AlarmName"]);
        assert!(
            alarm.starts_with(&format!("AWS::StackName-{section}")),
            "{name}: {alarm} is not about {section}"
        );
        assert_eq!(
            properties["AlarmActions"],
            serde_json::json!([{"Ref": "AlarmTopic"}]),
            "{name}"
        );
    }
}

#[test]
fn dashboard_shows_what_is_written() {
    let text = crate::template::text_of("infra/dashboard.json");
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let widgets = dashboard["widgets"].as_array().unwrap();
    let mut shown = BTreeSet::new();
    let mut problems = Vec::new();
    for widget in widgets {
        let title = &widget["properties"]["title"];
        for named in of_widget(widget) {
            if let Some(what) = problem(&named) {
                problems.push(format!("{title} shows {named:?}: {what}"));
            }
            shown.insert(named.metric);
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    for wanted in [
        "spend_usd",
        "cap_hits",
        "reviews",
        "duration_ms",
        "output_tokens",
    ] {
        assert!(shown.contains(wanted), "{wanted} is nowhere to be seen");
    }
}

#[test]
fn names_that_nobody_writes_are_noticed() {
    for (row, what) in [
        (r#"["Mirilla", "spent"]"#, "no such metric"),
        (
            r#"["Mirilla", "spend_usd", "repo", "acme/shop"]"#,
            "written under",
        ),
        (r#"["Mirilla", "floor_hits", "check", "no-check"]"#, "never"),
        (
            r#"["AWS/SQS", "NumberOfMessages", "QueueName", "q"]"#,
            "AWS has no such",
        ),
    ] {
        let row: Vec<Value> = serde_json::from_str(row).unwrap();
        let found = problem(&listed(&row)).unwrap();
        assert!(found.contains(what), "{found}");
    }
    let named = searched(
        "SEARCH('{Mirilla,stage,outcome} MetricName=\"runs\" outcome=\"late\"', 'Sum', 300)",
    );
    assert_eq!(problem(&named).unwrap(), "outcome is never late");
}
