//! `mirilla config`: a repository's settings file, checked, and its schema.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use mirilla_domain::settings::{self, Level};

use crate::output;

/// Checks a settings file; prints every problem with line and column.
pub(crate) fn check(file: &Path) -> Result<ExitCode> {
    let text = std::fs::read_to_string(file).with_context(|| {
        format!(
            "{} cannot be read; `mirilla config check FILE` takes the file's path",
            file.display()
        )
    })?;
    let (_settings, problems) = settings::parse(&text);
    for problem in &problems {
        let text =
            problem
                .to_string()
                .replacen(settings::SETTINGS_FILE, &file.display().to_string(), 1);
        output::data_line(&mirilla_domain::escape::terminal_lines(&text));
    }
    let errors = problems
        .iter()
        .filter(|problem| problem.level == Level::Error)
        .count();
    if errors == 0 {
        output::note(&format!("{} is fine", file.display()));
        Ok(ExitCode::SUCCESS)
    } else {
        output::note(&format!(
            "{errors} {} in {}",
            if errors == 1 { "error" } else { "errors" },
            file.display()
        ));
        Ok(ExitCode::FAILURE)
    }
}

/// Prints the JSON Schema of the repository's settings file.
pub(crate) fn schema() -> Result<ExitCode> {
    output::data_line(&serde_json::to_string_pretty(&settings::schema())?);
    Ok(ExitCode::SUCCESS)
}

/// Prints an operator's policy file with every key at its default.
pub(crate) fn policy() -> Result<ExitCode> {
    output::data(&toml::to_string_pretty(
        &settings::OperatorPolicy::default(),
    )?);
    Ok(ExitCode::SUCCESS)
}
