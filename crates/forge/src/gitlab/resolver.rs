//! Resolves threads, with the token that writes notes: GitLab asks for no other right than that of a developer.
//! <https://docs.gitlab.com/api/discussions/#resolve-a-merge-request-thread>
//!
//! **Invariant:** only threads of the merge request that this writer was asked about are touched: a name of another
//! shape, or of another project, is refused without a call.

use async_trait::async_trait;
use mirilla_http::Method;
use mirilla_ports::forge::{ForgeError, Refusal};
use mirilla_ports::resolve::{ForgeResolve, Resolved};
use serde::Deserialize;
use serde_json::json;

use crate::error::{ApiError, CallError, Named};
use crate::gitlab::api::Call;
use crate::gitlab::existing::Note;
use crate::gitlab::place::Place;
use crate::gitlab::writer::GitlabWriter;
use crate::resolving::goes_on;

const RESOLVE: Named = Named {
    action: "resolve a thread",
    what: "the thread",
    writes: true,
};

#[derive(Deserialize)]
struct Discussion {
    #[serde(default)]
    notes: Vec<Note>,
}

#[async_trait]
impl ForgeResolve for GitlabWriter {
    async fn resolve_threads(&self, threads: &[&str]) -> Resolved {
        let mut said = Resolved::default();
        let mut left = threads.len();
        for thread in threads {
            left = left.saturating_sub(1);
            if !goes_on(&mut said, self.resolve(thread).await, left) {
                break;
            }
        }
        said
    }
}

impl GitlabWriter {
    async fn resolve(&self, thread: &str) -> Result<(), ForgeError> {
        let named = Place::of_thread(thread).filter(|(at, _)| self.reader.has_placed(*at));
        let Some((at, discussion)) = named else {
            return Err(ForgeError::Unprocessable {
                what: RESOLVE.what,
                reason: Refusal::Other,
            });
        };
        let call = Call::new(
            Method::PUT,
            "PUT /projects/{id}/merge_requests/{iid}/discussions/{discussion}",
            at.url(&self.api, &["discussions", discussion]),
        )
        .json(&json!({ "resolved": true }));
        let answer = self.write(&call).await;
        let done: Result<Discussion, _> = answer.and_then(|answer| answer.json());
        done.and_then(Discussion::check)
            .map_err(|error| error.into_forge(RESOLVE))
    }
}

impl Discussion {
    fn check(self) -> Result<(), CallError> {
        let open = |note: &Note| note.resolvable && !note.resolved;
        if self.notes.is_empty() || self.notes.iter().any(open) {
            return Err(CallError::Answer(ApiError::Answer("resolved thread")));
        }
        Ok(())
    }
}
