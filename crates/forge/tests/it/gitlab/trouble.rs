//! Answers that are lost, limits, drafts that stay behind, and drafts of people.

use std::time::Duration;

use mirilla_ports::ForgeRead as _;
use mirilla_ports::ForgeWrite as _;
use mirilla_ports::forge::ForgeError;
use mirilla_sim::{Fault, GitlabFeature, GitlabLimits, GitlabOptions, GitlabVersion, RateHeaders};

use super::lab::{DISCUSSIONS, Lab, NOTES, PUBLISH, each, each_where, repo};

#[tokio::test]
async fn lost_answers_are_unknown_and_reading_tells_what_landed() {
    for landed in [true, false] {
        for lab in each() {
            let version = lab.gl().version();
            let has_drafts = lab.gl().has(GitlabFeature::DraftNotes);
            let fault = if landed {
                Fault::DropAfterEffect
            } else {
                Fault::DropBeforeEffect
            };
            let last = if has_drafts { PUBLISH } else { NOTES };
            lab.gl().faults().on_next(last, fault);
            let (writer, review) = (lab.writer(), lab.review(vec![lab.comment("fresh.go", 1)]));
            let lost = writer.create_review(&repo(), lab.pr(), &review).await;
            assert!(
                matches!(lost, Err(ForgeError::Unknown { .. })),
                "{version}: {lost:?}"
            );
            let there = writer.reader().existing(&repo(), lab.pr()).await.unwrap();
            let pending = there.reviews.iter().filter(|one| one.pending).count();
            let posted = there.reviews.len() - pending;
            assert_eq!(posted, usize::from(landed), "{version}");
            let drafts = if has_drafts && !landed { 2 } else { 0 };
            assert_eq!(pending, drafts, "{version}");
            lab.page();
            lab.sim.finish().unwrap();
        }
    }
}

#[tokio::test]
async fn lost_comment_is_not_followed_by_others() {
    for lab in each_where(|version| !version.has(GitlabFeature::DraftNotes)) {
        lab.gl()
            .faults()
            .on_next(DISCUSSIONS, Fault::DropAfterEffect);
        let (writer, review) = (lab.writer(), lab.review(lab.places()));
        let lost = writer.create_review(&repo(), lab.pr(), &review).await;
        assert!(matches!(lost, Err(ForgeError::Unknown { .. })), "{lost:?}");
        assert_eq!(lab.writes().len(), 1);
        assert_eq!(lab.page().discussions.len(), 1);
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn drafts_of_a_dead_try_are_removed_and_the_next_try_does_without() {
    for version in [GitlabVersion::V17_5, GitlabVersion::CURRENT] {
        let lab = Lab::with(GitlabOptions::of(version));
        let broken = Fault::status(500, r#"{"message":"500 Internal Server Error"}"#);
        lab.gl().faults().on_next(PUBLISH, broken);
        let review = lab.review(lab.places());
        let died = lab.writer().create_review(&repo(), lab.pr(), &review).await;
        assert!(matches!(died, Err(ForgeError::Unknown { .. })), "{died:?}");
        let writer = lab.writer();
        let there = writer.reader().existing(&repo(), lab.pr()).await.unwrap();
        let pending: Vec<_> = there.reviews.iter().filter(|one| one.pending).collect();
        assert_eq!(pending.len(), 6);
        for one in pending {
            writer
                .delete_pending_review(&repo(), lab.pr(), one.id)
                .await
                .unwrap();
        }
        writer
            .create_review(&repo(), lab.pr(), &review)
            .await
            .unwrap();
        let page = lab.page();
        assert_eq!((page.discussions.len(), page.drafts.len()), (6, 0));
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn draft_of_a_person_with_our_account_is_not_published() {
    for version in [GitlabVersion::V17_5, GitlabVersion::CURRENT] {
        let lab = Lab::with(GitlabOptions::of(version));
        let project = lab.gl().project_id(super::lab::PROJECT).unwrap();
        let path = format!("/projects/{project}/merge_requests/{}/draft_notes", lab.iid);
        let own = r#"{"note":"Not ready."}"#;
        let url = format!("{}{path}", lab.sim.gitlab_api_url());
        super::lab::post(&url, &lab.token, own).await;
        let (writer, review) = (lab.writer(), lab.review(vec![lab.comment("fresh.go", 1)]));
        let posted = writer.create_review(&repo(), lab.pr(), &review).await;
        let page = lab.page();
        let body = page.discussions.last().unwrap();
        assert_eq!(posted.unwrap().get(), body.notes[0].id);
        assert_eq!(page.discussions.len(), 2);
        assert_eq!(
            page.drafts,
            [("mirilla".to_owned(), "Not ready.".to_owned())]
        );
        let there = writer.reader().existing(&repo(), lab.pr()).await.unwrap();
        assert!(there.reviews.iter().all(|one| !one.pending), "{there:?}");
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn limit_of_any_version_and_style_is_a_wait() {
    for version in GitlabVersion::PLAYED {
        for style in [
            RateHeaders::Full,
            RateHeaders::ResetOnly,
            RateHeaders::Absent,
        ] {
            let lab = Lab::with(GitlabOptions {
                limits: GitlabLimits {
                    requests_per_minute: 2,
                    ..GitlabLimits::default()
                },
                rate_headers: style,
                ..GitlabOptions::of(version)
            });
            let writer = lab.writer();
            // The project's number, and the note.
            writer.say(&repo(), lab.pr(), "One.").await.unwrap();
            let limited = writer.say(&repo(), lab.pr(), "Two.").await;
            let Err(ForgeError::RateLimited { after }) = limited else {
                panic!("{version} {style:?}: {limited:?}");
            };
            let tells = lab.gl().has(GitlabFeature::RateLimitHeaders);
            if tells && style != RateHeaders::Absent {
                assert!(after < Duration::from_secs(60), "{version} {style:?}");
            } else {
                assert_eq!(after, Duration::from_secs(60), "{version} {style:?}");
            }
            // It is not tried again before that.
            let calls = lab.gl().calls().len();
            assert!(writer.say(&repo(), lab.pr(), "Three.").await.is_err());
            assert_eq!(lab.gl().calls().len(), calls, "{version} {style:?}");
            lab.page();
            lab.sim.finish().unwrap();
        }
    }
}
