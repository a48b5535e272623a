//! Many lives, some at a time, and what to say when one goes wrong.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::coverage::Coverage;
use crate::event::{Event, of_seed};
use crate::life::{Life, Wrong};
use crate::support::Bend;

/// After how many lives a long run says how far it is.
const TELL_EVERY: usize = 25;

/// A life in which something did not hold.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) seed: u64,
    pub(crate) invariant: &'static str,
    words: String,
    events: Vec<Event>,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "seed {}: \"{}\" does not hold",
            self.seed, self.invariant
        )?;
        for (at, event) in self.events.iter().enumerate() {
            writeln!(f, "{at:3} {event}")?;
        }
        writeln!(f, "{}", self.words)?;
        write!(
            f,
            "alone: MIRILLA_LIVES_SEED={} cargo test -p mirilla-stages --test lives everything_holds -- --nocapture",
            self.seed
        )
    }
}

/// Lives one life.
pub(crate) fn one(seed: u64, count: usize, bend: Bend) -> Result<Coverage, Failed> {
    if Path::new(IN_MEMORY).is_dir() {
        // Only the first of all calls decides.
        drop(tempfile::env::override_temp_dir(Path::new(IN_MEMORY)));
    }
    let events = of_seed(seed, count);
    let at = AtomicUsize::new(0);
    let lived = catch_unwind(AssertUnwindSafe(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut life = Box::pin(Life::begin(seed, bend)).await;
            for event in &events {
                Box::pin(life.step(*event)).await?;
                at.fetch_add(1, Ordering::SeqCst);
            }
            Ok(life.coverage)
        })
    }));
    let wrong = match lived {
        Ok(Ok(coverage)) => return Ok(coverage),
        Ok(Err(wrong)) => wrong,
        Err(panic) => Wrong {
            invariant: "nothing panics",
            words: words_of(panic.as_ref()),
        },
    };
    let happened = (at.load(Ordering::SeqCst) + 1).min(events.len());
    Err(Failed {
        seed,
        invariant: wrong.invariant,
        words: wrong.words,
        events: events[..happened].to_vec(),
    })
}

fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_default()
}

/// Where temporary files cost no disk, if there is such a place.
const IN_MEMORY: &str = "/dev/shm";

/// Lives many, as many at a time as there are processors, and stops at the first that goes wrong.
pub(crate) fn many(seeds: &[u64], count: usize, bend: Bend) -> Result<Coverage, Failed> {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let sum: Mutex<Coverage> = Mutex::default();
    let failed: Mutex<Option<Failed>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    let at = next.fetch_add(1, Ordering::SeqCst);
                    let Some(seed) = seeds.get(at) else { break };
                    match one(*seed, count, bend) {
                        Ok(coverage) => {
                            sum.lock().unwrap().add(&coverage);
                            if (at + 1) % TELL_EVERY == 0 {
                                println!("{} of {} lives", at + 1, seeds.len());
                            }
                        }
                        Err(wrong) => {
                            stop.store(true, Ordering::SeqCst);
                            failed.lock().unwrap().get_or_insert(wrong);
                        }
                    }
                }
            });
        }
    });
    match failed.into_inner().unwrap() {
        Some(failed) => Err(failed),
        None => Ok(sum.into_inner().unwrap()),
    }
}
