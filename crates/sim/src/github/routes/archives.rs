//! Archives: a redirect to a temporary link on another host, which serves `git archive`.
//!
//! <https://docs.github.com/rest/repos/contents#download-a-repository-archive-zip>

use std::time::Duration;

use super::pulls::commit_of;
use crate::git::ArchiveKind;
use crate::github::Github;
use crate::github::http::{Answer, Cx};
use crate::github::world::ArchiveLink;
use crate::server::{Reply, Request, Transport};

/// How long a link works.
const LINK_LIFE: Duration = Duration::from_secs(300);

pub(crate) fn zipball(cx: &mut Cx<'_>) -> Answer {
    redirect(cx, "legacy.zip")
}

pub(crate) fn tarball(cx: &mut Cx<'_>) -> Answer {
    redirect(cx, "legacy.tar.gz")
}

fn redirect(cx: &mut Cx<'_>, kind: &str) -> Answer {
    let repo = cx.repo()?;
    let sha = commit_of(repo, cx.var(2))?;
    let (full_name, id) = (repo.full_name(), repo.id);
    let number = cx.world.next_id();
    let token = format!("SIMULATED{number:X}ARCHIVE");
    let to = format!(
        "{}/{full_name}/{kind}/{sha}?token={token}",
        cx.github.urls().codeload
    );
    let expires = cx.github.now() + LINK_LIFE;
    cx.world.archive_links.insert(
        token,
        ArchiveLink {
            repo: id,
            sha,
            expires,
        },
    );
    Ok(Reply::empty(302).with("location", to))
}

impl Github {
    /// Answers a request to the archive host.
    pub(crate) fn archive(&self, request: &Request) -> Reply {
        let gone = || Reply::new(404, "text/plain; charset=utf-8", "404: Not Found");
        let kind = match request.path.split('/').rev().nth(1) {
            Some("legacy.zip") => ArchiveKind::Zip,
            Some("legacy.tar.gz") => ArchiveKind::TarGz,
            _ => return gone(),
        };
        let world = self.world();
        let link = request
            .param("token")
            .and_then(|token| world.archive_links.get(&token));
        let Some(link) = link.filter(|link| link.expires > self.now() && request.method == "GET")
        else {
            return gone();
        };
        let Some(repo) = world.repos.get(&link.repo) else {
            return gone();
        };
        let prefix = format!("{}-{}-{}/", repo.owner, repo.name, link.sha);
        let (git, sha) = (std::sync::Arc::clone(&repo.git), link.sha.clone());
        let extension = if kind == ArchiveKind::Zip {
            "zip"
        } else {
            "tar.gz"
        };
        let name = format!("{}-{}-{}.{extension}", repo.owner, repo.name, link.sha);
        drop(world);
        let media = if kind == ArchiveKind::Zip {
            "application/zip"
        } else {
            "application/x-gzip"
        };
        match git.archive(&sha, kind, &prefix) {
            Ok(bytes) => Reply::new(200, media, bytes)
                .with(
                    "content-disposition",
                    format!("attachment; filename={name}"),
                )
                .travelling(Transport::Chunked),
            Err(error) => error.into(),
        }
    }
}
