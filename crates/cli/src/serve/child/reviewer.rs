//! A reviewer's process: the model's key, one job's files, its commit's archive and the meter. It ends with its message.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use mirilla_archive::Archives;
use mirilla_domain::ids::{CommitSha, PullRequestRef};
use mirilla_domain::price::PriceTable;
use mirilla_domain::redact::Redactor;
use mirilla_local::{DirArtifacts, LocalMeter};
use mirilla_model::{AnthropicModel, AnthropicSettings};
use mirilla_ports::{Heads, LedgerError, Model};
use mirilla_stages::error::{Disposition, StageError};
use mirilla_stages::report;
use mirilla_stages::review::{self, ReviewOrder, ReviewPorts, ReviewSettings};
use mirilla_telemetry::Telemetry;

use super::super::protocol::{FromChild, Link, ReviewVerdict, ToChild};
use super::surroundings;
use crate::confine::{self, Confined, Needs};
use crate::output;
use crate::settings::ReviewerSettings;

/// Reads one snapshot.
pub(super) async fn run(
    mut link: Link,
    settings: ReviewerSettings,
    telemetry: Telemetry,
) -> Result<()> {
    let (clock, entropy) = surroundings()?;
    confine(&settings)?;
    let artifacts = DirArtifacts::open_for_job(&settings.order.artifacts, &settings.order.job)?;
    let meter = LocalMeter::open(&settings.order.meter)?;
    let model = settings
        .model
        .as_ref()
        .map(|access| {
            let mut anthropic = AnthropicSettings::new(
                access.endpoint.clone(),
                access.api_key.to_secret_string(),
                settings.policy.model.clone(),
            );
            anthropic.max_tokens = settings.policy.max_tokens;
            AnthropicModel::new(anthropic, Arc::clone(&clock), Arc::clone(&entropy))
        })
        .transpose()?;
    let superseded = Arc::new(AtomicBool::new(false));
    let heads = ToldHeads {
        superseded: Arc::clone(&superseded),
    };
    let archives = Archives::new(&artifacts);
    let ports = ReviewPorts {
        artifacts: &artifacts,
        meter: &meter,
        heads: &heads,
        model: model.as_ref().map(|model| -> &dyn Model { model }),
        files: Some(&archives),
        clock: clock.as_ref(),
        entropy: entropy.as_ref(),
        note: &output::worker_line,
        // Where these lines end is the supervisor's business: a file, more often than a terminal.
        looked: &|look| output::worker_line(&look.log_line()),
        count: &|about, signal| telemetry.emit(about, &[signal], clock.now()),
    };
    let stage = ReviewSettings {
        policy: settings.policy.clone(),
        prices: PriceTable::shipped(),
        redactor: Redactor::new(
            settings
                .model
                .as_ref()
                .map(|model| ("model-key", model.api_key.reveal())),
        ),
        limit: settings.timings.review_limit,
    };
    let order = ReviewOrder {
        job: settings.order.job.clone(),
        attempt: settings.order.attempt,
        purses: settings.order.purses.clone(),
        receive_count: settings.order.receive_count,
        last_try: settings.order.last_try,
    };
    link.send(&FromChild::Ready { address: None }).await?;
    let begun = clock.now();
    let result = tokio::select! {
        result = review::review(ports, &stage, &order) => result,
        gone = listen(&mut link, &superseded) => {
            gone?;
            anyhow::bail!("the supervisor is gone");
        }
    };
    let took = clock.now().since(begun);
    let (about, facts) = report::facts(&order.job, &result, took);
    telemetry.emit(&about, &facts, clock.now());
    let verdict = match result {
        Ok(_report) => ReviewVerdict::Done,
        Err(error) => verdict(&order, &error),
    };
    link.send(&FromChild::Reviewed { verdict }).await
}

/// Takes every other job's files from this process, and says so where the kernel cannot.
fn confine(settings: &ReviewerSettings) -> Result<()> {
    let order = &settings.order;
    let object = |kind: &str| order.artifacts.join(kind).join(order.job.as_str());
    let meter = order.meter.parent().map(Path::to_path_buf);
    let endpoint = settings.model.as_ref().map(|model| &model.endpoint);
    let needs = Needs {
        read: vec![object("snapshots"), order.archive.clone()],
        write: [object("work"), object("findings")]
            .into_iter()
            .chain(meter)
            .collect(),
        list: vec![order.artifacts.clone()],
        port: endpoint
            .and_then(url::Url::port_or_known_default)
            .unwrap_or(443),
    };
    match confine::to_one_job(&needs)? {
        Confined::Fully => {}
        Confined::Partly => {
            tracing::info!("this kernel confines the reviewer to its files, but not to its port");
        }
        Confined::Not => tracing::warn!(
            "this kernel has no Landlock: the reviewer could open other files of the data directory"
        ),
    }
    Ok(())
}

/// Waits for the supervisor's word that another head is the newest; returns when it is gone.
async fn listen(link: &mut Link, superseded: &AtomicBool) -> Result<()> {
    while let Some(line) = link.next::<ToChild>().await? {
        if matches!(line, ToChild::Superseded) {
            superseded.store(true, Ordering::Relaxed);
        }
    }
    Ok(())
}

fn verdict(order: &ReviewOrder, error: &StageError) -> ReviewVerdict {
    tracing::warn!(
        job_id = order.job.as_str(),
        error_code = error.code(),
        "the review of job {} could not go on: {}",
        order.job,
        mirilla_telemetry::chain(error)
    );
    match error.disposition() {
        Disposition::Retry { after } => {
            let after = after
                .unwrap_or(std::time::Duration::from_secs(2))
                .as_millis();
            ReviewVerdict::Retry {
                after_ms: u64::try_from(after).unwrap_or(u64::MAX),
            }
        }
        Disposition::Reject | Disposition::Stale => ReviewVerdict::Reject,
    }
}

/// The newest head as far as the supervisor says: it has no access to the heads themselves.
struct ToldHeads {
    superseded: Arc<AtomicBool>,
}

#[async_trait]
impl Heads for ToldHeads {
    async fn newest(&self, _id: &PullRequestRef) -> Result<Option<CommitSha>, LedgerError> {
        if self.superseded.load(Ordering::Relaxed) {
            // Which head it is does not matter to a reviewer; that it is not its own does.
            let other = CommitSha::parse(&"0".repeat(40)).context("a made-up commit id");
            return other.map(Some).map_err(|error| LedgerError::Unavailable {
                action: "naming another head",
                source: error.into(),
            });
        }
        Ok(None)
    }
}
