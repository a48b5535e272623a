//! The forge that a host is on, as its people use it: one set of words for GitHub and for every GitLab.

use std::fmt;

use mirilla_domain::ids::Forge;
use mirilla_sim::{
    Access, AccountKind, AppOptions, Commit, Fault, Github, Gitlab, GitlabFeature, GitlabOptions,
    GitlabVersion, HookOptions, InstallOptions, OpenMerge, OpenPull, ProjectOptions, RepoOptions,
    Role, Sim, WebhookDelivery,
};

/// Where a test takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Github,
    Gitlab(GitlabVersion),
}

impl Place {
    /// Every place that is played, in the order of a table.
    pub(crate) fn all() -> Vec<Self> {
        let versions = GitlabVersion::PLAYED.into_iter().map(Self::Gitlab);
        std::iter::once(Self::Github).chain(versions).collect()
    }

    pub(crate) const fn forge(self) -> Forge {
        match self {
            Self::Github => Forge::Github,
            Self::Gitlab(_) => Forge::Gitlab,
        }
    }

    /// The repository of every test; on GitLab it is in a subgroup.
    pub(crate) const fn repo(self) -> &'static str {
        match self {
            Self::Github => super::REPO,
            Self::Gitlab(_) => "acme/web/shop",
        }
    }

    /// What the simulated GitLab is to be.
    pub(crate) fn gitlab_options(self) -> GitlabOptions {
        match self {
            Self::Github => GitlabOptions::default(),
            Self::Gitlab(version) => GitlabOptions::of(version),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Github => f.write_str("GitHub"),
            Self::Gitlab(version) => write!(f, "{version}"),
        }
    }
}

/// A webhook as it was sent.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Whether it is about the pull request itself, and not about what somebody said.
    pub(crate) about_pull: bool,
}

impl From<&WebhookDelivery> for Sent {
    fn from(delivery: &WebhookDelivery) -> Self {
        Self {
            headers: delivery.headers.clone(),
            body: delivery.body.clone(),
            about_pull: delivery.event == "pull_request",
        }
    }
}

/// Something that stands on a line, or answers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) id: u64,
    pub(crate) by: String,
    pub(crate) path: String,
    /// Where it was written.
    pub(crate) line: Option<u64>,
    pub(crate) body: String,
}

/// A thread on a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thread {
    pub(crate) said: Vec<Said>,
    pub(crate) resolved_by: Option<String>,
}

/// The account under which the host writes on GitLab.
const BOT: &str = "mirilla";
/// What comes with every webhook of the simulated GitLab. Made up.
pub(crate) const HOOK_TOKEN: &str = "made-up-hook-token-of-the-stages";

/// The simulated forge of a host.
#[derive(Debug, Clone)]
pub(crate) struct Town {
    pub(crate) place: Place,
    pub(crate) repo: String,
    github: Github,
    gitlab: Gitlab,
}

impl Town {
    /// Founds a repository that the host looks after; returns it with the App's installation, where there are Apps.
    pub(crate) fn found(sim: &Sim, place: Place) -> (Self, u64) {
        let town = Self {
            place,
            repo: place.repo().to_owned(),
            github: sim.github().clone(),
            gitlab: sim.gitlab().clone(),
        };
        let installation = match place {
            Place::Github => {
                let github = &town.github;
                github.add_account("acme", AccountKind::Organization);
                github.add_member("acme", "dana");
                let options = RepoOptions::default();
                github.create_repo(&town.repo, &options).unwrap();
                github.install("acme", InstallOptions::default()).unwrap()
            }
            Place::Gitlab(_) => {
                let gitlab = &town.gitlab;
                let options = ProjectOptions::default();
                gitlab.create_project(&town.repo, &options).unwrap();
                for (who, access) in [("dana", Access::Reporter), (BOT, Access::Developer)] {
                    gitlab.add_member(&town.repo, who, access).unwrap();
                }
                let hook = HookOptions {
                    token: Some(HOOK_TOKEN.to_owned()),
                    signing_token: None,
                };
                gitlab.set_hook(&town.repo, hook).unwrap();
                0
            }
        };
        (town, installation)
    }

    /// The account under which the host writes.
    pub(crate) fn bot(&self) -> String {
        match self.place {
            Place::Github => self.github.bot(),
            Place::Gitlab(_) => BOT.to_owned(),
        }
    }

    /// Whether the forge sends a number of changes as one notification, and not one each.
    pub(crate) fn has_drafts(&self) -> bool {
        match self.place {
            Place::Github => true,
            Place::Gitlab(version) => version.has(GitlabFeature::DraftNotes),
        }
    }

    pub(crate) fn repo_id(&self) -> u64 {
        match self.place {
            Place::Github => self.github.repo_id(&self.repo).unwrap(),
            Place::Gitlab(_) => self.gitlab.project_id(&self.repo).unwrap(),
        }
    }

    pub(crate) fn tip(&self, branch: &str) -> String {
        match self.place {
            Place::Github => self.github.tip(&self.repo, branch).unwrap(),
            Place::Gitlab(_) => self.gitlab.tip(&self.repo, branch).unwrap(),
        }
    }

    pub(crate) fn commit(&self, branch: &str, commit: &Commit) -> String {
        self.commit_to(&self.repo, branch, commit)
    }

    /// Commits to a branch of another repository, such as a fork.
    pub(crate) fn commit_to(&self, repo: &str, branch: &str, commit: &Commit) -> String {
        match self.place {
            Place::Github => self.github.commit(repo, branch, commit).unwrap(),
            Place::Gitlab(_) => self.gitlab.commit(repo, branch, commit).unwrap(),
        }
    }

    /// Writes a commit that no branch has yet.
    pub(crate) fn write_commit(&self, parents: &[&str], commit: &Commit) -> String {
        match self.place {
            Place::Github => self
                .github
                .write_commit(&self.repo, parents, commit)
                .unwrap(),
            Place::Gitlab(_) => self
                .gitlab
                .write_commit(&self.repo, parents, commit)
                .unwrap(),
        }
    }

    /// Points a branch at a commit, by force if need be.
    pub(crate) fn push(&self, branch: &str, sha: &str, by: &str) {
        match self.place {
            Place::Github => self.github.push(&self.repo, branch, sha, by).unwrap(),
            Place::Gitlab(_) => self.gitlab.push(&self.repo, branch, sha, by).unwrap(),
        }
    }

    pub(crate) fn open(&self, pull: OpenPull) -> u64 {
        match self.place {
            Place::Github => self.github.open_pull(&self.repo, pull).unwrap(),
            Place::Gitlab(version) => {
                let (author, draft) = (pull.author.clone(), pull.draft);
                let open = OpenMerge {
                    title: pull.title,
                    description: pull.body,
                    target: pull.base,
                    source: pull.head,
                    from: pull.from,
                    author: pull.author,
                };
                let open = if draft {
                    let mark = if version.has(GitlabFeature::DraftPrefix) {
                        "Draft"
                    } else {
                        "WIP"
                    };
                    let title = format!("{mark}: {}", open.title);
                    OpenMerge { title, ..open }
                } else {
                    open
                };
                let known = self.gitlab.user_id(&author);
                assert!(known > 0, "{author} has a number");
                self.gitlab.open_merge(&self.repo, open).unwrap()
            }
        }
    }

    pub(crate) fn set_draft(&self, pr: u64, draft: bool, by: &str) {
        match self.place {
            Place::Github => self.github.set_draft(&self.repo, pr, draft, by).unwrap(),
            Place::Gitlab(_) => self.gitlab.set_draft(&self.repo, pr, draft, by).unwrap(),
        }
    }

    pub(crate) fn close(&self, pr: u64, by: &str) {
        match self.place {
            Place::Github => self.github.close(&self.repo, pr, by).unwrap(),
            Place::Gitlab(_) => self.gitlab.close(&self.repo, pr, by).unwrap(),
        }
    }

    pub(crate) fn reopen(&self, pr: u64, by: &str) {
        match self.place {
            Place::Github => self.github.reopen(&self.repo, pr, by).unwrap(),
            Place::Gitlab(_) => self.gitlab.reopen(&self.repo, pr, by).unwrap(),
        }
    }

    pub(crate) fn retarget(&self, pr: u64, base: &str, by: &str) {
        match self.place {
            Place::Github => self.github.retarget(&self.repo, pr, base, by).unwrap(),
            Place::Gitlab(_) => self.gitlab.retarget(&self.repo, pr, base, by).unwrap(),
        }
    }

    /// Forks the repository to somebody's own account; returns the fork's name.
    pub(crate) fn fork(&self, owner: &str) -> String {
        match self.place {
            Place::Github => self.github.fork(&self.repo, owner).unwrap(),
            Place::Gitlab(_) => self.gitlab.fork(&self.repo, owner).unwrap(),
        }
    }

    pub(crate) fn delete(&self, repo: &str) {
        match self.place {
            Place::Github => self.github.delete_repo(repo).unwrap(),
            Place::Gitlab(_) => self.gitlab.delete_project(repo).unwrap(),
        }
    }

    /// Gives the repository another name, as its owner may at any time.
    pub(crate) fn rename(&mut self) {
        let renamed = format!("{}-renamed", self.repo);
        match self.place {
            Place::Github => self.github.rename_repo(&self.repo, &renamed).unwrap(),
            Place::Gitlab(_) => self.gitlab.move_project(&self.repo, &renamed).unwrap(),
        }
        self.repo = renamed;
    }

    pub(crate) fn let_write(&self, who: &str) {
        match self.place {
            Place::Github => self.github.set_role(&self.repo, who, Role::Write).unwrap(),
            Place::Gitlab(_) => self
                .gitlab
                .add_member(&self.repo, who, Access::Developer)
                .unwrap(),
        }
    }

    /// Says something on the pull request as a whole; returns the comment.
    pub(crate) fn comment(&self, pr: u64, by: &str, body: &str) -> u64 {
        match self.place {
            Place::Github => self.github.comment(&self.repo, pr, by, body).unwrap(),
            Place::Gitlab(_) => self.gitlab.comment(&self.repo, pr, by, body).unwrap(),
        }
    }

    /// Answers in a thread; returns the answer.
    pub(crate) fn reply(&self, pr: u64, to: u64, by: &str, body: &str) -> u64 {
        match self.place {
            Place::Github => self.github.reply(&self.repo, to, by, body).unwrap(),
            Place::Gitlab(_) => self.gitlab.reply(&self.repo, pr, to, by, body).unwrap(),
        }
    }

    pub(crate) fn resolve(&self, pr: u64, comment: u64, by: &str) {
        match self.place {
            Place::Github => self.github.resolve_thread(&self.repo, comment, by).unwrap(),
            Place::Gitlab(_) => self
                .gitlab
                .resolve_thread(&self.repo, pr, comment, by)
                .unwrap(),
        }
    }

    pub(crate) fn edit(&self, pr: u64, comment: u64, by: &str, body: &str) {
        match self.place {
            Place::Github => self
                .github
                .edit_comment(&self.repo, comment, by, body)
                .unwrap(),
            Place::Gitlab(_) => self
                .gitlab
                .edit_note(&self.repo, pr, comment, by, body)
                .unwrap(),
        }
    }

    /// Takes the webhooks that were sent since.
    pub(crate) fn sent(&self) -> Vec<Sent> {
        match self.place {
            Place::Github => self
                .github
                .take_deliveries()
                .iter()
                .map(Sent::from)
                .collect(),
            Place::Gitlab(_) => self
                .gitlab
                .take_deliveries()
                .into_iter()
                .map(|delivery| Sent {
                    about_pull: delivery.event == "Merge Request Hook",
                    headers: delivery.headers,
                    body: delivery.body,
                })
                .collect(),
        }
    }

    /// The texts of our reviews, oldest first.
    pub(crate) fn bodies(&self, pr: u64) -> Vec<String> {
        match self.place {
            Place::Github => {
                let reviews = self.github.reviews(&self.repo, pr).unwrap();
                reviews.into_iter().map(|review| review.body).collect()
            }
            Place::Gitlab(_) => {
                let page = self.gitlab.merge_request_page(&self.repo, pr).unwrap();
                assert_eq!(page.drafts, [], "nothing is left unpublished");
                page.discussions
                    .into_iter()
                    .filter(|one| one.notes.iter().all(|note| note.place.is_none()))
                    .flat_map(|one| one.notes)
                    .filter(|note| note.author == BOT && !note.system)
                    .map(|note| note.body)
                    .collect()
            }
        }
    }

    /// What was said on the pull request as a whole, in order: who, and what.
    pub(crate) fn conversation(&self, pr: u64) -> Vec<(String, String)> {
        match self.place {
            Place::Github => {
                let comments = self.github.comments(&self.repo, pr).unwrap();
                comments
                    .into_iter()
                    .map(|one| (one.author, one.body))
                    .collect()
            }
            Place::Gitlab(_) => {
                let page = self.gitlab.merge_request_page(&self.repo, pr).unwrap();
                let notes = page.discussions.into_iter().flat_map(|one| one.notes);
                notes
                    .filter(|note| !note.system && note.place.is_none())
                    .map(|note| (note.author, note.body))
                    .collect()
            }
        }
    }

    /// Nobody was approved, and no changes were requested. The simulated GitLab has no call for either.
    pub(crate) fn assert_no_verdict(&self, pr: u64) {
        if self.place == Place::Github {
            let reviews = self.github.reviews(&self.repo, pr).unwrap();
            let commented = reviews.iter().all(|review| review.state == "COMMENTED");
            assert!(commented, "{reviews:#?}");
        }
    }

    /// Threads on lines, oldest first.
    pub(crate) fn threads(&self, pr: u64) -> Vec<Thread> {
        match self.place {
            Place::Github => {
                let threads = self.github.threads(&self.repo, pr).unwrap();
                threads
                    .into_iter()
                    .map(|thread| Thread {
                        resolved_by: thread.resolved_by,
                        said: thread
                            .comments
                            .into_iter()
                            .map(|one| Said {
                                id: one.id,
                                by: one.author,
                                path: one.path,
                                line: one.original_line,
                                body: one.body,
                            })
                            .collect(),
                    })
                    .collect()
            }
            Place::Gitlab(_) => {
                let page = self.gitlab.merge_request_page(&self.repo, pr).unwrap();
                let on_lines = page
                    .discussions
                    .into_iter()
                    .filter(|one| one.notes.iter().any(|note| note.place.is_some()));
                on_lines
                    .map(|thread| {
                        let place = thread.notes.iter().find_map(|note| note.place.clone());
                        let place = place.expect("it stands on a line");
                        Thread {
                            resolved_by: thread.resolved_by,
                            said: thread
                                .notes
                                .into_iter()
                                .filter(|note| !note.system)
                                .map(|note| Said {
                                    id: note.id,
                                    by: note.author,
                                    path: place.new_path.clone(),
                                    line: place.new_line.or(place.old_line),
                                    body: note.body,
                                })
                                .collect(),
                        }
                    })
                    .collect()
            }
        }
    }

    /// Everything said on lines.
    pub(crate) fn said(&self, pr: u64) -> Vec<Said> {
        let threads = self.threads(pr).into_iter();
        threads.flat_map(|thread| thread.said).collect()
    }

    /// Who reacted to what somebody said, with what.
    pub(crate) fn reactions(&self, pr: u64, comment: u64) -> Vec<(String, String)> {
        match self.place {
            Place::Github => {
                let comments = self.github.comments(&self.repo, pr).unwrap();
                let found = comments.into_iter().find(|one| one.id == comment);
                found.map(|one| one.reactions).unwrap_or_default()
            }
            Place::Gitlab(_) => {
                let page = self.gitlab.merge_request_page(&self.repo, pr).unwrap();
                let mut notes = page.discussions.into_iter().flat_map(|one| one.notes);
                let found = notes.find(|note| note.id == comment);
                found.map(|note| note.awards).unwrap_or_default()
            }
        }
    }

    /// What the checks of ours on a commit say: their name, and `success` or something else.
    pub(crate) fn verdicts(&self, sha: &str) -> Vec<(String, String)> {
        match self.place {
            Place::Github => {
                let runs = self.github.check_runs(&self.repo, sha).unwrap();
                runs.into_iter()
                    .map(|run| (run.name, run.conclusion.unwrap_or_else(|| "pending".into())))
                    .collect()
            }
            Place::Gitlab(_) => {
                // Of one name the newest counts: each is a job of the same pipeline.
                let mut newest: Vec<(String, String)> = Vec::new();
                for status in self.gitlab.statuses(&self.repo, sha).unwrap() {
                    newest.retain(|(name, _)| *name != status.name);
                    newest.push((status.name, status.state));
                }
                newest
            }
        }
    }

    /// How often people were told that something was written.
    pub(crate) fn notices(&self, pr: u64) -> usize {
        match self.place {
            Place::Github => self.github.reviews(&self.repo, pr).unwrap().len(),
            Place::Gitlab(_) => {
                let page = self.gitlab.merge_request_page(&self.repo, pr).unwrap();
                usize::try_from(page.notifications).unwrap()
            }
        }
    }

    /// The call with which something becomes visible for the first time.
    fn first_write(&self) -> &'static str {
        match self.place {
            Place::Github => "POST /repos/{owner}/{repo}/pulls/{number}/reviews",
            Place::Gitlab(_) if self.has_drafts() => {
                "POST /projects/{id}/merge_requests/{iid}/draft_notes/bulk_publish"
            }
            Place::Gitlab(_) => "POST /projects/{id}/merge_requests/{iid}/discussions",
        }
    }

    /// Lets the next posting go wrong.
    pub(crate) fn post_fails(&self, fault: Fault) {
        match self.place {
            Place::Github => self.github.faults().on_next(self.first_write(), fault),
            Place::Gitlab(_) => self.gitlab.faults().on_next(self.first_write(), fault),
        }
    }

    /// Lets everything that is still on the wire arrive.
    pub(crate) fn land_now(&self) {
        self.github.land_now();
        self.gitlab.land_now();
    }

    /// The answer to a line that is not part of the diff.
    pub(crate) fn refused_anchor(&self) -> Fault {
        match self.place {
            Place::Github => Fault::status(
                422,
                r#"{"message":"Unprocessable Entity","errors":["Line could not be resolved"],"documentation_url":"https://docs.github.com/rest","status":"422"}"#,
            ),
            Place::Gitlab(version) if version.has(GitlabFeature::ModernBadRequest) => {
                Fault::status(
                    400,
                    r#"{"message":"400 Bad request - Note {:line_code=>[\"can't be blank\", \"must be a valid line code\"]}"}"#,
                )
            }
            Place::Gitlab(_) => Fault::status(
                400,
                r#"{"message":"400 (Bad request) \"Note {:line_code=>[\"can't be blank\", \"must be a valid line code\"]}\" not given"}"#,
            ),
        }
    }

    /// The secret of its webhooks.
    pub(crate) fn hook_secret(&self) -> String {
        match self.place {
            Place::Github => AppOptions::default().hook_secret,
            Place::Gitlab(_) => HOOK_TOKEN.to_owned(),
        }
    }
}
