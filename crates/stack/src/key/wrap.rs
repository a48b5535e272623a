//! `RSA_AES_KEY_WRAP_SHA_256`: the material under a fresh AES-256 key (RFC 5649), that key under the
//! other side's RSA key (OAEP with SHA-256), the two one after the other.
//! <https://docs.aws.amazon.com/kms/latest/developerguide/importing-keys-encrypt-key-material.html>

use aws_lc_rs::error::Unspecified;
use aws_lc_rs::key_wrap::{AES_256, AesKek, KeyWrapPadded as _};
use aws_lc_rs::rand;
use aws_lc_rs::rsa::{OAEP_SHA256_MGF1SHA256, OaepPublicEncryptingKey, PublicEncryptingKey};

/// Bytes of the key in between.
const AES_KEY_BYTES: usize = 32;
/// Most bytes that padding adds to the material: up to seven, and a block in front.
const PADDING_BYTES: usize = 16;

/// Wraps key material for import; `wrapping_key` is `SubjectPublicKeyInfo`, DER.
///
/// # Errors
///
/// If the wrapping key is not an RSA key.
pub fn wrap_for_import(wrapping_key: &[u8], material: &[u8]) -> Result<Vec<u8>, Unspecified> {
    let public = PublicEncryptingKey::from_der(wrapping_key).map_err(|_rejected| Unspecified)?;
    let public = OaepPublicEncryptingKey::new(public)?;
    let mut aes = [0_u8; AES_KEY_BYTES];
    rand::fill(&mut aes)?;
    let mut outer = vec![0; public.ciphertext_size()];
    let outer = public
        .encrypt(&OAEP_SHA256_MGF1SHA256, &aes, &mut outer, None)?
        .to_vec();
    let mut inner = vec![0; material.len().saturating_add(PADDING_BYTES)];
    let inner = AesKek::new(&AES_256, &aes)?.wrap_with_padding(material, &mut inner)?;
    Ok([outer.as_slice(), inner].concat())
}
