//! A review as it lands: where its comments stand, how many mails it costs, and that it approves nothing.

use mirilla_casekit::repo_path;
use mirilla_domain::review::Side;
use mirilla_ports::ForgeRead as _;
use mirilla_ports::ForgeWrite as _;
use mirilla_ports::forge::{ForgeError, NewReview, Refusal};
use mirilla_sim::{GitlabFeature, GitlabOptions, GitlabVersion};
use serde_json::json;

use super::lab::{Lab, each, repo};
use crate::support::case;

#[tokio::test]
async fn case_061_comments_stand_where_they_belong_and_people_get_one_mail() {
    for lab in each() {
        let version = lab.gl().version();
        let writer = lab.writer();
        let review = lab.review(lab.places());
        let id = writer.create_review(&repo(), lab.pr(), &review).await;
        let id = id.unwrap();
        let page = lab.page();
        let places: Vec<_> = page
            .discussions
            .iter()
            .filter_map(|one| one.notes[0].place.clone())
            .collect();
        let case = case("061");
        let mut expected = case.expected();
        for (place, mut wanted) in places
            .iter()
            .zip(expected.take_objects("positions").unwrap())
        {
            let what = wanted.need("what");
            for (name, got) in [
                ("old_path", json!(place.old_path)),
                ("new_path", json!(place.new_path)),
                ("old_line", json!(place.old_line)),
                ("new_line", json!(place.new_line)),
            ] {
                assert_eq!(got, wanted.need(name), "{version} {what}: {name}");
            }
            wanted.finish();
        }
        assert_eq!(expected.need("schema"), "gitlab-position/1");
        expected.finish();
        assert_eq!(places.len(), 5, "{version}");
        let body = page.discussions.last().unwrap();
        assert!(body.individual, "{version}");
        assert_eq!(body.notes[0].id, id.get(), "{version}: the body comes last");
        let mails = if lab.gl().has(GitlabFeature::DraftNotes) {
            1
        } else {
            6
        };
        assert_eq!(page.notifications, mails, "{version}");
        let hanging = writer.review_comments(&repo(), lab.pr(), id).await.unwrap();
        assert_eq!(hanging.len(), 5, "{version}");
        let writes = lab.writes();
        let all: usize = writes.iter().map(|(_, count)| count).sum();
        println!("{version}: {all} writes for 5 comments and a body: {writes:?}");
        // Where there are drafts, one call publishes them.
        assert!(all <= 7, "{version}: {writes:?}");
        // Wrong ranges, unknown parameters and the like are found here.
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn refused_anchor_leaves_the_others_standing_once_and_the_body_unwritten() {
    for lab in each() {
        let version = lab.gl().version();
        let writer = lab.writer();
        let comments = vec![
            lab.comment("fresh.go", 1),
            lab.comment("fresh.go", 99),
            lab.comment("fresh.go", 2),
        ];
        let review = lab.review(comments);
        let refused = writer.create_review(&repo(), lab.pr(), &review).await;
        let anchor = matches!(
            refused,
            Err(ForgeError::Unprocessable {
                reason: Refusal::Anchor,
                ..
            })
        );
        assert!(anchor, "{version}: {refused:?}");
        let there = writer.reader().existing(&repo(), lab.pr()).await.unwrap();
        let lines: Vec<_> = there.comments.iter().map(|one| one.line).collect();
        assert_eq!(lines, [Some(1), Some(2)], "{version}");
        assert!(there.reviews.is_empty(), "{version}: {there:?}");
        // What the stage does then.
        let rest = NewReview {
            comments: Vec::new(),
            ..review
        };
        let id = writer
            .create_review(&repo(), lab.pr(), &rest)
            .await
            .unwrap();
        let there = writer.reader().existing(&repo(), lab.pr()).await.unwrap();
        assert_eq!((there.comments.len(), there.reviews.len()), (2, 1));
        assert_eq!(there.reviews[0].id, id);
        lab.page();
        lab.gl().take_problems();
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn what_gitlab_would_refuse_for_its_length_or_commit_is_not_begun() {
    for lab in each() {
        let writer = lab.writer();
        let huge = "x".repeat(1_000_001);
        let of_old_head = NewReview {
            commit: mirilla_domain::ids::CommitSha::parse(&"0".repeat(40)).unwrap(),
            ..lab.review(lab.places())
        };
        let of_huge_body = NewReview {
            body: huge.clone(),
            ..lab.review(lab.places())
        };
        let empty = NewReview {
            body: " \n".to_owned(),
            ..lab.review(Vec::new())
        };
        for (review, want) in [
            (of_old_head, Refusal::Commit),
            (of_huge_body, Refusal::TooLong),
            (empty, Refusal::Other),
        ] {
            let refused = writer.create_review(&repo(), lab.pr(), &review).await;
            let Err(ForgeError::Unprocessable { reason, .. }) = refused else {
                panic!("{want:?}: {refused:?}");
            };
            assert_eq!(reason, want);
        }
        assert!(writer.say(&repo(), lab.pr(), &huge).await.is_err());
        assert_eq!(lab.writes(), [], "{}", lab.gl().version());
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn review_is_edited_in_place_and_notifies_nobody() {
    for lab in each() {
        let writer = lab.writer();
        let review = lab.review(Vec::new());
        let id = writer
            .create_review(&repo(), lab.pr(), &review)
            .await
            .unwrap();
        let before = lab.page().notifications;
        let edited = review.body.replace("Summary", "New summary");
        writer
            .edit_review(&repo(), lab.pr(), id, &edited)
            .await
            .unwrap();
        let page = lab.page();
        assert_eq!(page.discussions.len(), 1);
        assert_eq!(page.discussions[0].notes[0].body, edited);
        assert_eq!(page.notifications, before);
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn early_shape_of_ranges_is_never_sent() {
    // 13.2 to 13.5 refuse the present shape, and 12.10 knows none.
    for version in [GitlabVersion::new(13, 3), GitlabVersion::V12_10] {
        let lab = Lab::with(GitlabOptions::of(version));
        let review = lab.review(lab.places());
        let posted = lab.writer().create_review(&repo(), lab.pr(), &review).await;
        assert!(posted.is_ok(), "{version}: {posted:?}");
        lab.page();
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn deleted_line_of_our_comment_is_on_the_left() {
    let lab = Lab::with(GitlabOptions::default());
    let review = lab.review(lab.places());
    let writer = lab.writer();
    writer
        .create_review(&repo(), lab.pr(), &review)
        .await
        .unwrap();
    let there = lab.reader().existing(&repo(), lab.pr()).await.unwrap();
    let sides: Vec<_> = there
        .comments
        .iter()
        .map(|one| (one.side, one.line))
        .collect();
    assert_eq!(sides[1], (Side::Left, Some(10)));
    assert_eq!(sides[2], (Side::Right, Some(30)));
    lab.page();
    lab.sim.finish().unwrap();
}

/// Everything that the GitLab half can send to change something, by its text.
#[test]
fn nothing_that_approves_merges_or_labels_can_be_sent() {
    let folder = repo_path("crates/forge/src/gitlab");
    let mut routes = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_file() {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let methods = text.matches("Method::").count();
        let mut named = 0;
        for part in text.split('"') {
            if ["POST /", "PUT /", "DELETE /", "PATCH /"]
                .iter()
                .any(|m| part.starts_with(m))
            {
                named += 1;
                routes.push(
                    part.replace("/projects/{id}", "")
                        .replace("/merge_requests/{iid}", ""),
                );
            }
        }
        assert_eq!(
            named,
            methods,
            "{}: every write names its route",
            path.display()
        );
        let code: String = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        for word in [
            "approve",
            "\"merge\"",
            "add_labels",
            "state_event",
            "Method::PATCH",
        ] {
            assert!(!code.contains(word), "{}: {word}", path.display());
        }
    }
    routes.sort();
    assert_eq!(
        routes,
        [
            "DELETE /draft_notes/{draft}",
            "POST /discussions",
            "POST /draft_notes",
            "POST /draft_notes/bulk_publish",
            "POST /notes",
            "POST /notes/{note}/award_emoji",
            "POST /statuses/{sha}",
            "PUT /discussions/{discussion}",
            "PUT /draft_notes/{draft}/publish",
            "PUT /notes/{note}",
        ]
    );
}
