//! The world most tests start from: `acme/shop` with one pull request, and the App installed.

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use mirilla_sim::{
    AccountKind, Commit, Github, GithubOptions, InstallOptions, OpenPull, RepoOptions, Role, Sim,
    SimOptions, TEST_APP_KEY,
};
use serde_json::{Value, json};

use crate::client::{Answer, send};
use crate::schema::{Edition, judge};

pub(crate) const REPO: &str = "acme/shop";
/// A Monday morning.
pub(crate) const START: &str = "2026-11-30T09:00:00Z";

/// A running simulator with the usual world.
pub(crate) struct World {
    pub(crate) sim: Sim,
    pub(crate) installation: u64,
    pub(crate) pull: u64,
    pub(crate) token: String,
    pub(crate) reader: String,
}

/// Twenty lines, so that a change in the middle has context on both sides.
pub(crate) fn numbered(changed: &[(usize, &str)]) -> String {
    (1..=20)
        .map(|n| {
            let text = changed
                .iter()
                .find(|(at, _)| *at == n)
                .map(|(_, text)| *text);
            text.map_or_else(|| format!("line {n}\n"), |text| format!("{text}\n"))
        })
        .collect()
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(GithubOptions::default())
    }

    pub(crate) fn with(options: GithubOptions) -> Self {
        let options = SimOptions {
            start_at: Some(START.parse().unwrap()),
            github: options,
            ..SimOptions::default()
        };
        let sim = Sim::start(options).unwrap();
        let gh = sim.github();
        gh.add_account("acme", AccountKind::Organization);
        gh.create_repo(REPO, &RepoOptions::default()).unwrap();
        gh.commit(
            REPO,
            "main",
            &Commit::by("alice", "Start")
                .write("src/pay.rs", numbered(&[]))
                .write("README.md", "# Shop\n"),
        )
        .unwrap();
        gh.set_role(REPO, "alice", Role::Admin).unwrap();
        let installation = gh.install("acme", InstallOptions::default()).unwrap();
        gh.commit(
            REPO,
            "feature",
            &Commit::by("bob", "Change")
                .write("src/pay.rs", numbered(&[(10, "changed 10")]))
                .write("src/new.rs", "fn new() {}\n"),
        )
        .unwrap();
        let pull = gh
            .open_pull(REPO, OpenPull::new("bob", "feature", "Pay faster"))
            .unwrap();
        let token = gh.mint_token(installation, None, None).unwrap();
        let read = [("contents", "read"), ("pull_requests", "read")];
        let reader = gh
            .mint_token(installation, Some(&read), Some(&[REPO]))
            .unwrap();
        Self {
            sim,
            installation,
            pull,
            token,
            reader,
        }
    }

    pub(crate) fn gh(&self) -> &Github {
        self.sim.github()
    }

    /// Sends a request with the writing token.
    pub(crate) fn call(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        self.call_as(&self.token, method, path, body)
    }

    pub(crate) fn call_as(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Answer {
        self.try_call(token, method, path, &[], body)
            .expect("an answer")
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.call("GET", path, None)
    }

    pub(crate) fn get_as(&self, path: &str, accept: &str) -> Answer {
        self.try_call(&self.token, "GET", path, &[("accept", accept)], None)
            .expect("an answer")
    }

    /// Sends a request; `None` if the connection dropped. A path is put behind the API's base.
    pub(crate) fn try_call(
        &self,
        token: &str,
        method: &str,
        path: &str,
        more: &[(&str, &str)],
        body: Option<Value>,
    ) -> Option<Answer> {
        let url = if path.starts_with("http://") {
            path.to_owned()
        } else {
            format!("{}{path}", self.sim.github_api_url())
        };
        let bearer = format!("Bearer {token}");
        let mut headers = vec![("user-agent", "mirilla-test"), ("authorization", &*bearer)];
        headers.extend_from_slice(more);
        let body = body.map(|b| b.to_string()).unwrap_or_default();
        let answer = send(method, &url, &headers, body.as_bytes())?;
        self.judge(&answer);
        Some(answer)
    }

    /// Holds the answer to the last call against GitHub's published description.
    fn judge(&self, answer: &Answer) {
        let json = answer
            .header("content-type")
            .is_some_and(|t| t.starts_with("application/json"));
        let call = self.gh().last_call().expect("a call");
        if !json || call.route == "unknown" || call.status == 0 || answer.status == 304 {
            return;
        }
        let edition = if self.sim.github_api_url().ends_with("/api/v3") {
            Edition::EnterpriseServer
        } else {
            Edition::Cloud
        };
        let wrong = judge(edition, &call.route, answer.status, &answer.json());
        assert!(
            wrong.is_empty(),
            "{} {}: {wrong:#?}",
            call.route,
            answer.status
        );
    }

    /// Returns the path of the pull request, with something behind it.
    pub(crate) fn at(&self, rest: &str) -> String {
        format!("/repos/{REPO}/pulls/{}{rest}", self.pull)
    }

    pub(crate) fn jwt(&self) -> String {
        let now = self.sim.clock().now().timestamp();
        jwt(&json!({ "iss": 4242, "iat": now - 60, "exp": now + 540 }))
    }

    pub(crate) fn head(&self) -> String {
        self.gh().tip(REPO, "feature").unwrap()
    }
}

/// Signs claims with the simulated App's key.
pub(crate) fn jwt(claims: &Value) -> String {
    let key = EncodingKey::from_rsa_pem(TEST_APP_KEY.as_bytes()).unwrap();
    jsonwebtoken::encode(&Header::new(Algorithm::RS256), claims, &key).unwrap()
}
