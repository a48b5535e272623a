//! A simulated GitLab with a merge request, and the halves beside it.

use std::sync::Arc;

use mirilla_domain::anchor::{LineKind, LineRange, LineSpot};
use mirilla_domain::forge_place::GitlabPlace;
use mirilla_domain::ids::{
    AttemptNo, CommitSha, Fingerprint, Forge, JobId, PrNumber, PullRequestRef, RepoId, RepoName,
};
use mirilla_domain::marker::{self, FindingMarker, Marker, MarkerKey, ReviewMarker};
use mirilla_domain::review::{Severity, Side};
use mirilla_forge::gitlab::{Access, GitlabReader, GitlabWriter};
use mirilla_forge::{JobTokens, TokensFrom};
use mirilla_ports::forge::{NewComment, NewReview};
use mirilla_ports::message::Message;
use mirilla_sim::{
    Access as Role, Commit, Gitlab, GitlabOptions, GitlabVersion, MergeRequestPage, OpenMerge,
    ProjectOptions, Scope, Sim, SimOptions,
};

use crate::support::{Fixed, sim_time};

pub(crate) const PROJECT: &str = "acme/platform/shop";
pub(crate) const DISCUSSIONS: &str = "POST /projects/{id}/merge_requests/{iid}/discussions";
pub(crate) const NOTES: &str = "POST /projects/{id}/merge_requests/{iid}/notes";
pub(crate) const PUBLISH: &str =
    "POST /projects/{id}/merge_requests/{iid}/draft_notes/bulk_publish";

pub(crate) struct Lab {
    pub(crate) sim: Sim,
    pub(crate) iid: u64,
    pub(crate) token: String,
    access: Access,
}

/// Lines `line 1` to `line 30`, some of them replaced.
fn lines(changed: &[(usize, &str)]) -> String {
    (1..=30)
        .map(|n| {
            let text = changed.iter().find(|(at, _)| *at == n);
            text.map_or_else(|| format!("line {n}\n"), |(_, text)| (*text).to_owned())
        })
        .collect()
}

pub(crate) fn repo() -> RepoName {
    RepoName::parse(PROJECT).unwrap()
}

pub(crate) fn job() -> JobId {
    JobId::parse(&"ab".repeat(16)).unwrap()
}

/// Returns a lab of every played version, one at a time.
pub(crate) fn each() -> impl Iterator<Item = Lab> {
    each_where(|_version| true)
}

/// Returns a lab of every played version of a kind.
pub(crate) fn each_where(is_one: impl Fn(GitlabVersion) -> bool) -> impl Iterator<Item = Lab> {
    let versions = GitlabVersion::PLAYED.into_iter();
    versions
        .filter(move |version| is_one(*version))
        .map(|version| Lab::with(GitlabOptions::of(version)))
}

impl Lab {
    pub(crate) fn with(options: GitlabOptions) -> Self {
        let sim = Sim::start(SimOptions {
            start_at: Some("2026-11-30T09:00:00Z".parse().unwrap()),
            gitlab: options,
            ..SimOptions::default()
        })
        .unwrap();
        let gl = sim.gitlab();
        gl.create_project(PROJECT, &ProjectOptions::default())
            .unwrap();
        for (who, role) in [
            ("alice", Role::Maintainer),
            ("bob", Role::Developer),
            ("carol", Role::Reporter),
            ("mirilla", Role::Developer),
        ] {
            gl.add_member(PROJECT, who, role).unwrap();
        }
        let start = Commit::by("alice", "Start").write("pkg/old_name.go", lines(&[]));
        gl.commit(PROJECT, "main", &start).unwrap();
        let change = Commit::by("bob", "Change")
            .rename("pkg/old_name.go", "pkg/new_name.go")
            .write(
                "pkg/new_name.go",
                lines(&[(10, "line 10 changed\nbrand new\n"), (30, "")]),
            )
            .write("fresh.go", "one\ntwo\n");
        gl.commit(PROJECT, "feature", &change).unwrap();
        let open = OpenMerge::new("bob", "feature", "Pay faster");
        let iid = gl.open_merge(PROJECT, open).unwrap();
        let token = gl.create_token("mirilla", Scope::Api);
        let place = GitlabPlace {
            url: gl.url(),
            extra_ca_pem: None,
        };
        let access = Access::of_operator(&place, sim_time(&sim), Arc::new(Fixed)).unwrap();
        Self {
            sim,
            iid,
            token,
            access,
        }
    }

    pub(crate) fn gl(&self) -> &Gitlab {
        self.sim.gitlab()
    }

    pub(crate) fn pr(&self) -> PrNumber {
        PrNumber::new(self.iid)
    }

    pub(crate) fn page(&self) -> MergeRequestPage {
        self.gl().merge_request_page(PROJECT, self.iid).unwrap()
    }

    pub(crate) fn writer(&self) -> GitlabWriter {
        self.writer_with(&self.token)
    }

    pub(crate) fn writer_with(&self, token: &str) -> GitlabWriter {
        self.access.writer(tokens(token))
    }

    pub(crate) fn reader(&self) -> GitlabReader {
        self.reader_with(&self.gl().create_token("mirilla", Scope::ReadApi))
    }

    pub(crate) fn reader_with(&self, token: &str) -> GitlabReader {
        self.access.reader(tokens(token))
    }

    /// Returns a review of the head with these comments.
    pub(crate) fn review(&self, comments: Vec<NewComment>) -> NewReview {
        let head = self.gl().tip(PROJECT, "feature").unwrap();
        NewReview {
            commit: CommitSha::parse(&head).unwrap(),
            body: format!("Summary.\n\n{}", self.review_marker()),
            comments,
        }
    }

    fn here(&self) -> PullRequestRef {
        PullRequestRef {
            forge: Forge::Gitlab,
            repo: RepoId::new(self.gl().project_id(PROJECT).unwrap()),
            pr: self.pr(),
        }
    }

    fn review_marker(&self) -> String {
        let said = Marker::Review(ReviewMarker {
            job: job(),
            attempt: AttemptNo::new(1),
            in_body: Vec::new(),
        });
        marker::write(&key(), &self.here(), &said)
    }

    /// Returns a comment with its marker.
    pub(crate) fn comment(&self, path: &str, line: u32) -> NewComment {
        let said = Marker::Finding(FindingMarker {
            fingerprint: Fingerprint::over(&[path.as_bytes(), &line.to_be_bytes()]),
            severity: Severity::High,
            job: job(),
        });
        let old = path == "pkg/new_name.go";
        NewComment {
            path: path.to_owned(),
            line,
            start_line: None,
            side: Side::Right,
            old_path: old.then(|| "pkg/old_name.go".to_owned()),
            other_line: None,
            range: None,
            body: format!("Text.\n\n{}", marker::write(&key(), &self.here(), &said)),
        }
    }

    /// The four places of case 061, and a range of two added lines.
    pub(crate) fn places(&self) -> Vec<NewComment> {
        let renamed = |line| self.comment("pkg/new_name.go", line);
        let added = |old, new| LineSpot {
            old,
            new,
            kind: LineKind::Added,
        };
        vec![
            renamed(11),
            NewComment {
                side: Side::Left,
                ..renamed(10)
            },
            NewComment {
                other_line: Some(29),
                ..renamed(30)
            },
            self.comment("fresh.go", 2),
            NewComment {
                start_line: Some(10),
                range: Some(LineRange {
                    first: added(11, 10),
                    last: added(11, 11),
                }),
                body: format!("A range. {}", renamed(11).body),
                ..renamed(11)
            },
        ]
    }

    /// Returns how often each route that writes was called.
    pub(crate) fn writes(&self) -> Vec<(String, usize)> {
        let counts = self.gl().counts().into_iter();
        counts
            .filter(|(route, _)| !route.starts_with("GET "))
            .collect()
    }
}

fn key() -> MarkerKey {
    MarkerKey::new(b"a key made up for tests").unwrap()
}

fn tokens(token: &str) -> JobTokens {
    let message = Message::CollectV1 { job: job() };
    JobTokens::of(TokensFrom::Fixed(token.to_owned().into()), &message)
}

/// Sends a JSON body as a person's own client does.
pub(crate) async fn post(url: &str, token: &str, body: &str) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let url: url::Url = url.parse().unwrap();
    let (host, port) = (url.host_str().unwrap(), url.port().unwrap());
    let mut stream = tokio::net::TcpStream::connect((host, port)).await.unwrap();
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: {host}:{port}\r\nprivate-token: {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        url.path(),
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}
