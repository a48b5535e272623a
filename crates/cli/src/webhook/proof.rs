//! What a receiver believes a webhook by: the headers that a forge sends.

use std::fmt;

use mirilla_domain::ids::Forge;
use mirilla_domain::webhook::{WebhookSecret, sign_github, sign_gitlab};
use mirilla_http::HeaderName;
use mirilla_ports::Clock as _;
use mirilla_system::SystemClock;

/// The secrets that a webhook is sent with.
#[derive(Clone)]
pub(crate) enum Proof {
    /// GitHub's.
    Github(WebhookSecret),
    /// GitLab's: what is set of the two is sent.
    Gitlab {
        /// Sent as it is.
        token: Option<String>,
        /// What the signature is made with.
        signing: Option<WebhookSecret>,
    },
}

impl fmt::Debug for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proof({:?})", self.forge())
    }
}

impl Proof {
    /// Returns whose webhooks look so.
    pub(crate) const fn forge(&self) -> Forge {
        match self {
            Self::Github(_) => Forge::Github,
            Self::Gitlab { .. } => Forge::Gitlab,
        }
    }

    /// Returns the headers that go with a body.
    pub(crate) fn headers(
        &self,
        event: &str,
        delivery: &str,
        body: &[u8],
    ) -> Vec<(HeaderName, String)> {
        let named =
            |name: &'static str, value: &str| (HeaderName::from_static(name), value.to_owned());
        match self {
            Self::Github(secret) => vec![
                named("x-github-event", event),
                named("x-github-delivery", delivery),
                named("x-hub-signature-256", &sign_github(secret, body)),
            ],
            Self::Gitlab { token, signing } => {
                let stamp = SystemClock.now().get() / 1_000;
                let mut headers = vec![
                    named("x-gitlab-event", event),
                    named("idempotency-key", delivery),
                    named("webhook-id", delivery),
                    named("webhook-timestamp", &stamp.to_string()),
                ];
                headers.extend(token.as_deref().map(|token| named("x-gitlab-token", token)));
                headers.extend(signing.as_ref().map(|key| {
                    let signature = sign_gitlab(key, delivery, stamp, body);
                    named("webhook-signature", &signature)
                }));
                headers
            }
        }
    }
}
