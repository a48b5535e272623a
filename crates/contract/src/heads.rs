//! The contract of the newest heads.

use mirilla_ports::{Heads, HeadsWrite};

use crate::sample::{at, pull_request, sha};

/// Checks an empty store of heads.
pub async fn heads(read: &dyn Heads, write: &dyn HeadsWrite) {
    let (seven, eight) = (pull_request(7), pull_request(8));
    assert_eq!(read.newest(&seven).await.unwrap(), None);
    write.record(&seven, &sha('a'), at(10)).await.unwrap();
    write.record(&eight, &sha('b'), at(11)).await.unwrap();
    assert_eq!(read.newest(&seven).await.unwrap(), Some(sha('a')));
    assert_eq!(read.newest(&eight).await.unwrap(), Some(sha('b')));

    write.record(&seven, &sha('c'), at(9)).await.unwrap();
    assert_eq!(
        read.newest(&seven).await.unwrap(),
        Some(sha('a')),
        "an older reading loses"
    );
    write.record(&seven, &sha('d'), at(12)).await.unwrap();
    assert_eq!(
        read.newest(&seven).await.unwrap(),
        Some(sha('d')),
        "a newer one wins"
    );
}
