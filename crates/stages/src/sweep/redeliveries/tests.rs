use super::*;

const WAITS: [Duration; 3] = [
    Duration::from_secs(60),
    Duration::from_secs(600),
    Duration::from_secs(3_600),
];
const HOUR: i64 = 3_600;
/// The present, in seconds.
const NOW: i64 = 1_000_000;

fn at(seconds: i64) -> Timestamp {
    Timestamp::new(seconds * 1_000)
}

/// A lost push: how long ago it was first sent and last tried, how that was answered, and how often it
/// was asked for.
fn lost(first: i64, latest: i64, code: u16, asked: u32) -> Event {
    Event {
        guid: "g".to_owned(),
        event: "pull_request".to_owned(),
        action: "synchronize".to_owned(),
        first_at: at(NOW - first),
        latest_id: 7,
        latest_at: at(NOW - latest),
        latest_code: code,
        asked,
        arrived: false,
    }
}

fn decide(event: Event) -> Vec<Action> {
    redeliveries(&[event], at(NOW), &BTreeSet::new(), WAITS)
}

#[test]
fn lost_event_is_asked_for_three_times_and_each_time_later() {
    let guid = || "g".to_owned();
    let again = || {
        vec![Action::Redeliver {
            id: 7,
            guid: guid(),
        }]
    };
    let read = || {
        vec![Action::Read {
            id: 7,
            guid: guid(),
        }]
    };
    let give_up = || vec![Action::GiveUp { guid: guid() }];
    let table = [
        (lost(59, 59, 503, 0), vec![]),
        (lost(60, 60, 503, 0), again()),
        (lost(60, 60, 0, 0), again()),
        (lost(HOUR, 599, 502, 1), vec![]),
        (lost(HOUR, 600, 502, 1), again()),
        (lost(10 * HOUR, HOUR - 1, 0, 2), vec![]),
        (lost(10 * HOUR, HOUR, 0, 2), again()),
        (lost(10 * HOUR, 1, 500, 3), give_up()),
        (lost(10 * HOUR, 9 * HOUR, 500, 9), give_up()),
        (lost(1, 1, 413, 0), read()),
        (lost(HOUR, 1, 413, 3), read()),
        (lost(71 * HOUR - 1, HOUR, 503, 0), again()),
        (lost(71 * HOUR, HOUR, 503, 0), vec![]),
        (lost(80 * HOUR, HOUR, 413, 0), vec![]),
    ];
    for (row, (event, expected)) in table.into_iter().enumerate() {
        assert_eq!(decide(event), expected, "row {row}");
    }
}

#[test]
fn what_arrived_is_recorded_or_asks_for_nothing_is_left_alone() {
    let due = || lost(HOUR, HOUR, 503, 0);
    assert_eq!(decide(due()).len(), 1);
    let known = BTreeSet::from(["g".to_owned()]);
    assert_eq!(redeliveries(&[due()], at(NOW), &known, WAITS), []);
    let arrived = Event {
        arrived: true,
        ..due()
    };
    assert_eq!(decide(arrived), []);
    for (event, action) in [
        ("ping", ""),
        ("installation", "created"),
        ("pull_request", "labeled"),
        ("pull_request", "closed"),
        ("star", "created"),
    ] {
        let other = Event {
            event: event.to_owned(),
            action: action.to_owned(),
            ..due()
        };
        assert_eq!(decide(other), [], "{event} {action}");
    }
}

#[test]
fn oldest_event_comes_first() {
    let named = |guid: &str, first| Event {
        guid: guid.to_owned(),
        ..lost(first, first, 503, 0)
    };
    let events = [named("b", 100), named("a", 300), named("c", 200)];
    let order = redeliveries(&events, at(NOW), &BTreeSet::new(), WAITS);
    let order: Vec<&str> = order.iter().map(Action::guid).collect();
    assert_eq!(order, ["a", "c", "b"]);
}

#[test]
fn attempts_are_gathered_across_pages_newest_first() {
    let attempt = |id, guid: &str, redelivery, arrived| Attempt {
        id,
        guid: guid.to_owned(),
        at: at(i64::try_from(id).unwrap()),
        redelivery,
        arrived,
        status_code: 500,
        event: "pull_request".to_owned(),
        action: "opened".to_owned(),
    };
    let mut gathering = Gathering::default();
    assert_eq!(gathering.add(attempt(90, "a", true, false)), None);
    assert_eq!(gathering.add(attempt(80, "b", true, true)), None);
    assert_eq!(gathering.add(attempt(70, "a", true, false)), None);
    let alone = gathering.add(attempt(60, "c", false, false)).unwrap();
    assert_eq!((alone.latest_id, alone.asked), (60, 0));
    // Kept as text from one run to the next.
    let kept = serde_json::to_string(&gathering).unwrap();
    let mut gathering: Gathering = serde_json::from_str(&kept).unwrap();
    assert_eq!(gathering.len(), 2);
    let twice = gathering.add(attempt(50, "a", false, false)).unwrap();
    assert_eq!(
        (twice.latest_id, twice.asked, twice.first_at, twice.arrived),
        (90, 2, at(50), false)
    );
    let arrived = gathering.add(attempt(40, "b", false, false)).unwrap();
    assert!(arrived.arrived);
    assert_eq!(gathering.len(), 0);
}
