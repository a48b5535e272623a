//! One object in pieces, under a bound, with one part in memory.

use std::fmt;
use std::mem;

use async_trait::async_trait;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{ChecksumAlgorithm, CompletedMultipartUpload, CompletedPart};
use mirilla_domain::snapshot::StoredObject;
use mirilla_ports::{ArtifactError, ArtifactWriter, Artifacts as _};
use tracing::warn;

use super::{S3Artifacts, stored, too_large, unavailable};
use crate::items::Source;

/// The size of every part but the last: S3 takes 5 MiB to 5 GiB, at most 10,000 of them.
const PART_BYTES: usize = 8 * 1024 * 1024;

/// Writes one object in pieces: up to one part's size at once, more as a multipart upload.
///
/// Dropped without [`ArtifactWriter::finish`], or after an error, it gives an upload up. Where that is
/// not possible any more (the process is killed, the runtime stops), the bucket's lifecycle rule does
/// so a day later; an unfinished upload is never visible.
pub(super) struct S3Writer {
    store: S3Artifacts,
    key: String,
    limit_bytes: u64,
    size_bytes: u64,
    buffer: Vec<u8>,
    upload: Option<Upload>,
}

/// A multipart upload that S3 has begun.
struct Upload {
    id: String,
    parts: Vec<CompletedPart>,
}

impl fmt::Debug for S3Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Writer")
            .field("key", &self.key)
            .field("size_bytes", &self.size_bytes)
            .finish_non_exhaustive()
    }
}

/// S3 began an upload and did not name it.
#[derive(Debug, thiserror::Error)]
#[error("the store began an upload without an id")]
struct NoUpload;

impl S3Writer {
    pub(super) fn new(store: S3Artifacts, key: &str, limit_bytes: u64) -> Self {
        Self {
            store,
            key: key.to_owned(),
            limit_bytes,
            size_bytes: 0,
            buffer: Vec::new(),
            upload: None,
        }
    }

    /// Sends what is buffered as the next part, beginning the upload with the first.
    async fn send_part(&mut self) -> Result<(), Source> {
        let mut upload = match self.upload.take() {
            Some(upload) => upload,
            None => self.begin().await?,
        };
        let number = i32::try_from(upload.parts.len().saturating_add(1))?;
        let sent = self
            .store
            .client
            .upload_part()
            .bucket(&self.store.bucket)
            .key(&self.key)
            .upload_id(&upload.id)
            .part_number(number)
            .checksum_algorithm(ChecksumAlgorithm::Crc32)
            .body(ByteStream::from(mem::take(&mut self.buffer)))
            .send()
            .await;
        if let Ok(part) = &sent {
            upload.parts.push(
                CompletedPart::builder()
                    .part_number(number)
                    .set_e_tag(part.e_tag.clone())
                    .set_checksum_crc32(part.checksum_crc32.clone())
                    .build(),
            );
        }
        self.upload = Some(upload);
        sent?;
        Ok(())
    }

    async fn begin(&self) -> Result<Upload, Source> {
        let begun = self
            .store
            .client
            .create_multipart_upload()
            .bucket(&self.store.bucket)
            .key(&self.key)
            // Said at the start, it has to be named for every part at the end, and S3 checks both.
            .checksum_algorithm(ChecksumAlgorithm::Crc32)
            .send()
            .await?;
        Ok(Upload {
            id: begun.upload_id.ok_or(NoUpload)?,
            parts: Vec::new(),
        })
    }

    /// Sends the rest and makes the object visible; returns its tag.
    async fn complete(&mut self) -> Result<Option<String>, Source> {
        if !self.buffer.is_empty() {
            self.send_part().await?;
        }
        let upload = self.upload.as_ref().ok_or(NoUpload)?;
        let parts = CompletedMultipartUpload::builder()
            .set_parts(Some(upload.parts.clone()))
            .build();
        let done = self
            .store
            .client
            .complete_multipart_upload()
            .bucket(&self.store.bucket)
            .key(&self.key)
            .upload_id(&upload.id)
            .multipart_upload(parts)
            .send()
            .await?;
        Ok(done.e_tag)
    }

    /// Takes the upload out, to be given up.
    fn give_up(&mut self) -> Option<impl Future<Output = ()> + Send + use<>> {
        let upload = self.upload.take()?;
        let (store, key) = (self.store.clone(), self.key.clone());
        Some(async move {
            let aborted = store
                .client
                .abort_multipart_upload()
                .bucket(&store.bucket)
                .key(&key)
                .upload_id(&upload.id)
                .send()
                .await;
            if aborted.is_err() {
                warn!("an unfinished upload is left to the bucket's lifecycle rule");
            }
        })
    }

    async fn failed(&mut self, source: Source) -> ArtifactError {
        if let Some(abort) = self.give_up() {
            abort.await;
        }
        unavailable(&self.key, source)
    }
}

#[async_trait]
impl ArtifactWriter for S3Writer {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), ArtifactError> {
        let more = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let size = self.size_bytes.saturating_add(more);
        if size > self.limit_bytes {
            return Err(too_large(&self.key, self.limit_bytes));
        }
        self.size_bytes = size;
        let mut rest = bytes;
        while !rest.is_empty() {
            // Only a full part is sent, and only when more follows: the last one goes with `finish`.
            if self.buffer.len() == PART_BYTES
                && let Err(source) = self.send_part().await
            {
                return Err(self.failed(source).await);
            }
            let room = PART_BYTES.saturating_sub(self.buffer.len());
            let (now, later) = rest.split_at(room.min(rest.len()));
            self.buffer.extend_from_slice(now);
            rest = later;
        }
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> Result<StoredObject, ArtifactError> {
        if self.upload.is_none() {
            let bytes = mem::take(&mut self.buffer);
            return self.store.put(&self.key, &bytes).await;
        }
        match self.complete().await {
            Ok(etag) => {
                self.upload = None;
                let size = usize::try_from(self.size_bytes).unwrap_or(usize::MAX);
                Ok(stored(&self.key, etag, size))
            }
            Err(source) => Err(self.failed(source).await),
        }
    }
}

impl Drop for S3Writer {
    fn drop(&mut self) {
        let Some(abort) = self.give_up() else {
            return;
        };
        // Nobody waits for a value that is dropped; without a runtime the lifecycle rule is left.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            drop(runtime.spawn(abort));
        }
    }
}
