//! What people and GitHub do.

use mirilla_sim::{Commit, OpenPull, WebhookDelivery};
use url::Url;

use super::setting::{SOURCE, TITLE};
use super::{Answer, REPO, World};

impl World {
    /// Pushes a commit with one more swallowed failure to a branch.
    pub fn push(&self, branch: &str, step: usize) {
        let (file, code) = swallowed_failure(branch, step);
        self.push_file(branch, &file, &code);
    }

    /// Pushes a commit with one file to a branch.
    pub fn push_file(&self, branch: &str, path: &str, text: &str) {
        let commit = Commit::by("dana", "step").write(path, text);
        self.sim.github().commit(REPO, branch, &commit).unwrap();
    }

    /// Opens a pull request that swallows a failure in a file of its own.
    pub fn open_pull(&self, branch: &str) -> u64 {
        self.push(branch, 0);
        drop(self.sim.github().take_deliveries());
        let open = OpenPull::new("dana", branch, TITLE);
        self.sim.github().open_pull(REPO, open).unwrap()
    }

    /// Returns the webhooks that GitHub would send now.
    pub fn deliveries(&self) -> Vec<WebhookDelivery> {
        let deliveries = self.sim.github().take_deliveries();
        deliveries
            .into_iter()
            .filter(|delivery| delivery.event == "pull_request")
            .collect()
    }

    /// Posts a webhook through the function URL.
    pub fn deliver(&self, delivery: &WebhookDelivery) -> Answer {
        self.ring("/webhooks/github", &delivery.headers, &delivery.body)
    }

    /// Posts something to a path of the function URL.
    pub fn ring(&self, path: &str, headers: &[(String, String)], body: &[u8]) -> Answer {
        let mut url = Url::parse(self.output("WebhookUrl")).unwrap();
        url.set_path(path);
        self.send("POST", &url, headers, body)
    }
}

/// A file in which a failure is swallowed: its path, and its text.
pub(super) fn swallowed_failure(branch: &str, step: usize) -> (String, String) {
    let code = format!(
        "class Step{step} {{\n  void run() {{\n    try {{\n      {SOURCE}({step});\n    }} catch (Exception e) {{\n    }}\n  }}\n}}\n"
    );
    (format!("{branch}/Step{step}.java"), code)
}
