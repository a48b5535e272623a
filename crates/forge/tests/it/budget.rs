//! How many calls a review costs, and that they do what they are for.

use mirilla_domain::review::Side;
use mirilla_domain::snapshot::TRUSTED_PATHS;
use mirilla_ports::forge::NewReview;
use mirilla_ports::{ForgeRead as _, ForgeWrite as _};

use crate::cases_writes::comment;
use crate::support::{MemoryWriter, World, repo};

/// design.md, section 10: token mint, archive redirect and read-back included.
const COLLECTOR_CALLS: usize = 7;
const POSTER_CALLS: usize = 8;

#[tokio::test]
async fn collector_and_poster_keep_their_budgets() {
    let world = World::new();
    let reader = world.reader();

    let live = reader.pull_request(&repo(), &world.id).await.unwrap();
    assert!(live.open && !live.draft && !live.from_fork);
    assert_eq!(live.author.as_ref().unwrap().as_str(), "bob");
    let fetched = reader.diff(&live).await.unwrap();
    let text = String::from_utf8(fetched.bytes.clone()).unwrap();
    assert!(text.contains("+changed 10"), "{text}");
    // The base's own later commit is no part of it.
    assert!(!text.contains("other.txt") && fetched.merge_base != live.base);
    assert_eq!(fetched.missing, []);
    let (writer, stored) = MemoryWriter::within(1 << 20);
    reader
        .archive(&live.repo_name, &live.head, writer)
        .await
        .unwrap();
    assert!(stored.lock().unwrap().finished && stored.lock().unwrap().bytes.starts_with(b"PK"));
    let (files, again) = reader
        .files_and_pull_request(&live, live.base.as_str(), TRUSTED_PATHS)
        .await
        .unwrap();
    assert_eq!(
        again, live,
        "REST and GraphQL describe the same pull request"
    );
    assert_eq!(files.commit, live.base);
    let paths: Vec<_> = files.files.iter().map(|f| f.path.as_str()).collect();
    assert_eq!(
        paths,
        [".mirilla.toml", ".mirilla/rules/sql.md", "REVIEW.md"]
    );
    // The base's settings, not the head's.
    assert_eq!(files.files[0].text, "max-comments = 5\n");
    let calls = world.calls();
    println!("collector: {} calls\n{}", calls.len(), calls.join("\n"));
    assert!(calls.len() <= COLLECTOR_CALLS, "{calls:#?}");

    let before = calls.len();
    first_post(&world, &fetched.merge_base).await;
    let calls = world.calls()[before..].to_vec();
    println!(
        "poster, first review: {} calls\n{}",
        calls.len(),
        calls.join("\n")
    );
    assert!(calls.len() <= POSTER_CALLS, "{calls:#?}");

    let before = world.calls().len();
    second_post(&world, &fetched.merge_base).await;
    let calls = world.calls()[before..].to_vec();
    println!(
        "poster, second review: {} calls\n{}",
        calls.len(),
        calls.join("\n")
    );
    assert!(calls.len() <= POSTER_CALLS, "{calls:#?}");

    world
        .gh()
        .reviews(crate::support::REPO, world.id.pr.get())
        .unwrap();
    world.sim.finish().unwrap();
}

async fn first_post(world: &World, merge_base: &mirilla_domain::ids::CommitSha) {
    let (writer, repo, pr) = (world.writer(), repo(), world.id.pr);
    let live = writer
        .reader()
        .pull_request(&repo, &world.id)
        .await
        .unwrap();
    let fetched = writer.reader().diff_from(&live, merge_base).await.unwrap();
    assert_eq!(fetched.merge_base, *merge_base);
    let existing = writer.reader().existing(&repo, pr).await.unwrap();
    assert!(existing.reviews.is_empty() && existing.threads.is_empty() && !existing.truncated);
    let review = NewReview {
        commit: live.head.clone(),
        body: "One finding.".to_owned(),
        comments: vec![comment("src/pay.rs", 10)],
    };
    let posted = writer.create_review(&repo, pr, &review).await.unwrap();
    assert_eq!(
        writer
            .review_comments(&repo, pr, posted)
            .await
            .unwrap()
            .len(),
        1
    );
}

async fn second_post(world: &World, merge_base: &mirilla_domain::ids::CommitSha) {
    let (writer, repo, pr) = (world.writer(), repo(), world.id.pr);
    let live = writer
        .reader()
        .pull_request(&repo, &world.id)
        .await
        .unwrap();
    writer.reader().diff_from(&live, merge_base).await.unwrap();
    let existing = writer.reader().existing(&repo, pr).await.unwrap();
    let [review] = &*existing.reviews else {
        panic!("{existing:?}")
    };
    let [comment_] = &*existing.comments else {
        panic!("{existing:?}")
    };
    assert!(review.ours && !review.pending && comment_.ours);
    assert_eq!((comment_.line, comment_.side), (Some(10), Side::Right));
    assert_eq!(comment_.review, Some(review.id));
    let [thread] = &*existing.threads else {
        panic!("{existing:?}")
    };
    assert_eq!(
        (&*thread.comments, thread.complete),
        (&[comment_.id][..], true)
    );
    assert!(!thread.resolved && !thread.outdated);
    let next = NewReview {
        commit: live.head.clone(),
        body: "Another finding.".to_owned(),
        comments: vec![comment("src/new.rs", 1)],
    };
    let posted = writer.create_review(&repo, pr, &next).await.unwrap();
    assert_eq!(
        writer
            .review_comments(&repo, pr, posted)
            .await
            .unwrap()
            .len(),
        1
    );
}
