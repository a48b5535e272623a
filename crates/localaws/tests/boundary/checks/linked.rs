//! What a function links, directly or through others.

use std::collections::BTreeSet;

use mirilla_localaws::FUNCTIONS;

use crate::links::Links;

/// Crates with which one could speak HTTP to any host.
const HTTP_CLIENTS: [&str; 11] = [
    "attohttpc",
    "awc",
    "curl",
    "hyper",
    "hyper-util",
    "isahc",
    "minreq",
    "octocrab",
    "reqwest",
    "surf",
    "ureq",
];

/// It could not build a request to a forge if it wanted to.
pub(crate) fn reviewer_links_no_forge(links: &Links) -> Vec<String> {
    let mut found = Vec::new();
    if links.of("mirilla-reviewer").contains("mirilla-forge") {
        found.push(links.path("mirilla-reviewer", "mirilla-forge"));
    }
    if !links.of("mirilla-poster").contains("mirilla-forge") {
        found.push("control: the poster links no forge".to_owned());
    }
    found
}

/// The functions' crates.
fn crates() -> impl Iterator<Item = String> {
    FUNCTIONS.into_iter().map(|name| format!("mirilla-{name}"))
}

/// No process that holds a forge's credential could ask a model.
pub(crate) fn only_the_reviewer_links_a_model(links: &Links) -> Vec<String> {
    let mut found = Vec::new();
    for function in crates() {
        for model in ["mirilla-model", "aws-sdk-bedrockruntime"] {
            let function = function.as_str();
            let linked = links.of(function).contains(model);
            if linked && function != "mirilla-reviewer" {
                found.push(links.path(function, model));
            }
            if !linked && function == "mirilla-reviewer" {
                found.push(format!("control: the reviewer links no {model}"));
            }
        }
    }
    found
}

/// There is one client, which takes its hosts from whoever makes it, and only adapters make one:
/// a stage or a function that wanted to call a forge by itself would have to appear here first.
pub(crate) fn only_adapters_speak_http(links: &Links) -> Vec<String> {
    let mut found = Vec::new();
    let functions: Vec<String> = crates().collect();
    let linked: BTreeSet<&str> = functions
        .iter()
        .flat_map(|function| links.of(function))
        .filter(|name| links.is_member(name))
        .collect();
    for member in &linked {
        for dependency in links.direct(member) {
            let client = HTTP_CLIENTS.contains(&dependency) && *member != "mirilla-http";
            let ours = dependency == "mirilla-http"
                && !["mirilla-forge", "mirilla-model", "mirilla-aws"].contains(member);
            if client || ours {
                found.push(format!("{member} depends on {dependency}"));
            }
        }
    }
    if !linked.contains("mirilla-http") || !links.direct("mirilla-http").contains("reqwest") {
        found.push("control: nobody speaks HTTP".to_owned());
    }
    found
}

/// Simulators and stores of other hosts stay out of what is deployed.
pub(crate) fn functions_link_no_simulator(links: &Links) -> Vec<String> {
    let mut found = Vec::new();
    for function in crates() {
        let function = function.as_str();
        for not_for_lambda in [
            "mirilla-sim",
            "mirilla-local",
            "mirilla-localaws",
            "mirilla-contract",
        ] {
            if links.of(function).contains(not_for_lambda) {
                found.push(links.path(function, not_for_lambda));
            }
        }
        if !links.of(function).contains("mirilla-telemetry") {
            found.push(format!("control: {function} links nothing of ours"));
        }
    }
    found
}
