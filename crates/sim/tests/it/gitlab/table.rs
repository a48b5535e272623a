//! The table of what exists in which version, and that every version holds to it.

use mirilla_sim::{GitlabFeature, GitlabVersion, gitlab_feature_table, gitlab_route_names};

use crate::gitlab::world::Lab;

#[test]
fn table_says_what_exists_per_version() {
    let expected = include_str!("table.txt");
    assert_eq!(gitlab_feature_table().trim(), expected.trim());
}

#[test]
fn route_exists_exactly_where_the_table_says() {
    for version in GitlabVersion::PLAYED {
        let lab = Lab::of(version);
        for (name, feature) in gitlab_route_names() {
            let (method, template) = name.split_once(' ').unwrap();
            let path = template
                .replace("{id}", "acme%2Fplatform%2Fshop")
                .replace("{iid}", "1")
                .replace(['{', '}'], "");
            let answer = lab.call(method, &path, None);
            let exists = answer.body != br#"{"error":"404 Not Found"}"#;
            let expected = feature.is_none_or(|feature| version.has(feature));
            assert_eq!(exists, expected, "{name} in {version}: {}", answer.status);
        }
        drop(lab.gl().take_problems());
        lab.gl()
            .merge_request_page("acme/platform/shop", 1)
            .unwrap();
    }
}

#[test]
fn version_is_told_to_whoever_has_a_token() {
    for version in GitlabVersion::PLAYED {
        let lab = Lab::of(version);
        let told = lab.get("/version");
        assert_eq!(told.json()["version"], format!("{version}.0-ee"));
        if version.has(GitlabFeature::Metadata) {
            assert_eq!(lab.get("/metadata").json()["enterprise"], true);
        }
        lab.sim.finish().unwrap();
    }
}

#[test]
fn path_that_no_version_has_fails_the_test_by_name() {
    let lab = Lab::of(GitlabVersion::V12_10);
    for (method, path, status, body) in [
        ("GET", "/nothing", 404, r#"{"error":"404 Not Found"}"#),
        ("DELETE", "/version", 405, r#"{"error":"405 Not Allowed"}"#),
        // A path that is not encoded is another path.
        (
            "GET",
            "/projects/acme/platform/shop",
            404,
            r#"{"error":"404 Not Found"}"#,
        ),
    ] {
        let answer = lab.call(method, path, None);
        assert_eq!((answer.status, answer.text().as_str()), (status, body));
    }
    assert_eq!(lab.get(&lab.at("/diffs")).status, 404);
    let found = lab.sim.finish().unwrap_err().to_string();
    assert!(
        found.contains("unknown route: GET /api/v4/nothing"),
        "{found}"
    );
    assert!(
        found.contains("/diffs, which GitLab 12.10 does not have"),
        "{found}"
    );
}
