//! Deploys to an emulated AWS, has one pull request reviewed, and stays until Ctrl-C.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a tool for the terminal, built on the scenarios' world"
)]

use mirilla_localaws::{REGION, TEST_ACCESS_KEY_ID, TEST_SECRET_ACCESS_KEY};
use mirilla_tests::{REPO, World};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    println!("deploying template.yaml with the functions in target/lambda …");
    let world = World::deploy().await;
    println!("AWS       {}", world.endpoint());
    println!("GitHub    {}", world.sim.github_api_url());
    println!("Messages  {}", world.sim.messages().url());
    for (name, value) in world.stack.outputs() {
        println!("  {name:<28} {value}");
    }

    let pr = world.open_pull("change");
    for delivery in world.deliveries() {
        let answer = world.deliver(&delivery);
        println!(
            "\nwebhook for {REPO}#{pr}: {} {}",
            answer.status, answer.text
        );
    }
    world.wait_for_review(pr, 1).await;
    for review in world.sim.github().reviews(REPO, pr).unwrap() {
        println!("\n---- review by {}\n{}", review.author, review.body);
        for comment in review.comments {
            let line = comment.original_line.unwrap_or_default();
            println!("\n---- {}:{line}\n{}", comment.path, comment.body);
        }
    }
    println!(
        "\nLook around with any AWS client, such as\n  \
         AWS_ACCESS_KEY_ID={TEST_ACCESS_KEY_ID} AWS_SECRET_ACCESS_KEY={TEST_SECRET_ACCESS_KEY} \
         aws --region {REGION} --endpoint-url {} logs describe-log-groups\n\
         Ctrl-C ends all of it and leaves nothing behind.",
        world.endpoint()
    );
    tokio::signal::ctrl_c().await.unwrap();
    world.finish().await;
}
