//! The search must be able to fail.

#![allow(clippy::string_slice, reason = "test code, and ASCII")]

use super::*;

const SECRET: &str = "vX7q/Zk2+Wn9Tb4Lr6Hd1Js8";

fn sentinels() -> Sentinels {
    let mut sentinels = Sentinels::default();
    sentinels.add("secret", SECRET);
    sentinels
}

/// Returns the forms in which something planted in the middle of a log line is found.
fn planted(what: &str) -> Vec<String> {
    let line = format!(r#"{{"level":"INFO","message":"wrote {what} bytes","repo":"acme/shop"}}"#);
    sentinels().found_in(line.as_bytes()).into_iter().collect()
}

fn percent(bytes: &str) -> String {
    let each: Vec<String> = bytes.bytes().map(|byte| format!("%{byte:02X}")).collect();
    each.concat()
}

fn hex(bytes: &str) -> String {
    let each: Vec<String> = bytes.bytes().map(|byte| format!("{byte:02x}")).collect();
    each.concat()
}

#[test]
fn value_is_found_whole_and_every_piece_of_eight_of_it() {
    assert_eq!(planted(SECRET), ["secret, as it is"]);
    for from in 0..=SECRET.len() - 8 {
        let piece = &SECRET[from..from + 8];
        assert!(
            planted(piece).contains(&"secret, as it is".to_owned()),
            "{piece}"
        );
    }
}

#[test]
fn base64_is_found_in_every_alignment_alphabet_and_surrounding() {
    for before in ["", "a", "ab", "abc", "abcd"] {
        for after in ["", "z", "zy", "zyx"] {
            let text = format!("{before}{SECRET}{after}");
            for encoded in [STANDARD_NO_PAD.encode(&text), URL_SAFE_NO_PAD.encode(&text)] {
                assert_eq!(planted(&encoded), ["secret, as base64"], "{text}");
            }
            let piece = format!("{before}{}{after}", &SECRET[5..13]);
            let encoded = STANDARD_NO_PAD.encode(&piece);
            assert_eq!(planted(&encoded), ["secret, as base64"], "{piece}");
        }
    }
}

#[test]
fn hex_and_urls_are_found_in_either_case() {
    for piece in [SECRET, &SECRET[5..13]] {
        assert_eq!(planted(&hex(piece)), ["secret, as hex"]);
        assert_eq!(planted(&hex(piece).to_uppercase()), ["secret, as hex"]);
        assert_eq!(planted(&percent(piece)), ["secret, in a URL"]);
        assert_eq!(
            planted(&percent(piece).to_lowercase()),
            ["secret, in a URL"]
        );
    }
    let found = planted("q=vX7q%2FZk2%2BWn9");
    assert_eq!(found, ["secret, in a URL"], "only what must be is encoded");
}

#[test]
fn what_is_no_leak_is_not_found() {
    assert_eq!(planted("vX7q/Zk"), [""; 0], "seven characters");
    assert_eq!(planted("Zk2+W vX7q/ Tb4Lr6H"), [""; 0], "no piece is whole");
    assert_eq!(planted(&hex("another value of no interest")), [""; 0]);
    let mut marker = Sentinels::default();
    let key = "00112233445566778899aabbccddeeff";
    marker.add("marker key", key);
    assert_eq!(marker.found_in(b"digest 1122334455 of something").len(), 0);
    assert_eq!(
        marker.found_in(&key.as_bytes()[3..19]).len(),
        1,
        "16 digits"
    );
}

#[test]
#[should_panic(expected = "secret is too short")]
fn value_too_short_to_be_told_from_words_is_refused() {
    Sentinels::default().add("secret", "short");
}
