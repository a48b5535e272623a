//! Calls to GitLab.

use mirilla_http::{HeaderMap, StatusCode};
use url::Url;

pub(crate) use crate::api::{
    Accept, Answer, Call, End, ReadBearer, Service, WriteBearer, numbered,
};
use crate::gitlab::refuse::classify;
use crate::gitlab::settings::GitlabSettings;
use crate::refused::Refused;

/// GitLab's API with one credential.
pub(crate) type Api = crate::api::Api<GitlabSettings>;

impl Service for GitlabSettings {
    const QUOTA_HEADERS: [&'static str; 2] = ["ratelimit-remaining", "ratelimit-limit"];

    fn api_base(&self) -> &Url {
        self.api_base()
    }

    fn accept(&self, accept: Accept) -> &'static str {
        match accept {
            Accept::Json => "application/json",
            Accept::Diff | Accept::Archive | Accept::Raw => "*/*",
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
