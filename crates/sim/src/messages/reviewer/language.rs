//! Which language a file is written in, by its name.

/// A language, as far as the patterns tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Rust,
    Go,
    /// Java, Kotlin, Scala.
    Java,
    CSharp,
    Python,
    /// JavaScript and TypeScript.
    Script,
    Ruby,
    Php,
    /// C and C++.
    C,
    Shell,
    Sql,
    /// Settings and data.
    Data,
    /// Prose, and anything unknown: not looked at.
    Other,
}

impl Language {
    pub(super) fn of(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        let extension = name.rsplit_once('.').map_or("", |(_, e)| e);
        match extension.to_ascii_lowercase().as_str() {
            "rs" => Self::Rust,
            "go" => Self::Go,
            "java" | "kt" | "kts" | "scala" | "groovy" => Self::Java,
            "cs" => Self::CSharp,
            "py" | "pyi" => Self::Python,
            "js" | "jsx" | "ts" | "tsx" | "mjs" | "cjs" | "mts" | "vue" | "svelte" => Self::Script,
            "rb" | "rake" => Self::Ruby,
            "php" => Self::Php,
            "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" | "m" => Self::C,
            "sh" | "bash" | "zsh" => Self::Shell,
            "sql" => Self::Sql,
            "yml" | "yaml" | "toml" | "json" | "properties" | "env" | "ini" | "cfg" | "tf" => {
                Self::Data
            }
            _ => Self::Other,
        }
    }

    /// Returns whether a line holds nothing but a comment.
    pub(super) fn is_comment(self, line: &str) -> bool {
        let line = line.trim_start();
        match self {
            Self::Python | Self::Ruby | Self::Shell | Self::Data => line.starts_with('#'),
            Self::Sql => line.starts_with("--"),
            _ => {
                ["//", "/*", "* ", "*/", "<!--"]
                    .iter()
                    .any(|c| line.starts_with(c))
                    || line == "*"
            }
        }
    }

    /// Returns whether the path is a test's.
    pub(super) fn is_test(path: &str) -> bool {
        let path = path.to_ascii_lowercase();
        path.split('/')
            .any(|part| matches!(part, "test" | "tests" | "spec" | "__tests__"))
            || ["_test.", ".test.", ".spec.", "test_", "tests."]
                .iter()
                .any(|t| path.contains(t))
    }
}
