//! Wires the sweeper to AWS.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use lambda_runtime::LambdaEvent;
use mirilla_aws::{
    Aws, CredentialSource, DeliveriesFunction, DynamoLedger, DynamoMeter, QueueUrls, S3Artifacts,
    SqsQueues,
};
use mirilla_forge::github::DeliveryLog;
use mirilla_lambda::{Environment, Settings};
use mirilla_ports::Clock;
use mirilla_stages::intake::IntakeSettings;
use mirilla_stages::sweep::SweepSettings;
use mirilla_sweeper::{Record, State, handle};
use mirilla_system::SystemClock;
use mirilla_telemetry::Telemetry;
use serde_json::Value;

/// An unclaimed job counts as dead after this long when its queue is empty.
const LOST_AFTER: Duration = Duration::from_secs(2 * 60);
/// An unclaimed job counts as dead after this long whatever its queue holds: longer than the longest
/// time a message stays hidden.
const STALLED_AFTER: Duration = Duration::from_secs(75 * 60);
/// Pull requests touched within this time are probed for heads that nobody announced.
const PROBE_WINDOW: Duration = Duration::from_secs(24 * 60 * 60);
/// Most rows looked at in one run.
const LIMIT: usize = 500;

fn main() -> ExitCode {
    mirilla_lambda::start("sweeper", run)
}

async fn run(environment: Environment, telemetry: Telemetry) -> Result<()> {
    let mut settings = Settings::of(&environment);
    let [ledger, meter, bucket] = [
        "MIRILLA_LEDGER_TABLE",
        "MIRILLA_METER_TABLE",
        "MIRILLA_BUCKET",
    ]
    .map(|name| settings.required(name));
    let urls = QueueUrls {
        collect: Some(settings.required("MIRILLA_COLLECT_QUEUE_URL")),
        review: Some(settings.required("MIRILLA_REVIEW_QUEUE_URL")),
        post: Some(settings.required("MIRILLA_POST_QUEUE_URL")),
    };
    let lost_after = settings.parsed(
        "MIRILLA_LOST_SECONDS",
        LOST_AFTER,
        "whole seconds",
        |text| text.parse().ok().map(Duration::from_secs),
    );
    // Only the App has a record of its webhooks; what is too large for intake is read by its rules.
    let minter = settings.optional("MIRILLA_MINTER_FUNCTION");
    let accounts = settings.list("MIRILLA_ALLOWED_ACCOUNTS");
    let debounce = settings.debounce();
    settings.finish(())?;

    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let aws = Aws::connect(CredentialSource::Environment).await?;
    let meter = Arc::new(DynamoMeter::new(aws.dynamodb(), meter, Arc::clone(&clock)));
    let queues = Arc::new(SqsQueues::new(aws.sqs(), urls));
    let record = match minter {
        Some(minter) => {
            let mut intake = IntakeSettings::new(accounts.iter().map(String::as_str))?;
            intake.debounce = debounce;
            let ask = Arc::new(DeliveriesFunction::new(&aws.lambda(), minter));
            Some(Record {
                deliveries: Arc::new(DeliveryLog::new(ask)),
                intake,
            })
        }
        None => None,
    };
    let ledger = Arc::new(DynamoLedger::new(
        aws.dynamodb(),
        ledger,
        Arc::clone(&clock),
    ));
    let state = State {
        ledger: Arc::<DynamoLedger>::clone(&ledger),
        meter: Arc::<DynamoMeter>::clone(&meter),
        leases: meter,
        queue: Arc::<SqsQueues>::clone(&queues),
        depth: queues,
        artifacts: Arc::new(S3Artifacts::new(aws.s3(), bucket, Arc::clone(&clock))),
        bookmarks: ledger,
        record,
        settings: SweepSettings {
            lost_after,
            stalled_after: STALLED_AFTER,
            probe_window: PROBE_WINDOW,
            limit: LIMIT,
            // The bucket's lifecycle forgets them.
            keep_runs: None,
        },
        clock,
        telemetry,
    };
    let handle = async |state: &State, _schedule: LambdaEvent<Value>| {
        let swept = handle(state).await;
        swept.map(drop).map_err(lambda_runtime::Error::from)
    };
    Ok(mirilla_lambda::serve(state, handle).await?)
}
