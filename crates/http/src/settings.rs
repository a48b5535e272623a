//! What one client may reach, and how long and how much it waits for.

use std::time::Duration;

/// What an adapter decides about its client.
///
/// Adapters fill this from the operator's settings, never from anything that was received.
#[derive(Debug, Clone)]
pub struct ClientSettings {
    /// The only hosts that are ever contacted, as `host` (the scheme's own port) or `host:port`.
    pub allowed_hosts: Vec<String>,
    /// Permits plain `http` to loopback hosts of the list: for simulators and the demo, where the
    /// operator's own base URL is such a host. Everything else is `https` regardless.
    pub allow_plain_loopback: bool,
    /// Permits hosts of the list whose addresses are private (RFC 1918, RFC 4193, RFC 6598): for a
    /// self-managed forge or an interface endpoint inside a network. Loopback, link-local and
    /// instance-metadata addresses stay refused.
    pub allow_private_addresses: bool,
    /// Bound for resolving, connecting and the TLS handshake. Default 10 s.
    pub connect_timeout: Duration,
    /// Bound for each wait for more bytes. Default 30 s.
    pub read_timeout: Duration,
    /// Bound for a whole exchange, body included; a request may set its own. Default 60 s.
    pub total_timeout: Duration,
    /// Bound for a body after decompression; a request may set its own. Default 16 MiB.
    pub max_body_bytes: u64,
    /// Sent as `User-Agent`.
    pub user_agent: String,
    /// Certificates to trust beside the compiled-in roots, as PEM.
    pub extra_ca_pem: Option<String>,
}

impl ClientSettings {
    /// Returns the defaults for a list of hosts.
    pub fn new<H: Into<String>>(
        allowed_hosts: impl IntoIterator<Item = H>,
        user_agent: impl Into<String>,
    ) -> Self {
        Self {
            allowed_hosts: allowed_hosts.into_iter().map(Into::into).collect(),
            allow_plain_loopback: false,
            allow_private_addresses: false,
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(30),
            total_timeout: Duration::from_secs(60),
            max_body_bytes: 16 * 1024 * 1024,
            user_agent: user_agent.into(),
            extra_ca_pem: None,
        }
    }
}
