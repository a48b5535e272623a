//! The shipped pipeline for GitLab: read as each version reads it, held against what SECURITY.md says, and run step
//! by step.

mod lint;
mod runner;

use std::fs;

use mirilla_sim::{Access, GitlabVersion, Scope, Sentinels};
use yaml_rust2::Yaml;

use super::{MARKER_KEY, leaks, parse};
use crate::support::gitlab::{From, GitlabWorld, PROJECT};
use crate::support::root;
use lint::{GITLABS_OWN, JOBS, problems, unknown_to};
use runner::{Pipeline, Variable};

/// Marks the lines that an old GitLab does not take.
const NOT_BEFORE: &str = "# leave this line out before GitLab 13.2";

fn text() -> String {
    fs::read_to_string(root().join("infra/gitlab-ci/mirilla.gitlab-ci.yml")).unwrap()
}

/// The recipe as the file itself says that a version wants it.
fn recipe_for(version: GitlabVersion) -> Yaml {
    let text = text();
    let old = version < GitlabVersion::new(13, 2);
    let lines = text
        .lines()
        .filter(|line| !old || !line.ends_with(NOT_BEFORE));
    parse(&lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn recipe_is_what_security_says_of_it_and_every_version_understands_it() {
    assert_eq!(problems(&parse(&text())), Vec::<String>::new());
    for version in GitlabVersion::PLAYED {
        let unknown = unknown_to(version, &recipe_for(version));
        assert_eq!(unknown, Vec::<String>::new(), "GitLab {version}");
    }
    let oldest = unknown_to(GitlabVersion::V12_10, &parse(&text()));
    assert_eq!(oldest, ["environment:action:prepare"]);
}

#[test]
fn each_weakening_of_the_recipe_is_noticed() {
    let reviewing = "    - bin/mirilla review --snapshot snapshot --out findings\n";
    let review = "mirilla-review:\n  stage: mirilla-review\n";
    let no_clone = "  variables:\n    GIT_STRATEGY: none\n  script:\n    - cd";
    for (what, from, to) in [
        (
            "a token where the model is",
            "    name: mirilla/model\n",
            "    name: mirilla/forge/model\n",
        ),
        (
            "a key where the token is",
            "    name: mirilla/forge/write\n",
            "    name: mirilla/model\n",
        ),
        (
            "a token by another name",
            reviewing,
            "    - MIRILLA_KEY=\"$MIRILLA_GITLAB_TOKEN\" bin/mirilla review --snapshot snapshot --out findings\n",
        ),
        (
            "the job's token",
            "    - unset CI_JOB_TOKEN ",
            "    - unset ",
        ),
        (
            "the job's identity",
            "    - unset CI_DEPLOY_PASSWORD CI_JOB_JWT CI_JOB_JWT_V1 CI_JOB_JWT_V2\n",
            "",
        ),
        (
            "an identity of its own",
            review,
            "mirilla-review:\n  id_tokens: {ID: {aud: https://example.com}}\n  stage: mirilla-review\n",
        ),
        (
            "a checkout",
            no_clone,
            "  variables:\n    GIT_STRATEGY: clone\n  script:\n    - cd",
        ),
        (
            "a checkout by hand",
            reviewing,
            "    - git clone https://example.com/a.git\n    - bin/mirilla review --snapshot snapshot --out findings\n",
        ),
        (
            "a cache",
            review,
            "mirilla-review:\n  cache: {paths: [bin]}\n  stage: mirilla-review\n",
        ),
        (
            "somebody's commands first",
            review,
            "mirilla-review:\n  before_script: [./prepare]\n  stage: mirilla-review\n",
        ),
        (
            "somebody's defaults",
            "  inherit: {default: false, variables: false}\n",
            "  inherit: {default: true, variables: false}\n",
        ),
        (
            "defaults for all",
            "stages: [",
            "default: {before_script: [./prepare]}\nstages: [",
        ),
        (
            "a fork's own pipeline",
            " && $CI_MERGE_REQUEST_PROJECT_ID == $CI_PROJECT_ID",
            "",
        ),
        ("every push", "== \"merge_request_event\"", "== \"push\""),
        ("a merge train", "      when: never\n", ""),
        (
            "another project's artifact",
            "    - job: mirilla-review\n      artifacts: true\n",
            "    - job: mirilla-review\n      project: mallory/shop\n      ref: main\n      artifacts: true\n",
        ),
        (
            "text in a shell",
            reviewing,
            "    - bin/mirilla review --snapshot snapshot --out $CI_MERGE_REQUEST_TITLE\n",
        ),
        (
            "a program nobody checked",
            "    - sha256sum --check program.sha256\n    - rm -rf findings\n",
            "    - rm -rf findings\n",
        ),
        (
            "a job that leaves more than findings",
            "      - mirilla-$CI_PIPELINE_ID/findings\n",
            "      - mirilla-$CI_PIPELINE_ID\n",
        ),
        (
            "artifacts that stay",
            "    expire_in: 30 days\n",
            "    expire_in: never\n",
        ),
        (
            "two postings at once",
            "  resource_group: mirilla-post-$CI_MERGE_REQUEST_IID\n",
            "",
        ),
        (
            "a posting that is cut off",
            "  interruptible: false\n",
            "  interruptible: true\n",
        ),
        ("a job without end", "  timeout: 20 minutes\n", ""),
        ("an image that changes", "debian:bullseye-slim", "debian"),
    ] {
        let weaker = text().replacen(from, to, 1);
        assert_ne!(weaker, text(), "{what}: the recipe has no {from:?}");
        let found = problems(&parse(&weaker));
        assert!(!found.is_empty(), "{what} is not noticed");
    }
}

/// The two variables of a project, as the recipe's first lines say.
fn two_variables(world: &GitlabWorld) -> [Variable; 2] {
    [
        Variable {
            name: "MIRILLA_GITLAB_TOKEN",
            value: world.token(Access::Developer, Scope::Api),
            scope: "mirilla/forge/*",
        },
        Variable {
            name: "ANTHROPIC_API_KEY",
            value: world.sim.messages().api_key().to_owned(),
            scope: "mirilla/model",
        },
    ]
}

fn run(
    world: &GitlabWorld,
    name: &str,
    variables: &[Variable],
    more: &[(&str, String)],
) -> Pipeline {
    let mut told = world.variables();
    told.extend(more.iter().cloned());
    let folder = world.dir.path().join(name);
    let mut pipeline = Pipeline::new(&world.sim, folder, &told, variables);
    pipeline.run(&recipe_for(world.sim.gitlab().version()));
    pipeline
}

fn codes(pipeline: &Pipeline) -> [Option<i32>; 4] {
    JOBS.map(|(job, _)| pipeline.jobs[job].code)
}

#[test]
fn steps_as_written_make_a_review_on_every_version_and_no_forge_token_reaches_the_reviewer() {
    for version in GitlabVersion::PLAYED {
        // A fork's merge request is run in the project when a member says so.
        for from in [From::Branch, From::Fork] {
            let world = GitlabWorld::of(version, from);
            let variables = two_variables(&world);
            let first = run(&world, "first", &variables, &[]);
            for (job, ran) in &first.jobs {
                assert_eq!(ran.code, Some(0), "{version} {job}: {}", ran.log);
            }
            let (placed, whole) = world.notes();
            let log = &first.jobs["mirilla-post"].log;
            assert_eq!((placed.len(), whole.len()), (1, 1), "{version}: {log}");

            let sentinels = Sentinels::default();
            for ran in first.jobs.values() {
                ran.own_tokens.iter().for_each(|token| sentinels.add(token));
            }
            let token = &variables[0].value;
            sentinels.add(token.strip_prefix("glpat-madeUp").unwrap());
            world.sim.sentinel(token);
            let review = &first.jobs["mirilla-review"];
            // GitLab puts its own token into every job; the program is started without it.
            let seen = String::from_utf8_lossy(&review.seen).into_owned();
            assert!(seen.contains("ANTHROPIC_API_KEY="), "{seen}");
            let given = review
                .environment
                .iter()
                .filter(|(name, _)| !GITLABS_OWN.contains(&name.as_str()));
            let mut environment: Vec<(String, String)> = given.cloned().collect();
            environment.push(("what the program saw".to_owned(), seen));
            let folders = [review.folder.as_path(), &first.artifacts()];
            let leaked = leaks(&sentinels, &environment, &review.log, &folders);
            assert_eq!(leaked, Vec::<String>::new(), "{version}");
            // The search finds what is there: the job that posts has the token, and the shell of each its own.
            let post = &first.jobs["mirilla-post"];
            let seen = String::from_utf8_lossy(&post.seen).into_owned();
            let held = leaks(
                &sentinels,
                &[("what the program saw".to_owned(), seen)],
                &post.log,
                &[&post.folder],
            );
            assert_eq!(held, ["variable what the program saw"], "{version}");
            for job in [review, post] {
                let owned = job.folder.join("owned").exists()
                    || job.folder.join("mirilla-4711/owned").exists();
                assert!(!owned, "{version}");
            }
            assert_eq!(widget(&first).len(), 1, "{version}");

            // The same again: a person pressed "Retry".
            let again = run(&world, "second", &variables, &[]);
            assert_eq!(codes(&again), [Some(0); 4], "{version}");
            assert_eq!(world.notes().0, placed, "{version}");
            assert_eq!(world.notes().1.len(), 1, "{version}");
            assert_eq!(widget(&again).len(), 1, "what was said before still stands");
            world.sim.finish().unwrap();
        }
    }
}

/// What the widget of the merge request is handed.
fn widget(pipeline: &Pipeline) -> Vec<serde_json::Value> {
    let kept = pipeline.artifacts().join("mirilla-post/mirilla-4711");
    let text = fs::read(kept.join("codequality.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn a_pipeline_of_merged_results_reviews_the_head_and_not_gitlabs_commit() {
    let world = GitlabWorld::of(GitlabVersion::CURRENT, From::Branch);
    let merged = "c0ffee".repeat(6) + "c0ff";
    let more = [
        ("CI_COMMIT_SHA", merged),
        ("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", world.head()),
        ("CI_MERGE_REQUEST_EVENT_TYPE", "merged_result".to_owned()),
    ];
    let pipeline = run(&world, "merged", &two_variables(&world), &more);
    assert_eq!(codes(&pipeline), [Some(0); 4]);
    assert_eq!(world.notes().0.len(), 1);
}

#[test]
fn a_push_repeats_nothing_with_a_key_that_is_made_of_the_token() {
    let world = GitlabWorld::of(GitlabVersion::V12_10, From::Branch);
    let variables = two_variables(&world);
    run(&world, "first", &variables, &[]);
    world.push(1);
    let second = run(&world, "second", &variables, &[]);
    let log = &second.jobs["mirilla-post"].log;
    assert_eq!(world.notes().0.len(), 2, "{log}");
    assert!(log.contains("1 already posted"), "{log}");
    assert_eq!(widget(&second).len(), 2);
}

#[test]
fn nothing_runs_on_a_train_or_in_a_forks_own_pipeline() {
    let world = GitlabWorld::of(GitlabVersion::CURRENT, From::Fork);
    for (name, value) in [
        ("CI_MERGE_REQUEST_EVENT_TYPE", "merge_train"),
        ("CI_PROJECT_ID", "1"),
        ("CI_PIPELINE_SOURCE", "push"),
    ] {
        let pipeline = run(&world, name, &[], &[(name, value.to_owned())]);
        assert!(pipeline.jobs.is_empty(), "{name}");
    }
}

#[test]
fn a_token_that_is_not_kept_from_the_review_stops_it() {
    let world = GitlabWorld::of(GitlabVersion::CURRENT, From::Branch);
    for scope in ["*", "mirilla/*"] {
        let [mut token, key] = two_variables(&world);
        token.scope = scope;
        let folder = format!("scope {scope}").replace(['*', '/'], "-");
        let pipeline = run(&world, &folder, &[token, key], &[]);
        let review = &pipeline.jobs["mirilla-review"];
        assert_eq!(review.code, Some(1), "{}", review.log);
        for said in [
            "MIRILLA_GITLAB_TOKEN",
            "its scope under Settings > CI/CD > Variables",
        ] {
            assert!(review.log.contains(said), "{}", review.log);
        }
        assert_eq!(pipeline.jobs["mirilla-post"].code, None);
    }
    assert_eq!(world.notes(), (Vec::new(), Vec::new()));
}

#[test]
fn a_variable_that_is_missing_is_named_with_where_to_set_it() {
    let world = GitlabWorld::of(GitlabVersion::CURRENT, From::Branch);
    let [token, key] = two_variables(&world);
    for (name, given, job, says) in [
        (
            "none",
            Vec::new(),
            "mirilla-collect",
            "MIRILLA_GITLAB_READ_TOKEN is missing",
        ),
        (
            "no key",
            vec![token],
            "mirilla-review",
            "ANTHROPIC_API_KEY is not set",
        ),
        (
            "no token",
            vec![key],
            "mirilla-collect",
            "MIRILLA_GITLAB_READ_TOKEN is missing",
        ),
    ] {
        let pipeline = run(&world, name, &given, &[]);
        let ran = &pipeline.jobs[job];
        assert_eq!(ran.code, Some(2), "{name}: {}", ran.log);
        for said in [says, "Settings > CI/CD > Variables"] {
            assert!(ran.log.contains(said), "{name}: {}", ran.log);
        }
    }
}

#[test]
fn tokens_and_a_key_of_their_own_are_taken_where_they_are_set() {
    let world = GitlabWorld::of(GitlabVersion::V15_11, From::Branch);
    let [write, model] = two_variables(&world);
    let own = |name, value: String, scope| Variable { name, value, scope };
    let variables = [
        own(
            "MIRILLA_GITLAB_WRITE_TOKEN",
            write.value,
            "mirilla/forge/write",
        ),
        own(
            "MIRILLA_GITLAB_READ_TOKEN",
            world.token(Access::Reporter, Scope::ReadApi),
            "mirilla/forge/read",
        ),
        own(
            "MIRILLA_MARKER_KEY",
            MARKER_KEY.to_owned(),
            "mirilla/forge/write",
        ),
        model,
    ];
    let pipeline = run(&world, "four", &variables, &[]);
    assert_eq!(codes(&pipeline), [Some(0); 4]);
    let collect = String::from_utf8_lossy(&pipeline.jobs["mirilla-collect"].seen).into_owned();
    assert!(!collect.contains("WRITE_TOKEN") && !collect.contains(MARKER_KEY));
    assert_eq!(world.notes().0.len(), 1);
}

#[test]
fn draft_ends_after_the_first_look() {
    let world = GitlabWorld::of(GitlabVersion::CURRENT, From::Branch);
    let gitlab = world.sim.gitlab();
    gitlab.set_draft(PROJECT, world.iid, true, "bob").unwrap();
    let pipeline = run(&world, "draft", &two_variables(&world), &[]);
    assert_eq!(codes(&pipeline), [Some(0); 4]);
    for job in ["mirilla-review", "mirilla-post"] {
        let ran = &pipeline.jobs[job];
        assert!(ran.log.contains("Nothing to review"), "{job}: {}", ran.log);
        assert!(ran.seen.is_empty(), "{job} started the program");
    }
}
