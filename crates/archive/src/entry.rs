//! One entry's bytes, bounded before anything is read and while it is inflated.

use std::io::Read as _;

use flate2::read::DeflateDecoder;
use mirilla_ports::SourceError;

use crate::blocks::Blocks;
use crate::directory::{Method, Place};
use crate::unavailable;

/// The fixed part of the header in front of an entry.
const HEADER_BYTES: u64 = 30;
const HEADER_SIGNATURE: &[u8] = b"PK\x03\x04";
/// What an entry's own header may have more than its directory says: time stamps, mostly.
const SPARE_BYTES: u64 = 256;
/// How much longer than the file its deflated form may be: what cannot be compressed grows by 5 bytes
/// for each 16 KiB.
const DEFLATE_SPARE_BYTES: u64 = 64 * 1024;

const DAMAGED: SourceError = SourceError::Unreadable {
    reason: "its data is damaged",
};

/// Reads an entry, at most `limit_bytes` of it.
pub(crate) async fn read(
    blocks: &Blocks<'_>,
    place: &Place,
    limit_bytes: u64,
) -> Result<Vec<u8>, SourceError> {
    match place.method {
        Method::AsItIs if place.stored_bytes != place.size_bytes => return Err(DAMAGED),
        Method::AsItIs | Method::Deflated => {}
        Method::Encrypted => {
            return Err(SourceError::Unreadable {
                reason: "it is encrypted",
            });
        }
        Method::Unknown => {
            return Err(SourceError::Unreadable {
                reason: "it is compressed in a way that is not known here",
            });
        }
    }
    if place.size_bytes > limit_bytes {
        return Err(SourceError::TooLarge { limit: limit_bytes });
    }
    if place.stored_bytes > place.size_bytes.saturating_add(DEFLATE_SPARE_BYTES) {
        return Err(DAMAGED);
    }
    let bytes = stored(blocks, place).await?;
    let bytes = match place.method {
        Method::Deflated => inflate(&bytes, place.size_bytes)?,
        _ => bytes,
    };
    if length(&bytes) != place.size_bytes || rawzip::crc32(&bytes) != place.crc {
        return Err(DAMAGED);
    }
    Ok(bytes)
}

/// Reads an entry's bytes as they stand in the archive: after its own header, whose length only that
/// header says.
async fn stored(blocks: &Blocks<'_>, place: &Place) -> Result<Vec<u8>, SourceError> {
    let guess = HEADER_BYTES
        .saturating_add(place.name_bytes)
        .saturating_add(SPARE_BYTES)
        .saturating_add(place.stored_bytes);
    let read = blocks.read(place.header_offset, guess).await;
    let bytes = read.map_err(unavailable)?;
    let skipped = header_bytes(&bytes).ok_or(DAMAGED)?;
    let needed = skipped.saturating_add(place.stored_bytes);
    let bytes = if length(&bytes) < needed {
        let read = blocks.read(place.header_offset, needed).await;
        read.map_err(unavailable)?
    } else {
        bytes
    };
    let index = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    bytes
        .get(index(skipped)..index(needed))
        .map(<[u8]>::to_vec)
        .ok_or(DAMAGED)
}

/// Returns how long an entry's own header is, its name and extra fields included.
fn header_bytes(header: &[u8]) -> Option<u64> {
    let number = |at: usize| -> Option<u64> {
        let pair = header.get(at..)?.first_chunk()?;
        Some(u64::from(u16::from_le_bytes(*pair)))
    };
    if !header.starts_with(HEADER_SIGNATURE) {
        return None;
    }
    let variable = number(26)?.saturating_add(number(28)?);
    Some(HEADER_BYTES.saturating_add(variable))
}

/// Inflates to at most one byte more than is claimed.
fn inflate(deflated: &[u8], claimed: u64) -> Result<Vec<u8>, SourceError> {
    let mut bytes = Vec::new();
    DeflateDecoder::new(deflated)
        .take(claimed.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|_damaged| DAMAGED)?;
    Ok(bytes)
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
