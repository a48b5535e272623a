//! Which account is ours.

use mirilla_domain::ids::Account;
use serde::Deserialize;

/// Our account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    id: u64,
}

/// An account in an answer.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct User {
    pub(crate) id: u64,
    pub(crate) username: String,
    #[serde(default)]
    bot: bool,
}

impl User {
    pub(crate) fn is_bot(&self) -> bool {
        self.bot || Account::parse(&self.username).is_ok_and(|name| name.is_bot())
    }
}

impl Identity {
    pub(crate) const fn new(id: u64) -> Self {
        Self { id }
    }

    /// Returns whether an account of an answer is ours: by its number, because names are given anew.
    pub(crate) fn is(&self, user: Option<&User>) -> bool {
        user.is_some_and(|user| user.id == self.id)
    }
}
