//! The embedded stores of this host.

use std::sync::Arc;

use mirilla_local::{DataDir, DirArtifacts, LocalHeads, LocalLedger, LocalMeter, LocalQueue};
use mirilla_ports::Clock;

/// The stores, opened once: what a process leaves behind when it dies is on the disk, not in these.
pub(super) struct Stores {
    pub(super) ledger: LocalLedger,
    pub(super) meter: LocalMeter,
    pub(super) queue: LocalQueue,
    pub(super) artifacts: DirArtifacts,
    pub(super) heads: LocalHeads,
}

impl Stores {
    pub(super) fn open(dir: &DataDir, clock: &Arc<dyn Clock>) -> Self {
        Self {
            ledger: LocalLedger::open(&dir.ledger()).unwrap(),
            meter: LocalMeter::open(&dir.meter()).unwrap(),
            queue: LocalQueue::open(&dir.queue(), Arc::clone(clock)).unwrap(),
            artifacts: DirArtifacts::open(&dir.artifacts()).unwrap(),
            heads: LocalHeads::open(&dir.heads()).unwrap(),
        }
    }
}
