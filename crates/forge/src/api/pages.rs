//! Lists of many pages, read within bounds that a flood cannot move.

use mirilla_http::{Denied, HttpError};
use serde::de::DeserializeOwned;
use url::Url;

use crate::api::link::next_link;
use crate::api::{Answer, Api, Call, Service};
use crate::error::{ApiError, CallError};

/// Entries of a page: the most that GitHub and GitLab give.
const PER_PAGE: usize = 100;
/// Entries of a page where a full one is too large: a hundred comments of 65,536 characters each, in
/// front of a line of half a megabyte, are the work of a minute.
const PER_SMALL_PAGE: usize = 10;
/// Pages of one list that are read: past it somebody floods, or the forge gives no more anyway.
pub(crate) const MAX_PAGES: usize = 30;
/// Bound for one page.
const MAX_PAGE_BYTES: u64 = 12 * 1024 * 1024;

/// Whether a list was read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// To its end.
    Reached,
    /// Up to the bound on pages.
    Cut,
}

impl<S: Service> Api<S> {
    /// Reads a list page by page, following `rel="next"` on the API's own origin only, and hands every
    /// page to `each`.
    ///
    /// At most thirty pages; one that is too large is read again in ten small ones.
    pub(crate) async fn pages<T: DeserializeOwned>(
        &self,
        route: &'static str,
        list: &Url,
        each: &mut (dyn FnMut(Vec<T>) + Send),
    ) -> Result<End, CallError> {
        let mut url = numbered(list, PER_PAGE, 1);
        for page in 1..=MAX_PAGES {
            match self.page(route, url.clone()).await {
                Ok(answer) => {
                    each(answer.json()?);
                    match self.next(&url, &answer)? {
                        None => return Ok(End::Reached),
                        Some(next) => url = next,
                    }
                }
                Err(CallError::Http(HttpError::TooLarge { .. })) => {
                    if self.small_pages(route, list, page, each).await? == End::Reached {
                        return Ok(End::Reached);
                    }
                    url = numbered(list, PER_PAGE, page.saturating_add(1));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(End::Cut)
    }

    /// Reads what would be page number `page` in small pieces.
    async fn small_pages<T: DeserializeOwned>(
        &self,
        route: &'static str,
        list: &Url,
        page: usize,
        each: &mut (dyn FnMut(Vec<T>) + Send),
    ) -> Result<End, CallError> {
        let pieces = PER_PAGE / PER_SMALL_PAGE;
        let first = page.saturating_sub(1).saturating_mul(pieces);
        for piece in 1..=pieces {
            let url = numbered(list, PER_SMALL_PAGE, first.saturating_add(piece));
            let answer = self.page(route, url.clone()).await?;
            each(answer.json()?);
            if self.next(&url, &answer)?.is_none() {
                return Ok(End::Reached);
            }
        }
        Ok(End::Cut)
    }

    async fn page(&self, route: &'static str, url: Url) -> Result<Answer, CallError> {
        let call = Call::get(route, url).max_body_bytes(MAX_PAGE_BYTES);
        self.read(&call).await
    }

    /// Returns the URL of the page after the one at `url`, which must be the API's own.
    ///
    /// GitLab's links lead to the name that its operator gave it, which need not be the one it is reached by;
    /// its number of the next page says the same.
    pub(crate) fn next(&self, url: &Url, answer: &Answer) -> Result<Option<Url>, CallError> {
        if let Some(number) = answer.headers.get("x-next-page") {
            let number = number
                .to_str()
                .ok()
                .and_then(|text| text.trim().parse().ok());
            return Ok(number.map(|number: u64| with_page(url, number)));
        }
        let Some(link) = next_link(&answer.headers) else {
            return Ok(None);
        };
        let base = self.service().api_base();
        let url = base
            .join(&link)
            .map_err(|_unparsable| ApiError::Answer("link to its next page"))?;
        if url.origin() == base.origin() && url.username().is_empty() && url.password().is_none() {
            return Ok(Some(url));
        }
        Err(CallError::Http(HttpError::Denied {
            host: url.host_str().unwrap_or("(no host)").to_owned(),
            reason: Denied::Host,
        }))
    }
}

/// Returns the same URL with another number of its page.
fn with_page(url: &Url, number: u64) -> Url {
    let kept: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(name, _)| name != "page")
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    let mut url = url.clone();
    url.query_pairs_mut()
        .clear()
        .extend_pairs(kept)
        .append_pair("page", &number.to_string());
    url
}

/// Returns the URL of a page of a list.
pub(crate) fn numbered(list: &Url, per_page: usize, page: usize) -> Url {
    let mut url = list.clone();
    url.query_pairs_mut()
        .append_pair("per_page", &per_page.to_string())
        .append_pair("page", &page.to_string());
    url
}
