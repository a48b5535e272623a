//! The same deployment where GitLab is served: its project, what people do there, and what they see.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mirilla_sim::{
    Access, Commit, Gitlab, GitlabFeature, HookOptions, OpenMerge, ProjectOptions, Scope,
};

use super::acts::swallowed_failure;
use super::setting::{HOOK_SECRET, TITLE};
use super::{Answer, World};

/// The project.
pub(super) const PROJECT: &str = "acme/web/shop";
/// The path that its webhooks go to.
const HOOK: &str = "/webhooks/gitlab";
/// What GitLab signs with, where it can. Made up.
const SIGNING_KEY: [u8; 32] = *b"nV6cT3xK9qW2zL8mR5yB1hG7dJ4fP0sE";

/// A project with a first commit and two people.
pub(super) fn set_up(gitlab: &Gitlab) {
    let options = ProjectOptions::default();
    gitlab.create_project(PROJECT, &options).unwrap();
    for (who, access) in [("dana", Access::Maintainer), ("bob", Access::Developer)] {
        gitlab.add_member(PROJECT, who, access).unwrap();
    }
    let first = Commit::by("dana", "before").write("README.md", "A shop.\n");
    gitlab.commit(PROJECT, "main", &first).unwrap();
    drop(gitlab.take_deliveries());
}

impl World {
    /// Makes two tokens, and the webhook: signed where this GitLab can, else with a secret token.
    pub(super) async fn fill_gitlab(&mut self) {
        for (output, name, access, scope) in [
            ("ReadTokenArn", "reads", Access::Reporter, Scope::ReadApi),
            ("WriteTokenArn", "writes", Access::Developer, Scope::Api),
        ] {
            let token = self.gitlab_token(name, access, scope);
            self.keep(output, &token).await;
        }
        let mut hook = HookOptions::default();
        if self.sim.gitlab().has(GitlabFeature::SigningToken) {
            let key = STANDARD.encode(SIGNING_KEY);
            let signing_token = format!("whsec_{key}");
            self.aws
                .fill_secret(self.output("SigningTokenArn"), &signing_token)
                .await;
            self.sentinels.add("SigningTokenArn", &key);
            hook.signing_token = Some(signing_token);
        } else {
            hook.token = Some(HOOK_SECRET.to_owned());
        }
        self.sim.gitlab().set_hook(PROJECT, hook).unwrap();
    }

    fn gitlab_token(&self, name: &str, access: Access, scope: Scope) -> String {
        let gitlab = self.sim.gitlab();
        if gitlab.has(GitlabFeature::ProjectTokens) {
            let token = gitlab.create_project_token(PROJECT, name, access, scope);
            return token.unwrap();
        }
        gitlab.add_member(PROJECT, name, access).unwrap();
        gitlab.create_token(name, scope)
    }

    /// Pushes a commit with one more swallowed failure to a branch of the project.
    pub fn push_to_project(&self, branch: &str, step: usize) {
        let (file, code) = swallowed_failure(branch, step);
        let commit = Commit::by("bob", "step").write(file, code);
        self.sim.gitlab().commit(PROJECT, branch, &commit).unwrap();
    }

    /// Opens a merge request that swallows a failure in a file of its own.
    pub fn open_merge(&self, branch: &str) -> u64 {
        self.push_to_project(branch, 0);
        drop(self.sim.gitlab().take_deliveries());
        let open = OpenMerge::new("bob", branch, TITLE);
        self.sim.gitlab().open_merge(PROJECT, open).unwrap()
    }

    /// Posts a webhook of GitLab's through the function URL.
    pub fn hand_over(&self, headers: &[(String, String)], body: &[u8]) -> Answer {
        self.ring(HOOK, headers, body)
    }

    /// Waits until so many comments stand on the diff of a merge request and so many notes beside it.
    pub async fn wait_for_notes(&self, iid: u64, wanted: (usize, usize)) {
        self.wait("the review", Duration::from_secs(60), async || {
            let page = self.sim.gitlab().merge_request_page(PROJECT, iid);
            let page = page.unwrap();
            // Until all are drafted nothing is published.
            if !page.drafts.is_empty() {
                return Err(format!("{} drafts", page.drafts.len()));
            }
            let (placed, whole) = page.said();
            let there = (placed.len(), whole.len());
            if there == wanted {
                Ok(())
            } else {
                Err(format!("{there:?}: {whole:#?}"))
            }
        })
        .await;
    }
}
