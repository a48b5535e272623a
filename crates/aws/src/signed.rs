//! Objects of one job through signed addresses alone: what a reviewer has instead of a right.
//!
//! A message's [`Grants`] name each object, what may be done with it, and the address that lets it be
//! done. Reading is a `GET`, replacing a `PUT`, creating a `PUT` that S3 refuses if the object is there
//! (`If-None-Match: *` is among the signed headers). The client reaches the bucket's host and no other.
//!
//! **Invariant:** no AWS credential is used or needed here, what was not granted is refused before
//! anything is sent, and no address is in an error or a `Debug`.

mod answer;
mod client;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use mirilla_domain::snapshot::StoredObject;
use mirilla_http::{Request, StatusCode, header};
use mirilla_ports::artifacts::Right;
use mirilla_ports::{ArtifactError, ArtifactWriter, Artifacts, Clock, Grants};
use url::Url;

use crate::artifacts::{check_key, check_prefix, last_of, unavailable};
use crate::retry::Backoff;
use answer::Answer;
pub use client::BucketClient;

/// Why a signed address does not do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignedError {
    /// The message names no address for that.
    #[error("the message grants no right to {what} this object")]
    NotGranted {
        /// `read`, `replace` or `create`.
        what: &'static str,
    },
    /// The address, or the session that signed it, is over: the work has to be handed out again.
    #[error("the signed address has expired")]
    Expired,
    /// The store does not accept the address: it was changed, or its signer may not do that.
    #[error("the signed address was refused ({status} {code})")]
    Refused {
        /// HTTP status.
        status: u16,
        /// The store's code.
        code: String,
    },
    /// The store answered something else.
    #[error("the store answered {status} {code}")]
    Unexpected {
        /// HTTP status.
        status: u16,
        /// The store's code.
        code: String,
    },
    /// The address is none.
    #[error("the message's address for this object is not a URL")]
    NoAddress,
    /// Signed addresses cannot do that.
    #[error("{0} is not possible through signed addresses")]
    Unsupported(&'static str),
}

impl SignedError {
    /// Returns whether an artifact error says that the signed address has expired.
    pub fn is_expiry(error: &ArtifactError) -> bool {
        let ArtifactError::Unavailable { source, .. } = error else {
            return false;
        };
        matches!(source.downcast_ref(), Some(Self::Expired))
    }
}

/// One job's objects, as far as a message grants them.
pub struct SignedArtifacts {
    client: BucketClient,
    grants: Grants,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for SignedArtifacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignedArtifacts")
            .field("grants", &self.grants)
            .finish_non_exhaustive()
    }
}

impl SignedArtifacts {
    /// Takes what a message grants.
    pub const fn new(client: BucketClient, grants: Grants, clock: Arc<dyn Clock>) -> Self {
        Self {
            client,
            grants,
            clock,
        }
    }

    /// Returns the address for an object and a right.
    fn address(&self, key: &str, right: Right) -> Result<Url, ArtifactError> {
        check_key(key)?;
        let grant = self.find(key, right).ok_or_else(|| {
            let what = match right {
                Right::Read => "read",
                Right::Replace => "replace",
                Right::Create => "create",
            };
            unavailable(key, SignedError::NotGranted { what }.into())
        })?;
        Url::parse(&grant.url).map_err(|_no_url| unavailable(key, SignedError::NoAddress.into()))
    }

    fn find(&self, key: &str, right: Right) -> Option<&mirilla_ports::artifacts::Grant> {
        let grants = self.grants.grants.iter();
        grants
            .into_iter()
            .find(|it| it.key == key && it.right == right)
    }

    /// Sends a request that may be repeated, until there is an answer that repeating would not change.
    async fn send(&self, key: &str, request: Request, limit: u64) -> Result<Answer, ArtifactError> {
        let mut backoff = Backoff::failure();
        loop {
            let answer = self.client.send(request.clone(), limit).await;
            let passing = match &answer {
                Ok(answer) => answer.may_pass(),
                Err(error) => error.may_pass(),
            };
            if !passing || !backoff.again().await {
                return answer.map_err(|error| error.into_artifact(key, limit));
            }
        }
    }

    async fn write(
        &self,
        key: &str,
        bytes: &[u8],
        right: Right,
    ) -> Result<StoredObject, ArtifactError> {
        let request = Request::new(mirilla_http::Method::PUT, self.address(key, right)?)
            .body("application/octet-stream", bytes.to_vec());
        let request = if right == Right::Create {
            request.header(header::IF_NONE_MATCH, "*")
        } else {
            request
        };
        let answer = self.send(key, request, answer::MAX_ERROR_BYTES).await?;
        match answer.status {
            StatusCode::OK => Ok(StoredObject {
                key: key.to_owned(),
                etag: answer.etag,
                size_bytes: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            }),
            StatusCode::PRECONDITION_FAILED if right == Right::Create => {
                Err(ArtifactError::Exists {
                    key: key.to_owned(),
                })
            }
            _ => Err(self.refused(key, &answer)),
        }
    }

    /// Looks whether an object is there.
    async fn exists(&self, key: &str) -> Result<bool, ArtifactError> {
        let request =
            Request::get(self.address(key, Right::Read)?).header(header::RANGE, "bytes=0-0");
        let answer = match self.send(key, request, 1).await {
            // Whatever sends more than the asked byte has the object.
            Err(ArtifactError::TooLarge { .. }) => return Ok(true),
            answer => answer?,
        };
        match answer.status {
            // An empty object has no first byte.
            StatusCode::OK | StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE => {
                Ok(true)
            }
            StatusCode::NOT_FOUND => Ok(false),
            _ => Err(self.refused(key, &answer)),
        }
    }

    fn refused(&self, key: &str, answer: &Answer) -> ArtifactError {
        if answer.status == StatusCode::NOT_FOUND {
            return ArtifactError::NotFound {
                key: key.to_owned(),
            };
        }
        let over = self.clock.now() >= self.grants.expires_at;
        unavailable(key, answer.error(over).into())
    }
}

#[async_trait]
impl Artifacts for SignedArtifacts {
    async fn put(&self, key: &str, bytes: &[u8]) -> Result<StoredObject, ArtifactError> {
        self.write(key, bytes, Right::Replace).await
    }

    /// Stores once. A call whose answer was lost is repeated and then finds its own object:
    /// [`ArtifactError::Exists`] means that one is there.
    async fn put_new(&self, key: &str, bytes: &[u8]) -> Result<StoredObject, ArtifactError> {
        self.write(key, bytes, Right::Create).await
    }

    /// Not possible: a signed address is for one request.
    async fn writer(
        &self,
        key: &str,
        _limit_bytes: u64,
    ) -> Result<Box<dyn ArtifactWriter>, ArtifactError> {
        let error = SignedError::Unsupported("writing in pieces");
        Err(unavailable(key, error.into()))
    }

    async fn get(&self, key: &str, limit_bytes: u64) -> Result<Vec<u8>, ArtifactError> {
        let request = Request::get(self.address(key, Right::Read)?);
        let answer = self.send(key, request, limit_bytes).await?;
        match answer.status {
            StatusCode::OK => Ok(answer.body),
            _ => Err(self.refused(key, &answer)),
        }
    }

    async fn get_range(
        &self,
        object: &StoredObject,
        offset: u64,
        length: u64,
    ) -> Result<Vec<u8>, ArtifactError> {
        let key = &object.key;
        let Some(last) = last_of(object, offset, length) else {
            check_key(key)?;
            return Ok(Vec::new());
        };
        let request = Request::get(self.address(key, Right::Read)?)
            .header(header::RANGE, format!("bytes={offset}-{last}"))
            .header(header::IF_MATCH, object.etag.clone());
        let answer = self.send(key, request, length).await?;
        match answer.status {
            StatusCode::PARTIAL_CONTENT => Ok(answer.body),
            StatusCode::PRECONDITION_FAILED => Err(ArtifactError::Changed { key: key.clone() }),
            _ => Err(self.refused(key, &answer)),
        }
    }

    /// Returns those of the readable objects below a prefix that are there; what is not granted cannot
    /// be seen, and a prefix without any readable object is an error.
    async fn list(&self, prefix: &str) -> Result<Vec<String>, ArtifactError> {
        check_prefix(prefix)?;
        let readable = self
            .grants
            .grants
            .iter()
            .filter(|it| it.right == Right::Read);
        let mut keys: Vec<&str> = readable
            .map(|it| it.key.as_str())
            .filter(|key| key.starts_with(prefix))
            .collect();
        keys.sort_unstable();
        keys.dedup();
        if keys.is_empty() {
            let error = SignedError::NotGranted { what: "read" };
            return Err(unavailable(prefix, error.into()));
        }
        let mut there = Vec::new();
        for key in keys {
            if self.exists(key).await? {
                there.push(key.to_owned());
            }
        }
        Ok(there)
    }

    /// Not possible: nobody signs that.
    async fn delete(&self, prefix: &str) -> Result<(), ArtifactError> {
        Err(unavailable(
            prefix,
            SignedError::Unsupported("deleting").into(),
        ))
    }
}
