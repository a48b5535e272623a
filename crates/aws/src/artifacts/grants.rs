//! Signed addresses: one right to one object, for a process that has none.

use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_s3::presigning::{PresignedRequest, PresigningConfig};
use mirilla_ports::artifacts::{Grant, Right};
use mirilla_ports::{ArtifactError, GrantObjects, Grants};

use super::{S3Artifacts, check_key, unavailable};
use crate::items::Source;

impl S3Artifacts {
    async fn sign(&self, key: &str, right: Right, valid: Duration) -> Result<String, Source> {
        let config = PresigningConfig::expires_in(valid)?;
        let (bucket, client) = (&self.bucket, &self.client);
        let request: PresignedRequest = match right {
            Right::Read => {
                let get = client.get_object().bucket(bucket).key(key);
                get.presigned(config).await?
            }
            Right::Replace => {
                let put = client.put_object().bucket(bucket).key(key);
                put.presigned(config).await?
            }
            // The condition is among the signed headers: without it the signature does not match.
            Right::Create => {
                let put = client.put_object().bucket(bucket).key(key);
                put.if_none_match("*").presigned(config).await?
            }
        };
        Ok(request.uri().to_owned())
    }
}

#[async_trait]
impl GrantObjects for S3Artifacts {
    /// Signs with this process's own credentials: an address is worth what its signer may do, and ends
    /// with the signer's session at the latest. At most seven days.
    async fn grant(
        &self,
        objects: &[(String, Right)],
        valid: Duration,
    ) -> Result<Option<Grants>, ArtifactError> {
        let expires_at = self.clock.now().plus(valid);
        let mut grants = Vec::with_capacity(objects.len());
        for (key, right) in objects {
            check_key(key)?;
            let url = self
                .sign(key, *right, valid)
                .await
                .map_err(|source| unavailable(key, source))?;
            grants.push(Grant {
                key: key.clone(),
                right: *right,
                url,
            });
        }
        Ok(Some(Grants { grants, expires_at }))
    }
}
