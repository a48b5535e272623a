//! Failures that are swallowed, and checks that are gone.

use super::super::language::Language::{C, CSharp, Go, Java, Php, Python, Ruby, Rust, Script};
use super::super::shown::Kind;
use super::{Hit, Pattern, View, rx};

rx! {
    EMPTY_CATCH_LINE = r"\bcatch\s*(?:\(([^)]*)\))?\s*\{\s*(?:/[/*].*)?\}";
    CATCH_OPEN = r"\bcatch\s*(?:\(([^)]*)\))?\s*\{\s*$";
    EXCEPT = r"^\s*except\b[^:]*:\s*(pass\b|\.\.\.)?\s*(?:#.*)?$";
    PASS = r"^\s*(?:pass|\.\.\.|continue)\s*(?:#.*)?$";
    PROMISE_CATCH = r"\.catch\(\s*(?:\(\w*\)|\w+)\s*=>\s*(?:\{\s*\}|null|undefined|void 0)\s*\)";
    GO_IGNORED = r"^\s*(?:\w+\s*,\s*)?_\s*:?=\s*[\w.]+\(.*\)\s*$";
    GO_EMPTY_IF = r"^\s*if\s+(?:.*;\s*)?err\s*!=\s*nil\s*\{\s*$";
    RESCUE = r"^\s*rescue\b(?:.*=>.*)?\s*$";
    LET_UNDERSCORE = r"^\s*let _ = [\w.:]+.*\(.*\)(?:\.await)?;";
    DOT_OK = r"\)(?:\.await)?\.ok\(\);\s*$";
    UNWRAP = r"\.(?:unwrap\(\)|expect\()";
    INPUT = r"\.parse(?:::<[^>]*>)?\(\)|from_str\(|from_slice\(|from_utf8\(|env::var\(|env::args|read_line|\.header\(|\.headers\(\)|query|request|\bbody\b|\.get\(|input|args\.";
    NULL_CHECK = r"\b(?:if|when|unless|assert|guard)\b.*?(?:([\w.]+)\s*(?:[!=]=?=?\s*(?:null|nil|None|nullptr|undefined)\b|is\s+(?:not\s+)?None\b|\.is_none\(\)|\.nil\?)|!\s*([\w.]+)\s*\))|Objects\.requireNonNull\(\s*(\w+)|^\s*(?:if|return)\b.*\b(\w+)\s*===?\s*undefined";
    LIMIT_CHECK = r"^\s*if\b.*?\b([\w.]*(?:[Ll]en(?:gth)?|[Ss]ize|[Cc]ount|[Ll]imit|[Oo]ffset|[Ii]ndex|[Aa]mount|[Qq]uantity)\w*(?:\(\))?)\s*(?:[<>]=?)\s*[\w.]+";
    AUTH_CHECK = r"\b(?:if|unless|require|assert|guard|ensure|before_action|@)\W*.*\b(is_?[Aa]dmin|has_?[Pp]ermission|has_?[Rr]ole|is_?[Aa]uthor\w*|check_?[Aa]ccess|require_?[Ll]ogin|login_required|[Pp]re[Aa]uthorize|can_?[Aa]ccess|authori[sz]e\w*|authenticate\w*)\b";
    NULL_WRONG_WAY = r"\b(\w+)\s*(?:!=\s*null\s*\|\|\s*!?\w|==\s*null\s*&&\s*!?\w)";
}

pub(super) const ALL: &[Pattern] = &[
    Pattern {
        severity: "high",
        category: "error-handling",
        title: "{} is swallowed",
        message: "The handler is empty, so a failure here leaves no trace: the caller goes on as if \
                  the work had been done. Let it pass, return an error, or log it with its cause.",
        confidence: 92,
        on: Kind::Added,
        find: swallowed,
    },
    Pattern {
        severity: "medium",
        category: "error-handling",
        title: "The error of this call is ignored",
        message: "The call can fail, and its error is dropped. What follows works with a result that \
                  may not exist. Check the error before going on.",
        confidence: 75,
        on: Kind::Added,
        find: ignored,
    },
    Pattern {
        severity: "high",
        category: "input-validation",
        title: "Malformed input panics here",
        message: "The value comes from outside, and a bad one ends the thread instead of being refused \
                  with an error. Return the error to the caller.",
        confidence: 85,
        on: Kind::Added,
        find: unwrap_on_input,
    },
    Pattern {
        severity: "high",
        category: "correctness",
        title: "The check of `{}` for null is gone",
        message: "The line that was removed here kept a missing `{}` away from the code below, and \
                  nothing in this change takes its place. The first missing value fails where it is \
                  used. Keep the check, or show why it cannot be missing any more.",
        confidence: 80,
        on: Kind::Removed,
        find: null_check_removed,
    },
    Pattern {
        severity: "medium",
        category: "input-validation",
        title: "The bound on `{}` is gone",
        message: "The comparison that was removed here kept `{}` within bounds, and nothing in this \
                  change takes its place.",
        confidence: 65,
        on: Kind::Removed,
        find: limit_check_removed,
    },
    Pattern {
        severity: "critical",
        category: "authorization",
        title: "The `{}` check is gone",
        message: "The line that was removed here decided who may do this, and nothing in this change \
                  takes its place: anybody who reaches the code now may.",
        confidence: 85,
        on: Kind::Removed,
        find: auth_check_removed,
    },
    Pattern {
        severity: "high",
        category: "correctness",
        title: "`{}` is used exactly when it is null",
        message: "With this operator the right side is reached only while `{}` is null. The check was \
                  meant the other way round.",
        confidence: 80,
        on: Kind::Added,
        find: null_wrong_way,
    },
];

fn swallowed(view: &View<'_>) -> Option<Hit> {
    let code = view.code();
    let next = || view.following().next().map(|line| line.text.trim());
    let closes = || matches!(next(), Some("}" | "})" | "});"));
    match view.language {
        Java | CSharp | Script | Php | C => {
            if view.language == Script && PROMISE_CATCH.hits(code) {
                return Some(Hit::about("The rejected promise"));
            }
            if EMPTY_CATCH_LINE.hits(code) {
                return Some(Hit::about(caught(EMPTY_CATCH_LINE.group(code))));
            }
            (CATCH_OPEN.hits(code) && closes()).then(|| Hit {
                more_lines: 1,
                ..Hit::about(caught(CATCH_OPEN.group(code)))
            })
        }
        Python if EXCEPT.hits(code) => {
            let name = code.trim().trim_start_matches("except").trim();
            let name = name.split([':', ' ', '(']).find(|part| !part.is_empty());
            let about = || Hit::about(caught(name.filter(|n| *n != "pass")));
            match EXCEPT.group(code) {
                Some(_) => Some(about()),
                None => next().is_some_and(|line| PASS.hits(line)).then(|| Hit {
                    more_lines: 1,
                    ..about()
                }),
            }
        }
        Go => (GO_EMPTY_IF.hits(code) && next() == Some("}")).then(|| Hit {
            more_lines: 1,
            ..Hit::about("The error")
        }),
        Ruby => (RESCUE.hits(code) && next() == Some("end")).then(|| Hit {
            more_lines: 1,
            ..Hit::about("The exception")
        }),
        _ => None,
    }
}

/// Names what a handler catches.
fn caught(parameter: Option<&str>) -> String {
    let words = parameter.unwrap_or_default().split([' ', ':', ',']);
    let mut words = words
        .map(str::trim)
        .filter(|word| !word.is_empty() && *word != "final");
    match words.next() {
        Some(name) if name.chars().next().is_some_and(char::is_uppercase) => format!("`{name}`"),
        _ => "The exception".to_owned(),
    }
}

fn ignored(view: &View<'_>) -> Option<Hit> {
    let code = view.code();
    if view.is_test {
        return None;
    }
    let found = match view.language {
        Go => GO_IGNORED.hits(code) && !code.contains("range "),
        Rust => LET_UNDERSCORE.hits(code) || DOT_OK.hits(code),
        _ => false,
    };
    found.then(Hit::here)
}

fn unwrap_on_input(view: &View<'_>) -> Option<Hit> {
    let code = view.code();
    let found = view.language == Rust && !view.is_test && UNWRAP.hits(code) && INPUT.hits(code);
    found.then(Hit::here)
}

/// Returns the checked name if the removed check does not come back in the new lines.
fn gone(view: &View<'_>, name: Option<&str>) -> Option<Hit> {
    let name = name?;
    let mut checks = view.all().filter(|line| {
        line.contains(name)
            && (NULL_CHECK.hits(line) || LIMIT_CHECK.hits(line) || AUTH_CHECK.hits(line))
    });
    let moved = checks.next().is_some();
    // Where the guarded thing itself is gone there is nothing left to guard.
    let still_used = view
        .following()
        .take(15)
        .any(|line| line.text.contains(name));
    (!moved && still_used).then(|| Hit::about(name))
}

fn null_check_removed(view: &View<'_>) -> Option<Hit> {
    gone(view, NULL_CHECK.group(view.code()))
}

fn limit_check_removed(view: &View<'_>) -> Option<Hit> {
    if NULL_CHECK.hits(view.code()) {
        return None;
    }
    gone(view, LIMIT_CHECK.group(view.code()))
}

fn auth_check_removed(view: &View<'_>) -> Option<Hit> {
    let name = AUTH_CHECK.group(view.code())?;
    (!view.shows(name) && !view.is_test).then(|| Hit::about(name))
}

fn null_wrong_way(view: &View<'_>) -> Option<Hit> {
    let code = view.code();
    let name = NULL_WRONG_WAY.group(code)?;
    // The right side has to use the very thing.
    let right = code.split(['|', '&']).next_back()?;
    let used = right.contains(&format!("{name}.")) || right.contains(&format!("{name}["));
    (view.is(&[Java, CSharp, Script]) && used).then(|| Hit::about(name))
}
