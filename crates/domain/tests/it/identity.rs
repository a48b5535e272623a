//! Who wrote a comment and which finding it is about: markers.

use mirilla_domain::ids::{AttemptNo, Fingerprint, Forge, JobId, PrNumber, PullRequestRef, RepoId};
use mirilla_domain::marker::{self, FindingMarker, Marker, MarkerKey, ReviewMarker, Version};
use mirilla_domain::review::Severity;

fn key() -> MarkerKey {
    MarkerKey::new(b"a key made up for tests").unwrap()
}

fn here() -> PullRequestRef {
    PullRequestRef {
        forge: Forge::Github,
        repo: RepoId::new(1_296_269),
        pr: PrNumber::new(212),
    }
}

fn job() -> JobId {
    JobId::parse("0123456789abcdef0123456789abcdef").unwrap()
}

fn fingerprint(n: u8) -> Fingerprint {
    Fingerprint::over(&[&[n]])
}

fn finding(n: u8) -> Marker {
    Marker::Finding(FindingMarker {
        fingerprint: fingerprint(n),
        severity: Severity::High,
        job: job(),
    })
}

fn review(in_body: Vec<Fingerprint>) -> Marker {
    Marker::Review(ReviewMarker {
        job: job(),
        attempt: AttemptNo::new(2),
        in_body,
    })
}

#[test]
fn marker_is_read_back_from_the_end_of_a_body() {
    for said in [
        finding(1),
        review(vec![]),
        review(vec![fingerprint(1), fingerprint(2)]),
    ] {
        let line = marker::write(&key(), &here(), &said);
        assert!(!line.contains('\n') && line.starts_with("<!--") && line.ends_with("-->"));
        for body in [
            format!("text\n\n{line}"),
            format!("text\r\n{line}\r\n"),
            line.clone(),
        ] {
            assert_eq!(marker::read(&key(), &here(), &body), Some(said.clone()));
        }
    }
}

#[test]
fn marker_of_another_place_key_or_content_is_text() {
    let line = marker::write(&key(), &here(), &finding(1));
    let other_pr = PullRequestRef {
        pr: PrNumber::new(213),
        ..here()
    };
    let other_repo = PullRequestRef {
        repo: RepoId::new(1),
        ..here()
    };
    let other_forge = PullRequestRef {
        forge: Forge::Gitlab,
        ..here()
    };
    for place in [other_pr, other_repo, other_forge] {
        assert_eq!(marker::read(&key(), &place, &line), None, "{place}");
    }
    let other_key = MarkerKey::new(b"another key made up too").unwrap();
    assert_eq!(marker::read(&other_key, &here(), &line), None);
    let edits = [
        line.replace("severity=high", "severity=low"),
        line.replace(fingerprint(1).as_str(), fingerprint(2).as_str()),
        line.replace("mac=", "mac=00"),
        line.replace(" mac=", " more=1 mac="),
        line.replace(&line[line.find(" mac=").unwrap()..], " -->"),
        line.replace("v1", "v0"),
        line.trim_end_matches(" -->").to_owned(),
    ];
    for edited in edits {
        assert_ne!(edited, line);
        assert_eq!(marker::read(&key(), &here(), &edited), None, "{edited}");
    }
}

#[test]
fn only_the_last_marker_counts() {
    let first = marker::write(&key(), &here(), &finding(1));
    let last = marker::write(&key(), &here(), &finding(2));
    assert_eq!(
        marker::read(&key(), &here(), &format!("{first}\n{last}")),
        Some(finding(2))
    );
    let forged = format!("{first}\n<!-- mirilla v1 finding=x mac=00 -->");
    assert_eq!(marker::read(&key(), &here(), &forged), None);
}

#[test]
fn every_version_ever_written_is_still_read() {
    // Made apart from this code, after the format's description. A new version adds a line here and
    // changes none.
    let recorded = [(
        Version::V1,
        "<!-- mirilla v1 finding=bd87b2cda99df5b642ac9c0a97d3bc76 severity=high job=0123456789abcdef0123456789abcdef mac=6be5aa755cc07b92e8f4baba066b6c04a4359037300e9262b8f177962e1fbb07 -->",
    )];
    assert_eq!(recorded.map(|(version, _)| version), Version::ALL);
    for (version, line) in recorded {
        assert_eq!(
            marker::read(&key(), &here(), line),
            Some(finding(1)),
            "{version:?}"
        );
    }
}

#[test]
fn short_keys_are_refused_and_keys_are_never_printed() {
    let error = MarkerKey::new(b"short").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the marker key has 5 bytes; it needs at least 16 random ones"
    );
    assert_eq!(format!("{:?}", key()), "MarkerKey(..)");
}
