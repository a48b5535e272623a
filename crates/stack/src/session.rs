//! The operator's AWS: region, credentials, and how long calls may take.

use std::fmt;
use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{AppName, BehaviorVersion, Region, SdkConfig};
use aws_credential_types::provider::ProvideCredentials as _;
use aws_credential_types::provider::error::CredentialsError;

use crate::StackError;

/// Bound for one call, repetitions included. Invoking nothing, reading little: a person waits.
const CALL_TIMEOUT: Duration = Duration::from_secs(40);
/// Bound for one attempt of a call.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(15);
/// Bound for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a call is made at most.
const MAX_ATTEMPTS: u32 = 3;

/// Where and as whom AWS is asked.
#[derive(Clone)]
pub struct Session {
    pub(crate) config: SdkConfig,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("region", &self.region())
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Takes region and credentials from where the SDK looks: the environment, profile files (keys and
    /// assumed roles), container and instance metadata.
    ///
    /// Profiles that sign in with a browser or run a program are not served.
    ///
    /// # Errors
    ///
    /// Without a region or without credentials.
    pub async fn open() -> Result<Self, StackError> {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .operation_attempt_timeout(ATTEMPT_TIMEOUT)
            .operation_timeout(CALL_TIMEOUT)
            .build();
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .retry_config(RetryConfig::standard().with_max_attempts(MAX_ATTEMPTS))
            .timeout_config(timeouts);
        if let Ok(name) = AppName::new(concat!("mirilla-", env!("CARGO_PKG_VERSION"))) {
            loader = loader.app_name(name);
        }
        let config = loader.load().await;
        if config.region().is_none() {
            return Err(StackError::NoRegion);
        }
        let provider = config
            .credentials_provider()
            .ok_or(StackError::NoCredentials)?;
        provider
            .provide_credentials()
            .await
            .map_err(|error| match error {
                // The SDK lists every place it looked at, over several lines.
                CredentialsError::CredentialsNotLoaded(_) => StackError::NoCredentials,
                error => StackError::UnusableCredentials(error.into()),
            })?;
        Ok(Self { config })
    }

    /// Takes region, credentials and address as they are, for whoever has them already.
    pub const fn with(config: SdkConfig) -> Self {
        Self { config }
    }

    /// Returns the address that stands in for AWS (`AWS_ENDPOINT_URL`), if one is set.
    pub fn endpoint_override(&self) -> Option<&str> {
        self.config.endpoint_url()
    }

    /// Returns region, credentials and connections, for a client of another service.
    pub const fn config(&self) -> &SdkConfig {
        &self.config
    }

    /// Returns the region's name.
    pub fn region(&self) -> &str {
        self.config.region().map_or("", Region::as_ref)
    }
}
