//! The shipped workflow: read as GitHub reads it, held against what SECURITY.md says, and run step by step.

mod gitlab;
mod lint;
mod runner;

use std::fs;
use std::path::Path;

use mirilla_sim::{Commit, OpenPull, Sentinels};
use yaml_rust2::{Yaml, YamlLoader};

use crate::support::{REPO, World, root};
use lint::problems;
use runner::Runner;

/// Made up, and without a word in it: pieces of words are found everywhere.
const MARKER_KEY: &str = "Zt81pQx0Lw5nVb73KcYe2Rm6";

fn text() -> String {
    fs::read_to_string(root().join("infra/github-actions/mirilla.yml")).unwrap()
}

fn parse(text: &str) -> Yaml {
    YamlLoader::load_from_str(text).unwrap().remove(0)
}

#[test]
fn recipe_is_what_security_says_of_it() {
    assert_eq!(problems(&parse(&text())), Vec::<String>::new());
}

#[test]
fn each_weakening_of_the_recipe_is_noticed() {
    let reviewing = "run: bin/mirilla review --snapshot snapshot --out findings";
    for (what, from, to) in [
        (
            "a token",
            "          ANTHROPIC_API_KEY: ${{ secrets.ANTHROPIC_API_KEY }}",
            "          ANTHROPIC_API_KEY: ${{ github.token }}",
        ),
        (
            "a right",
            "    timeout-minutes: 20\n    permissions: {}",
            "    timeout-minutes: 20\n    permissions:\n      contents: read",
        ),
        (
            "rights by default",
            "permissions: {}\n\njobs:",
            "permissions: write-all\n\njobs:",
        ),
        (
            "a wider right",
            "      contents: read\n      pull-requests: write",
            "      contents: write\n      pull-requests: write",
        ),
        (
            "a checkout",
            "      - name: Collect",
            "      - uses: actions/checkout@ea165f8d65b6e75b540449e92b4886f43607fa02\n      - name: Collect",
        ),
        (
            "a cache",
            "      - name: Collect",
            "      - uses: actions/cache@ea165f8d65b6e75b540449e92b4886f43607fa02\n      - name: Collect",
        ),
        (
            "a loose pin",
            "actions/upload-artifact@ea165f8d65b6e75b540449e92b4886f43607fa02",
            "actions/upload-artifact@v4",
        ),
        (
            "text in a shell",
            reviewing,
            "run: bin/mirilla review --snapshot snapshot --out ${{ github.event.pull_request.title }}",
        ),
        (
            "another run's artifact",
            "          name: mirilla-findings\n          path: findings\n      #",
            "          name: mirilla-findings\n          run-id: 1\n          path: findings\n      #",
        ),
        (
            "another event",
            "  pull_request_target:\n",
            "  issue_comment:\n  pull_request_target:\n",
        ),
        (
            "a program nobody checked",
            "          echo \"$MIRILLA_SHA256  bin/mirilla\" | sha256sum --check\n",
            "",
        ),
        (
            "a job that counts as passed when the review failed",
            "    if: ${{ !cancelled() && needs.collect.outputs.collected != 'false' }}\n",
            "",
        ),
        ("a base that changes unseen", ", edited]", "]"),
        (
            "a secret too many",
            "          MIRILLA_MARKER_KEY: ${{ secrets.MIRILLA_MARKER_KEY }}",
            "          MIRILLA_MARKER_KEY: ${{ secrets.ANTHROPIC_API_KEY }}",
        ),
    ] {
        let weaker = text().replacen(from, to, 1);
        assert_ne!(weaker, text(), "{what}: the recipe has no {from:?}");
        assert!(
            !problems(&parse(&weaker)).is_empty(),
            "{what} is not noticed"
        );
    }
}

/// A pull request of a branch, or of a stranger's fork.
fn open(world: &World, from_fork: bool) -> u64 {
    if !from_fork {
        return world.open_pull("change");
    }
    let github = world.sim.github();
    let fork = github.fork(REPO, "mallory").unwrap();
    let code = "class Step {\n  void run() {\n    try {\n      work();\n    } catch (Exception e) {\n    }\n  }\n}\n";
    let commit = Commit::by("mallory", "step").write("change/Step0.java", code);
    github.commit(&fork, "change", &commit).unwrap();
    drop(github.take_deliveries());
    let mut pull = OpenPull::new("mallory", "change", "a title $(touch owned) `touch owned`");
    pull.from = Some(fork);
    github.open_pull(REPO, pull).unwrap()
}

/// Every file below a folder.
fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// Returns where pieces of the sentinels stand: environment, log, and files of the job's own folder and of the
/// artifacts it was given or left.
fn leaks(
    sentinels: &Sentinels,
    environment: &[(String, String)],
    log: &str,
    folders: &[&Path],
) -> Vec<String> {
    let mut found = Vec::new();
    for (name, value) in environment {
        if sentinels.found_in(value.as_bytes()) {
            found.push(format!("variable {name}"));
        }
    }
    if sentinels.found_in(log.as_bytes()) {
        found.push("log".to_owned());
    }
    let mut paths = Vec::new();
    for folder in folders {
        files(folder, &mut paths);
    }
    assert!(paths.len() > 5, "the search looks at too little: {paths:?}");
    for path in paths {
        if sentinels.found_in(&fs::read(&path).unwrap()) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn steps_as_written_make_a_review_and_no_forge_token_reaches_the_reviewer() {
    for from_fork in [false, true] {
        let world = World::new();
        let pull = open(&world, from_fork);
        let delivery = world.deliveries().pop().unwrap();
        let recipe = parse(&text());
        let secrets = [
            (
                "ANTHROPIC_API_KEY",
                world.sim.messages().api_key().to_owned(),
            ),
            ("MIRILLA_MARKER_KEY", MARKER_KEY.to_owned()),
        ];
        let mut runner = Runner::new(&world, &delivery.body, &secrets, "first");
        runner.run(&recipe);
        for (job, ran) in &runner.jobs {
            assert_eq!(ran.code, Some(0), "{job}: {}", ran.log);
        }
        let page = world.sim.github().pull_request_page(REPO, pull).unwrap();
        assert_eq!(page.reviews.len(), 1, "{}", runner.jobs["post"].log);
        assert_eq!(page.reviews[0].comments.len(), 1);

        let sentinels = Sentinels::default();
        for job in ["program", "collect", "review", "post"] {
            let token = &runner.jobs[job].token;
            // What comes after the word for App tokens is random.
            sentinels.add(token.strip_prefix("ghs_").unwrap());
            world.sim.sentinel(token);
        }
        sentinels.add(MARKER_KEY);
        let review = &runner.jobs["review"];
        let artifacts = runner.artifacts();
        let leaked = leaks(
            &sentinels,
            &review.environment,
            &review.log,
            &[&review.folder, &artifacts],
        );
        assert_eq!(leaked, Vec::<String>::new());
        // The search finds what is there: the job that posts has both.
        let post = &runner.jobs["post"];
        let held = leaks(&sentinels, &post.environment, &post.log, &[&post.folder]);
        let wanted = [
            "variable MIRILLA_GITHUB_WRITE_TOKEN",
            "variable MIRILLA_MARKER_KEY",
        ];
        assert_eq!(held, wanted);
        assert!(!review.folder.join("owned").exists() && !post.folder.join("owned").exists());

        // The same event again: a person pressed "Re-run all jobs".
        let mut again = Runner::new(&world, &delivery.body, &secrets, "second");
        again.run(&recipe);
        assert_eq!(again.jobs["post"].code, Some(0));
        let after = world.sim.github().pull_request_page(REPO, pull).unwrap();
        assert_eq!(after.reviews.len(), 1, "{}", again.jobs["post"].log);
        assert_eq!(after.reviews[0].comments, page.reviews[0].comments);
        world.sim.finish().unwrap();
    }
}

#[test]
fn draft_ends_after_the_first_look() {
    let world = World::new();
    let pull = world.open_pull("change");
    let delivery = world.deliveries().pop().unwrap();
    world
        .sim
        .github()
        .set_draft(REPO, pull, true, "dana")
        .unwrap();
    let mut runner = Runner::new(&world, &delivery.body, &[], "draft");
    runner.run(&parse(&text()));
    let codes = ["program", "collect", "review", "post"].map(|job| runner.jobs[job].code);
    assert_eq!(codes, [Some(0), Some(0), None, None]);
}

#[test]
fn review_that_failed_fails_the_job_that_counts() {
    let world = World::new();
    let pull = world.open_pull("change");
    let delivery = world.deliveries().pop().unwrap();
    let secrets = [("MIRILLA_MARKER_KEY", MARKER_KEY.to_owned())];
    let mut runner = Runner::new(&world, &delivery.body, &secrets, "no-model-key");
    runner.run(&parse(&text()));
    let failed = ["program", "collect", "review", "post"]
        .map(|job| runner.jobs[job].code.map(|code| code != 0));
    assert_eq!(failed, [Some(false), Some(false), Some(true), Some(true)]);
    let page = world.sim.github().pull_request_page(REPO, pull).unwrap();
    assert!(page.reviews.is_empty());
}
