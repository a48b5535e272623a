//! Tokens by what they may do, and where they come from.
//!
//! **Invariant:** nothing here prints a token, and no conversion leads from one kind to the other.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use mirilla_domain::cause::chain;
use mirilla_ports::NoToken;
use secrecy::SecretString;

/// A boxed cause.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

macro_rules! token {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name(SecretString);

        impl $name {
            /// Wraps a token that the operator gave: how far it reaches is the operator's choice.
            pub const fn plain(secret: SecretString) -> Self {
                Self(secret)
            }

            /// Wraps a token that a minter made for one repository and this use.
            ///
            /// Nothing is assumed about its length or shape: GitHub changes both.
            pub const fn minted(secret: SecretString) -> Self {
                Self(secret)
            }

            /// Returns the token, for the process that hands tokens to another one.
            pub const fn secret(&self) -> &SecretString {
                &self.0
            }

            pub(crate) fn into_secret(self) -> SecretString {
                self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(…)"))
            }
        }

        /// A plain token is its own source; there is no fresher one.
        #[async_trait]
        impl TokenSource<$name> for $name {
            async fn token(&self, fresh: bool) -> Result<$name, TokenError> {
                if fresh { Err(TokenError::NoFresh) } else { Ok(self.clone()) }
            }
        }
    };
}

token!(
    /// A token that is used for reads only.
    ReadToken
);
token!(
    /// A token that may also write comments and checks.
    WriteToken
);

token!(
    /// A token that may push, because that is what GitHub wants of whoever resolves a thread. Nothing but a
    /// [`crate::github::GithubResolver`] takes it.
    ResolveToken
);

/// Where a half gets its token from: the operator, a minter in this process, or one in another.
#[async_trait]
pub trait TokenSource<T>: Send + Sync {
    /// Returns a token; with `fresh`, one that is not the one returned before, because that one was
    /// refused.
    async fn token(&self, fresh: bool) -> Result<T, TokenError>;
}

impl From<&TokenError> for NoToken {
    /// Says why there is no token to the process that asked for one.
    fn from(error: &TokenError) -> Self {
        match error {
            TokenError::NotInstalled => Self::NotInstalled,
            TokenError::NotGranted => Self::NotGranted,
            TokenError::TooWide => Self::TooWide,
            error => Self::unavailable(chain(error)),
        }
    }
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The token was refused and its source has no other.
    #[error("there is no fresher token")]
    NoFresh,
    /// The App is not installed there (any more), its installation is suspended, or there is no App of
    /// the configured id.
    #[error(
        "the App is not installed for this repository, its installation is suspended, or its id is \
         wrong"
    )]
    NotInstalled,
    /// The installation was not given the permissions that the stage needs.
    #[error("the installation does not grant the permissions of this stage")]
    NotGranted,
    /// GitHub does not accept what the App's key signed.
    #[error("GitHub does not accept the App's id and key")]
    BadKey,
    /// The token that came back may do more than was asked for; it was thrown away.
    #[error("the minted token reaches further than was asked for")]
    TooWide,
    /// A limit of the forge.
    #[error("the forge limits requests; wait {} seconds", after.as_secs())]
    RateLimited {
        /// How long to wait.
        after: Duration,
    },
    /// The source cannot be reached or answers nonsense.
    #[error("no token can be had")]
    Unavailable {
        /// What broke.
        #[source]
        source: BoxError,
    },
}
