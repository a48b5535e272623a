//! The one HTTP client: bounded hosts, time, redirects and bytes.
//!
//! Every adapter that speaks HTTP is handed a [`Client`], whose [`ClientSettings`] name the hosts it
//! may reach. No URL found in a payload, a file or an answer can lead anywhere else: requests,
//! redirects and resolved addresses are all checked against the same list.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use mirilla_http::{Client, ClientSettings, Request};
//!
//! let client = Client::new(ClientSettings::new(["api.example.com"], "mirilla/0.1"))?;
//! let url = "https://api.example.com/v1/things".parse()?;
//! let response = client.send(Request::get(url)).await?;
//! let things: Vec<String> = response.json().await?;
//! # Ok(()) }
//! ```
//!
//! **Invariant:** a secret header leaves this process only towards the origin of the URL that its
//! request was made for, and never shows in an error or a `Debug`.

mod client;
mod error;
mod hosts;
mod request;
mod resolve;
mod response;
pub mod retry;
mod settings;
mod tls;

pub use client::Client;
pub use error::{BoxError, Denied, HttpError, JsonProblem, Sent, SettingsError};
pub use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
pub use request::Request;
pub use response::Response;
pub use settings::ClientSettings;
