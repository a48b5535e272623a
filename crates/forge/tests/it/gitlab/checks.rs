//! Checks as commit statuses: where they are set, and that only a success is one.

use mirilla_domain::gate::{CheckName, Conclusion};
use mirilla_domain::ids::{CommitSha, ReviewId};
use mirilla_ports::ForgeChecks as _;
use mirilla_ports::checks::NewCheck;
use mirilla_ports::forge::ForgeError;
use mirilla_sim::{Access, Commit, OpenMerge, Scope};

use super::lab::{Lab, PROJECT, each, job, repo};

fn check(lab: &Lab, head: &str, conclusion: Option<Conclusion>) -> NewCheck {
    NewCheck {
        name: CheckName::Trusted,
        head: CommitSha::parse(head).unwrap(),
        job: job(),
        pr: lab.pr(),
        review: Some(ReviewId::new(9)),
        conclusion,
        title: "t".repeat(300),
        summary: String::new(),
        annotations: Vec::new(),
    }
}

#[tokio::test]
async fn status_moves_as_gitlab_allows_and_said_twice_is_said_once() {
    for lab in each() {
        let head = lab.gl().tip(PROJECT, "feature").unwrap();
        let writer = lab.writer();
        for (conclusion, state) in [
            (None, "running"),
            (None, "running"),
            (Some(Conclusion::Success), "success"),
            (Some(Conclusion::Neutral), "failed"),
            (Some(Conclusion::Failure), "failed"),
        ] {
            let check = check(&lab, &head, conclusion);
            let written = writer.write_check(&repo(), None, &check).await.unwrap();
            assert_eq!(written, None);
            let page = lab.page();
            let status = page.statuses.last().unwrap();
            assert_eq!(
                (status.name.as_str(), status.state.as_str()),
                ("Mirilla", state)
            );
            assert_eq!(status.reference, "feature");
            assert_eq!(status.description.as_ref().unwrap().chars().count(), 255);
            let leads_to = format!(
                "{}/{PROJECT}/-/merge_requests/{}#note_9",
                lab.gl().url(),
                lab.iid
            );
            assert_eq!(status.target_url.as_deref(), Some(leads_to.as_str()));
        }
        let sha = CommitSha::parse(&head).unwrap();
        let found = writer.checks(&repo(), &sha, CheckName::Trusted).await;
        assert_eq!(found.unwrap(), []);
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn status_of_a_fork_is_set_there_if_we_may_and_else_here() {
    for may in [true, false] {
        for mut lab in each() {
            let gl = lab.gl();
            let fork = gl.fork(PROJECT, "dave").unwrap();
            let change = Commit::by("dave", "His").write("his.go", "x\n");
            gl.commit(&fork, "patch", &change).unwrap();
            let open = OpenMerge {
                from: Some(fork.clone()),
                ..OpenMerge::new("dave", "patch", "Mine")
            };
            let iid = gl.open_merge(PROJECT, open).unwrap();
            if may {
                gl.add_member(&fork, "mirilla", Access::Developer).unwrap();
            }
            let head = gl.tip(&fork, "patch").unwrap();
            lab.iid = iid;
            let check = check(&lab, &head, Some(Conclusion::Failure));
            lab.writer()
                .write_check(&repo(), None, &check)
                .await
                .unwrap();
            let there = lab.gl().statuses(&fork, &head).unwrap();
            let here = lab.gl().statuses(PROJECT, &head).unwrap();
            assert_eq!(
                (there.len(), here.len()),
                (usize::from(may), usize::from(!may))
            );
            let reference = there
                .iter()
                .chain(&here)
                .next()
                .map(|one| one.reference.clone());
            let own = format!("refs/merge-requests/{iid}/head");
            assert_eq!(reference.as_deref(), Some(if may { "patch" } else { &own }));
            lab.sim.finish().unwrap();
        }
    }
}

#[tokio::test]
async fn missing_right_is_named_with_the_way_out() {
    for lab in each() {
        let head = lab.gl().tip(PROJECT, "feature").unwrap();
        let writer = lab.writer_with(&lab.gl().create_token("carol", Scope::Api));
        let check = check(&lab, &head, None);
        let refused = writer.write_check(&repo(), None, &check).await;
        let Err(ForgeError::Forbidden { action }) = refused else {
            panic!("{refused:?}");
        };
        assert!(action.contains("Developer"), "{action}");
        lab.sim.finish().unwrap();
    }
}
