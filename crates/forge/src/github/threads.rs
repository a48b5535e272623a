//! Threads of line comments: only GraphQL knows who resolved them.

use mirilla_domain::ids::{CommentId, PrNumber, RepoName};
use mirilla_domain::thread::ExistingThread;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::CallError;
use crate::github::api::{Api, End, MAX_PAGES};
use crate::github::identity::Identity;
use crate::refused::Refused;

const QUERY: &str = "query($o:String!,$r:String!,$n:Int!,$c:String){repository(owner:$o,name:$r){\
    pullRequest(number:$n){reviewThreads(first:100,after:$c){pageInfo{hasNextPage endCursor} \
    nodes{id isResolved isOutdated resolvedBy{login} \
    comments(first:50){totalCount nodes{fullDatabaseId}}}}}}}";

#[derive(Deserialize)]
struct Data {
    repository: Option<Repository>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Repository {
    pull_request: Option<Pull>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pull {
    review_threads: Threads,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Threads {
    page_info: PageInfo,
    nodes: Vec<Option<Thread>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_next_page: bool,
    end_cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread {
    id: String,
    is_resolved: bool,
    #[serde(default)]
    is_outdated: bool,
    resolved_by: Option<Account>,
    comments: Comments,
}

#[derive(Deserialize)]
struct Account {
    login: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Comments {
    total_count: usize,
    nodes: Vec<Option<Comment>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Comment {
    full_database_id: Option<BigInt>,
}

/// GraphQL writes numbers that may pass 2⁵³ as text.
#[derive(Deserialize)]
#[serde(untagged)]
enum BigInt {
    Number(u64),
    Text(String),
}

impl BigInt {
    fn get(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.parse().ok(),
        }
    }
}

/// Lists the threads of a pull request, up to the bound on pages.
pub(crate) async fn list(
    api: &Api,
    us: &Identity,
    repo: &RepoName,
    pr: PrNumber,
) -> Result<(Vec<ExistingThread>, End), CallError> {
    let mut items = Vec::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let variables: Value =
            json!({ "o": repo.owner(), "r": repo.name(), "n": pr.get(), "c": cursor });
        let data: Data = api
            .query("POST /graphql (threads)", QUERY, variables)
            .await?;
        let threads = data
            .repository
            .and_then(|repository| repository.pull_request)
            .ok_or(CallError::Refused(Refused::NotFound))?
            .review_threads;
        items.extend(
            threads
                .nodes
                .into_iter()
                .flatten()
                .map(|t| t.into_domain(us)),
        );
        if !threads.page_info.has_next_page {
            return Ok((items, End::Reached));
        }
        cursor = threads.page_info.end_cursor;
    }
    Ok((items, End::Cut))
}

impl Thread {
    fn into_domain(self, us: &Identity) -> ExistingThread {
        let comments: Vec<CommentId> = self
            .comments
            .nodes
            .iter()
            .flatten()
            .filter_map(|comment| comment.full_database_id.as_ref()?.get())
            .map(CommentId::new)
            .collect();
        let resolved_by = self.resolved_by.map(|account| account.login);
        ExistingThread {
            id: self.id,
            complete: comments.len() == self.comments.total_count,
            comments,
            resolved: self.is_resolved,
            resolved_by_us: self.is_resolved
                && resolved_by
                    .as_deref()
                    .is_some_and(|login| us.is_graphql_login(login)),
            resolved_by,
            outdated: self.is_outdated,
        }
    }
}
