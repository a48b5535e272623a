//! HMAC-SHA256, by which webhooks are believed and our own markers known.

use hmac::{Hmac, KeyInit as _};
use sha2::Sha256;

/// Returns a MAC under a key, over nothing yet. HMAC takes keys of every length (RFC 2104).
pub(crate) fn under(key: &[u8]) -> Hmac<Sha256> {
    #[expect(clippy::expect_used, reason = "HMAC takes keys of every length")]
    Hmac::new_from_slice(key).expect("a key of any length")
}
