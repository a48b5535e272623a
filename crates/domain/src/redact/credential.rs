//! Recognises a forge's credential or a private key in a value of the environment.

use super::{pem, shapes};

/// Kinds of [`shapes::find_in_line`] that open a forge.
const FORGE_KINDS: [&str; 4] = [
    "github-token",
    "gitlab-token",
    "json-web-token",
    "git-basic-auth",
];
/// `-----BEGIN ` in base64, at each of its three alignments.
const ENCODED_ARMOUR: [&str; 3] = ["LS0tLS1CRUdJTi", "0tLS0tQkVHSU4g", "tLS0tLUJFR0lOI"];
/// User names that forges document for tokens in addresses.
const TOKEN_USERS: [&str; 5] = [
    "x-access-token:",
    "oauth2:",
    "gitlab-ci-token:",
    "x-token-auth:",
    "x-oauth-basic",
];

/// Returns what kind of forge credential or private key `value` holds, if it holds one.
///
/// The reviewer refuses to start when any variable of its environment does, whatever the variable is
/// called. JSON web tokens count: the token of a CI job's runtime is one. The value may hold more
/// than the credential, be in quotes, on several lines or in base64.
#[must_use]
pub fn credential_shape(value: &str) -> Option<&'static str> {
    // A key in one line has its line feeds spelled out.
    let spelled = value.replace("\\n", "\n");
    let armoured = spelled.lines().any(|line| {
        pem::opens(line.as_bytes()).is_some()
            || line.contains("PuTTY-User-Key-File-")
            || line.contains("-----BEGIN CERTIFICATE-----") && spelled.contains("PRIVATE KEY")
    });
    if armoured || ENCODED_ARMOUR.iter().any(|armour| value.contains(armour)) {
        return Some("private-key");
    }
    if TOKEN_USERS.iter().any(|user| value.contains(user)) {
        return Some("forge-address");
    }
    let hits = spelled
        .lines()
        .flat_map(|line| shapes::find_in_line(line.as_bytes()));
    hits.map(|hit| hit.kind)
        .find(|kind| FORGE_KINDS.contains(kind))
}
