//! Every metric is seen where what it is about happens: the attack, the loss or the plain run that it
//! counts is staged here, and what a host would write about it is read.

mod attacks;
mod losses;
mod runs;

use std::collections::BTreeSet;

use mirilla_telemetry::Metric;
use serde_json::Value;

use crate::support::Host;

/// What no line of metrics may hold: file names, code and people of the repository in these tests.
const NEVER: [&str; 6] = ["Pay.java", "orders.py", "charge", "SELECT", "dana", "main"];

/// Names the metrics that each test sees, so that one without a test is found.
macro_rules! staged {
    ($($module:ident::$test:ident => $($metric:ident),+;)*) => {
        const STAGED: &[(&str, &[Metric])] = &[
            $((stringify!($test), &[$(Metric::$metric),+]),)*
        ];

        $(
            #[tokio::test]
            async fn $test() {
                let host = $module::$test().await;
                assert_seen(&host, &[$(Metric::$metric),+]);
            }
        )*
    };
}

staged! {
    runs::a_plain_run => Runs, Duration, JobsEnded, CallsLeft, Spend, ModelCalls, InputTokens,
        OutputTokens, CacheReadTokens, CacheWriteTokens, PurseUsed, Reviews, Findings, FindingsPosted;
    runs::a_second_push => FindingsKnown;
    runs::a_finding_that_is_gone => ThreadsGone;
    runs::a_head_that_moved => Superseded;
    runs::findings_off_the_diff => FindingsInBody;
    runs::a_purse_that_is_too_small => CapHits;
    attacks::text_for_the_reviewer_in_the_change => FloorHits;
    attacks::a_pass_that_somebody_talked_for => Verdicts, PassesOnTrust;
    attacks::a_reviewer_that_was_taken_over => FindingsRejected, FindingsDropped, Redactions;
    attacks::findings_that_fit_no_job => OddFindings;
    attacks::unsigned_webhooks => BadSignatures;
    attacks::a_captured_body_under_other_ids => ReplayedBodies;
    attacks::an_installation_nobody_listed => UnlistedAccounts;
    attacks::tokens_for_jobs_that_are_over => TokensMinted, TokensWithoutJob;
    attacks::a_token_that_reaches_too_far => TokensTooWide;
    losses::a_token_that_cannot_be_given_back => TokensNotRevoked;
    losses::an_answer_that_is_lost => CallsLost;
    losses::a_call_dearer_than_its_bound => CallsOverBound;
    losses::a_job_that_nobody_works_on => QueueMessages, OldestUnfinished, WithoutVerdict;
    losses::a_head_that_nobody_announced => HeadsUnannounced;
    losses::a_reviewer_that_always_dies => JobsRestarted, JobsGivenUp;
    losses::webhooks_that_are_lost => RedeliveriesAsked, RedeliveriesGivenUp, DeliveriesRead;
}

#[test]
fn every_metric_has_a_test_that_stages_it() {
    let staged: BTreeSet<Metric> = STAGED
        .iter()
        .flat_map(|(_, metrics)| metrics.iter().copied())
        .collect();
    let missing: Vec<&str> = Metric::ALL
        .iter()
        .filter(|metric| !staged.contains(metric))
        .map(|metric| metric.name())
        .collect();
    assert_eq!(missing, [""; 0], "no test sees these");
}

/// Checks that the lines a host wrote hold these metrics, above zero, and nothing they must not hold.
fn assert_seen(host: &Host, metrics: &[Metric]) {
    let lines = host.metric_lines();
    for line in &lines {
        for never in NEVER {
            assert!(!line.contains(never), "{never} in {line}");
        }
    }
    let parsed: Vec<Value> = lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for metric in metrics {
        let values = parsed
            .iter()
            .filter_map(|line| line.get(metric.name())?.as_f64());
        let most = values.fold(None, |most: Option<f64>, value| {
            Some(most.map_or(value, |most| most.max(value)))
        });
        // No cache is read in a first run, and the simulated clock stands still within a call: that the
        // figure is written is what can be asked for.
        let is_fine = match metric {
            Metric::CacheReadTokens | Metric::CacheWriteTokens | Metric::Duration => most.is_some(),
            _ => most.is_some_and(|most| most > 0.0),
        };
        assert!(is_fine, "{} was not seen: {lines:#?}", metric.name());
    }
}

/// Returns the value of a property or dimension on every line of a metric.
fn said(host: &Host, metric: Metric, name: &str) -> BTreeSet<String> {
    let lines = host.metric_lines();
    let parsed = lines
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    parsed
        .filter(|line| line.get(metric.name()).is_some())
        .filter_map(|line| line.get(name)?.as_str().map(str::to_owned))
        .collect()
}
