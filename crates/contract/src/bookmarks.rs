//! The contract of the sweeper's bookmarks.

use mirilla_ports::{Bookmarks, LedgerError};

/// Checks a store in which nothing was kept.
pub async fn bookmarks(store: &dyn Bookmarks) {
    assert_eq!(store.bookmark("a").await.unwrap(), None);
    store.keep_bookmark("a", None, "{}").await.unwrap();
    let long = "\u{e9}\n\"".repeat(60_000);
    store.keep_bookmark("b", None, &long).await.unwrap();
    assert_eq!(store.bookmark("a").await.unwrap().as_deref(), Some("{}"));
    assert_eq!(store.bookmark("b").await.unwrap().as_ref(), Some(&long));
    store.keep_bookmark("b", Some(&long), "x").await.unwrap();
    store.keep_bookmark("a", Some("{}"), "").await.unwrap();
    assert_eq!(store.bookmark("a").await.unwrap().as_deref(), Some(""));
    assert_eq!(store.bookmark("c").await.unwrap(), None);

    // Whoever did not see what is there replaces nothing.
    for (name, known) in [
        ("b", None),
        ("b", Some("y")),
        ("a", Some("{}")),
        ("c", Some("")),
    ] {
        let kept = store.keep_bookmark(name, known, "z").await;
        assert!(
            matches!(kept, Err(LedgerError::Conflict { .. })),
            "{name} upon {known:?}: {kept:?}"
        );
    }
    assert_eq!(store.bookmark("a").await.unwrap().as_deref(), Some(""));
    assert_eq!(store.bookmark("b").await.unwrap().as_deref(), Some("x"));
    assert_eq!(store.bookmark("c").await.unwrap(), None);
}
