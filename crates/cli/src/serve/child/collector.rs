//! The collector's process: a read token per job, the ledger, heads, artifacts and queue.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use mirilla_forge::JobTokens;
use mirilla_local::{DataDir, DirArtifacts, LocalHeads, LocalLedger, LocalQueue};
use mirilla_ports::message::Message;
use mirilla_ports::queue::QueueName;
use mirilla_stages::collect::{self, COLLECT_LEASE, CollectPorts, CollectSettings};
use mirilla_stages::error::StageError;
use mirilla_stages::report::{NOT_FOR_THIS_STAGE, Report};
use mirilla_telemetry::Telemetry;
use tokio::sync::Mutex;

use super::super::protocol::{FromChild, Link};
use super::super::worker;
use super::{access, surroundings, tokens_from};
use mirilla_domain::settings::OperatorPolicy;

use crate::settings::CollectorSettings;

/// Runs the collector.
pub(super) async fn run(
    mut link: Link,
    settings: CollectorSettings,
    telemetry: Telemetry,
) -> Result<()> {
    let (clock, entropy) = surroundings()?;
    let data = DataDir::at(&settings.data_dir);
    let ledger = LocalLedger::open(&data.ledger())?;
    let heads = LocalHeads::open(&data.heads())?;
    let artifacts = DirArtifacts::open(&data.artifacts())?;
    let queue = LocalQueue::open(&data.queue(), Arc::clone(&clock))?;
    let access = access(&settings.forge)?;
    let stage = stage_settings(&settings.policy);
    link.send(&FromChild::Ready { address: None }).await?;
    // It stays open although nothing may be asked for over it: its end is this child's.
    let link = Arc::new(Mutex::new(link));
    let tokens = tokens_from(&settings.token, &link);

    let handle = |message: Message| {
        let tokens = JobTokens::of(tokens.clone(), &message);
        let (ledger, heads, artifacts, queue) = (&ledger, &heads, &artifacts, &queue);
        let (clock, entropy, access, stage) = (&clock, &entropy, &access, &stage);
        async move {
            let forge = access.reader(tokens);
            let ports = CollectPorts {
                ledger,
                heads,
                artifacts,
                grants: artifacts,
                queue,
                forge: forge.as_port(),
                clock: clock.as_ref(),
                entropy: entropy.as_ref(),
            };
            match message {
                Message::CollectV1 { job } => collect::collect(ports, stage, &job).await,
                Message::ProbeV1 { job } => collect::probe(ports, &job).await,
                Message::CommandV1(about) => collect::command(ports, &about).await,
                other => Ok::<Report, StageError>(Report::silent(
                    other.job().clone(),
                    NOT_FOR_THIS_STAGE,
                )),
            }
        }
    };
    let visibility = COLLECT_LEASE.saturating_add(Duration::from_secs(30));
    let desk = worker::Desk {
        queue: &queue,
        name: QueueName::Collect,
        visibility,
        poll: settings.timings.poll,
        clock: clock.as_ref(),
        telemetry,
    };
    desk.work(handle).await
}

/// Returns what the collector takes from the operator's policy.
fn stage_settings(policy: &OperatorPolicy) -> CollectSettings {
    CollectSettings {
        keep_archive: true,
        policy: policy.clone(),
    }
}
