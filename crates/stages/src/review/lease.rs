//! One reviewer per snapshot, and a way to see from outside whether it lives.

use std::time::Duration;

use mirilla_domain::ids::JobId;
use mirilla_ports::meter::Leased;
use mirilla_ports::{Clock, Entropy, ReviewLeases};

use crate::error::StageError;

/// Runs `work` while nobody else may read the job's snapshot, for `valid` at the most.
///
/// A process that dies in between leaves a lease that lapses, which tells the sweeper of its death; one
/// that ends, however it ends, gives it back.
pub async fn alone<T>(
    leases: &dyn ReviewLeases,
    clock: &dyn Clock,
    entropy: &dyn Entropy,
    job: &JobId,
    valid: Duration,
    work: impl Future<Output = Result<T, StageError>>,
) -> Result<T, StageError> {
    let now = clock.now();
    let token = entropy.hex(16);
    match leases.take(job, &token, now.plus(valid), now).await? {
        Leased::Granted => {}
        Leased::Busy(until) => {
            return Err(StageError::Busy {
                what: "the snapshot",
                after: until.since(now),
            });
        }
    }
    let done = work.await;
    // It would lapse by itself; that giving it back fails is not worth hiding what was done.
    drop(leases.give_back(job, &token).await);
    done
}
