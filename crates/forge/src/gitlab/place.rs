//! Where a merge request is, in numbers: a project's name may come to mean another one.

use mirilla_domain::ids::PrNumber;
use url::Url;

use crate::gitlab::api::Api;

/// Digits of a discussion's name.
const DISCUSSION_DIGITS: usize = 40;

/// A merge request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// The number of the project that it goes into.
    pub(crate) project: u64,
    /// Its number there.
    pub(crate) iid: u64,
}

impl Place {
    pub(crate) const fn new(project: u64, pr: PrNumber) -> Self {
        Self {
            project,
            iid: pr.get(),
        }
    }

    /// Returns the URL of something below the merge request.
    pub(crate) fn url(self, api: &Api, below: &[&str]) -> Url {
        let (project, iid) = (self.project.to_string(), self.iid.to_string());
        let mut segments = vec!["projects", &project, "merge_requests", &iid];
        segments.extend_from_slice(below);
        api.url(&segments)
    }

    /// Returns the name of a thread, which says of which merge request it is.
    pub(crate) fn thread(self, discussion: &str) -> String {
        let Self { project, iid } = self;
        format!("projects/{project}/merge_requests/{iid}/discussions/{discussion}")
    }

    /// Reads the name of a thread: its merge request and its discussion there.
    pub(crate) fn of_thread(name: &str) -> Option<(Self, &str)> {
        let rest = name.strip_prefix("projects/")?;
        let (project, rest) = rest.split_once("/merge_requests/")?;
        let (iid, discussion) = rest.split_once("/discussions/")?;
        let is_hex = discussion.bytes().all(|b| b.is_ascii_hexdigit());
        (is_hex && discussion.len() == DISCUSSION_DIGITS).then_some(())?;
        let place = Self {
            project: number(project)?,
            iid: number(iid)?,
        };
        Some((place, discussion))
    }
}

/// Reads digits: what else Rust takes for a number is none here.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_thread_is_read_as_it_was_written_and_nothing_else_is_one() {
        let place = Place {
            project: 3_000_000_001,
            iid: 7,
        };
        let discussion = "6a9c1750b37d513a43987b574953fceb50b03ce7";
        let name = place.thread(discussion);
        assert_eq!(Place::of_thread(&name), Some((place, discussion)));
        for other in [
            "PRRT_kwDOABCD",
            "projects/1/merge_requests/7/discussions/",
            "projects/1/merge_requests/7/discussions/6a9c",
            &name.replace("7/disc", "+7/disc"),
            &name.replace("projects/", "projects/../"),
            &name.replace("ce7", "c/7"),
            &format!("{name}/notes"),
            &format!("/{name}"),
        ] {
            assert_eq!(Place::of_thread(other), None, "{other}");
        }
    }
}
