//! Plays scenarios everywhere, on all processors, and shows how they ended.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::play::Scenario;
use crate::support::Place;

/// How a scenario ended in a place.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    Fine,
    Failed(String),
}

/// What became of all of them: by scenario, and by place.
pub(crate) struct Table {
    names: Vec<&'static str>,
    places: Vec<Place>,
    ends: BTreeMap<(usize, usize), End>,
}

/// Plays every scenario in every place.
pub(crate) fn play_all(scenarios: &[Scenario]) -> Table {
    let places = Place::all();
    let rounds = scenarios.len() * places.len();
    let (next, ends) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let work = || {
        loop {
            let round = next.fetch_add(1, Ordering::Relaxed);
            if round >= rounds {
                return;
            }
            let (row, column) = (round / places.len(), round % places.len());
            let end = played(&scenarios[row], places[column]);
            ends.lock().unwrap().insert((row, column), end);
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
    Table {
        names: scenarios.iter().map(|scenario| scenario.name).collect(),
        places,
        ends: ends.into_inner().unwrap(),
    }
}

fn played(scenario: &Scenario, place: Place) -> End {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build().unwrap();
        runtime.block_on((scenario.play)(place));
    }));
    match outcome {
        Ok(()) => End::Fine,
        Err(payload) => {
            let words = payload
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| payload.downcast_ref::<&str>().map(|&text| text.to_owned()));
            End::Failed(words.unwrap_or_else(|| "it panicked without a word".to_owned()))
        }
    }
}

impl Table {
    /// What did not hold, and where.
    pub(crate) fn failures(&self) -> Vec<String> {
        let failed = self
            .ends
            .iter()
            .filter_map(|((row, column), end)| match end {
                End::Fine => None,
                End::Failed(words) => {
                    let (name, place) = (self.names[*row], self.places[*column]);
                    Some(format!("{name}, on {place}: {words}"))
                }
            });
        failed.collect()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.names.iter().map(|name| name.len()).max().unwrap_or(0);
        write!(f, "{:width$}", "")?;
        for place in &self.places {
            write!(f, "  {:>6}", place.to_string())?;
        }
        for (row, name) in self.names.iter().enumerate() {
            write!(f, "\n{:width$}", name.replace('_', " "))?;
            for column in 0..self.places.len() {
                let end = match &self.ends[&(row, column)] {
                    End::Fine => "ok",
                    End::Failed(_) => "FAILED",
                };
                write!(f, "  {end:>6}")?;
            }
        }
        Ok(())
    }
}
