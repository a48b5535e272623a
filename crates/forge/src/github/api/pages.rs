//! Lists of many pages.

use mirilla_http::{Denied, HttpError};
use serde::de::DeserializeOwned;
use url::Url;

use crate::github::api::{Api, Call};
use crate::github::error::{CallError, GithubError};
use crate::github::page::next_link;

/// Entries of a page: GitHub's most.
const PER_PAGE: &str = "100";
/// Pages of one list that are read: past it somebody floods, or GitHub gives no more anyway.
pub(crate) const MAX_PAGES: usize = 30;

/// A list, as far as it was read.
#[derive(Debug)]
pub(crate) struct Pages<T> {
    pub(crate) items: Vec<T>,
    /// Whether there is more.
    pub(crate) truncated: bool,
}

impl Api {
    /// Reads a list page by page, following `rel="next"` on the API's own origin only.
    pub(crate) async fn pages<T: DeserializeOwned>(
        &self,
        route: &'static str,
        mut url: Url,
        max_page_bytes: u64,
    ) -> Result<Pages<T>, CallError> {
        url.query_pairs_mut()
            .append_pair("per_page", PER_PAGE)
            .append_pair("page", "1");
        let mut items = Vec::new();
        for _ in 0..MAX_PAGES {
            let call = Call::get(route, url).max_body_bytes(max_page_bytes);
            let answer = self.read(&call).await?;
            let page: Vec<T> = answer.json()?;
            items.extend(page);
            match next_link(&answer.headers) {
                None => {
                    return Ok(Pages {
                        items,
                        truncated: false,
                    });
                }
                Some(next) => url = self.own(&next)?,
            }
        }
        Ok(Pages {
            items,
            truncated: true,
        })
    }

    /// Reads the URL of a next page, which must be the API's.
    fn own(&self, link: &str) -> Result<Url, CallError> {
        let base = self.settings().api_base();
        let url = base
            .join(link)
            .map_err(|_unparsable| GithubError::Answer("link to its next page"))?;
        if url.origin() == base.origin() && url.username().is_empty() && url.password().is_none() {
            return Ok(url);
        }
        Err(CallError::Http(HttpError::Denied {
            host: url.host_str().unwrap_or("(no host)").to_owned(),
            reason: Denied::Host,
        }))
    }
}
