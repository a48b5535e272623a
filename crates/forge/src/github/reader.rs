//! The half that reads.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use mirilla_domain::ids::{Account, CommentId, CommitSha, PrNumber, PullRequestRef, RepoName};
use mirilla_domain::request::CommentPlace;
use mirilla_domain::snapshot::{PullRequest, StoredObject, TrustedFiles};
use mirilla_domain::thread::{Existing, ExistingThread};
use mirilla_http::Client;
use mirilla_ports::artifacts::ArtifactWriter;
use mirilla_ports::forge::{ChangeAuthors, FetchedDiff, ForgeError, ForgeRead, SaidComment};
use mirilla_ports::{Clock, Entropy};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::OnceCell;

use crate::error::Named;
use crate::github::api::{Api, ReadBearer};
use crate::github::identity::{Identity, Whoami};
use crate::github::{GithubSettings, archive, diff, existing, files, pull, said};
use crate::token::{ReadToken, TokenSource};

const WHO: Named = Named {
    action: "ask whose token it is",
    what: "the token's account",
    writes: false,
};

#[derive(Deserialize)]
struct Viewed {
    viewer: Viewer,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Viewer {
    login: String,
    database_id: u64,
}

/// Reads one repository of GitHub.
///
/// Calls of a collector's happy path: `pull_request` 1, `diff` 2 (the diff and, beside it, the merge
/// base), `archive` 2 (with its redirect), `files_and_pull_request` 1; with the token's mint, seven.
#[derive(Clone)]
pub struct GithubReader {
    api: Api,
    whoami: Whoami,
    asked: Arc<OnceCell<Identity>>,
}

impl GithubReader {
    /// Makes a reader; it calls nothing yet.
    pub fn new(
        client: Client,
        settings: Arc<GithubSettings>,
        tokens: Arc<dyn TokenSource<ReadToken>>,
        whoami: Whoami,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        let bearer = Arc::new(ReadBearer(tokens));
        Self::with_api(Api::new(client, settings, bearer, clock, entropy), whoami)
    }

    pub(crate) fn with_api(api: Api, whoami: Whoami) -> Self {
        Self {
            api,
            whoami,
            asked: Arc::default(),
        }
    }

    /// Returns which account is ours, asking GitHub at most once.
    pub async fn identity(&self) -> Result<&Identity, ForgeError> {
        match &self.whoami {
            Whoami::Known(identity) => Ok(identity),
            Whoami::Ask => self.asked.get_or_try_init(|| self.ask()).await,
        }
    }

    /// Returns a pull request by its repository's name alone, for who was not told the repository's number.
    pub async fn pull_request_named(
        &self,
        repo: &RepoName,
        pr: PrNumber,
    ) -> Result<PullRequest, ForgeError> {
        pull::read_named(&self.api, repo, pr).await
    }

    async fn ask(&self) -> Result<Identity, ForgeError> {
        // `GET /user` refuses an App's token; this answers every kind, an App as `slug[bot]`.
        let found: Viewed = self
            .api
            .query(
                "POST /graphql (viewer)",
                "query{viewer{login databaseId}}",
                json!({}),
            )
            .await
            .map_err(|error| error.into_forge(WHO))?;
        Ok(Identity::new(
            found.viewer.login,
            Some(found.viewer.database_id),
        ))
    }
}

#[async_trait]
impl ForgeRead for GithubReader {
    fn calls_left(&self) -> Option<u64> {
        self.api.calls_left()
    }

    async fn pull_request(
        &self,
        repo: &RepoName,
        id: &PullRequestRef,
    ) -> Result<PullRequest, ForgeError> {
        pull::read(&self.api, repo, *id).await
    }

    async fn diff(&self, pull_request: &PullRequest) -> Result<FetchedDiff, ForgeError> {
        diff::read(&self.api, pull_request, None).await
    }

    async fn diff_from(
        &self,
        pull_request: &PullRequest,
        merge_base: &CommitSha,
    ) -> Result<FetchedDiff, ForgeError> {
        diff::read(&self.api, pull_request, Some(merge_base)).await
    }

    async fn files(
        &self,
        repo: &RepoName,
        rev: &str,
        paths: &[&str],
    ) -> Result<TrustedFiles, ForgeError> {
        files::read(&self.api, repo, rev, paths).await
    }

    async fn files_and_pull_request(
        &self,
        pull_request: &PullRequest,
        rev: &str,
        paths: &[&str],
    ) -> Result<(TrustedFiles, PullRequest), ForgeError> {
        files::read_both(&self.api, rev, paths, pull_request).await
    }

    async fn archive(
        &self,
        repo: &RepoName,
        commit: &CommitSha,
        writer: Box<dyn ArtifactWriter>,
    ) -> Result<StoredObject, ForgeError> {
        archive::stream(&self.api, repo, commit, writer).await
    }

    async fn existing(&self, repo: &RepoName, pr: PrNumber) -> Result<Existing, ForgeError> {
        let us = self.identity().await?;
        existing::list(&self.api, us, repo, pr).await
    }

    async fn threads(
        &self,
        repo: &RepoName,
        pr: PrNumber,
    ) -> Result<Vec<ExistingThread>, ForgeError> {
        let us = self.identity().await?;
        existing::threads(&self.api, us, repo, pr).await
    }

    async fn comment(
        &self,
        repo: &RepoName,
        _pr: PrNumber,
        place: CommentPlace,
        id: CommentId,
    ) -> Result<SaidComment, ForgeError> {
        let us = self.identity().await?;
        said::comment(&self.api, us, repo, (place, id)).await
    }

    async fn change_authors(
        &self,
        repo: &RepoName,
        pr: PrNumber,
    ) -> Result<ChangeAuthors, ForgeError> {
        said::change_authors(&self.api, repo, pr).await
    }

    async fn may_write(&self, repo: &RepoName, who: &Account) -> Result<bool, ForgeError> {
        said::may_write(&self.api, repo, who).await
    }
}

impl fmt::Debug for GithubReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GithubReader")
            .field("api", &self.api)
            .finish_non_exhaustive()
    }
}
