//! A GitHub App made known to the stack, as `mirilla app create` does once GitHub made it.

use mirilla_sim::AppOptions;
use mirilla_stack::{App, AppKey, Session, Stack};

use super::Services;

impl Services {
    /// Imports the App's key into KMS and stores its description.
    pub async fn connect_app(&self, stack: &str, app: &AppOptions) {
        let session = Session::with(self.config.clone());
        let stack = Stack::find(&session, stack).await.unwrap();
        let key = AppKey::parse(app.private_key.clone().into()).unwrap();
        stack.import_key(&key).await.unwrap();
        let description = App {
            client_id: app.client_id.clone(),
            slug: app.slug.clone(),
            id: app.id,
        };
        stack.put_app(&description).await.unwrap();
    }
}
