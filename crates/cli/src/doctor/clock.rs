//! This machine's clock beside a forge's.

use std::time::Duration;

use mirilla_domain::ids::Timestamp;
use mirilla_ports::Clock as _;
use mirilla_system::SystemClock;

use super::report::Report;

/// Asks a forge what time it is, and compares; an error if it does not answer at all. More than `skew` apart, signatures
/// or tokens of one are refused by the other.
pub(super) async fn examine<E: std::error::Error>(
    forge: &'static str,
    asked: impl Future<Output = Result<Option<Timestamp>, E>>,
    skew: Duration,
    report: &mut Report,
) -> Result<(), E> {
    const CHECK: &str = "clock";
    let before = SystemClock.now();
    let theirs = asked.await?;
    let after = SystemClock.now();
    let Some(theirs) = theirs else {
        report.warn(
            CHECK,
            format!("{forge} does not say what time it is"),
            "look whether a proxy takes its Date header away",
        );
        return Ok(());
    };
    // The header has whole seconds, and was written at some moment between the two.
    let ahead = before.since(theirs);
    let behind = theirs.since(after);
    let apart = ahead.saturating_sub(Duration::from_secs(1)).max(behind);
    let direction = if ahead > behind { "ahead" } else { "behind" };
    if apart > skew {
        report.fail(
            CHECK,
            format!("this machine's clock is {} s {direction}", apart.as_secs()),
            "let it follow a time server (timedatectl set-ntp true)",
        );
    } else {
        report.ok(CHECK, format!("this machine's clock agrees with {forge}'s"));
    }
    Ok(())
}
