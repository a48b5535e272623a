//! Why something could not be done to a stack, and what to do about it.

use std::fmt;

use aws_sdk_cloudformation::error::{ProvideErrorMetadata, SdkError};

/// How much of AWS's own words is kept.
const MAX_WORDS: usize = 400;

/// Codes with which AWS says that credentials are no good (any more).
const BAD_CREDENTIALS: &[&str] = &[
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidClientTokenId",
    "InvalidAccessKeyId",
    "InvalidSignatureException",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
];

/// Codes with which AWS says that somebody may not do something.
const DENIED: &[&str] = &[
    "AccessDenied",
    "AccessDeniedException",
    "UnauthorizedOperation",
    "AuthorizationError",
    "AuthorizationErrorException",
];

/// A boxed cause.
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StackError {
    /// Nothing says which region.
    #[error("no AWS region is set")]
    NoRegion,
    /// Nothing holds credentials.
    #[error(
        "there are no AWS credentials in the environment, in a profile, or from a role of this machine"
    )]
    NoCredentials,
    /// Something is to hold credentials, and they cannot be had from it.
    #[error("the AWS credentials that are set up cannot be used")]
    UnusableCredentials(#[source] BoxError),
    /// There is no such stack.
    #[error("there is no stack `{stack}` in {region}")]
    NoStack {
        /// The stack's name.
        stack: String,
        /// The region that was asked.
        region: String,
    },
    /// The stack lacks an output.
    #[error("the stack `{stack}` has no output {output}")]
    NoOutput {
        /// The stack's name.
        stack: String,
        /// The output.
        output: &'static str,
    },
    /// A call to AWS failed.
    #[error("could not {action}")]
    Call {
        /// What was tried: `read the webhook secret`.
        action: String,
        /// Which kind of failure.
        reason: Reason,
        /// What AWS said.
        #[source]
        cause: Said,
    },
    /// AWS answered something that cannot be used.
    #[error("AWS answered without {0}")]
    Answer(&'static str),
}

/// Which kind of failure a call met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// These credentials may not do that.
    Denied,
    /// The credentials are not known, or have expired.
    Credentials,
    /// AWS was not reached.
    Unreachable,
    /// What was asked for is not there.
    Missing,
    /// KMS keeps other key material under this key, and will for good.
    OtherMaterial,
    /// Anything else.
    Other,
}

/// What AWS said: its code and, where that cannot hold a secret, its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The code, such as `AccessDeniedException`.
    pub code: String,
    words: String,
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.code)?;
        if !self.words.is_empty() {
            write!(f, ": {}", self.words)?;
        }
        Ok(())
    }
}

impl std::error::Error for Said {}

impl StackError {
    /// Says what to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::NoRegion => {
                "set AWS_REGION, or `region` in the profile that AWS_PROFILE names".to_owned()
            }
            Self::NoCredentials | Self::UnusableCredentials(_) => CREDENTIALS_HINT.to_owned(),
            Self::NoStack { region, .. } => format!(
                "`aws cloudformation list-stacks --region {region}` lists the stacks; AWS_REGION chooses another region, AWS_PROFILE another account"
            ),
            Self::NoOutput { .. } => {
                "deploy the template of this version of Mirilla, then try again".to_owned()
            }
            Self::Call { reason, cause, .. } => match reason {
                Reason::Denied => {
                    "your AWS user or role lacks a right; use one that may administer the stack"
                        .to_owned()
                }
                Reason::Credentials => CREDENTIALS_HINT.to_owned(),
                Reason::Unreachable => {
                    "check the network, AWS_REGION and, if it is set, AWS_ENDPOINT_URL".to_owned()
                }
                Reason::Missing => {
                    "it was deleted by hand, perhaps: deploy the stack again".to_owned()
                }
                Reason::OtherMaterial => {
                    "a key in KMS takes the material of one private key and never of another"
                        .to_owned()
                }
                Reason::Other => format!("AWS says {}; try again, or look that up", cause.code),
            },
            Self::Answer(_) => {
                "try again; if it stays, this version of Mirilla is too old".to_owned()
            }
        }
    }

    /// Returns the kind of failure, of a call that failed.
    pub const fn reason(&self) -> Option<Reason> {
        match self {
            Self::Call { reason, .. } => Some(*reason),
            _ => None,
        }
    }

    /// Returns whether these credentials may not do what was tried.
    pub fn is_denied(&self) -> bool {
        self.reason() == Some(Reason::Denied)
    }

    /// Says how a call failed, with AWS's words.
    pub(crate) fn call<E, R>(action: impl Into<String>, error: &SdkError<E, R>) -> Self
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
        R: fmt::Debug,
    {
        let words = error.message().unwrap_or_default();
        Self::said(action, error, words)
    }

    /// Says how a call that carried a secret failed: without AWS's words, which may repeat it.
    pub(crate) fn secret_call<E, R>(action: impl Into<String>, error: &SdkError<E, R>) -> Self
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
        R: fmt::Debug,
    {
        Self::said(action, error, "")
    }

    fn said<E, R>(action: impl Into<String>, error: &SdkError<E, R>, words: &str) -> Self
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
        R: fmt::Debug,
    {
        let (reason, code) = match error {
            SdkError::ConstructionFailure(_) => (Reason::Other, "an unusable request"),
            SdkError::TimeoutError(_) => (Reason::Unreachable, "no answer in time"),
            SdkError::DispatchFailure(_) => (Reason::Unreachable, "no connection"),
            SdkError::ResponseError(_) => (Reason::Other, "an unreadable answer"),
            _ => {
                let code = error.code().unwrap_or("an error without a code");
                (reason_of(code), code)
            }
        };
        Self::Call {
            action: action.into(),
            reason,
            cause: Said {
                code: plain(code),
                words: plain(words),
            },
        }
    }
}

const CREDENTIALS_HINT: &str = "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; where you sign in with a browser, run `aws sso login`, \
     then: eval \"$(aws configure export-credentials --format env)\"";

fn reason_of(code: &str) -> Reason {
    if DENIED.contains(&code) {
        Reason::Denied
    } else if BAD_CREDENTIALS.contains(&code) {
        Reason::Credentials
    } else if code == "IncorrectKeyMaterialException" {
        Reason::OtherMaterial
    } else if code.contains("NotFound") || code.contains("NonExistent") {
        Reason::Missing
    } else {
        Reason::Other
    }
}

fn plain(text: &str) -> String {
    text.chars()
        .take(MAX_WORDS)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_by_what_to_do() {
        for (code, reason) in [
            ("AccessDeniedException", Reason::Denied),
            ("ExpiredTokenException", Reason::Credentials),
            ("ResourceNotFoundException", Reason::Missing),
            ("AWS.SimpleQueueService.NonExistentQueue", Reason::Missing),
            ("IncorrectKeyMaterialException", Reason::OtherMaterial),
            ("ThrottlingException", Reason::Other),
        ] {
            assert_eq!(reason_of(code), reason, "{code}");
        }
    }

    #[test]
    fn words_of_aws_are_cut_and_hold_no_control_characters() {
        let said = Said {
            code: plain("X"),
            words: plain(&format!("a\u{1b}[2J\n{}", "b".repeat(1000))),
        };
        let text = said.to_string();
        assert!(!text.contains('\u{1b}') && text.len() < 420, "{text}");
    }
}
