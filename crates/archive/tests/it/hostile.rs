//! Archives made to mislead or to exhaust their reader.

use std::sync::atomic::Ordering;

use mirilla_archive::MAX_ENTRIES;
use mirilla_ports::source::EntryKind::{Ambiguous, File, Submodule, Symlink};
use mirilla_ports::{Source as _, SourceError};
use proptest::prelude::*;

use crate::support::{OneObject, listed, text, unreadable, unusable};
use crate::zip::{Item, zip};

fn named(
    name: &str,
    kind: mirilla_ports::source::EntryKind,
) -> (String, mirilla_ports::source::EntryKind) {
    (name.to_owned(), kind)
}

#[tokio::test]
async fn names_that_lead_elsewhere_are_left_out_and_counted() {
    let mut items = vec![Item::folder("r/"), Item::new("r/good", b"good")];
    for bad in [
        "r/../x",
        "../x",
        "/etc/passwd",
        "r//x",
        "r/./x",
        "r",
        "other/x",
        "r/a\0b",
        "",
        "r/..",
        "/",
        "x/",
    ] {
        items.push(Item::new(bad, b"planted"));
    }
    items.push(Item {
        name: b"r/\xff\xfe".to_vec(),
        ..Item::new("", b"planted")
    });
    items.push(Item::new(&format!("r/{}", "n".repeat(2_000)), b"planted"));
    let store = OneObject::new(zip(&items));
    let archive = store.archive();
    assert_eq!(listed(&archive).await, [named("good", File)]);
    assert_eq!(
        archive.tree().await.unwrap().unusable,
        items.len() as u64 - 2
    );
    assert_eq!(text(&archive, "good").await, "good");
    for asked in [
        "x",
        "../x",
        "../../etc/passwd",
        "/etc/passwd",
        "etc/passwd",
        "",
        "r/good",
    ] {
        let read = archive.read(asked, 100).await;
        assert!(
            matches!(read, Err(SourceError::NotFound)),
            "{asked}: {read:?}"
        );
    }
}

#[tokio::test]
async fn of_entries_with_one_name_none_is_believed() {
    let store = OneObject::new(zip(&[
        Item::new("r/a", b"one"),
        Item::new("r/b", b"b"),
        Item::new("r/a", b"two"),
        Item::new("r/z", b"z"),
    ]));
    let archive = store.archive();
    assert_eq!(
        listed(&archive).await,
        [named("a", Ambiguous), named("b", File), named("z", File)]
    );
    assert_eq!(
        unreadable(&archive, "a").await,
        "the archive has several entries of that name"
    );
    assert_eq!(text(&archive, "b").await, "b");
    assert_eq!(
        text(&archive, "z").await,
        "z",
        "places stay beside their entries"
    );
}

#[tokio::test]
async fn links_are_their_targets_and_empty_folders_are_said() {
    let store = OneObject::new(zip(&[
        Item::folder("r/"),
        Item::folder("r/full/"),
        Item::folder("r/full/er/"),
        Item::new("r/full/er/x", b"x"),
        Item::new("r/full.rs", b"beside"),
        Item::folder("r/sub/"),
        Item::link("r/passwd", "../../etc/passwd"),
    ]));
    let archive = store.archive();
    assert_eq!(
        listed(&archive).await,
        [
            named("full.rs", File),
            named("full/er/x", File),
            named("passwd", Symlink),
            named("sub", Submodule),
        ]
    );
    assert_eq!(text(&archive, "passwd").await, "../../etc/passwd");
    assert_eq!(
        unreadable(&archive, "sub").await,
        "it is a folder without files"
    );
}

#[tokio::test]
async fn bombs_are_refused_before_they_cost_anything() {
    let gigabyte = 1_000_000_000_u32;
    let zeros = vec![0; 20_000_000];
    let honest = Item::new("r/honest", &zeros);
    let items = [
        honest.clone(),
        Item {
            name: b"r/claims-less".to_vec(),
            size: 100,
            ..honest.clone()
        },
        Item {
            size: gigabyte * 4,
            ..Item::new("r/claims-4-gigabytes", b"small")
        },
        Item {
            stored_size: gigabyte * 4,
            ..Item::new("r/stores-4-gigabytes", b"small")
        },
        Item {
            stored_size: 0xffff_ffff,
            size: 0xffff_ffff,
            ..Item::new("r/longer-than-32-bits", b"small")
        },
        Item {
            size: 0,
            ..Item::plain("r/longer-than-it-says", b"small")
        },
    ];
    let store = OneObject::new(zip(&items));
    let archive = store.archive();
    for large in ["honest", "claims-4-gigabytes", "longer-than-32-bits"] {
        let read = archive.read(large, 1 << 20).await;
        assert!(
            matches!(read, Err(SourceError::TooLarge { limit: 1_048_576 })),
            "{large}: {read:?}"
        );
    }
    for lying in ["claims-less", "stores-4-gigabytes", "longer-than-it-says"] {
        assert_eq!(
            unreadable(&archive, lying).await,
            "its data is damaged",
            "{lying}"
        );
    }
    let size = archive.read("honest", 20_000_000).await.unwrap().len();
    assert_eq!(size, 20_000_000, "its bound is the caller's");
    assert!(store.largest.load(Ordering::Relaxed) <= 256 * 1024);
}

#[tokio::test]
async fn what_is_damaged_or_unknown_is_said() {
    let good = Item::new("r/x", b"some text that is long enough");
    let with = |name: &str, change: fn(&mut Item)| {
        let mut item = Item {
            name: format!("r/{name}").into_bytes(),
            ..good.clone()
        };
        change(&mut item);
        item
    };
    let items = [
        with("encrypted", |it| it.flags = 1),
        with("strongly-encrypted", |it| it.flags = 1 << 6),
        with("lzma", |it| it.method = 14),
        with("crc", |it| it.crc ^= 1),
        with("cut", |it| it.stored_size -= 3),
        with("longer", |it| it.size += 1),
        with("elsewhere", |it| it.offset = Some(7)),
        with("outside", |it| it.offset = Some(0xffff_fff0)),
        with("noise", |it| {
            it.stored.iter_mut().for_each(|byte| *byte ^= 0x5a);
        }),
    ];
    let store = OneObject::new(zip(&items));
    let archive = store.archive();
    for encrypted in ["encrypted", "strongly-encrypted"] {
        assert_eq!(unreadable(&archive, encrypted).await, "it is encrypted");
    }
    assert_eq!(
        unreadable(&archive, "lzma").await,
        "it is compressed in a way that is not known here"
    );
    for damaged in ["crc", "cut", "longer", "elsewhere", "outside", "noise"] {
        assert_eq!(
            unreadable(&archive, damaged).await,
            "its data is damaged",
            "{damaged}"
        );
    }
}

#[tokio::test]
async fn what_is_no_archive_is_said() {
    let whole = zip(&[Item::new("r/a", b"a"), Item::new("r/b", b"b")]);
    for (bytes, why) in [
        (&b""[..], "not a whole zip archive"),
        (b"no archive at all", "not a whole zip archive"),
        (&whole[..whole.len() - 1], "not a whole zip archive"),
        (&whole[whole.len() - 60..], "not a whole zip archive"),
    ] {
        let reason = unusable(bytes).await;
        assert!(reason.contains(why), "{reason}");
    }
    let empty = OneObject::new(zip(&[]));
    assert!(listed(&empty.archive()).await.is_empty());
}

#[tokio::test]
async fn a_directory_past_its_bounds_is_refused() {
    let items: Vec<Item> = (0..=MAX_ENTRIES)
        .map(|number| Item::plain(&format!("r/{number}"), b""))
        .collect();
    let reason = unusable(&zip(&items)).await;
    assert_eq!(reason, format!("it has more than {MAX_ENTRIES} entries"));
    let store = OneObject::new(zip(&items[..MAX_ENTRIES]));
    assert_eq!(listed(&store.archive()).await.len(), MAX_ENTRIES);

    // An end record that claims a directory of nearly everything.
    let mut far = vec![0; 40 * 1024 * 1024];
    far.extend(zip(&[]));
    let at = far.len() - 6;
    far[at..at + 4].copy_from_slice(&4_u32.to_le_bytes());
    let reason = unusable(&far).await;
    assert!(reason.contains("its directory is longer"), "{reason}");
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
}

/// Lists and reads everything there is; what comes does not matter, only that something does.
fn read_all(bytes: Vec<u8>) {
    runtime().block_on(async {
        let store = OneObject::new(bytes);
        let archive = store.archive();
        let Ok(tree) = archive.tree().await else {
            return;
        };
        for entry in tree.entries() {
            if let Ok(bytes) = archive.read(&entry.path, 4_096).await {
                assert!(bytes.len() <= 4_096);
            }
        }
        assert!(archive.read("../../etc/passwd", 4_096).await.is_err());
    });
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        read_all(bytes);
    }

    #[test]
    fn no_damage_panics(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = zip(&[
            Item::folder("r/"),
            Item::new("r/a", b"some text"),
            Item::plain("r/b", b"more"),
            Item::link("r/c", "a"),
        ]);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        read_all(bytes.clone());
        bytes.truncate(cut.index(bytes.len()));
        read_all(bytes);
    }

    #[test]
    fn no_end_record_panics(fields in prop::array::uniform8(any::<u16>()), zip64 in prop::collection::vec(any::<u8>(), 76)) {
        // Everything an end record can claim, with a record for large archives before it.
        let mut bytes = vec![0; 100];
        bytes.extend(b"PK\x06\x06");
        bytes.extend(&zip64[..52]);
        bytes.extend(b"PK\x06\x07\0\0\0\0");
        bytes.extend(100_u64.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(b"PK\x05\x06");
        for field in fields {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend([0, 0]);
        read_all(bytes);
    }
}
