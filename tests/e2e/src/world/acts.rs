//! What people and GitHub do.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use mirilla_sim::{Commit, OpenPull, WebhookDelivery};
use url::Url;

use super::setting::{SOURCE, TITLE};
use super::{REPO, World};

/// What the front door answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub text: String,
}

impl World {
    /// Pushes a commit with one more swallowed failure to a branch.
    pub fn push(&self, branch: &str, step: usize) {
        let file = format!("{branch}/Step{step}.java");
        let code = format!(
            "class Step{step} {{\n  void run() {{\n    try {{\n      {SOURCE}({step});\n    }} catch (Exception e) {{\n    }}\n  }}\n}}\n"
        );
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
        let url = Url::parse(self.output("WebhookUrl")).unwrap();
        let mut head = format!(
            "POST /webhooks/github HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n",
            url.host_str().unwrap(),
            delivery.body.len()
        );
        for (name, value) in &delivery.headers {
            if !name.eq_ignore_ascii_case("content-length") && !name.eq_ignore_ascii_case("host") {
                head.push_str(&[name.as_str(), ": ", value.as_str(), "\r\n"].concat());
            }
        }
        head.push_str("\r\n");
        let mut stream = TcpStream::connect(("127.0.0.1", self.emulator.port())).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&delivery.body).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let text = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        Answer {
            status: status.unwrap_or_else(|| panic!("not HTTP: {answer}")),
            text: text.to_owned(),
        }
    }
}
