//! The hidden line that says which finding a comment is about and which job a review answers.
//!
//! A marker is one HTML comment, last in the text, with a MAC under a key that only the poster reads.
//! It is a memory, not a proof of content: where there is a ledger, the ledger decides what was posted.
//!
//! **Invariant:** [`read`] returns a marker only if the last marker-shaped text of a body is
//! well-formed and its MAC covers this very repository and pull request. Everything else is text.

use std::fmt;

use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use crate::ids::{AttemptNo, Fingerprint, JobId, PullRequestRef};
use crate::mac;
use crate::review::Severity;

/// What every marker begins with, whatever its version.
const OPEN: &str = "<!-- mirilla ";
const CLOSE: &str = " -->";
/// One byte of a MAC that is none.
const NO_MAC: &str = "00";
/// A key shorter than this could be guessed.
const MIN_KEY_BYTES: usize = 16;
/// What a key that is made of a token is made for: no other use of the token has this label.
const TOKEN_LABEL: &[u8] = b"mirilla marker key of a token, v1";
/// More findings of a review's body than this are not remembered; the body itself names fewer.
pub const MAX_REMEMBERED: usize = 200;

/// The poster's key for markers. `Debug` never prints it.
#[derive(Clone)]
pub struct MarkerKey(Vec<u8>);

/// A key that is too short to protect anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the marker key has {0} bytes; it needs at least {MIN_KEY_BYTES} random ones")]
pub struct ShortKey(pub usize);

impl MarkerKey {
    /// Takes the key's bytes; at least 16.
    pub fn new(bytes: &[u8]) -> Result<Self, ShortKey> {
        if bytes.len() < MIN_KEY_BYTES {
            return Err(ShortKey(bytes.len()));
        }
        Ok(Self(bytes.to_vec()))
    }

    /// Returns the text of a key for who has one lasting token that writes and no key beside it: HMAC-SHA256
    /// under the token over a fixed label, as 64 hex digits.
    ///
    /// It says nothing about the token, and who lacks the token cannot make it. Another token is another key. A
    /// token that is made for each job is none to take.
    pub fn text_of_token(token: &str) -> String {
        let mut mac = mac::under(token.as_bytes());
        mac.update(TOKEN_LABEL);
        hex::encode(mac.finalize().into_bytes())
    }
}

impl fmt::Debug for MarkerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MarkerKey(..)")
    }
}

/// The form of a marker. Every version that was ever shipped stays in this list and is read; the last
/// one is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Version {
    /// `v1`: `key=value` fields separated by one space, the MAC last.
    V1,
}

impl Version {
    /// Every version ever shipped, oldest first.
    pub const ALL: [Self; 1] = [Self::V1];
    /// The version that is written.
    pub const NEWEST: Self = Self::V1;

    /// Returns the name inside the marker.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "v1",
        }
    }
}

/// What a marker says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marker {
    /// On a comment: which finding it is about.
    Finding(FindingMarker),
    /// In a review's body: which job it answers.
    Review(ReviewMarker),
}

/// The marker of a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingMarker {
    /// Which finding.
    pub fingerprint: Fingerprint,
    /// How bad it was called.
    pub severity: Severity,
    /// The job that posted it.
    pub job: JobId,
}

/// The marker of a review's body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewMarker {
    /// The job the body describes.
    pub job: JobId,
    /// The try.
    pub attempt: AttemptNo,
    /// Findings that have no comment and stand in the body; at most [`MAX_REMEMBERED`].
    pub in_body: Vec<Fingerprint>,
}

/// Returns whether a text holds something shaped like a marker, genuine or not.
pub fn poses_as_one(text: &str) -> bool {
    text.contains(OPEN.trim_end())
}

/// Returns the job that the last marker-shaped text of a body names, genuine or not.
///
/// For telling apart what one account wrote, where nothing is decided by it: that takes [`read`].
pub fn claimed_job(body: &str) -> Option<JobId> {
    let (_, last) = body.rsplit_once(OPEN)?;
    let (inner, _) = last.split_once(CLOSE)?;
    let mut fields = inner.split(' ').filter_map(|field| field.split_once('='));
    let (_, job) = fields.find(|(name, _)| matches!(*name, "job" | "review"))?;
    JobId::parse(job).ok()
}

/// Returns the marker's line, in the newest version, without a line break.
pub fn write(key: &MarkerKey, pull_request: &PullRequestRef, marker: &Marker) -> String {
    let version = Version::NEWEST;
    let said = match marker {
        Marker::Finding(m) => format!(
            "finding={} severity={} job={}",
            m.fingerprint,
            m.severity.as_str(),
            m.job
        ),
        Marker::Review(m) => {
            let in_body: Vec<&str> = m
                .in_body
                .iter()
                .take(MAX_REMEMBERED)
                .map(Fingerprint::as_str)
                .collect();
            format!(
                "review={} attempt={} in-body={}",
                m.job,
                m.attempt,
                in_body.join(",")
            )
        }
    };
    let mac = hex::encode(
        mac_over(key, version, pull_request, &said)
            .finalize()
            .into_bytes(),
    );
    format!("{OPEN}{} {said} mac={mac}{CLOSE}", version.as_str())
}

/// Returns what the marker of a body says, if the last marker-shaped text in it is one of ours.
pub fn read(key: &MarkerKey, pull_request: &PullRequestRef, body: &str) -> Option<Marker> {
    let (_, last) = body.rsplit_once(OPEN)?;
    let (inner, _) = last.split_once(CLOSE)?;
    let (name, rest) = inner.split_once(' ')?;
    let version = Version::ALL.into_iter().find(|v| v.as_str() == name)?;
    let (said, mac) = rest.rsplit_once(" mac=")?;
    let mac = hex::decode(mac).ok()?;
    mac_over(key, version, pull_request, said)
        .verify_slice(&mac)
        .ok()?;
    match version {
        Version::V1 => said_v1(said),
    }
}

fn said_v1(said: &str) -> Option<Marker> {
    let mut fields = said.split(' ');
    let mut next = |name: &str| fields.next()?.strip_prefix(name)?.strip_prefix('=');
    let marker = if said.starts_with("finding=") {
        Marker::Finding(FindingMarker {
            fingerprint: Fingerprint::parse(next("finding")?).ok()?,
            severity: Severity::parse(next("severity")?)?,
            job: JobId::parse(next("job")?).ok()?,
        })
    } else {
        Marker::Review(ReviewMarker {
            job: JobId::parse(next("review")?).ok()?,
            attempt: AttemptNo::new(next("attempt")?.parse().ok()?),
            in_body: next("in-body")?
                .split(',')
                .filter(|one| !one.is_empty())
                .map(|one| Fingerprint::parse(one).ok())
                .collect::<Option<_>>()?,
        })
    };
    fields.next().is_none().then_some(marker)
}

/// Returns a body whose marker is valid under `to` exactly if the body's is under `from`.
///
/// For a copy that is kept where `from` must not be known.
pub fn resigned(
    from: &MarkerKey,
    to: &MarkerKey,
    pull_request: &PullRequestRef,
    body: &str,
) -> String {
    let marker = read(from, pull_request, body);
    if marker.is_none() && read(to, pull_request, body).is_none() {
        return body.to_owned();
    }
    // Both mean that the last marker-shaped text is well-formed.
    let parts = body.rsplit_once(" mac=").and_then(|(before, rest)| {
        let (_, after) = rest.split_once(CLOSE)?;
        let (_, said) = before.rsplit_once(OPEN)?;
        let (name, said) = said.split_once(' ')?;
        let version = Version::ALL.into_iter().find(|v| v.as_str() == name)?;
        Some((before, version, said, after))
    });
    let Some((before, version, said, after)) = parts else {
        return body.to_owned();
    };
    let mac = if marker.is_some() {
        hex::encode(
            mac_over(to, version, pull_request, said)
                .finalize()
                .into_bytes(),
        )
    } else {
        NO_MAC.repeat(32)
    };
    format!("{before} mac={mac}{CLOSE}{after}")
}

/// Returns a text with every marker's MAC blanked: two that differ by the key alone are then equal.
pub fn without_macs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(" mac=") {
        out.push_str(before);
        out.push_str(" mac=");
        rest = after;
        let mac = after.get(..64).filter(|mac| {
            mac.bytes().all(|byte| byte.is_ascii_hexdigit())
                && after.get(64..).is_some_and(|end| end.starts_with(CLOSE))
        });
        if mac.is_some() {
            out.push_str(&NO_MAC.repeat(32));
            rest = after.get(64..).unwrap_or_default();
        }
    }
    out.push_str(rest);
    out
}

/// The MAC binds what is said to where it is said: a marker copied to another pull request fails.
fn mac_over(
    key: &MarkerKey,
    version: Version,
    pull_request: &PullRequestRef,
    said: &str,
) -> Hmac<Sha256> {
    let mut mac = mac::under(&key.0);
    for field in [
        b"mirilla.marker".as_slice(),
        version.as_str().as_bytes(),
        pull_request.forge.as_str().as_bytes(),
        &pull_request.repo.get().to_be_bytes(),
        &pull_request.pr.get().to_be_bytes(),
        said.as_bytes(),
    ] {
        mac.update(&u64::try_from(field.len()).unwrap_or(u64::MAX).to_be_bytes());
        mac.update(field);
    }
    mac
}
