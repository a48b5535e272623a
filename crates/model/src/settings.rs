//! How the model is reached, as the operator set it.
//!
//! **Invariant:** the key has no `Debug` and no `Display`; it leaves this type only into the one
//! request header.

use std::fmt;
use std::time::Duration;

use mirilla_http::{Client, ClientSettings, HeaderName, Request};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use crate::capability::{Capability, UnknownModel, check_model};

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const API_VERSION: HeaderName = HeaderName::from_static("anthropic-version");
const ACCEPT: HeaderName = HeaderName::from_static("accept");

/// The provider's own endpoint.
pub const DEFAULT_ENDPOINT: &str = "https://api.anthropic.com/";

/// The version of the API that requests are written for. Old models, Bedrock and gateways know it,
/// and our body is valid under the newer `2026-10-21` as well.
pub const DEFAULT_VERSION: &str = "2023-06-01";

/// The longest answer that may be asked for without streaming: beyond it the provider may close
/// the idle connection before it answers (`3600 s × tokens / 128,000 > 600 s`).
pub const MAX_TOKENS_WITHOUT_STREAM: u32 = 21_333;

/// Shortest key that can be one; a shorter one is a paste gone wrong.
const MIN_KEY_BYTES: usize = 8;

/// How much the model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effort {
    /// `low`
    Low,
    /// `medium`
    Medium,
    /// `high`
    High,
    /// `xhigh`
    ExtraHigh,
    /// `max`
    Max,
}

impl Effort {
    /// All levels, least first.
    pub const ALL: [Self; 5] = [
        Self::Low,
        Self::Medium,
        Self::High,
        Self::ExtraHigh,
        Self::Max,
    ];

    /// Returns the name the API uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::ExtraHigh => "xhigh",
            Self::Max => "max",
        }
    }

    /// Parses the name the API uses.
    pub fn parse(name: &str) -> Result<Self, SettingsError> {
        Self::ALL
            .into_iter()
            .find(|effort| effort.as_str() == name)
            .ok_or_else(|| SettingsError::Effort {
                value: name.chars().filter(|c| !c.is_control()).take(40).collect(),
            })
    }
}

/// Why a model cannot be set up as the settings say.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The model is not known.
    #[error(transparent)]
    Model(#[from] UnknownModel),
    /// Bedrock's model id cannot be one.
    #[error(
        "the Bedrock model id `{id}` is not a model's or inference profile's id or ARN \
         (letters, digits, `.`, `:`, `/`, `_` and `-`)"
    )]
    BedrockId {
        /// The refused id, cut to 80 characters.
        id: String,
    },
    /// Bedrock's model id names another model than the one that is priced.
    #[error(
        "the Bedrock model id names `{named}`, but the model is set to `{model}`, whose prices \
         and limits would be used; set both to the same"
    )]
    OtherModel {
        /// What the id names.
        named: String,
        /// The model.
        model: String,
    },
    /// The endpoint cannot be one.
    #[error("the model endpoint `{endpoint}` {problem}")]
    Endpoint {
        /// The endpoint, without user, password and query.
        endpoint: String,
        /// What is wrong and what is wanted.
        problem: &'static str,
    },
    /// The key cannot be one.
    #[error("the model key {problem}")]
    Key {
        /// What is wrong and what is wanted.
        problem: &'static str,
    },
    /// The version header cannot be one.
    #[error("the API version `{value}` is not a date such as `2023-06-01`")]
    Version {
        /// The refused value, cut to 40 characters.
        value: String,
    },
    /// The effort is not one of the levels.
    #[error("the effort `{value}` is not one of low, medium, high, xhigh, max")]
    Effort {
        /// The refused value, cut to 40 characters.
        value: String,
    },
    /// The model knows no effort.
    #[error("the model `{model}` takes no effort; leave it out or use a newer model")]
    NoEffort {
        /// The model.
        model: String,
    },
    /// The longest answer is too long or zero.
    #[error("max_tokens {value} is not between 1 and {limit}{}", stream_note(*limit))]
    MaxTokens {
        /// The refused value.
        value: u32,
        /// The largest value.
        limit: u32,
    },
    /// The HTTP client cannot be set up: the certificates, most likely.
    #[error("cannot set up the HTTP client for the model")]
    Client(#[source] mirilla_http::SettingsError),
    /// A time-out of zero.
    #[error("the {what} time-out is zero")]
    Timeout {
        /// Which one.
        what: &'static str,
    },
}

pub(crate) fn check_timeouts(connect: Duration, request: Duration) -> Result<(), SettingsError> {
    for (what, time) in [("connect", connect), ("request", request)] {
        if time.is_zero() {
            return Err(SettingsError::Timeout { what });
        }
    }
    Ok(())
}

const fn stream_note(limit: u32) -> &'static str {
    if limit == MAX_TOKENS_WITHOUT_STREAM {
        ", the longest answer that does not need streaming"
    } else {
        ", the model's longest answer"
    }
}

/// How the Messages API is reached.
#[derive(Clone)]
pub struct AnthropicSettings {
    /// Where the API is; `v1/messages` is added to its path. `https`, or `http` on loopback.
    pub endpoint: Url,
    /// The key, sent as `x-api-key`.
    pub api_key: SecretString,
    /// The model's id, exactly.
    pub model: String,
    /// The `anthropic-version` header; [`DEFAULT_VERSION`].
    pub version: String,
    /// How much the model thinks; `None` leaves it to the model's default.
    pub effort: Option<Effort>,
    /// The longest answer any question may ask for, thinking included; 4,000.
    pub max_tokens: u32,
    /// How long making a connection may take; 5 s.
    pub connect_timeout: Duration,
    /// How long one call may take altogether; 300 s. The deadline of a question can be shorter.
    pub request_timeout: Duration,
    /// How often a call that was not processed is tried again; 2.
    pub max_retries: u32,
    /// Whether the endpoint may have a private address: a gateway inside the network.
    pub allow_private_address: bool,
    /// Certificates to trust beside the compiled-in roots, as PEM.
    pub extra_ca_pem: Option<String>,
}

impl AnthropicSettings {
    /// Returns settings with the defaults named at the fields.
    pub fn new(endpoint: Url, api_key: SecretString, model: impl Into<String>) -> Self {
        Self {
            endpoint,
            api_key,
            model: model.into(),
            version: DEFAULT_VERSION.to_owned(),
            effort: None,
            max_tokens: 4_000,
            connect_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(300),
            max_retries: 2,
            allow_private_address: false,
            extra_ca_pem: None,
        }
    }

    /// Checks everything that can be checked without a call; returns what the model can do.
    pub fn check(&self) -> Result<&'static Capability, SettingsError> {
        let capability = check_model(&self.model)?;
        self.check_endpoint()?;
        self.check_key()?;
        let date = self.version.len() == 10
            && self.version.bytes().enumerate().all(|(at, b)| {
                if at == 4 || at == 7 {
                    b == b'-'
                } else {
                    b.is_ascii_digit()
                }
            });
        if !date {
            let value = self.version.chars().filter(|c| !c.is_control());
            return Err(SettingsError::Version {
                value: value.take(40).collect(),
            });
        }
        capability.check_question(self.effort, self.max_tokens)?;
        check_timeouts(self.connect_timeout, self.request_timeout)?;
        Ok(capability)
    }

    /// Returns the URL of `POST /v1/messages` below the endpoint.
    pub fn messages_url(&self) -> Url {
        let mut url = self.endpoint.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}/v1/messages"));
        url
    }

    /// Returns the URL of `GET /v1/models/{id}` below the endpoint.
    pub fn model_url(&self) -> Url {
        let mut url = self.endpoint.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["v1", "models", &self.model]);
        }
        url
    }

    /// Returns a client for the endpoint's host and no other, whose calls end after `limit`.
    pub(crate) fn client(
        &self,
        limit: Duration,
        max_body_bytes: u64,
    ) -> Result<Client, SettingsError> {
        let host = self.endpoint.host_str().unwrap_or_default();
        let host = self
            .endpoint
            .port()
            .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let agent = concat!("mirilla/", env!("CARGO_PKG_VERSION"));
        let mut client = ClientSettings::new([host], agent);
        client.allow_plain_loopback = self.endpoint.scheme() == "http";
        client.allow_private_addresses = self.allow_private_address;
        client.connect_timeout = self.connect_timeout;
        // Nothing arrives while the model thinks, so silence is bounded like the whole call.
        client.read_timeout = limit;
        client.total_timeout = limit;
        client.max_body_bytes = max_body_bytes;
        client.extra_ca_pem.clone_from(&self.extra_ca_pem);
        Client::new(client).map_err(SettingsError::Client)
    }

    /// Returns a request with the key and the version of the API.
    pub(crate) fn with_key(&self, request: Request) -> Request {
        request
            .secret_header(API_KEY, self.api_key.clone())
            .header(API_VERSION, self.version.clone())
            .header(ACCEPT, "application/json")
    }

    fn check_endpoint(&self) -> Result<(), SettingsError> {
        let loopback = match self.endpoint.host() {
            Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
            Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
            Some(url::Host::Domain(name)) => name == "localhost",
            None => return Err(self.bad_endpoint("names no host")),
        };
        match self.endpoint.scheme() {
            "https" => {}
            "http" if loopback => {}
            _ => return Err(self.bad_endpoint("is not https (http is for loopback only)")),
        }
        if !self.endpoint.username().is_empty() || self.endpoint.password().is_some() {
            return Err(self.bad_endpoint("holds a user or password; the key is set apart"));
        }
        if self.endpoint.query().is_some() || self.endpoint.fragment().is_some() {
            return Err(self.bad_endpoint("has a query or a fragment, which no API has"));
        }
        if self
            .endpoint
            .path()
            .trim_end_matches('/')
            .ends_with("/v1/messages")
        {
            return Err(self.bad_endpoint("ends in /v1/messages, which is added by itself"));
        }
        Ok(())
    }

    fn bad_endpoint(&self, problem: &'static str) -> SettingsError {
        let host = self.endpoint.host_str().unwrap_or_default();
        SettingsError::Endpoint {
            endpoint: format!(
                "{}://{host}{}",
                self.endpoint.scheme(),
                self.endpoint.path()
            ),
            problem,
        }
    }

    fn check_key(&self) -> Result<(), SettingsError> {
        let key = self.api_key.expose_secret();
        let problem = if key.is_empty() {
            "is empty; set it to a key that begins with `sk-ant-`, or a gateway's own"
        } else if key.len() < MIN_KEY_BYTES {
            "is too short to be one"
        } else if !key.bytes().all(|b| b.is_ascii_graphic()) {
            "holds a space, a line break or another character no key has"
        } else {
            return Ok(());
        };
        Err(SettingsError::Key { problem })
    }
}

impl fmt::Debug for AnthropicSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnthropicSettings")
            .field("endpoint", &self.endpoint.host_str())
            .field("model", &self.model)
            .field("version", &self.version)
            .field("effort", &self.effort)
            .field("max_tokens", &self.max_tokens)
            .field("max_retries", &self.max_retries)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
