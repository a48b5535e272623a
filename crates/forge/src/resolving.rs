//! What is told of threads that were to be resolved, whichever forge they are on.

use mirilla_ports::forge::ForgeError;
use mirilla_ports::resolve::Resolved;

/// Notes what became of one thread, with `after` more to come; returns whether to go on.
///
/// A failure that is about this thread alone leaves the others their turn; any other would meet them too.
pub(crate) fn goes_on(said: &mut Resolved, outcome: Result<(), ForgeError>, after: usize) -> bool {
    let Err(error) = outcome else {
        said.done = said.done.saturating_add(1);
        return true;
    };
    let is_about_this_one = matches!(
        error,
        ForgeError::NotFound { .. } | ForgeError::Unprocessable { .. }
    );
    let met = if is_about_this_one { 0 } else { after };
    said.failed = said.failed.saturating_add(1).saturating_add(met);
    said.why.get_or_insert(error);
    is_about_this_one
}
