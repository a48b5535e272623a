//! The SDK's clients, configured once.

use std::time::Duration;

use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_config::environment::EnvironmentVariableRegionProvider;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{AppName, BehaviorVersion, Region, SdkConfig};
use aws_credential_types::provider::ProvideCredentials as _;
use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_dynamodb::config::SharedHttpClient;
use aws_smithy_http_client::HttpClientError;
use aws_smithy_http_client::tls::{Provider, TlsContext, rustls_provider::CryptoMode};

use crate::roots::Roots;

/// Bound for connecting, the TLS handshake included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Bound for each wait for more bytes.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// How often a call is made at most, the first time included; only what may be repeated is.
const MAX_ATTEMPTS: u32 = 4;
/// The pause before the first repetition; it doubles, with jitter.
const FIRST_BACKOFF: Duration = Duration::from_millis(100);
/// The longest pause between two attempts.
const LONGEST_BACKOFF: Duration = Duration::from_secs(2);
/// Bounds for one attempt and for a call as a whole: small requests, small answers.
const SMALL_CALL: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(20));
/// The same for calls that carry objects, or parts of 8 MiB.
const OBJECT_CALL: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(150));
/// The same for calls that wait for a function to answer.
const INVOKE_CALL: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(45));

/// Why no client could be made.
#[derive(Debug, thiserror::Error)]
pub enum ClientsError {
    /// The environment names no region.
    #[error("no AWS region is set: set AWS_REGION")]
    NoRegion,
    /// The environment holds no credentials.
    #[error(
        "there are no AWS credentials: a function has them in its environment \
         (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)"
    )]
    NoCredentials(#[source] CredentialsError),
    /// The roots cannot be used.
    #[error("connections to AWS cannot be set up")]
    Tls(#[source] HttpClientError),
}

/// Where credentials are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialSource {
    /// In the environment alone, where Lambda puts a function's role: nothing else is read or asked.
    Environment,
    /// Wherever the SDK looks: environment, profile files, container and instance metadata. For a
    /// person's command line.
    DefaultChain,
}

/// Makes clients that share configuration, credentials and connections.
#[derive(Debug, Clone)]
pub struct Aws {
    config: SdkConfig,
}

impl Aws {
    /// Reads region, credentials and, where there is one, the endpoint override (`AWS_ENDPOINT_URL`)
    /// from where the SDK expects them.
    ///
    /// # Errors
    ///
    /// Without a region, or without credentials in the environment: both are found out here, in a
    /// function's init, and not at its first message.
    pub async fn connect(source: CredentialSource) -> Result<Self, ClientsError> {
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .retry_config(
                RetryConfig::standard()
                    .with_max_attempts(MAX_ATTEMPTS)
                    .with_initial_backoff(FIRST_BACKOFF)
                    .with_max_backoff(LONGEST_BACKOFF),
            )
            .timeout_config(timeouts(SMALL_CALL));
        if let Ok(name) = AppName::new(concat!("mirilla-", env!("CARGO_PKG_VERSION"))) {
            loader = loader.app_name(name);
        }
        if source == CredentialSource::DefaultChain {
            let loader = loader.http_client(http(Roots::Machine)?);
            return Self::over(loader.load().await);
        }
        let credentials = EnvironmentVariableCredentialsProvider::new();
        credentials
            .provide_credentials()
            .await
            .map_err(ClientsError::NoCredentials)?;
        let config = loader
            .region(EnvironmentVariableRegionProvider::new())
            .credentials_provider(credentials)
            .load()
            .await;
        let region = config.region().map_or("", Region::as_ref);
        let http = http(Roots::of(region, config.endpoint_url()))?;
        Self::over(config.into_builder().http_client(http).build())
    }

    /// Takes a configuration as it is, timeouts and retries included.
    ///
    /// # Errors
    ///
    /// Without a region.
    pub fn over(config: SdkConfig) -> Result<Self, ClientsError> {
        if config.region().is_none() {
            return Err(ClientsError::NoRegion);
        }
        Ok(Self { config })
    }

    /// Returns the region's name.
    pub fn region(&self) -> &str {
        self.config.region().map_or("", Region::as_ref)
    }

    /// Returns the address that stands in for AWS, if one is set.
    pub fn endpoint_override(&self) -> Option<&str> {
        self.config.endpoint_url()
    }

    /// Returns the configuration, for a client of another service.
    pub const fn config(&self) -> &SdkConfig {
        &self.config
    }

    /// Returns a client for tables.
    pub fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        aws_sdk_dynamodb::Client::new(&self.config)
    }

    /// Returns a client for queues.
    pub fn sqs(&self) -> aws_sdk_sqs::Client {
        aws_sdk_sqs::Client::new(&self.config)
    }

    /// Returns a client for buckets. With an endpoint override it names them in the path: a host
    /// name per bucket exists on AWS only.
    pub fn s3(&self) -> aws_sdk_s3::Client {
        let config = aws_sdk_s3::config::Builder::from(&self.config)
            .timeout_config(timeouts(OBJECT_CALL))
            .force_path_style(self.endpoint_override().is_some())
            .build();
        aws_sdk_s3::Client::from_conf(config)
    }

    /// Returns a client for secrets.
    pub fn secrets(&self) -> aws_sdk_secretsmanager::Client {
        aws_sdk_secretsmanager::Client::new(&self.config)
    }

    /// Returns a client for keys.
    pub fn kms(&self) -> aws_sdk_kms::Client {
        aws_sdk_kms::Client::new(&self.config)
    }

    /// Returns a client for invoking functions.
    pub fn lambda(&self) -> aws_sdk_lambda::Client {
        let config = aws_sdk_lambda::config::Builder::from(&self.config)
            .timeout_config(timeouts(INVOKE_CALL))
            .build();
        aws_sdk_lambda::Client::from_conf(config)
    }
}

/// Makes the connections that all clients share.
fn http(roots: Roots) -> Result<SharedHttpClient, ClientsError> {
    let tls = TlsContext::builder()
        .with_trust_store(roots.store())
        .build()
        .map_err(ClientsError::Tls)?;
    Ok(aws_smithy_http_client::Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::AwsLc))
        .tls_context(tls)
        .build_https())
}

fn timeouts((attempt, call): (Duration, Duration)) -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        .operation_attempt_timeout(attempt)
        .operation_timeout(call)
        .build()
}
