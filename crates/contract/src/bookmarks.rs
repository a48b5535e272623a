//! The contract of the sweeper's bookmarks.

use mirilla_ports::Bookmarks;

/// Checks a store in which nothing was kept.
pub async fn bookmarks(store: &dyn Bookmarks) {
    assert_eq!(store.bookmark("a").await.unwrap(), None);
    store.keep_bookmark("a", "{}").await.unwrap();
    let long = "\u{e9}\n\"".repeat(60_000);
    store.keep_bookmark("b", &long).await.unwrap();
    assert_eq!(store.bookmark("a").await.unwrap().as_deref(), Some("{}"));
    assert_eq!(store.bookmark("b").await.unwrap(), Some(long));
    store.keep_bookmark("a", "").await.unwrap();
    assert_eq!(store.bookmark("a").await.unwrap().as_deref(), Some(""));
    assert_eq!(store.bookmark("c").await.unwrap(), None);
}
