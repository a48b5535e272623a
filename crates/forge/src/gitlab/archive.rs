//! The archive of a commit. <https://docs.gitlab.com/api/repositories/#get-file-archive>

use mirilla_domain::ids::CommitSha;
use mirilla_domain::snapshot::StoredObject;
use mirilla_ports::artifacts::ArtifactWriter;
use mirilla_ports::forge::ForgeError;

use crate::archive;
use crate::gitlab::api::{Accept, Api, Call};

/// Streams the archive of `commit`.
pub(crate) async fn stream(
    api: &Api,
    project: u64,
    commit: &CommitSha,
    writer: Box<dyn ArtifactWriter>,
) -> Result<StoredObject, ForgeError> {
    let number = project.to_string();
    let mut url = api.url(&["projects", &number, "repository", "archive.zip"]);
    url.query_pairs_mut().append_pair("sha", commit.as_str());
    let call = Call::get("GET /projects/{id}/repository/archive.zip", url)
        .accept(Accept::Archive)
        .max_body_bytes(archive::MAX_BYTES)
        .timeout(api.service().archive_timeout);
    archive::stream(api, &call, writer).await
}
