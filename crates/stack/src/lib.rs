//! What an operator's machine does to a deployed stack: looks at it, fills its secrets, imports the App's
//! key, and reads the facts that `mirilla doctor` judges.
//!
//! ```no_run
//! # async fn example() -> Result<(), mirilla_stack::StackError> {
//! use mirilla_stack::{Output, Session, Stack};
//!
//! let stack = Stack::find(&Session::open().await?, "mirilla").await?;
//! println!("paste this into GitHub: {}", stack.output(Output::WebhookUrl)?);
//! # Ok(()) }
//! ```
//!
//! **Invariant:** nothing here runs in a function, no private key touches a disk, and no secret is in an
//! error, a `Debug` or a log.

mod app;
mod deployed;
mod failure;
mod key;
mod parts;
mod secrets;
mod session;

pub use app::{App, AppProblem};
pub use deployed::{Output, Stack, Standing};
pub use failure::{Reason, StackError};
pub use key::{AppKey, AppKeyError, KeyState, wrap_for_import};
pub use parts::{FunctionFacts, MappingFacts, Subscriptions};
pub use secrets::SecretFacts;
pub use session::Session;
