//! Untrusted input that becomes a query, a command, markup or an object.

use super::super::language::Language::{Go, Java, Php, Python, Ruby, Rust, Script};
use super::super::shown::Kind;
use super::{Hit, Pattern, View, rx};

rx! {
    SQL = r#"(?i)["'`]\s*(?:select\b.+\bfrom\b|insert\s+into\b|update\b.+\bset\b|delete\s+from\b|drop\s+table\b)"#;
    JOINED = r#"["'`]\s*(?:\+|\.|%|\|\|)\s*[\w$(]|(?:\+|\.)\s*["'`]"#;
    TEMPLATE = r"\$\{|#\{|\{\w+(?:\.\w+)*\}";
    COMMAND = r#"os\.system\(|shell\s*=\s*True|Runtime\.getRuntime\(\)\.exec\(|child_process|\bexec(?:Sync)?\(|exec\.Command\(\s*"(?:sh|bash)"|Command::new\(\s*"(?:sh|bash)"|shell_exec\(|Kernel\.system|`[^`]*#\{"#;
    EVAL = r"(?:^|[^.\w])eval\(\s*[A-Za-z_$]";
    UNSAFE_LOAD = r"\b(pickle\.loads?|yaml\.load|marshal\.loads|unserialize|ObjectInputStream|Marshal\.load)\s*\(";
    SAFE_LOAD = r"Safe|safe_load|Loader=";
    MARKUP = r"\.innerHTML\s*\+?=\s*[^\s'`]|dangerouslySetInnerHTML|document\.write\(\s*[^'`\s)]|v-html=|\|\s*safe\b|html_safe\b|mark_safe\(";
    TLS_OFF = r"InsecureSkipVerify:\s*true|verify\s*=\s*False|rejectUnauthorized:\s*false|danger_accept_invalid_certs\(true\)|NODE_TLS_REJECT_UNAUTHORIZED|CURLOPT_SSL_VERIFYPEER\s*,\s*(?:false|0)|ALLOW_ALL_HOSTNAME_VERIFIER|VERIFY_NONE";
    PATH = r"(?:\bopen|readFile(?:Sync)?|sendFile|File\.open|os\.Open|Paths\.get|new File|fs::read(?:_to_string)?|File::open)\(.*\b(?:req|request|params|query|input|ctx)\b[.\[]";
}

pub(super) const ALL: &[Pattern] = &[
    Pattern {
        severity: "critical",
        category: "injection",
        title: "SQL is built from strings",
        message: "A value is put into the statement as text, so whoever controls the value controls \
                  the statement. Pass it as a parameter of a prepared statement.",
        confidence: 90,
        on: Kind::Added,
        find: sql,
    },
    Pattern {
        severity: "critical",
        category: "injection",
        title: "A shell command is built from strings",
        message: "The value reaches a shell, which acts on quotes, semicolons and backticks in it. Run \
                  the program with a list of arguments and without a shell.",
        confidence: 80,
        on: Kind::Added,
        find: command,
    },
    Pattern {
        severity: "critical",
        category: "injection",
        title: "Data is run as code",
        message: "Whatever is in the variable is executed with all rights of this process. Parse the \
                  value instead.",
        confidence: 85,
        on: Kind::Added,
        find: |view| {
            (view.is(&[Script, Python, Php, Ruby]) && EVAL.hits(view.code())).then(Hit::here)
        },
    },
    Pattern {
        severity: "high",
        category: "injection",
        title: "`{}` can make any object",
        message: "This format can name classes and run their code while it is read. With data from \
                  outside that is remote code execution. Use a format or a loader that makes plain \
                  data only.",
        confidence: 80,
        on: Kind::Added,
        find: unsafe_load,
    },
    Pattern {
        severity: "high",
        category: "injection",
        title: "Text is put into the page unescaped",
        message: "Markup in the value becomes part of the page, scripts included. Set it as text, or \
                  escape it first.",
        confidence: 70,
        on: Kind::Added,
        find: |view| (!view.is_test && MARKUP.hits(view.code())).then(Hit::here),
    },
    Pattern {
        severity: "high",
        category: "input-validation",
        title: "A path comes straight from the request",
        message: "With `../` in it the value leads out of the intended directory. Resolve the path and \
                  check that it is still below the root.",
        confidence: 75,
        on: Kind::Added,
        find: |view| PATH.hits(view.code()).then(Hit::here),
    },
    Pattern {
        severity: "high",
        category: "authorization",
        title: "The other side's certificate is not checked",
        message: "Anybody on the way can pose as the other side and read or change what is sent. Trust \
                  the right authority instead of none.",
        confidence: 90,
        on: Kind::Added,
        find: |view| (!view.is_test && TLS_OFF.hits(view.code())).then(Hit::here),
    },
];

fn sql(view: &View<'_>) -> Option<Hit> {
    let code = view.code();
    if !SQL.hits(code) {
        return None;
    }
    let interpolated = match view.language {
        Python => {
            let marked = ["f\"", "f'", ".format("]
                .iter()
                .any(|mark| code.contains(mark));
            marked && (TEMPLATE.hits(code) || code.contains(".format("))
        }
        Rust => code.contains("format!(") && code.contains('{'),
        Go => code.contains("Sprintf(") && code.contains('%'),
        Script | Ruby | Java => TEMPLATE.hits(code) && (code.contains("${") || code.contains("#{")),
        Php => code.contains('"') && code.contains(" $") && !code.contains(":$"),
        _ => false,
    };
    (interpolated || JOINED.hits(code)).then(Hit::here)
}

fn command(view: &View<'_>) -> Option<Hit> {
    let code = view.code();
    let plain_exec = code.contains(".exec(") && !code.contains("Runtime");
    let built = JOINED.hits(code)
        || code.contains("${")
        || code.contains("#{")
        || code.contains("format!(")
        || code.contains("Sprintf(")
        || (view.language == Python && (code.contains("f\"") || code.contains("f'")));
    (COMMAND.hits(code) && built && !plain_exec).then(Hit::here)
}

fn unsafe_load(view: &View<'_>) -> Option<Hit> {
    let code = view.code();
    let name = UNSAFE_LOAD.group(code)?;
    (!SAFE_LOAD.hits(code)).then(|| Hit::about(name))
}
