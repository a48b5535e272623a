//! The client that reaches one bucket's host.

use std::time::Duration;

use mirilla_http::{Client, ClientSettings, HttpError, Request, SettingsError};
use mirilla_ports::ArtifactError;
use url::Url;

use super::answer::{Answer, MAX_ERROR_BYTES};
use crate::Aws;
use crate::artifacts::unavailable;

/// Bound for one exchange: the largest diff, over a slow line.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(120);

/// Reaches one bucket's host and no other. Clones share connections.
#[derive(Debug, Clone)]
pub struct BucketClient {
    client: Client,
    host: String,
}

impl BucketClient {
    /// Makes a client for a bucket's own host, or for the endpoint override if one is set.
    ///
    /// Private addresses are fine: inside a network the name may lead to an endpoint of the network's.
    ///
    /// # Errors
    ///
    /// When the endpoint override is no URL with a host, or TLS cannot be set up.
    pub fn new(aws: &Aws, bucket: &str) -> Result<Self, SettingsError> {
        let replaced = aws.endpoint_override();
        let host = match replaced {
            None => bucket_host(bucket, aws.region()),
            Some(endpoint) => authority(endpoint).ok_or_else(|| SettingsError::Host {
                entry: endpoint.to_owned(),
            })?,
        };
        let settings = ClientSettings {
            allow_plain_loopback: replaced.is_some(),
            allow_private_addresses: true,
            total_timeout: TOTAL_TIMEOUT,
            ..ClientSettings::new(
                [host.clone()],
                concat!("mirilla/", env!("CARGO_PKG_VERSION")),
            )
        };
        Ok(Self {
            client: Client::new(settings)?,
            host,
        })
    }

    /// Returns the host, with its port where it is not the scheme's own.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Sends a request and reads its whole answer, at most `limit` bytes of a success.
    pub(super) async fn send(&self, request: Request, limit: u64) -> Result<Answer, Failed> {
        // Room for an error's text whatever the limit is; the limit is kept while reading.
        let request = request.max_body_bytes(limit.saturating_add(MAX_ERROR_BYTES));
        let response = self.client.send(request).await.map_err(Failed::Http)?;
        Answer::read(response, limit).await
    }
}

/// Returns the host S3 gives a bucket
/// (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/VirtualHosting.html>).
fn bucket_host(bucket: &str, region: &str) -> String {
    let suffix = if region.starts_with("cn-") {
        "amazonaws.com.cn"
    } else {
        "amazonaws.com"
    };
    format!("{bucket}.s3.{region}.{suffix}")
}

fn authority(endpoint: &str) -> Option<String> {
    let url = Url::parse(endpoint).ok()?;
    let host = url.host_str()?;
    Some(match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}

/// An exchange that came to no answer.
pub(super) enum Failed {
    /// Nothing was sent, or no whole answer came.
    Http(HttpError),
    /// The answer is larger than allowed.
    TooLarge,
}

impl Failed {
    /// Returns whether it may go better another time.
    pub(super) const fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::Http(HttpError::Connect { .. } | HttpError::Lost { .. } | HttpError::Body { .. })
        )
    }

    pub(super) fn into_artifact(self, key: &str, limit: u64) -> ArtifactError {
        match self {
            Self::TooLarge => ArtifactError::TooLarge {
                key: key.to_owned(),
                limit,
            },
            Self::Http(error) => unavailable(key, error.into()),
        }
    }
}
