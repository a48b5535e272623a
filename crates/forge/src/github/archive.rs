//! The archive of a commit.
//!
//! GitHub answers with a redirect to its archive host, whose address carries its own short-lived
//! signature; the token does not go there.

use mirilla_domain::ids::{CommitSha, RepoName};
use mirilla_domain::snapshot::StoredObject;
use mirilla_ports::artifacts::ArtifactWriter;
use mirilla_ports::forge::ForgeError;

use crate::archive;
use crate::github::api::{Accept, Api, Call};

/// Streams the archive of `commit`.
pub(crate) async fn stream(
    api: &Api,
    repo: &RepoName,
    commit: &CommitSha,
    writer: Box<dyn ArtifactWriter>,
) -> Result<StoredObject, ForgeError> {
    let url = api.url(&[
        "repos",
        repo.owner(),
        repo.name(),
        "zipball",
        commit.as_str(),
    ]);
    let call = Call::get("GET /repos/{owner}/{repo}/zipball/{ref}", url)
        .accept(Accept::Archive)
        .max_body_bytes(archive::MAX_BYTES)
        .timeout(api.service().archive_timeout);
    archive::stream(api, &call, writer).await
}
