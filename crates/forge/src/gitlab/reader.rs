//! The half that reads.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use mirilla_domain::ids::{
    Account, CommentId, CommitSha, PrNumber, PullRequestRef, RepoName, Timestamp,
};
use mirilla_domain::request::CommentPlace;
use mirilla_domain::snapshot::{PullRequest, StoredObject, TrustedFiles};
use mirilla_domain::thread::{Existing, ExistingThread};
use mirilla_ports::artifacts::ArtifactWriter;
use mirilla_ports::forge::{ChangeAuthors, FetchedDiff, ForgeError, ForgeRead, SaidComment};

use crate::error::CallError;
use crate::gitlab::api::Api;
use crate::gitlab::identity::{self, Identity, User};
use crate::gitlab::known::{Known, Project};
use crate::gitlab::place::Place;
use crate::gitlab::project_facts::{self, ProjectFacts};
use crate::gitlab::token_facts::{self, TokenFacts};
use crate::gitlab::version::{self, Features, Version};
use crate::gitlab::{archive, diff, existing, files, pull, said};

/// Reads the projects of a GitLab that a token may read.
#[derive(Clone)]
pub struct GitlabReader {
    api: Api,
    known: Arc<Known>,
    /// Whether its token is the one that writes: then our account is the one that our notes are of.
    writes: bool,
    /// What is read once for a job: who is new to a project does not change while a change is read.
    once: Arc<Mutex<Once>>,
}

#[derive(Debug, Default)]
struct Once {
    /// The projects that this reader was asked about.
    placed: BTreeSet<u64>,
    projects: HashMap<String, Project>,
    outsiders: HashMap<(u64, u64), bool>,
}

impl GitlabReader {
    /// Makes a reader; it calls nothing yet.
    pub(super) fn new(api: Api, known: Arc<Known>, writes: bool) -> Self {
        Self {
            api,
            known,
            writes,
            once: Arc::default(),
        }
    }

    /// Returns which account the token is of, asking GitLab at most once.
    pub async fn identity(&self) -> Result<&Identity, ForgeError> {
        let cell = if self.writes {
            &self.known.writer
        } else {
            &self.known.reader
        };
        cell.get_or_try_init(|| identity::ask(&self.api)).await
    }

    /// Returns which version it is, asking at most once.
    pub async fn version(&self) -> Result<Version, ForgeError> {
        self.known.version(&self.api).await
    }

    /// Asks what time it is there, by which what it signs is dated; `None` if it does not say.
    pub async fn server_time(&self) -> Result<Option<Timestamp>, ForgeError> {
        version::time(&self.api).await
    }

    /// Returns what it has, of what not all versions have.
    pub async fn features(&self) -> Result<Features, ForgeError> {
        self.known.features(&self.api).await
    }

    /// Returns what a project asks of its merge requests, and our account's role there.
    pub async fn project_facts(&self, project: &RepoName) -> Result<ProjectFacts, ForgeError> {
        project_facts::ask(&self.api, self.identity().await?, project).await
    }

    /// Returns what the token says of itself; from 15.5 on.
    pub async fn token_facts(&self) -> Result<TokenFacts, ForgeError> {
        token_facts::ask(&self.api).await
    }

    /// Returns a merge request by its project's name alone, for who was not told the project's number.
    pub async fn pull_request_named(
        &self,
        repo: &RepoName,
        pr: PrNumber,
    ) -> Result<PullRequest, ForgeError> {
        self.read(repo.as_str(), pr).await
    }

    /// Returns where a merge request is.
    pub(super) async fn place(&self, repo: &RepoName, pr: PrNumber) -> Result<Place, ForgeError> {
        let project = self.known.number(&self.api, repo).await?;
        self.lock().placed.insert(project);
        Ok(Place::new(project, pr))
    }

    /// Returns whether this reader was asked about a merge request's project.
    pub(super) fn has_placed(&self, at: Place) -> bool {
        self.lock().placed.contains(&at.project)
    }

    /// Reads a merge request of the project with a number or name.
    async fn read(&self, project: &str, pr: PrNumber) -> Result<PullRequest, ForgeError> {
        let read = async {
            let project = self.project(project).await?;
            let merge = pull::fetch(&self.api, Place::new(project.id, pr)).await?;
            let outsider = match merge.author() {
                Some(author) => self.is_outsider(project.id, author).await?,
                None => true,
            };
            merge.into_domain(&self.api, &project, pr, outsider).await
        };
        read.await
            .map_err(|error: CallError| error.into_forge(pull::NAMED))
    }

    async fn project(&self, which: &str) -> Result<Project, CallError> {
        let known = self.lock().projects.get(which).cloned();
        if let Some(project) = known {
            return Ok(project);
        }
        let project = self.known.project(&self.api, which).await?;
        self.lock()
            .projects
            .insert(which.to_owned(), project.clone());
        Ok(project)
    }

    async fn is_outsider(&self, project: u64, who: &User) -> Result<bool, CallError> {
        let key = (project, who.id);
        let known = self.lock().outsiders.get(&key).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let outsider = pull::is_outsider(&self.api, project, who).await?;
        self.lock().outsiders.insert(key, outsider);
        Ok(outsider)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Once> {
        self.once.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl ForgeRead for GitlabReader {
    fn calls_left(&self) -> Option<u64> {
        self.api.calls_left()
    }

    async fn pull_request(
        &self,
        _repo: &RepoName,
        id: &PullRequestRef,
    ) -> Result<PullRequest, ForgeError> {
        self.read(&id.repo.to_string(), id.pr).await
    }

    async fn diff(&self, pull_request: &PullRequest) -> Result<FetchedDiff, ForgeError> {
        let features = self.features().await?;
        diff::read(&self.api, features, pull_request).await
    }

    async fn files(
        &self,
        repo: &RepoName,
        rev: &str,
        paths: &[&str],
    ) -> Result<TrustedFiles, ForgeError> {
        let project = self.known.number(&self.api, repo).await?;
        files::read(&self.api, project, rev, paths).await
    }

    async fn archive(
        &self,
        repo: &RepoName,
        commit: &CommitSha,
        writer: Box<dyn ArtifactWriter>,
    ) -> Result<StoredObject, ForgeError> {
        let project = self.known.number(&self.api, repo).await?;
        archive::stream(&self.api, project, commit, writer).await
    }

    async fn existing(&self, repo: &RepoName, pr: PrNumber) -> Result<Existing, ForgeError> {
        let (us, at) = (self.identity().await?, self.place(repo, pr).await?);
        let has_drafts = self.writes && self.features().await?.draft_notes;
        existing::list(&self.api, us, at, has_drafts).await
    }

    async fn threads(
        &self,
        repo: &RepoName,
        pr: PrNumber,
    ) -> Result<Vec<ExistingThread>, ForgeError> {
        let (us, at) = (self.identity().await?, self.place(repo, pr).await?);
        existing::threads(&self.api, us, at).await
    }

    async fn comment(
        &self,
        repo: &RepoName,
        pr: PrNumber,
        _place: CommentPlace,
        id: CommentId,
    ) -> Result<SaidComment, ForgeError> {
        let (us, at) = (self.identity().await?, self.place(repo, pr).await?);
        said::comment(&self.api, us, at, id).await
    }

    async fn change_authors(
        &self,
        repo: &RepoName,
        pr: PrNumber,
    ) -> Result<ChangeAuthors, ForgeError> {
        let at = self.place(repo, pr).await?;
        said::change_authors(&self.api, at).await
    }

    async fn may_write(&self, repo: &RepoName, who: &Account) -> Result<bool, ForgeError> {
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
