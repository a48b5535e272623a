//! Shared state, and things that are opened and not closed.

use super::super::language::Language::{C, CSharp, Go, Java, Python, Rust};
use super::super::shown::Kind;
use super::{Hit, Pattern, View, rx};

rx! {
    STATIC_MAP = r"\bstatic\b(?:\s+(?:final|readonly|volatile))*\s+(?:[\w.]*\.)?(?:Map|HashMap|LinkedHashMap|TreeMap|List|ArrayList|Set|HashSet|Dictionary|HashTable)\s*<.*>\s+(\w+)\s*=\s*new\b";
    KOTLIN_MAP = r"^(?:private\s+|internal\s+)?val\s+(\w+)\s*=\s*(?:mutableMapOf|HashMap|mutableListOf|hashMapOf)\b";
    STATIC_MUT = r"\bstatic\s+mut\s+(\w+)";
    GO_MAP = r"^var\s+(\w+)\s*(?:=\s*(?:make\(\s*)?map\[|map\[)";
    GUARDED = r"Concurrent|synchronized|Synchronized|unmodifiable|Immutable|\bList\.of|\bMap\.of|CopyOnWrite|CollectionsMarshal";
    PY_OPEN = r"^\s*(?:(\w+)\s*=\s*)?(?:io\.|codecs\.)?open\(|=\s*(?:json\.load|yaml\.safe_load)\(\s*open\(";
    JAVA_OPEN = r"(\w+)\s*=\s*new\s+(?:FileInputStream|FileOutputStream|FileReader|FileWriter|BufferedReader|BufferedWriter|PrintWriter|Scanner|Socket|ServerSocket|ZipFile|RandomAccessFile|StreamReader|StreamWriter|FileStream|SqlConnection|SqlCommand)\s*\(|(\w+)\s*=\s*\w+\.(?:getConnection|prepareStatement|createStatement|executeQuery|openConnection)\s*\(";
    GO_OPEN = r"^\s*(\w+)\s*,\s*\w+\s*:?=\s*(?:os\.(?:Open|Create|OpenFile)|net\.Dial|sql\.Open|http\.(?:Get|Post)|\w*[cC]lient\.Do|\w+\.Query)\(";
    C_OPEN = r"(\w+)\s*=\s*(?:\([^)]*\)\s*)?(fopen|malloc|calloc|open|socket|opendir)\s*\(";
    MANAGED = r"\btry\s*\(|\busing\b|\bwith\b|\.use\s*\{";
    MUTABLE_DEFAULT = r"^\s*(?:async\s+)?def\s+\w+\(.*\b(\w+)\s*(?::[^=,]+)?=\s*(?:\[\]|\{\}|set\(\)|dict\(\)|list\(\))";
}

pub(super) const ALL: &[Pattern] = &[
    Pattern {
        severity: "high",
        category: "concurrency",
        title: "`{}` is shared without a lock",
        message: "Every thread reaches the same collection, and this one does not bear being changed \
                  while it is read: entries are lost, and a reader can loop for ever. Use a concurrent \
                  collection or hold a lock.",
        confidence: 80,
        on: Kind::Added,
        find: shared,
    },
    Pattern {
        severity: "medium",
        category: "resource-leak",
        title: "`{}` is not closed on every path",
        message: "Nothing shown closes it, and an early return or an exception certainly does not. \
                  Under load the process runs out of handles or memory. Close it in a scope that ends \
                  on every path.",
        confidence: 75,
        on: Kind::Added,
        find: leak,
    },
    Pattern {
        severity: "medium",
        category: "correctness",
        title: "The default of `{}` is shared by all calls",
        message: "The default is made once, when the function is defined. What one call adds the next \
                  call sees. Use `None` and make it inside.",
        confidence: 90,
        on: Kind::Added,
        find: |view| {
            let name = MUTABLE_DEFAULT.group(view.code())?;
            (view.language == Python).then(|| Hit::about(name))
        },
    },
];

fn shared(view: &View<'_>) -> Option<Hit> {
    let code = view.code();
    if GUARDED.hits(code) || view.is_test {
        return None;
    }
    let name = match view.language {
        Java => STATIC_MAP.group(code).or_else(|| KOTLIN_MAP.group(code)),
        CSharp => STATIC_MAP.group(code),
        Rust => STATIC_MUT.group(code),
        Go if view.shows("sync.Mutex") || view.shows("sync.RWMutex") => None,
        Go => GO_MAP.group(code),
        _ => None,
    }?;
    // A table that is only filled where it is declared can be read by all.
    let changes = [
        "put(", "add(", "remove(", "Add(", "] =", "]=", "insert(", "delete(", "set(",
    ];
    let written = view
        .all()
        .any(|line| line.contains(name) && changes.iter().any(|change| line.contains(change)));
    (written || view.language == Rust).then(|| Hit::about(name))
}

fn leak(view: &View<'_>) -> Option<Hit> {
    let code = view.code();
    if MANAGED.hits(code) || view.is_test || code.contains("return ") {
        return None;
    }
    let (name, closers): (&str, &[&str]) = match view.language {
        Python if PY_OPEN.hits(code) => (PY_OPEN.group(code).unwrap_or("the file"), &[".close("]),
        Java | CSharp => (JAVA_OPEN.group(code)?, &[".close(", ".Dispose(", ".Close("]),
        Go => (GO_OPEN.group(code)?, &[".Close("]),
        C => (
            C_OPEN.group(code)?,
            &["fclose(", "free(", "close(", "closedir("],
        ),
        _ => return None,
    };
    let closed = view
        .all()
        .any(|line| line.contains(name) && closers.iter().any(|closer| line.contains(closer)));
    // Handed on, it is somebody else's to close.
    let handed_on = view.following().any(|line| {
        let text = line.text.trim();
        text.starts_with("return ") && text.contains(name)
    });
    let managed = view
        .preceding()
        .take(2)
        .any(|line| MANAGED.hits(&line.text));
    (!closed && !handed_on && !managed).then(|| Hit::about(name))
}
