//! Threads are resolved once, and only those of the merge request that it is about.

use mirilla_ports::ForgeRead as _;
use mirilla_ports::ForgeWrite as _;
use mirilla_ports::forge::ForgeError;
use mirilla_ports::resolve::ForgeResolve as _;
use mirilla_sim::{ProjectOptions, Scope};

use super::lab::{Lab, PROJECT, each, repo};

async fn threads(lab: &Lab) -> Vec<String> {
    let comments = vec![lab.comment("fresh.go", 1), lab.comment("fresh.go", 2)];
    let (writer, review) = (lab.writer(), lab.review(comments));
    writer
        .create_review(&repo(), lab.pr(), &review)
        .await
        .unwrap();
    let threads = writer.reader().threads(&repo(), lab.pr()).await.unwrap();
    threads.into_iter().map(|thread| thread.id).collect()
}

#[tokio::test]
async fn resolving_twice_is_resolving_once() {
    for lab in each() {
        let ids = threads(&lab).await;
        let writer = lab.writer();
        writer.reader().threads(&repo(), lab.pr()).await.unwrap();
        for _ in 0..2 {
            let said = writer.resolve_threads(&[ids[0].as_str()]).await;
            assert_eq!((said.done, said.failed), (1, 0), "{:?}", said.why);
        }
        let now = writer.reader().threads(&repo(), lab.pr()).await.unwrap();
        assert!(now[0].resolved && now[0].resolved_by_us && !now[1].resolved);
        lab.page();
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn other_shapes_and_other_projects_are_refused_without_a_call() {
    for lab in each() {
        let ids = threads(&lab).await;
        let other = lab
            .gl()
            .create_project("acme/other", &ProjectOptions::default());
        let project = lab.gl().project_id(PROJECT).unwrap().to_string();
        let elsewhere = ids[0].replace(&project, &other.unwrap().to_string());
        let writer = lab.writer();
        writer.reader().threads(&repo(), lab.pr()).await.unwrap();
        let calls = lab.gl().calls().len();
        let named = ["PRRT_kwDOABCD", &elsewhere, "projects/1/merge_requests/1"];
        let said = writer.resolve_threads(&named).await;
        assert_eq!((said.done, said.failed), (0, 3));
        assert_eq!(lab.gl().calls().len(), calls);
        // One that is gone leaves the next its turn.
        let gone = ids[0].replace(&ids[0][ids[0].len() - 40..], &"0".repeat(40));
        let said = writer.resolve_threads(&[&gone, &ids[1]]).await;
        assert_eq!((said.done, said.failed), (1, 1), "{:?}", said.why);
        lab.page();
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn token_that_may_not_resolve_says_so_and_stops() {
    for lab in each() {
        let ids = threads(&lab).await;
        let writer = lab.writer_with(&lab.gl().create_token("carol", Scope::Api));
        writer.reader().threads(&repo(), lab.pr()).await.unwrap();
        let said = writer.resolve_threads(&[&ids[0], &ids[1]]).await;
        assert_eq!((said.done, said.failed), (0, 2));
        assert!(matches!(said.why, Some(ForgeError::Forbidden { .. })));
        lab.page();
        lab.sim.finish().unwrap();
    }
}
