//! Who wrote a comment and which finding it is about: markers.

use mirilla_domain::ids::{
    Account, AttemptNo, Fingerprint, Forge, JobId, PrNumber, PullRequestRef, RepoId,
};
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
fn job_that_a_marker_claims_is_read_whether_it_is_genuine_or_not() {
    for said in [finding(1), review(vec![fingerprint(2)])] {
        let line = marker::write(&key(), &here(), &said);
        let forged = line.replace("mac=", "mac=0");
        for body in [format!("Text.\n\n{line}"), format!("Text.\n\n{forged}")] {
            assert_eq!(marker::claimed_job(&body), Some(job()));
        }
    }
    for text in [
        "",
        "Text.",
        "<!-- mirilla v1 -->",
        "<!-- mirilla v1 job=x -->",
    ] {
        assert_eq!(marker::claimed_job(text), None, "{text}");
    }
}

#[test]
fn accounts_of_no_person_are_known_by_their_names() {
    for (name, want) in [
        ("renovate[bot]", true),
        ("project_15_bot_0123abcd", true),
        ("project_15_bot", true),
        ("project_15_bot1", true),
        ("group_9_bot_0123abcd", true),
        ("service_account_group_9_0123abcd", true),
        ("project__bot", false),
        ("project_x_bot", false),
        ("project_15_bob", false),
        ("robot", false),
        ("bob_bot", false),
    ] {
        assert_eq!(Account::parse(name).unwrap().is_bot(), want, "{name}");
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

mod same_finding {
    //! What makes two findings the same finding.

    use mirilla_domain::anchor::{Anchor, FileLines, Wanted, place};
    use mirilla_domain::fingerprint::{Subject, anchored, normalise, unanchored};
    use mirilla_domain::ids::Fingerprint;
    use mirilla_domain::review::Side;
    use proptest::prelude::*;

    /// A new file with these lines.
    fn file(lines: &[&str]) -> FileLines {
        let body: Vec<String> = lines.iter().map(|line| format!("+{line}\n")).collect();
        let diff = format!(
            "diff --git a/f.rs b/f.rs\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/f.rs\n@@ -0,0 +1,{} @@\n{}",
            lines.len(),
            body.concat()
        );
        FileLines::of(&mirilla_diff::parse(diff.as_bytes()).files[0]).unwrap()
    }

    fn subject(symbol: Option<&str>) -> Subject<'_> {
        Subject {
            category: "correctness",
            symbol,
        }
    }

    fn only(path: &str, subject: Subject<'_>, file: &FileLines, anchor: &Anchor) -> Fingerprint {
        anchored([path], subject, file, anchor).remove(0)
    }

    fn at(file: &FileLines, line: u32) -> Fingerprint {
        range(file, line, line)
    }

    fn range(file: &FileLines, line: u32, end: u32) -> Fingerprint {
        let wanted = Wanted {
            side: Side::Right,
            line,
            end_line: Some(end),
            quote: None,
        };
        let anchor = place(file, &wanted).unwrap();
        only("f.rs", subject(None), file, &anchor)
    }

    const CODE: [&str; 5] = [
        "fn pay() {",
        "    charge(card, amount);",
        "}",
        "fn refund() {",
        "}",
    ];

    #[test]
    fn identity_survives_shifts_and_reindenting() {
        let before = file(&CODE);
        let mut moved = vec!["use a;", "use b;", ""];
        let tabbed: Vec<String> = CODE
            .iter()
            .map(|line| line.replace("    ", "\t\t"))
            .collect();
        moved.extend(tabbed.iter().map(String::as_str));
        let after = file(&moved);
        assert_eq!(at(&before, 2), at(&after, 5));
        assert_eq!(range(&before, 1, 2), range(&after, 4, 5));
    }

    #[test]
    fn identity_changes_with_path_category_symbol_and_text() {
        let file = file(&CODE);
        let anchor = place(
            &file,
            &Wanted {
                side: Side::Right,
                line: 2,
                end_line: None,
                quote: None,
            },
        )
        .unwrap();
        let base = only("f.rs", subject(None), &file, &anchor);
        let other = Subject {
            category: "data-loss",
            symbol: None,
        };
        for different in [
            only("g.rs", subject(None), &file, &anchor),
            only("f.rs", other, &file, &anchor),
            only("f.rs", subject(Some("pay")), &file, &anchor),
            at(&file, 1),
            range(&file, 1, 2),
        ] {
            assert_ne!(base, different);
        }
        // However the model spells the symbol.
        let named = |symbol| only("f.rs", subject(Some(symbol)), &file, &anchor);
        for spelling in ["Pay::pay", "pay()", "Pay.pay(card, amount)", "Pay#pay"] {
            assert_eq!(named(spelling), named("pay"), "{spelling}");
        }
    }

    #[test]
    fn short_lines_are_told_apart_by_neighbours_and_equal_ones_by_their_order() {
        let file = file(&[
            "a {",
            "}",
            "b {",
            "}",
            "call_something();",
            "x",
            "call_something();",
        ]);
        // `}` after `a {` and `}` after `b {`.
        assert_ne!(at(&file, 2), at(&file, 4));
        // Equal long lines: which of them.
        assert_ne!(at(&file, 5), at(&file, 7));
        let declined_elsewhere = self::file(&["c {", "}"]);
        assert_ne!(at(&file, 2), at(&declined_elsewhere, 2));
    }

    #[test]
    fn finding_without_a_place_is_known_by_its_quote() {
        let one = unanchored("f.rs", subject(None), Some("a  b"));
        assert_eq!(one, unanchored("f.rs", subject(None), Some(" a b ")));
        assert_ne!(one, unanchored("f.rs", subject(None), None));
        assert_ne!(one, unanchored("g.rs", subject(None), Some("a b")));
    }

    proptest! {
        #[test]
        fn lines_added_before_change_nothing(
            before in proptest::collection::vec("[a-z]{8,12} above", 0..20),
            code in proptest::collection::vec("[ \t]{0,4}[a-z(){};]{0,12}", 1..8),
            pick in any::<proptest::sample::Index>(),
        ) {
            let lines: Vec<&str> = code.iter().map(String::as_str).collect();
            let line = u32::try_from(pick.index(lines.len())).unwrap() + 1;
            let alone = file(&lines);
            let mut shifted: Vec<&str> = before.iter().map(String::as_str).collect();
            shifted.extend(&lines);
            let moved = file(&shifted);
            let offset = u32::try_from(before.len()).unwrap();
            let text: String = alone.get(Side::Right, line).unwrap().text.clone();
            // A short line is known by its neighbours, and the first one has another one now.
            let is_short = text.chars().filter(|c| c.is_alphanumeric()).count() < 8;
            let equal = alone.side(Side::Right).iter().filter(|one| one.text == text).count();
            prop_assume!(!is_short || (line > 1 && equal == 1));
            prop_assert_eq!(at(&alone, line), at(&moved, line + offset));
        }

        #[test]
        fn normalising_twice_is_normalising_once(text in any::<Vec<u8>>()) {
            let once = normalise(&text);
            prop_assert_eq!(normalise(once.as_bytes()), once);
        }
    }
}

mod hostile_markers {
    //! A marker is read only if it is ours.

    use proptest::prelude::*;

    use super::{finding, fingerprint, here, key, review};
    use mirilla_domain::marker::{read, write};

    proptest! {
        #[test]
        fn text_that_we_did_not_sign_is_never_a_marker(
            before in ".{0,60}",
            said in "(finding|review)=[0-9a-f]{32} [a-z=0-9 ,]{0,60}",
            mac in "[0-9a-f]{0,70}",
            after in ".{0,20}",
        ) {
            let body = format!("{before}\n<!-- mirilla v1 {said} mac={mac} -->{after}");
            prop_assert_eq!(read(&key(), &here(), &body), None);
        }

        #[test]
        fn one_changed_character_voids_a_marker(
            at in any::<proptest::sample::Index>(),
            with in "[0-9a-z=, ]",
            is_review in any::<bool>(),
        ) {
            let said = if is_review { review(vec![fingerprint(3)]) } else { finding(3) };
            let line = write(&key(), &here(), &said);
            // Up to the MAC's last digit; what follows it is only the closing.
            let inner = line.len() - " -->".len();
            let at = at.index(inner);
            let mut changed = line.clone();
            changed.replace_range(at..=at, &with);
            // Hex digits of the MAC may be written in either case.
            prop_assume!(!changed.eq_ignore_ascii_case(&line));
            prop_assert_eq!(read(&key(), &here(), &changed), None);
        }
    }
}
