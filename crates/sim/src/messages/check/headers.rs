//! The headers a call must have, and must not.

use super::super::refusal::Refusal;
use crate::server::Request;

/// The version under which sampling parameters do not exist.
pub(super) const NEWEST_VERSION: &str = "2026-10-21";

const VERSIONS: [&str; 2] = ["2023-06-01", NEWEST_VERSION];

/// Checks credential and version; returns the version.
pub(crate) fn check_headers(request: &Request, key: &str) -> Result<String, Refusal> {
    let api_key = request.header("x-api-key");
    let bearer = request.header("authorization");
    match (api_key, bearer) {
        (Some(_), Some(_)) => {
            let message = "x-api-key and Authorization must not both be set";
            return Err(Refusal::unauthorized(message));
        }
        (None, None) => return Err(Refusal::unauthorized("x-api-key header is required")),
        (Some(given), None) if given == key => {}
        (Some(_), None) => return Err(Refusal::unauthorized("invalid x-api-key")),
        (None, Some(given)) if given.strip_prefix("Bearer ") == Some(key) => {}
        (None, Some(_)) => return Err(Refusal::unauthorized("Invalid bearer token")),
    }
    let version = request
        .header("anthropic-version")
        .ok_or_else(|| Refusal::invalid("anthropic-version: header is required"))?;
    if !VERSIONS.contains(&version) {
        let message = format!("anthropic-version: \"{version}\" is not a valid version");
        return Err(Refusal::invalid(message));
    }
    if request.method == "POST" {
        let kind = request.header("content-type").unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            return Err(Refusal::invalid("content-type: must be application/json"));
        }
    }
    Ok(version.to_owned())
}
