//! Which account is ours.

use serde::Deserialize;

/// Our account, as comments name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    login: String,
    id: Option<u64>,
}

/// How a reader learns which account is ours.
#[derive(Debug, Clone)]
pub enum Whoami {
    /// From the operator or the minter; an installation token cannot ask.
    Known(Identity),
    /// By asking GitHub once, with a plain token.
    Ask,
}

/// Returns whether an author, by what GitHub calls the association with the repository, has no role there
/// and no merged contribution. What GitHub does not say is an outsider's.
///
/// GitHub says `CONTRIBUTOR` or `NONE` of a member whose membership is private.
pub(crate) fn is_outsider(association: &str) -> bool {
    !["OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR"].contains(&association)
}

/// An account in an answer; GitHub leaves it out for deleted ones.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct User {
    pub(crate) login: String,
    #[serde(default)]
    pub(crate) id: Option<u64>,
    #[serde(default, rename = "type")]
    pub(crate) kind: Option<String>,
}

impl User {
    pub(crate) fn is_bot(&self) -> bool {
        self.kind.as_deref() == Some("Bot") || self.login.ends_with("[bot]")
    }
}

impl Identity {
    /// Returns an account by its login as REST shows it (`name` or `slug[bot]`) and, where it is
    /// known, its number: a login can be taken over, a number cannot.
    pub fn new(login: impl Into<String>, id: Option<u64>) -> Self {
        Self {
            login: login.into(),
            id,
        }
    }

    /// Returns the account under which an App of this slug writes.
    pub fn of_app(slug: &str) -> Self {
        Self::new(format!("{slug}[bot]"), None)
    }

    /// Returns the login.
    pub fn login(&self) -> &str {
        &self.login
    }

    /// Returns whether an account of a REST answer is ours.
    pub(crate) fn is(&self, user: Option<&User>) -> bool {
        user.is_some_and(|user| {
            let same_number = match (self.id, user.id) {
                (Some(ours), Some(theirs)) => ours == theirs,
                _ => true,
            };
            same_number && user.login.eq_ignore_ascii_case(&self.login)
        })
    }

    /// Returns whether a login of a GraphQL answer is ours: GraphQL shows an App's account without
    /// `[bot]`. Nobody else can have that name: GitHub keeps App names and logins apart.
    pub(crate) fn is_graphql_login(&self, login: &str) -> bool {
        let bare = self.login.strip_suffix("[bot]").unwrap_or(&self.login);
        login.eq_ignore_ascii_case(bare) || login.eq_ignore_ascii_case(&self.login)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(login: &str, id: Option<u64>) -> User {
        User {
            login: login.to_owned(),
            id,
            kind: None,
        }
    }

    #[test]
    fn number_and_login_must_both_agree() {
        let app = Identity::new("reviewbot[bot]", Some(4242));
        assert!(app.is(Some(&user("ReviewBot[bot]", Some(4242)))));
        assert!(app.is(Some(&user("reviewbot[bot]", None))));
        assert!(!app.is(Some(&user("reviewbot[bot]", Some(1)))));
        assert!(!app.is(Some(&user("reviewbot", Some(4242)))));
        assert!(!app.is(None));
        assert!(Identity::of_app("reviewbot").is(Some(&user("reviewbot[bot]", Some(7)))));
        assert!(app.is_graphql_login("reviewbot"));
        assert!(!app.is_graphql_login("reviewbot2"));
    }
}
