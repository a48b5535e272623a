//! What is told of what stands on a merge request.

use mirilla_domain::ids::CommentId;
use mirilla_domain::thread::Existing;
use mirilla_ports::ForgeRead as _;
use mirilla_ports::ForgeWrite as _;
use mirilla_sim::{Commit, GitlabOptions};

use super::lab::{Lab, PROJECT, each, repo};

/// A review of ours with a comment on line 1 of `fresh.go`; returns the comment.
async fn reviewed(lab: &Lab) -> u64 {
    let review = lab.review(vec![lab.comment("fresh.go", 1)]);
    let writer = lab.writer();
    writer
        .create_review(&repo(), lab.pr(), &review)
        .await
        .unwrap();
    lab.page().discussions[0].notes[0].id
}

async fn existing(lab: &Lab) -> Existing {
    lab.reader().existing(&repo(), lab.pr()).await.unwrap()
}

#[tokio::test]
async fn threads_tell_who_answered_and_who_resolved_what() {
    for lab in each() {
        let (first, gl) = (reviewed(&lab).await, lab.gl());
        gl.reply(PROJECT, lab.iid, first, "carol", "Not so.")
            .unwrap();
        gl.comment(PROJECT, lab.iid, "carol", "On the whole.")
            .unwrap();
        let before = existing(&lab).await;
        let [ours, answer] = &*before.comments else {
            panic!("{before:?}")
        };
        assert!(ours.ours && !answer.ours);
        assert_eq!(ours.id.get(), first);
        assert_eq!(answer.in_reply_to, Some(CommentId::new(first)));
        assert_eq!(answer.author.as_deref(), Some("carol"));
        assert_eq!((ours.path.as_str(), ours.line), ("fresh.go", Some(1)));
        assert_eq!(before.reviews.len(), 1);
        let [thread] = &*before.threads else {
            panic!("{before:?}")
        };
        assert!(!thread.resolved && thread.complete && !thread.outdated);
        assert_eq!(thread.comments.len(), 2);
        gl.resolve_thread(PROJECT, lab.iid, first, "alice").unwrap();
        let threads = lab.reader().threads(&repo(), lab.pr()).await.unwrap();
        assert!(threads[0].resolved && !threads[0].resolved_by_us);
        assert_eq!(threads[0].resolved_by.as_deref(), Some("alice"));
        assert_eq!(threads[0].id, thread.id);
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn edit_shows_and_resolving_is_none() {
    for lab in each() {
        let (first, gl) = (reviewed(&lab).await, lab.gl());
        let said = "/mirilla dismiss known";
        let answer = gl.reply(PROJECT, lab.iid, first, "alice", said).unwrap();
        gl.resolve_thread(PROJECT, lab.iid, first, "alice").unwrap();
        let edited = |there: &Existing| {
            there
                .comments
                .iter()
                .map(|one| one.edited)
                .collect::<Vec<_>>()
        };
        assert_eq!(edited(&existing(&lab).await), [false, false]);
        lab.sim.clock().advance(std::time::Duration::from_secs(5));
        gl.edit_note(PROJECT, lab.iid, answer, "bob", "/mirilla dismiss else")
            .unwrap();
        assert_eq!(edited(&existing(&lab).await), [false, true]);
        lab.page();
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn comment_whose_line_changed_is_outdated_and_keeps_its_line() {
    for lab in each() {
        reviewed(&lab).await;
        let gl = lab.gl();
        let other = Commit::by("bob", "Other").write("pkg/more.go", "x\n");
        gl.commit(PROJECT, "feature", &other).unwrap();
        let moved = existing(&lab).await;
        assert_eq!(moved.comments[0].line, Some(1), "it follows the push");
        let rewrite = Commit::by("bob", "Again").write("fresh.go", "other\n");
        gl.commit(PROJECT, "feature", &rewrite).unwrap();
        let there = existing(&lab).await;
        let [outdated] = &*there.comments else {
            panic!("{there:?}")
        };
        assert_eq!((outdated.line, outdated.original_line), (None, Some(1)));
        assert!(outdated.ours && there.threads[0].outdated);
        lab.page();
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn flood_is_read_up_to_its_bound_and_said() {
    let lab = Lab::with(GitlabOptions::default());
    lab.gl().flood(PROJECT, lab.iid, "carol", 3_001).unwrap();
    let there = existing(&lab).await;
    assert!(there.truncated);
    assert!(there.comments.is_empty() && there.reviews.is_empty());
    let route = "GET /projects/{id}/merge_requests/{iid}/discussions";
    assert_eq!(lab.gl().counts()[route], 30);
    lab.sim.finish().unwrap();
}
