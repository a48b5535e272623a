//! The base URL of a forge's API, as an operator writes it.

use url::{Host, Url};

/// Returns whether it is one: `https`, or `http` to this machine, with a host and nothing that may be secret.
pub(crate) fn is_usable(base: &Url) -> bool {
    (base.scheme() == "https" || is_plain_loopback(base))
        && base.host().is_some()
        && base.username().is_empty()
        && base.password().is_none()
        && base.query().is_none()
        && base.fragment().is_none()
}

/// Returns what may be shown of it: path, query and user may hold a secret that was pasted into the wrong place.
pub(crate) fn without_secrets(base: &Url) -> String {
    format!(
        "{}://{}",
        base.scheme(),
        base.host_str().unwrap_or("(no host)")
    )
}

/// Returns its host, with the port if it is not the usual one.
pub(crate) fn authority(base: &Url) -> String {
    let host = base.host_str().unwrap_or_default();
    base.port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Returns whether it is this machine, without encryption: the simulator, the demo.
pub(crate) fn is_plain_loopback(base: &Url) -> bool {
    let loopback = match base.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    base.scheme() == "http" && loopback
}
