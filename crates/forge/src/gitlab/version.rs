//! What a GitLab has, by its version. <https://docs.gitlab.com/api/version/>
//!
//! **Invariant:** nothing else in the crate compares versions; a version that cannot be told has what the oldest one
//! has that works.

use mirilla_domain::ids::Timestamp;
use mirilla_http::header;
use mirilla_ports::forge::ForgeError;
use serde::Deserialize;

use crate::clock;
use crate::error::{CallError, Named};
use crate::gitlab::api::{Api, Call};
use crate::refused::Refused;

const NAMED: Named = Named {
    action: "ask which version it is",
    what: "the version",
    writes: false,
};

/// A version of GitLab, as in 13.12.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The first number.
    pub major: u16,
    /// The second number.
    pub minor: u16,
}

impl Version {
    /// The oldest one that works.
    pub const OLDEST: Self = Self::new(12, 10);

    const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }

    /// Returns what it has.
    pub fn features(self) -> Features {
        Features::of(self)
    }

    /// Reads `13.12.15-ee`, `17.5.0-pre` and the like.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split(['.', '-']);
        let mut next = || numbers.next()?.parse().ok();
        Some(Self::new(next()?, next()?))
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// What a version has, of what not all have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a row of a table, whose columns have names"
)]
pub struct Features {
    /// A comment can name several lines (`position.line_range`).
    pub line_range: bool,
    /// `access_raw_diffs` of `/changes` shows what is collapsed.
    pub raw_changes: bool,
    /// Comments can be drafted and published at once.
    pub draft_notes: bool,
    /// `/raw_diffs` gives the diff as git prints it.
    pub raw_diffs: bool,
    /// A token can ask about itself.
    pub token_self: bool,
}

impl Features {
    /// Returns what a version has. Of two early shapes of `line_range`, and of drafts whose routes came one by one,
    /// only the last counts.
    pub fn of(version: Version) -> Self {
        let since = |major, minor| version >= Version::new(major, minor);
        Self {
            line_range: since(13, 6),
            raw_changes: since(13, 0),
            draft_notes: since(16, 3),
            raw_diffs: since(17, 9),
            token_self: since(15, 5),
        }
    }
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    version: String,
}

/// Asks which version it is. One that a token may not ask for, or that is no version, is taken for the oldest.
pub(crate) async fn ask(api: &Api) -> Result<Version, ForgeError> {
    let told = match api.read_json::<Answer>(&call(api)).await {
        Ok(answer) => Version::parse(&answer.version),
        Err(CallError::Refused(Refused::NotFound | Refused::Forbidden)) => None,
        Err(error) => return Err(error.into_forge(NAMED)),
    };
    Ok(told.unwrap_or_else(|| {
        tracing::warn!(
            "GitLab does not tell its version; it is spoken to like {}",
            Version::OLDEST
        );
        Version::OLDEST
    }))
}

/// Asks what time it is there: the date of the same answer; nothing where that is refused.
pub(crate) async fn time(api: &Api) -> Result<Option<Timestamp>, ForgeError> {
    match api.read(&call(api)).await {
        Ok(answer) => {
            let date = answer.headers.get(header::DATE);
            Ok(clock::of(date.and_then(|date| date.to_str().ok())))
        }
        Err(CallError::Refused(Refused::NotFound | Refused::Forbidden)) => Ok(None),
        Err(error) => Err(error.into_forge(NAMED)),
    }
}

fn call(api: &Api) -> Call {
    Call::get("GET /version", api.url(&["version"]))
}

#[cfg(test)]
mod tests {
    use mirilla_sim::{GitlabFeature, GitlabVersion};

    use super::*;

    #[test]
    fn versions_are_read_as_instances_tell_them() {
        for (text, version) in [
            ("13.12.15-ee", Some((13, 12))),
            ("17.5.0-pre", Some((17, 5))),
            ("19.6", Some((19, 6))),
            ("12", None),
            ("", None),
            ("unknown", None),
        ] {
            let expected = version.map(|(major, minor)| Version::new(major, minor));
            assert_eq!(Version::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn table_is_that_of_every_played_version() {
        for played in GitlabVersion::PLAYED {
            let features = Features::of(Version::new(played.major, played.minor));
            for (has, feature) in [
                (features.line_range, GitlabFeature::LineRange),
                (features.raw_changes, GitlabFeature::ChangesOverflow),
                (features.draft_notes, GitlabFeature::DraftNotes),
                (features.raw_diffs, GitlabFeature::RawDiffs),
                (features.token_self, GitlabFeature::TokenSelf),
            ] {
                assert_eq!(has, played.has(feature), "{played}: {feature:?}");
            }
        }
    }
}
