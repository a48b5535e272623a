//! What a stack knows of its GitHub App: not secret, and read by its minters.

use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

use crate::{Output, Stack, StackError};

/// A GitHub App, as the minters' secret describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct App {
    /// What the App's own tokens are issued by: its client id, or its number as text.
    pub client_id: String,
    /// Its name in URLs.
    pub slug: String,
    /// Its number.
    pub id: u64,
}

/// Why a description is no good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AppProblem {
    /// Nothing is stored.
    #[error("no GitHub App was created for the stack yet")]
    Absent,
    /// Something else is stored.
    #[error("the App's description is not JSON with client_id, slug and id")]
    Unreadable,
}

impl App {
    /// Returns the label of the webhook secret's version that this App signs with.
    pub fn webhook_label(&self) -> String {
        format!("github-app-{}", self.id)
    }

    fn parse(text: &SecretString) -> Result<Self, AppProblem> {
        let app: Self =
            serde_json::from_str(text.expose_secret()).map_err(|_bad| AppProblem::Unreadable)?;
        let usable = !app.client_id.is_empty() && !app.slug.is_empty() && app.id > 0;
        usable.then_some(app).ok_or(AppProblem::Unreadable)
    }
}

impl Stack {
    /// Reads which App the stack has.
    ///
    /// # Errors
    ///
    /// If the secret may or can not be read, or the stack has no place for an App.
    pub async fn app(&self) -> Result<Result<App, AppProblem>, StackError> {
        let text = self.secret(Output::AppSecret).await?;
        Ok(text.map_or(Err(AppProblem::Absent), |text| App::parse(&text)))
    }

    /// Stores which App the stack has.
    ///
    /// # Errors
    ///
    /// If the secret cannot be written.
    pub async fn put_app(&self, app: &App) -> Result<(), StackError> {
        let text = serde_json::json!({
            "client_id": app.client_id,
            "slug": app.slug,
            "id": app.id,
        });
        let text = SecretString::from(text.to_string());
        self.put_secret(Output::AppSecret, &text).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn description_is_what_the_minters_read() {
        let app = App::parse(&r#"{"client_id":"Iv1.x","slug":"m","id":7,"new":true}"#.into());
        assert_eq!(app.unwrap().webhook_label(), "github-app-7");
        for bad in ["", "{}", r#"{"client_id":"","slug":"m","id":7}"#, "null"] {
            assert_eq!(
                App::parse(&bad.into()),
                Err(AppProblem::Unreadable),
                "{bad}"
            );
        }
    }
}
