//! Secrets that must not turn up where they do not belong.
//!
//! A test registers made-up secrets; every URL and request body is then searched for them, whole,
//! as fragments of eight bytes, and as base64, hex and percent-encoding of the whole.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Shortest piece of a secret that counts as a leak.
const FRAGMENT_BYTES: usize = 8;

/// The registered secrets; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Sentinels(Arc<Mutex<HashSet<Vec<u8>>>>);

impl Sentinels {
    /// Registers a secret of at least eight bytes; a shorter one is ignored, since it would be
    /// found everywhere.
    pub fn add(&self, secret: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = secret.as_bytes();
        let mut forms = vec![
            bytes.to_vec(),
            hex::encode(bytes).into_bytes(),
            hex::encode_upper(bytes).into_bytes(),
            percent_encoding::utf8_percent_encode(secret, percent_encoding::NON_ALPHANUMERIC)
                .to_string()
                .into_bytes(),
        ];
        // Base64 depends on where in a group of three bytes the secret starts; the first and last
        // characters also depend on the neighbours and are left out.
        for lead in 0..3_usize {
            let mut padded = vec![b'.'; lead];
            padded.extend_from_slice(bytes);
            for encoded in [
                STANDARD_NO_PAD.encode(&padded),
                URL_SAFE_NO_PAD.encode(&padded),
            ] {
                let skip = lead.saturating_mul(8).div_ceil(6);
                let inner = encoded
                    .as_bytes()
                    .get(skip..encoded.len().saturating_sub(1));
                forms.push(inner.unwrap_or_default().to_vec());
            }
        }
        if bytes.len() >= FRAGMENT_BYTES {
            for form in forms {
                known.extend(form.windows(FRAGMENT_BYTES).map(<[u8]>::to_vec));
            }
        }
    }

    /// Returns whether `text` holds a piece of any registered secret.
    pub fn found_in(&self, text: &[u8]) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        !known.is_empty()
            && text
                .windows(FRAGMENT_BYTES)
                .any(|window| known.contains(window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_is_found_whole_in_pieces_and_encoded() {
        let sentinels = Sentinels::default();
        assert!(!sentinels.found_in(b"anything at all"));
        let secret = "made-up/secret+0123456789";
        sentinels.add(secret);
        assert!(sentinels.found_in(b"x made-up/secret+0123456789 y"));
        assert!(sentinels.found_in(b"only secret+0 of it"));
        assert!(sentinels.found_in(hex::encode(secret).as_bytes()));
        for lead in ["", "a", "ab"] {
            let text = STANDARD_NO_PAD.encode(format!("{lead}{secret}zz"));
            assert!(sentinels.found_in(text.as_bytes()), "{text}");
        }
        assert!(sentinels.found_in(b"?q=made%2Dup%2Fsecret"));
        assert!(!sentinels.found_in(b"a text about secrets and hex 0123"));
    }
}
