//! What each function's role keeps it from, tried with the credentials that the function was given.

use std::time::Duration;

use mirilla_tests::{REPO, Served, Setting, Verdict, World};
use serde_json::{Value, json};
use url::Url;

/// An App's deployment with roles, in which every function and both minters have worked.
async fn reviewed_by_an_app() -> World {
    let world = World::deploy_as(Setting {
        roles: true,
        served: Served::GithubApp,
    })
    .await;
    let pr = world.open_pull("change");
    for delivery in world.deliveries() {
        assert_eq!(world.deliver(&delivery).status, 202);
    }
    world.wait_for_review(pr, 1).await;
    let reviews = world.sim.github().reviews(REPO, pr).unwrap();
    assert_eq!(reviews[0].author, world.sim.github().bot());
    world
}

#[tokio::test]
async fn each_role_is_denied_what_only_another_may() {
    let world = reviewed_by_an_app().await;
    let [intake, collector, reviewer, poster, minter] =
        ["intake", "collector", "reviewer", "poster", "minter-read"]
            .map(|function| world.as_role_of(function));

    let secret = world.output("AppSecretArn");
    assert_eq!(reviewer.try_secret(secret).await, Verdict::Denied);
    assert_eq!(minter.try_secret(secret).await, Verdict::Allowed);
    let secret = world.output("WebhookSecretArn");
    assert_eq!(reviewer.try_secret(secret).await, Verdict::Denied);
    assert_eq!(intake.try_secret(secret).await, Verdict::Allowed);
    let secret = world.output("ModelKeyArn");
    assert_eq!(poster.try_secret(secret).await, Verdict::Denied);
    assert_eq!(collector.try_secret(secret).await, Verdict::Denied);
    assert_eq!(reviewer.try_secret(secret).await, Verdict::Allowed);

    let bucket = world.output("BucketName");
    let keys = world.aws.keys(bucket, "snapshots/").await;
    // Without a signed address even its own job's is another's.
    assert_eq!(reviewer.try_object(bucket, &keys[0]).await, Verdict::Denied);
    assert_eq!(
        collector.try_object(bucket, &keys[0]).await,
        Verdict::Allowed
    );

    let ledger = world.output("LedgerTableName");
    assert_eq!(reviewer.try_row(ledger).await, Verdict::Denied);
    assert_eq!(collector.try_row(ledger).await, Verdict::Allowed);
    let meter = world.output("MeterTableName");
    assert_eq!(poster.try_row(meter).await, Verdict::Denied);
    assert_eq!(reviewer.try_row(meter).await, Verdict::Allowed);

    let key = world.output("AppKeyArn");
    assert_eq!(collector.try_sign(key).await, Verdict::Denied);
    assert_eq!(poster.try_sign(key).await, Verdict::Denied);
    assert_eq!(minter.try_sign(key).await, Verdict::Allowed);

    let request = json!({"job": "0".repeat(32), "fresh": false});
    let write = world.output("MinterWriteFunction");
    assert_eq!(collector.try_invoke(write, &request).await, Verdict::Denied);
    assert_eq!(reviewer.try_invoke(write, &request).await, Verdict::Denied);
    assert_eq!(poster.try_invoke(write, &request).await, Verdict::Allowed);
    let read = world.output("MinterReadFunction");
    assert_eq!(reviewer.try_invoke(read, &request).await, Verdict::Denied);
    assert_eq!(collector.try_invoke(read, &request).await, Verdict::Allowed);
    world.finish().await;
}

#[tokio::test]
async fn an_address_signed_for_one_job_leads_to_no_other_s_objects() {
    let world = World::deploy_with_roles().await;
    let (queue, reviewer) = (
        world.output("ReviewQueueUrl"),
        world.output("ReviewerFunction"),
    );
    world.aws.feed(reviewer, false).await;
    let pulls = ["change", "other"].map(|branch| {
        let pr = world.open_pull(branch);
        for delivery in world.deliveries() {
            assert_eq!(world.deliver(&delivery).status, 202);
        }
        pr
    });
    let limit = Duration::from_secs(60);
    world
        .wait(
            "two messages for the reviewer",
            limit,
            async || match world.aws.depth(queue).await {
                2 => Ok(()),
                other => Err(format!("{other} messages")),
            },
        )
        .await;
    let mut messages = Vec::new();
    while let Some(message) = world.aws.take(queue).await {
        messages.push(message);
    }
    let grants = messages.iter().map(|message| granted(message));
    let [mine, others] = <[_; 2]>::try_from(grants.collect::<Vec<_>>()).unwrap();
    assert_eq!(mine.len(), others.len());
    let mut rights = Vec::new();
    for (mine, others) in mine.iter().zip(&others) {
        assert_ne!(mine.key, others.key);
        let own: Url = mine.url.parse().unwrap();
        assert!(own.path().ends_with(&mine.key), "{own}");
        let mut turned = own.clone();
        turned.set_path(&own.path().replace(&mine.key, &others.key));
        let mut stretched = own.clone();
        let query = own.query().unwrap();
        let longer = query.replace("X-Amz-Expires=", "X-Amz-Expires=1");
        assert_ne!(query, longer);
        stretched.set_query(Some(&longer));
        let (method, headers, fine): (_, &[(&str, &str)], &[u16]) = match mine.right.as_str() {
            // What is not written yet is not there; that it may be asked for is the answer.
            "read" => ("GET", &[], &[200, 404]),
            "replace" => ("PUT", &[], &[200]),
            "create" => ("PUT", &[("if-none-match", "*")], &[]),
            other => panic!("{other}"),
        };
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        for url in [&turned, &stretched] {
            let answer = world.send(method, url, &headers, b"");
            assert_eq!(
                answer.status, 403,
                "{} {}: {answer:?}",
                mine.right, mine.key
            );
        }
        // Who reads may not write, nor the other way round.
        let swapped = if method == "GET" { "PUT" } else { "GET" };
        assert_eq!(world.send(swapped, &own, &headers, b"").status, 403);
        if !fine.is_empty() {
            let answer = world.send(method, &own, &headers, b"");
            assert!(fine.contains(&answer.status), "{}: {answer:?}", mine.key);
        }
        rights.push(mine.right.as_str());
    }
    for right in ["read", "replace", "create"] {
        assert!(rights.contains(&right), "{rights:?}");
    }

    // With its own addresses, each is reviewed.
    for message in &messages {
        world.aws.send(queue, message).await;
    }
    world.aws.feed(reviewer, true).await;
    for pr in pulls {
        world.wait_for_review(pr, 1).await;
    }
    world.finish().await;
}

/// A signed address, as the reviewer is given it.
#[derive(Debug)]
struct Granted {
    key: String,
    right: String,
    url: String,
}

fn granted(message: &str) -> Vec<Granted> {
    let message: Value = serde_json::from_str(message).unwrap();
    let grants = message["grants"]["grants"].as_array().unwrap();
    let text = |grant: &Value, field: &str| grant[field].as_str().unwrap().to_owned();
    grants
        .iter()
        .map(|grant| Granted {
            key: text(grant, "key"),
            right: text(grant, "right"),
            url: text(grant, "url"),
        })
        .collect()
}
