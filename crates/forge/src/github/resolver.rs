//! Resolves threads, with a token for that alone.
//! <https://docs.github.com/graphql/reference/mutations#resolvereviewthread>
//!
//! GitHub lets an App resolve a thread only with `contents: write`, the right to push, which no other token
//! of this program has. So the token is made when there is something to resolve, goes to two calls, the
//! mutation and the one that revokes it, and is revoked also when the mutation failed.
//!
//! **Invariant:** nothing else in this crate takes a [`ResolveToken`], and nothing here is sent but those two
//! calls.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use mirilla_http::{Client, Method};
use mirilla_ports::forge::ForgeError;
use mirilla_ports::resolve::{ForgeResolve, Resolved};
use mirilla_ports::{Clock, Entropy};
use serde::Deserialize;
use serde_json::json;

use crate::error::{ApiError, CallError, Named};
use crate::gate::WriteGate;
use crate::github::GithubSettings;
use crate::github::api::{Api, Call, ResolveBearer};
use crate::refused::Refused;
use crate::resolving::goes_on;
use crate::token::{ResolveToken, TokenSource};

const MUTATION: &str = "mutation($t:ID!){resolveReviewThread(input:{threadId:$t}){\
    thread{id isResolved}}}";

/// How often a token is given back.
const REVOKE_TRIES: u32 = 2;

const RESOLVE: Named = Named {
    action: "resolve a thread",
    what: "the thread",
    writes: true,
};
const REVOKE: Named = Named {
    action: "revoke the token that resolves threads",
    what: "the token",
    writes: false,
};

/// Resolves threads of one repository.
pub struct GithubResolver {
    client: Client,
    settings: Arc<GithubSettings>,
    tokens: Arc<dyn TokenSource<ResolveToken>>,
    gate: Arc<WriteGate>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    revokes: bool,
}

impl GithubResolver {
    /// Prepares one; it calls nothing yet. `gate` is shared with the writers of the installation.
    pub fn new(
        client: Client,
        settings: Arc<GithubSettings>,
        tokens: Arc<dyn TokenSource<ResolveToken>>,
        gate: Arc<WriteGate>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self {
            client,
            settings,
            tokens,
            gate,
            clock,
            entropy,
            revokes: true,
        }
    }

    /// Leaves the token valid: it is the operator's own, and only an installation's token can be revoked.
    #[must_use]
    pub fn keeping_its_token(self) -> Self {
        Self {
            revokes: false,
            ..self
        }
    }

    fn api(&self, token: ResolveToken) -> Api {
        Api::new(
            self.client.clone(),
            Arc::clone(&self.settings),
            Arc::new(ResolveBearer(token)),
            Arc::clone(&self.clock),
            Arc::clone(&self.entropy),
        )
    }

    /// Resolves one thread, in its turn among all writes.
    async fn one(&self, api: &Api, thread: &str) -> Result<(), ForgeError> {
        let pass = match self.gate.enter(&*self.clock).await {
            Ok(pass) => pass,
            Err(after) => return Err(ForgeError::RateLimited { after }),
        };
        let done = api
            .mutate::<Done>(
                "POST /graphql (resolve a thread)",
                MUTATION,
                json!({ "t": thread }),
            )
            .await
            .and_then(Done::check);
        match done {
            Err(CallError::Refused(Refused::Limited(limit))) => {
                let after = pass.limited(limit, &*self.clock);
                Err(ForgeError::RateLimited { after })
            }
            done => {
                pass.done(&*self.clock);
                done.map_err(|error| error.into_forge(RESOLVE))
            }
        }
    }

    /// Gives the token back. Doing it twice is doing it once, so that a failure in passing is tried again.
    async fn revoke(&self, api: &Api) -> Option<ForgeError> {
        let url = api.url(&["installation", "token"]);
        let call = Call::new(Method::DELETE, "DELETE /installation/token", url);
        let mut failure = None;
        for _ in 0..REVOKE_TRIES {
            match api.write(&call).await {
                Ok(_answer) => return None,
                // It is not good for anything any more.
                Err(CallError::Refused(Refused::Unauthorized)) => return None,
                Err(error) => failure = Some(error.into_forge(REVOKE)),
            }
        }
        failure
    }
}

#[async_trait]
impl ForgeResolve for GithubResolver {
    async fn resolve_threads(&self, threads: &[&str]) -> Resolved {
        let mut said = Resolved::default();
        if threads.is_empty() {
            return said;
        }
        let api = match self.tokens.token(false).await {
            Ok(token) => self.api(token),
            Err(error) => {
                said.failed = threads.len();
                said.why = Some(CallError::Token(error).into_forge(RESOLVE));
                return said;
            }
        };
        let mut left = threads.len();
        for thread in threads {
            left = left.saturating_sub(1);
            if !goes_on(&mut said, self.one(&api, thread).await, left) {
                break;
            }
        }
        if self.revokes {
            said.not_revoked = self.revoke(&api).await;
        }
        said
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Done {
    resolve_review_thread: Option<Payload>,
}

#[derive(Deserialize)]
struct Payload {
    thread: Option<Thread>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread {
    is_resolved: bool,
}

impl Done {
    fn check(self) -> Result<(), CallError> {
        self.resolve_review_thread
            .and_then(|payload| payload.thread)
            .filter(|thread| thread.is_resolved)
            .map(drop)
            .ok_or(CallError::Answer(ApiError::Answer("resolved thread")))
    }
}

impl fmt::Debug for GithubResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GithubResolver")
            .field("revokes", &self.revokes)
            .finish_non_exhaustive()
    }
}
