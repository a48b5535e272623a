//! The archive of a commit, streamed: never in memory, never on disk here.

use mirilla_domain::snapshot::StoredObject;
use mirilla_ports::artifacts::ArtifactWriter;
use mirilla_ports::forge::ForgeError;

use crate::api::{Api, Call, Service};
use crate::error::{ApiError, CallError, Named};

const NAMED: Named = Named {
    action: "fetch the archive",
    what: "the archive",
    writes: false,
};

/// Above every bound that a writer may have: the writer's own bound is the one that counts.
pub(crate) const MAX_BYTES: u64 = 8 * 1024 * 1024 * 1024;
/// How a ZIP file begins: with an entry, or with the end of an empty directory.
const ZIP_BEGINS: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

/// Streams what a call answers; what `writer` got before a failure is dropped with it.
pub(crate) async fn stream<S: Service>(
    api: &Api<S>,
    call: &Call,
    mut writer: Box<dyn ArtifactWriter>,
) -> Result<StoredObject, ForgeError> {
    let mut response = api
        .open(call)
        .await
        .map_err(|error| error.into_forge(NAMED))?;
    let mut head: Vec<u8> = Vec::new();
    let mut checked = false;
    while let Some(piece) = response
        .chunk()
        .await
        .map_err(|error| CallError::Http(error).into_forge(NAMED))?
    {
        if checked {
            writer.write(&piece).await?;
            continue;
        }
        head.extend_from_slice(&piece);
        if head.len() >= 4 {
            if !ZIP_BEGINS.iter().any(|begin| head.starts_with(begin)) {
                break;
            }
            writer.write(&head).await?;
            checked = true;
        }
    }
    if !checked {
        return Err(CallError::Answer(ApiError::Answer("ZIP file")).into_forge(NAMED));
    }
    Ok(writer.finish().await?)
}
