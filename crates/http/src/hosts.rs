//! The list of allowed hosts, and which addresses such a host may have.
//!
//! **Invariant:** what a host list permits is decided on the parsed URL, never on its text, so that
//! `2130706433`, `[::ffff:169.254.169.254]` and `api.github.com.evil.test` have no second reading.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use crate::error::{Denied, HttpError, SettingsError};

/// The hosts a client may contact.
#[derive(Debug, Clone)]
pub(crate) struct HostList {
    entries: Vec<Entry>,
    pub(crate) plain_loopback: bool,
    pub(crate) private: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    host: Host<String>,
    port: Option<u16>,
}

impl HostList {
    /// Parses the entries of the settings.
    pub(crate) fn parse(
        entries: &[String],
        plain_loopback: bool,
        private: bool,
    ) -> Result<Self, SettingsError> {
        if entries.is_empty() {
            return Err(SettingsError::NoHosts);
        }
        let entries = entries
            .iter()
            .map(|entry| {
                Entry::parse(entry).ok_or_else(|| SettingsError::Host {
                    entry: entry.clone(),
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            entries,
            plain_loopback,
            private,
        })
    }

    /// Checks a URL before anything is sent to it.
    pub(crate) fn check(&self, url: &Url) -> Result<(), HttpError> {
        self.reason_against(url).map_or(Ok(()), |reason| {
            Err(HttpError::Denied {
                host: host_of(url),
                reason,
            })
        })
    }

    fn reason_against(&self, url: &Url) -> Option<Denied> {
        if !url.username().is_empty() || url.password().is_some() {
            return Some(Denied::UserInfo);
        }
        let Some(host) = url.host().map(|h| h.to_owned()) else {
            return Some(Denied::Host);
        };
        let listed = self
            .entries
            .iter()
            .any(|entry| entry.host == host && entry.port == url.port());
        if !listed {
            return Some(Denied::Host);
        }
        let plain_ok = self.plain_loopback && is_loopback_host(&host);
        if !(url.scheme() == "https" || (url.scheme() == "http" && plain_ok)) {
            return Some(Denied::Scheme);
        }
        match host {
            Host::Ipv4(ip) => self.reason_against_address(IpAddr::V4(ip), true),
            Host::Ipv6(ip) => self.reason_against_address(IpAddr::V6(ip), true),
            Host::Domain(_) => None,
        }
    }

    /// Says why an address may not be contacted; `named_loopback` if the host's very name says so.
    pub(crate) fn reason_against_address(
        &self,
        address: IpAddr,
        named_loopback: bool,
    ) -> Option<Denied> {
        let address = address.to_canonical();
        if address.is_loopback() {
            let ok = self.plain_loopback && named_loopback;
            return (!ok).then_some(Denied::LocalAddress);
        }
        match address {
            IpAddr::V4(ip) if is_reserved_v4(ip) => Some(Denied::LocalAddress),
            IpAddr::V6(ip) if is_reserved_v6(ip) => Some(Denied::LocalAddress),
            IpAddr::V4(ip) if is_private_v4(ip) && !self.private => Some(Denied::PrivateAddress),
            IpAddr::V6(ip) if is_private_v6(ip) && !self.private => Some(Denied::PrivateAddress),
            IpAddr::V4(_) | IpAddr::V6(_) => None,
        }
    }
}

impl Entry {
    fn parse(text: &str) -> Option<Self> {
        if text.is_empty() || text.contains(['/', '@', '?', '#', '\\', ' ']) {
            return None;
        }
        // Parsed as a URL so that both sides of a comparison went through the same normalisation.
        let url = Url::parse(&format!("https://{text}/")).ok()?;
        let named_default = text.ends_with(":443");
        Some(Self {
            host: url.host()?.to_owned(),
            port: if named_default { None } else { url.port() },
        })
    }
}

/// Returns `host` or `host:port` of a URL, for messages.
pub(crate) fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or("(no host)");
    url.port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Returns whether a name or literal means this machine.
pub(crate) fn is_loopback_host(host: &Host<String>) -> bool {
    match host {
        Host::Ipv4(ip) => ip.is_loopback(),
        Host::Ipv6(ip) => ip.is_loopback(),
        Host::Domain(name) => name == "localhost",
    }
}

fn is_reserved_v4(ip: Ipv4Addr) -> bool {
    let [first, ..] = ip.octets();
    ip.is_link_local() || ip.is_multicast() || first == 0 || first >= 240
}

fn is_private_v4(ip: Ipv4Addr) -> bool {
    let [first, second, ..] = ip.octets();
    // 100.64.0.0/10 is shared address space (RFC 6598).
    ip.is_private() || (first == 100 && (64..128).contains(&second))
}

/// The instance metadata service's IPv6 address, which lies inside the private range.
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

fn is_reserved_v6(ip: Ipv6Addr) -> bool {
    let [first, ..] = ip.segments();
    // NAT64 and 6to4 carry an IPv4 address that this check would not see.
    let translated = first == 0x2002 || ip.segments().starts_with(&[0x64, 0xff9b]);
    ip.is_unspecified()
        || ip.is_multicast()
        || ip.is_unicast_link_local()
        || ip == METADATA_V6
        || translated
}

fn is_private_v6(ip: Ipv6Addr) -> bool {
    ip.is_unique_local()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[&str], plain: bool, private: bool) -> HostList {
        let entries: Vec<String> = entries.iter().map(|&e| e.to_owned()).collect();
        HostList::parse(&entries, plain, private).unwrap()
    }

    fn verdict(list: &HostList, url: &str) -> Option<Denied> {
        list.reason_against(&url.parse().unwrap())
    }

    #[test]
    fn only_listed_hosts_over_https_pass() {
        let list = list(&["api.github.com", "ghe.example:8443"], false, false);
        for (url, want) in [
            ("https://api.github.com/x", None),
            ("https://API.GitHub.com:443/x", None),
            ("https://ghe.example:8443/x", None),
            ("https://ghe.example/x", Some(Denied::Host)),
            ("https://api.github.com:444/x", Some(Denied::Host)),
            ("https://api.github.com.evil.test/x", Some(Denied::Host)),
            ("https://api.github.com@evil.test/x", Some(Denied::UserInfo)),
            ("https://u:p@api.github.com/x", Some(Denied::UserInfo)),
            ("http://api.github.com/x", Some(Denied::Scheme)),
            ("https://127.0.0.1:9001/x", Some(Denied::Host)),
            ("https://[::ffff:169.254.169.254]/x", Some(Denied::Host)),
            ("https://api.github.com./x", Some(Denied::Host)),
        ] {
            assert_eq!(verdict(&list, url), want, "{url}");
        }
    }

    #[test]
    fn loopback_needs_the_switch_and_a_loopback_name() {
        let on = list(
            &[
                "127.0.0.1:8080",
                "[::1]:8080",
                "localhost:8080",
                "sim.test:8080",
            ],
            true,
            false,
        );
        assert_eq!(verdict(&on, "http://127.0.0.1:8080/"), None);
        assert_eq!(verdict(&on, "http://2130706433:8080/"), None);
        assert_eq!(verdict(&on, "http://[::1]:8080/"), None);
        assert_eq!(verdict(&on, "http://localhost:8080/"), None);
        assert_eq!(verdict(&on, "http://sim.test:8080/"), Some(Denied::Scheme));
        assert_eq!(verdict(&on, "http://127.0.0.1:9001/"), Some(Denied::Host));
        let off = list(&["127.0.0.1:8080"], false, false);
        assert_eq!(
            verdict(&off, "http://127.0.0.1:8080/"),
            Some(Denied::Scheme)
        );
        assert_eq!(
            verdict(&off, "https://127.0.0.1:8080/"),
            Some(Denied::LocalAddress)
        );
    }

    #[test]
    fn resolved_addresses_are_judged_by_kind() {
        let strict = list(&["h.test"], true, false);
        let lenient = list(&["h.test"], true, true);
        for (address, want_strict, want_lenient) in [
            ("140.82.112.5", None, None),
            ("2606:50c0:8000::153", None, None),
            (
                "127.0.0.1",
                Some(Denied::LocalAddress),
                Some(Denied::LocalAddress),
            ),
            (
                "::1",
                Some(Denied::LocalAddress),
                Some(Denied::LocalAddress),
            ),
            (
                "::ffff:127.0.0.1",
                Some(Denied::LocalAddress),
                Some(Denied::LocalAddress),
            ),
            (
                "169.254.169.254",
                Some(Denied::LocalAddress),
                Some(Denied::LocalAddress),
            ),
            (
                "::ffff:169.254.169.254",
                Some(Denied::LocalAddress),
                Some(Denied::LocalAddress),
            ),
            (
                "64:ff9b::a9fe:a9fe",
                Some(Denied::LocalAddress),
                Some(Denied::LocalAddress),
            ),
            (
                "2002:a9fe:a9fe::1",
                Some(Denied::LocalAddress),
                Some(Denied::LocalAddress),
            ),
            (
                "fd00:ec2::254",
                Some(Denied::LocalAddress),
                Some(Denied::LocalAddress),
            ),
            (
                "0.0.0.0",
                Some(Denied::LocalAddress),
                Some(Denied::LocalAddress),
            ),
            (
                "255.255.255.255",
                Some(Denied::LocalAddress),
                Some(Denied::LocalAddress),
            ),
            (
                "fe80::1",
                Some(Denied::LocalAddress),
                Some(Denied::LocalAddress),
            ),
            ("10.1.2.3", Some(Denied::PrivateAddress), None),
            ("172.16.0.1", Some(Denied::PrivateAddress), None),
            ("192.168.1.1", Some(Denied::PrivateAddress), None),
            ("100.64.0.1", Some(Denied::PrivateAddress), None),
            ("fd12::1", Some(Denied::PrivateAddress), None),
            ("::ffff:10.0.0.1", Some(Denied::PrivateAddress), None),
        ] {
            let ip: IpAddr = address.parse().unwrap();
            assert_eq!(
                strict.reason_against_address(ip, false),
                want_strict,
                "{address}"
            );
            assert_eq!(
                lenient.reason_against_address(ip, false),
                want_lenient,
                "{address}"
            );
        }
    }

    #[test]
    fn odd_entries_are_refused_by_name() {
        for entry in ["", "https://h", "h/x", "u@h", "h:port", "h h", "h?x"] {
            let error = HostList::parse(&[entry.to_owned()], false, false).unwrap_err();
            assert!(matches!(error, SettingsError::Host { .. }), "{entry}");
        }
        assert!(matches!(
            HostList::parse(&[], false, false),
            Err(SettingsError::NoHosts)
        ));
    }
}
