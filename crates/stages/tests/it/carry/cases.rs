//! The recorded case in which what was reviewed last is no part of the branch any more.

use mirilla_sim::Commit;

use super::*;

/// Makes the branch what the forge's comparison with the last reviewed commit would call by this word.
fn becomes(host: &Host, word: &str) {
    let github = host.sim.github();
    let tip = github.tip(REPO, "change").unwrap();
    let main = github.tip(REPO, "main").unwrap();
    let fixed = PAY.replacen("{\n", "{\n  int tries;\n", 1);
    let all = |text: &str| {
        Commit::by("dana", "again")
            .write("a/Pay.java", text)
            .write("b/orders.py", ORDERS)
    };
    let pushed = match word {
        "identical" => tip,
        "ahead" => github.write_commit(REPO, &[&tip], &all(&fixed)).unwrap(),
        // The branch was rebased onto a base that moved.
        "diverged" => {
            let base = Commit::by("dana", "base").write("other.txt", "x\n");
            let base = github.commit(REPO, "main", &base).unwrap();
            github.write_commit(REPO, &[&base], &all(PAY)).unwrap()
        }
        // Nothing of the last reviewed commit is left but the files.
        "404" => {
            let elsewhere = Commit::by("dana", "elsewhere").write("c.txt", "c\n");
            let elsewhere = github.write_commit(REPO, &[&main], &elsewhere).unwrap();
            github.push(REPO, "main", &elsewhere, "dana").unwrap();
            github.write_commit(REPO, &[&elsewhere], &all(PAY)).unwrap()
        }
        other => panic!("{other}: not known here"),
    };
    github.push(REPO, "change", &pushed, "dana").unwrap();
}

/// A change that is unchanged since may be carried only while it is compared with the same commit; what the
/// forge says of the way between two heads is never asked.
#[tokio::test]
async fn case_153_what_is_no_longer_compared_with_the_same_commit_is_read_anew() {
    let case =
        mirilla_casekit::cases("tests/fixtures/cases", |name| name.starts_with("153")).remove(0);
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "behaviour/1");
    let modes = expected.need("mode");
    for reply in case.json("replies.json").as_array().unwrap() {
        let word = reply["case"].as_str().unwrap();
        let host = host(TWO_CHUNKS);
        reviewed(&host).await;
        assert_eq!(asked(&host), 2);
        becomes(&host, word);
        reviewed(&host).await;
        let mode = match asked(&host) - 2 {
            0 => "skip",
            1 => "incremental",
            2 => "full",
            more => panic!("{word}: {more} questions"),
        };
        assert_eq!(modes[word], mode, "{word}");
        // Never "nothing changed", and nothing twice.
        host.assert_reviewed_once(word).await;
        assert_eq!(host.comments().len(), 2, "{word}");
    }
    expected.finish();
}
