//! The poster's process: a write token per job, the ledger, artifacts and queue; no model.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use mirilla_domain::marker::MarkerKey;
use mirilla_domain::redact::Redactor;
use mirilla_forge::{JobTokens, ResolveTokens};
use mirilla_local::{DataDir, DirArtifacts, LocalLedger, LocalQueue};
use mirilla_ports::message::Message;
use mirilla_ports::queue::QueueName;
use mirilla_stages::error::StageError;
use mirilla_stages::post::{self, KeepRuns, POST_LEASE, PostPorts, PostSettings};
use mirilla_stages::report::{NOT_FOR_THIS_STAGE, Report};
use mirilla_telemetry::Telemetry;
use tokio::sync::Mutex;

use super::super::protocol::{FromChild, Link};
use super::super::worker;
use super::{access, resolve_tokens_from, surroundings, tokens_from};
use crate::settings::{PosterSettings, TokenFrom};

/// Runs the poster.
pub(super) async fn run(
    mut link: Link,
    settings: PosterSettings,
    telemetry: Telemetry,
) -> Result<()> {
    let (clock, entropy) = surroundings()?;
    let data = DataDir::at(&settings.data_dir);
    let ledger = LocalLedger::open(&data.ledger())?;
    let artifacts = DirArtifacts::open(&data.artifacts())?;
    let queue = LocalQueue::open(&data.queue(), Arc::clone(&clock))?;
    let access = access(&settings.forge)?;
    let stage = PostSettings {
        policy: settings.policy.clone(),
        marker_key: marker_key(settings.marker_key.reveal())?,
        redactor: redactor(&settings),
        write_grace: settings.timings.write_grace,
        keep_runs: if settings.timings.keep_runs.is_zero() {
            KeepRuns::No
        } else {
            KeepRuns::Whole
        },
    };
    link.send(&FromChild::Ready { address: None }).await?;
    let link = Arc::new(Mutex::new(link));
    let tokens = tokens_from(&settings.token, &link);
    let resolve = settings.resolve.as_ref();
    let resolve = resolve.map(|told| resolve_tokens_from(told, &link));

    let handle = |message: Message| {
        let tokens = JobTokens::of(tokens.clone(), &message);
        let resolve = resolve.clone();
        let resolve = resolve.map(|from| ResolveTokens::of(from, &message));
        let (ledger, artifacts, queue) = (&ledger, &artifacts, &queue);
        let (clock, entropy, access, stage) = (&clock, &entropy, &access, &stage);
        async move {
            let write = access.writer(tokens, resolve);
            let ports = PostPorts {
                ledger,
                artifacts,
                queue,
                read: write.read(),
                write: write.write(),
                checks: write.checks(),
                resolve: write.resolves(),
                clock: clock.as_ref(),
                entropy: entropy.as_ref(),
            };
            match message {
                Message::PostV1 {
                    job,
                    attempt,
                    findings,
                } => post::post(ports, stage, &job, attempt, findings.as_deref()).await,
                Message::AcknowledgeV1(about) => post::acknowledge(ports, &about).await,
                Message::CheckV1 { job } => post::check(ports, stage, &job).await,
                Message::MergeGroupV1(about) => post::merge_group(ports, stage, &about).await,
                other => Ok::<Report, StageError>(Report::silent(
                    other.job().clone(),
                    NOT_FOR_THIS_STAGE,
                )),
            }
        }
    };
    let visibility = POST_LEASE.saturating_add(Duration::from_secs(30));
    let desk = worker::Desk {
        queue: &queue,
        name: QueueName::Post,
        visibility,
        poll: settings.timings.poll,
        clock: clock.as_ref(),
        telemetry,
    };
    desk.work(handle).await
}

/// Returns what this process must never post. Tokens from a minter are short-lived and have a shape that
/// is recognised anyway.
fn redactor(settings: &PosterSettings) -> Redactor {
    let told = [
        ("forge-token", Some(&settings.token)),
        ("resolve-token", settings.resolve.as_ref()),
    ];
    let fixed = told.into_iter().filter_map(|(name, told)| match told? {
        TokenFrom::Fixed(token) => Some((name, token.reveal())),
        TokenFrom::Minter => None,
    });
    Redactor::new(fixed.chain([("marker-key", settings.marker_key.reveal())]))
}

/// Reads the marker key.
pub(crate) fn marker_key(hex: &str) -> Result<MarkerKey> {
    MarkerKey::new(hex.as_bytes()).context("the marker key cannot be used")
}
