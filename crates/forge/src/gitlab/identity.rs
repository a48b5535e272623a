//! Which account is ours, and what an account is.

use mirilla_domain::ids::Account;
use mirilla_ports::forge::ForgeError;
use serde::Deserialize;

use crate::error::Named;
use crate::gitlab::api::{Api, Call};

const WHO: Named = Named {
    action: "ask whose token it is",
    what: "the token's account",
    writes: false,
};

/// Our account: its number decides, for a name can be taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    id: u64,
    username: String,
}

impl Identity {
    /// Returns whether an author is this account.
    pub(crate) fn is(&self, user: Option<&User>) -> bool {
        user.is_some_and(|user| user.id == self.id)
    }

    /// Returns the account's number.
    pub(crate) const fn id(&self) -> u64 {
        self.id
    }

    /// Returns the account's name.
    pub fn username(&self) -> &str {
        &self.username
    }
}

/// An account in an answer.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct User {
    pub(crate) id: u64,
    #[serde(default)]
    pub(crate) username: String,
    /// Told of single accounts only.
    #[serde(default)]
    pub(crate) bot: Option<bool>,
}

impl User {
    /// Returns whether it is the account of a token or a service: told, or by the shape of its name
    /// (<https://docs.gitlab.com/user/project/settings/project_access_tokens/#bot-users-for-projects>).
    pub(crate) fn is_bot(&self) -> bool {
        let is_named_so = Account::parse(&self.username).is_ok_and(|name| name.is_bot());
        let is_gitlabs = ["ghost", "support-bot", "alert-bot", "GitLabDuo"];
        self.bot == Some(true) || is_named_so || is_gitlabs.contains(&self.username.as_str())
    }
}

/// Asks whose token it is.
pub(crate) async fn ask(api: &Api) -> Result<Identity, ForgeError> {
    let call = Call::get("GET /user", api.url(&["user"]));
    let user: User = api
        .read_json(&call)
        .await
        .map_err(|error| error.into_forge(WHO))?;
    Ok(Identity {
        id: user.id,
        username: user.username,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_of_tokens_are_bots_and_people_with_such_names_are_not() {
        let bot = |username: &str, bot| {
            User {
                id: 1,
                username: username.to_owned(),
                bot,
            }
            .is_bot()
        };
        for name in [
            "project_7_bot",
            "project_7_bot1",
            "project_7_bot_0a1b",
            "group_12_bot_9f",
        ] {
            assert!(bot(name, None), "{name}");
        }
        for name in [
            "project_bot",
            "project_x_bot",
            "my_project_7_bot",
            "robot",
            "dana",
        ] {
            assert!(!bot(name, None), "{name}");
        }
        assert!(bot("dana", Some(true)));
    }
}
