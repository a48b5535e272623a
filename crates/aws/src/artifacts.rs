//! Objects in one S3 bucket.
//!
//! An object appears under its key whole or not at all, which is S3's own promise. Its tag is S3's
//! `ETag`: the same bytes written at once have the same tag; bytes written in several parts have
//! another one.
//!
//! What a role needs: `s3:GetObject` and `s3:PutObject` on its prefixes, `s3:DeleteObject` to delete,
//! `s3:AbortMultipartUpload` to give a large object up, and `s3:ListBucket` on the bucket: to list, and
//! because S3 answers 403 instead of 404 for a missing object to whoever may not list.
//!
//! **Invariant:** a key is made of plain parts; none begins with a dot or is empty, so that the same
//! keys work on every store.

mod grants;
mod key;
mod writer;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_s3::Client;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::get_object::GetObjectError;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{Delete, ObjectIdentifier};
use mirilla_domain::snapshot::StoredObject;
use mirilla_ports::{ArtifactError, ArtifactWriter, Artifacts, Clock};

use crate::items::Source;
use crate::retry::Backoff;
pub(crate) use key::{check_key, check_prefix};
use writer::S3Writer;

/// How many objects S3 deletes with one call.
const DELETE_BATCH: usize = 1000;

/// A bucket of objects.
#[derive(Clone)]
pub struct S3Artifacts {
    client: Client,
    bucket: String,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for S3Artifacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Artifacts")
            .field("bucket", &self.bucket)
            .finish_non_exhaustive()
    }
}

/// S3 refused single objects of a call that succeeded as a whole.
#[derive(Debug, thiserror::Error)]
#[error("{refused} objects were not deleted; the first is refused with {code}")]
struct NotDeleted {
    refused: usize,
    code: String,
}

impl S3Artifacts {
    /// Takes the bucket; the expiry of signed addresses is counted on `clock`.
    pub fn new(client: Client, bucket: impl Into<String>, clock: Arc<dyn Clock>) -> Self {
        Self {
            client,
            bucket: bucket.into(),
            clock,
        }
    }

    /// Reads an object, or with a range and a tag, that part of exactly that object.
    async fn read(
        &self,
        key: &str,
        part: Option<(String, &str)>,
        limit: u64,
    ) -> Result<Vec<u8>, ArtifactError> {
        let (range, tag) = part.unzip();
        let answer = self
            .client
            .get_object()
            .bucket(&self.bucket)
            .key(key)
            .set_range(range)
            .set_if_match(tag.map(str::to_owned))
            .send()
            .await
            .map_err(|error| read_error(key, error))?;
        // An announced length that is past the bound need not be read to be refused.
        let length = answer.content_length.and_then(|it| u64::try_from(it).ok());
        if length.is_some_and(|length| length > limit) {
            return Err(too_large(key, limit));
        }
        let mut body = answer.body;
        let mut bytes = Vec::new();
        while let Some(piece) = body
            .try_next()
            .await
            .map_err(|source| unavailable(key, source.into()))?
        {
            bytes.extend_from_slice(&piece);
            if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
                return Err(too_large(key, limit));
            }
        }
        Ok(bytes)
    }

    async fn write(
        &self,
        key: &str,
        bytes: &[u8],
        must_be_new: bool,
    ) -> Result<StoredObject, ArtifactError> {
        check_key(key)?;
        let mut backoff = Backoff::contention();
        loop {
            let answer = self
                .client
                .put_object()
                .bucket(&self.bucket)
                .key(key)
                .set_if_none_match(must_be_new.then(|| "*".to_owned()))
                .body(ByteStream::from(bytes.to_vec()))
                .send()
                .await;
            let error = match answer {
                Ok(output) => return Ok(stored(key, output.e_tag, bytes.len())),
                Err(error) => error,
            };
            match code(&error) {
                Some("PreconditionFailed") => {
                    return Err(ArtifactError::Exists {
                        key: key.to_owned(),
                    });
                }
                // Another writer of the same new key is at work: one of the two will be told so.
                Some("ConditionalRequestConflict") if backoff.again().await => {}
                _ => return Err(unavailable(key, error.into())),
            }
        }
    }

    async fn keys(&self, prefix: &str) -> Result<Vec<String>, Source> {
        let mut keys = Vec::new();
        let mut from = None;
        loop {
            let page = self
                .client
                .list_objects_v2()
                .bucket(&self.bucket)
                .prefix(prefix)
                .set_continuation_token(from)
                .send()
                .await?;
            keys.extend(
                page.contents
                    .unwrap_or_default()
                    .into_iter()
                    .filter_map(|it| it.key),
            );
            from = page.next_continuation_token;
            if from.is_none() {
                // S3 lists in this order already; a copy of it may not.
                keys.sort_unstable();
                return Ok(keys);
            }
        }
    }

    async fn remove(&self, keys: &[String]) -> Result<(), Source> {
        let objects = keys
            .iter()
            .map(|key| ObjectIdentifier::builder().key(key).build())
            .collect::<Result<Vec<_>, _>>()?;
        let delete = Delete::builder()
            .set_objects(Some(objects))
            .quiet(true)
            .build()?;
        let answer = self
            .client
            .delete_objects()
            .bucket(&self.bucket)
            .delete(delete)
            .send()
            .await?;
        match answer.errors() {
            [] => Ok(()),
            refused @ [first, ..] => Err(NotDeleted {
                refused: refused.len(),
                code: first.code().unwrap_or("an unnamed error").to_owned(),
            }
            .into()),
        }
    }
}

#[async_trait]
impl Artifacts for S3Artifacts {
    async fn put(&self, key: &str, bytes: &[u8]) -> Result<StoredObject, ArtifactError> {
        self.write(key, bytes, false).await
    }

    /// Stores with `If-None-Match: *`.
    ///
    /// A call whose answer was lost is repeated and then finds its own object: [`ArtifactError::Exists`]
    /// means that one is there, not that another writer put it there.
    async fn put_new(&self, key: &str, bytes: &[u8]) -> Result<StoredObject, ArtifactError> {
        self.write(key, bytes, true).await
    }

    async fn writer(
        &self,
        key: &str,
        limit_bytes: u64,
    ) -> Result<Box<dyn ArtifactWriter>, ArtifactError> {
        check_key(key)?;
        Ok(Box::new(S3Writer::new(self.clone(), key, limit_bytes)))
    }

    async fn get(&self, key: &str, limit_bytes: u64) -> Result<Vec<u8>, ArtifactError> {
        check_key(key)?;
        self.read(key, None, limit_bytes).await
    }

    async fn get_range(
        &self,
        object: &StoredObject,
        offset: u64,
        length: u64,
    ) -> Result<Vec<u8>, ArtifactError> {
        check_key(&object.key)?;
        let Some(last) = last_of(object, offset, length) else {
            return Ok(Vec::new());
        };
        let range = format!("bytes={offset}-{last}");
        self.read(&object.key, Some((range, &object.etag)), length)
            .await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<String>, ArtifactError> {
        check_prefix(prefix)?;
        self.keys(prefix)
            .await
            .map_err(|source| unavailable(prefix, source))
    }

    async fn delete(&self, prefix: &str) -> Result<(), ArtifactError> {
        check_prefix(prefix)?;
        if prefix.is_empty() {
            return Err(key::refused(prefix));
        }
        let keys = self.list(prefix).await?;
        for batch in keys.chunks(DELETE_BATCH) {
            self.remove(batch)
                .await
                .map_err(|source| unavailable(prefix, source))?;
        }
        Ok(())
    }
}

/// Returns S3's code of an error, if S3 answered.
fn code<E: ProvideErrorMetadata>(error: &SdkError<E>) -> Option<&str> {
    error
        .as_service_error()
        .and_then(ProvideErrorMetadata::code)
}

/// Returns the position of the last byte of a part of an object; `None` if the part is empty.
pub(crate) fn last_of(object: &StoredObject, offset: u64, length: u64) -> Option<u64> {
    let end = offset.saturating_add(length).min(object.size_bytes);
    end.checked_sub(1).filter(|last| *last >= offset)
}

fn read_error(key: &str, error: SdkError<GetObjectError>) -> ArtifactError {
    if code(&error) == Some("PreconditionFailed") {
        return ArtifactError::Changed {
            key: key.to_owned(),
        };
    }
    let missing = error
        .as_service_error()
        .is_some_and(GetObjectError::is_no_such_key);
    if missing {
        return ArtifactError::NotFound {
            key: key.to_owned(),
        };
    }
    unavailable(key, error.into())
}

fn stored(key: &str, etag: Option<String>, size: usize) -> StoredObject {
    StoredObject {
        key: key.to_owned(),
        etag: etag.unwrap_or_default(),
        size_bytes: u64::try_from(size).unwrap_or(u64::MAX),
    }
}

fn too_large(key: &str, limit: u64) -> ArtifactError {
    ArtifactError::TooLarge {
        key: key.to_owned(),
        limit,
    }
}

pub(crate) fn unavailable(key: &str, source: Source) -> ArtifactError {
    ArtifactError::Unavailable {
        key: key.to_owned(),
        source,
    }
}
