//! Calls to GitHub, and what their addresses have in common.

use mirilla_domain::ids::{PrNumber, RepoName};
use mirilla_http::{HeaderMap, HeaderName, Request, StatusCode};
use url::Url;

pub(crate) use crate::api::{
    Accept, Answer, Bearer, Call, Credential, End, MAX_PAGES, ReadBearer, ResolveBearer, Service,
    WriteBearer, numbered,
};
use crate::github::GithubSettings;
use crate::github::refuse::classify;
use crate::refused::Refused;

const VERSION_HEADER: HeaderName = HeaderName::from_static("x-github-api-version");

/// GitHub's API with one credential.
pub(crate) type Api = crate::api::Api<GithubSettings>;

impl Service for GithubSettings {
    const QUOTA_HEADERS: [&'static str; 2] = ["x-ratelimit-remaining", "x-ratelimit-limit"];

    fn api_base(&self) -> &Url {
        self.api_base()
    }

    fn accept(&self, accept: Accept) -> &'static str {
        match accept {
            Accept::Json | Accept::Archive => "application/vnd.github+json",
            Accept::Diff => "application/vnd.github.diff",
            Accept::Raw => "application/vnd.github.raw+json",
        }
    }

    fn dress(&self, request: Request) -> Request {
        match &self.api_version {
            Some(version) => request.header(VERSION_HEADER, version.clone()),
            None => request,
        }
    }

    fn classify(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
        now_ms: i64,
    ) -> Refused {
        classify(status, headers, body, now_ms)
    }
}

impl Api {
    /// Returns the URL of a pull request, or of something below it.
    pub(crate) fn pull_url(&self, repo: &RepoName, pr: PrNumber, below: &[&str]) -> Url {
        let number = pr.to_string();
        let mut segments = vec!["repos", repo.owner(), repo.name(), "pulls", &number];
        segments.extend_from_slice(below);
        self.url(&segments)
    }
}
