//! What somebody may do in a project, by the project itself or a group around it.

use std::fmt;

use serde::Deserialize;

use crate::error::CallError;
use crate::gitlab::api::{Api, Call};
use crate::refused::Refused;

/// What a member may do in a project, as GitLab counts it.
/// <https://docs.gitlab.com/api/access_requests/#valid-access-levels>
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(transparent)]
pub struct Role(u32);

impl Role {
    /// May see the code and comment.
    pub const REPORTER: Self = Self(20);
    /// May push, resolve threads and set statuses too.
    pub const DEVELOPER: Self = Self(30);
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            50.. => "Owner",
            40.. => "Maintainer",
            30.. => "Developer",
            20.. => "Reporter",
            15.. => "Planner",
            10.. => "Guest",
            _ => "less than Guest",
        })
    }
}

/// Membership in a project, as one member's page tells it: of several ways in, the one with the highest access.
#[derive(Debug, Deserialize)]
struct Member {
    access_level: Role,
    #[serde(default)]
    state: String,
    /// Newer versions know members whose membership waits.
    #[serde(default)]
    membership_state: Option<String>,
}

impl Member {
    fn is_active(&self) -> bool {
        let waits = self.membership_state.as_deref();
        self.state == "active" && waits.is_none_or(|state| state == "active")
    }
}

/// Returns what somebody may do in a project, which is given by its number or its path; nothing for whom it does not
/// know as an active member.
pub(crate) async fn of(api: &Api, project: &str, user: u64) -> Result<Option<Role>, CallError> {
    let user = user.to_string();
    let url = api.url(&["projects", project, "members", "all", &user]);
    let call = Call::get("GET /projects/{id}/members/all/{user}", url);
    match api.read_json::<Member>(&call).await {
        Ok(member) => Ok(member.is_active().then_some(member.access_level)),
        Err(CallError::Refused(Refused::NotFound)) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocked_and_waiting_members_are_none() {
        for (state, membership, want) in [
            ("active", None, true),
            ("active", Some("active"), true),
            ("active", Some("awaiting"), false),
            ("blocked", Some("active"), false),
            ("", None, false),
        ] {
            let member = Member {
                access_level: Role::DEVELOPER,
                state: state.to_owned(),
                membership_state: membership.map(str::to_owned),
            };
            assert_eq!(member.is_active(), want, "{member:?}");
        }
    }
}
