//! Name resolution that drops the addresses a host may not have.

use std::net::SocketAddr;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::error::Denied;
use crate::hosts::HostList;

/// Every address of a name is one that the client's rules refuse.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("every address of the host is refused: {0}")]
pub(crate) struct RefusedAddresses(pub(crate) Denied);

/// The system's resolver behind the client's address rules: a listed name that points into the
/// machine or its network is refused before a connection is opened.
#[derive(Debug)]
pub(crate) struct GuardedResolver(pub(crate) Arc<HostList>);

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let hosts = Arc::clone(&self.0);
        Box::pin(async move {
            let loopback_name = name.as_str() == "localhost";
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let mut refused = None;
            let mut kept = Vec::with_capacity(found.len());
            for address in found {
                match hosts.reason_against_address(address.ip(), loopback_name) {
                    None => kept.push(address),
                    Some(reason) => refused = Some(reason),
                }
            }
            match refused {
                Some(reason) if kept.is_empty() => Err(RefusedAddresses(reason).into()),
                _ => {
                    let addresses: Addrs = Box::new(kept.into_iter());
                    Ok(addresses)
                }
            }
        })
    }
}
