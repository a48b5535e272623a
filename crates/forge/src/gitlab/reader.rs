//! The half that reads.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use mirilla_domain::ids::{Account, CommentId, PrNumber, RepoName};
use mirilla_domain::request::CommentPlace;
use mirilla_domain::thread::{Existing, ExistingThread};
use mirilla_ports::forge::{ChangeAuthors, ForgeError, SaidComment};
use tokio::sync::OnceCell;

use crate::error::Named;
use crate::gitlab::api::{Api, Call};
use crate::gitlab::identity::{Identity, User};
use crate::gitlab::place::Place;
use crate::gitlab::project::Known;
use crate::gitlab::version::Features;
use crate::gitlab::{existing, said};

const WHO: Named = Named {
    action: "ask whose token it is",
    what: "the token's account",
    writes: false,
};

/// Reads projects of GitLab.
#[derive(Clone)]
pub struct GitlabReader {
    api: Api,
    known: Arc<Known>,
    asked: Arc<OnceCell<Identity>>,
    /// The projects that this reader was asked about.
    placed: Arc<Mutex<BTreeSet<u64>>>,
}

impl GitlabReader {
    pub(super) fn with_api(api: Api, known: Arc<Known>) -> Self {
        Self {
            api,
            known,
            asked: Arc::default(),
            placed: Arc::default(),
        }
    }

    /// Returns which account is ours, asking GitLab at most once.
    pub async fn identity(&self) -> Result<&Identity, ForgeError> {
        self.asked.get_or_try_init(|| self.ask()).await
    }

    async fn ask(&self) -> Result<Identity, ForgeError> {
        let call = Call::get("GET /user", self.api.url(&["user"]));
        let user: User = self
            .api
            .read_json(&call)
            .await
            .map_err(|error| error.into_forge(WHO))?;
        Ok(Identity::new(user.id))
    }

    pub(super) async fn features(&self) -> Result<Features, ForgeError> {
        self.known.features(&self.api).await
    }

    /// Returns where a merge request is.
    pub(super) async fn place(&self, repo: &RepoName, pr: PrNumber) -> Result<Place, ForgeError> {
        let project = self.known.number(&self.api, repo).await?;
        let mut placed = self.placed.lock().unwrap_or_else(PoisonError::into_inner);
        placed.insert(project);
        Ok(Place::new(project, pr))
    }

    /// Returns whether this reader was asked about a merge request's project.
    pub(super) fn has_placed(&self, at: Place) -> bool {
        let placed = self.placed.lock().unwrap_or_else(PoisonError::into_inner);
        placed.contains(&at.project)
    }

    /// Returns everything that stands on a merge request.
    pub async fn existing(&self, repo: &RepoName, pr: PrNumber) -> Result<Existing, ForgeError> {
        let at = self.place(repo, pr).await?;
        let us = self.identity().await?;
        let has_drafts = self.features().await?.draft_notes;
        existing::list(&self.api, us, at, has_drafts).await
    }

    /// Returns the threads alone.
    pub async fn threads(
        &self,
        repo: &RepoName,
        pr: PrNumber,
    ) -> Result<Vec<ExistingThread>, ForgeError> {
        let at = self.place(repo, pr).await?;
        existing::threads(&self.api, self.identity().await?, at).await
    }

    /// Returns one comment.
    pub async fn comment(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        _place: CommentPlace,
        id: CommentId,
    ) -> Result<SaidComment, ForgeError> {
        let at = self.place(repo, pr).await?;
        said::comment(&self.api, self.identity().await?, at, id).await
    }

    /// Returns who wrote the change.
    pub async fn change_authors(
        &self,
        repo: &RepoName,
        pr: PrNumber,
    ) -> Result<ChangeAuthors, ForgeError> {
        said::change_authors(&self.api, self.place(repo, pr).await?).await
    }

    /// Returns whether somebody may write.
    pub async fn may_write(&self, repo: &RepoName, who: &Account) -> Result<bool, ForgeError> {
        let project = self.known.number(&self.api, repo).await?;
        said::may_write(&self.api, project, who).await
    }
}

impl fmt::Debug for GitlabReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitlabReader")
            .field("api", &self.api)
            .finish_non_exhaustive()
    }
}
