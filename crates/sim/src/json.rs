//! Small steps with JSON that both forges take.

use serde_json::Value;

/// Puts `more` over `base`; both are objects.
pub(crate) fn merged(mut base: Value, more: Value) -> Value {
    if let (Some(base), Value::Object(more)) = (base.as_object_mut(), more) {
        base.extend(more);
    }
    base
}

/// Returns a path's bytes as the API shows them.
pub(crate) fn lossy(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}
