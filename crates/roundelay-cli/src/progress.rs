//! Progress: bars on stderr, and a gauge for programs.

use std::io::{self, IsTerminal as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressStyle};
use roundelay::Duration;
use roundelay_sim::scenario;
use roundelay_trace::{Progress, ReplayObserver, Stop};

/// The progress of a call. Its threads write this, and another thread reads it. Clones share the
/// values.
#[derive(Debug, Clone, Default)]
pub struct Gauge(Arc<[AtomicU64; 2]>);

impl Gauge {
    /// The work done and all work, in the command's units: bytes of a capture, simulated
    /// microseconds, or runs of a sweep. All work is 0 before the start, and where nobody knows how
    /// much it is.
    pub fn read(&self) -> (u64, u64) {
        (
            self.0[0].load(Ordering::Relaxed),
            self.0[1].load(Ordering::Relaxed),
        )
    }

    /// Sets the amount of all work.
    pub(crate) fn start(&self, whole: u64) {
        self.0[1].store(whole, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, done: u64) {
        self.0[0].store(done, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, more: u64) -> u64 {
        self.0[0].fetch_add(more, Ordering::Relaxed) + more
    }
}

/// Shows how far each reading of a capture has come, with a bar for each. It disappears on drop.
pub(crate) struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// A bar over `size` bytes, or a counter if the size is unknown.
    pub(crate) fn new(size: Option<u64>) -> Self {
        let bar = size.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
        let template = if size.is_some() {
            "{bar:40} {percent}% {msg} eta {eta}"
        } else {
            "{spinner} {bytes} {msg}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self { bar }
    }

    pub(crate) fn show(&self, progress: Progress) {
        let Progress {
            read,
            packets,
            reading,
            readings,
        } = progress;
        if read < self.bar.position() {
            // The next reading has a time of its own.
            self.bar.reset();
        }
        let which = if readings > 1 {
            format!("reading {reading} of {readings}, ")
        } else {
            String::new()
        };
        self.bar.set_message(format!("{which}{packets} packets"));
        self.bar.set_position(read);
    }
}

/// Observes how a capture without outputs is read: a bar on a terminal.
pub(crate) struct BarOfReadings {
    bar: Option<Bar>,
    stop: Stop,
}

impl BarOfReadings {
    /// Shows no bar if quiet, or without a terminal.
    pub(crate) fn new(size: Option<u64>, is_quiet: bool, stop: &Stop) -> Self {
        let is_shown = !is_quiet && io::stderr().is_terminal();
        Self {
            bar: is_shown.then(|| Bar::new(size)),
            stop: stop.clone(),
        }
    }
}

impl ReplayObserver for BarOfReadings {
    fn progress(&mut self, progress: Progress) {
        if let Some(bar) = &self.bar {
            bar.show(progress);
        }
    }

    fn stop(&self) -> Stop {
        self.stop.clone()
    }
}

/// The bytes that all readings have done in a capture with `size` bytes, for a gauge.
pub(crate) fn bytes_of_readings(progress: Progress, size: u64) -> u64 {
    u64::from(progress.reading - 1) * size + progress.read
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The microseconds that all runs simulate.
fn whole(end: Duration, runs: u64) -> u64 {
    (end.as_picos() / 1_000_000).saturating_mul(runs).max(1)
}

/// Shows the simulated time over all replicas. The bar disappears on drop.
struct SimulatedTime {
    bar: ProgressBar,
    end: Duration,
    runs: u64,
    began: std::time::Instant,
    /// The value shown last, in microseconds.
    shown: Mutex<u64>,
}

impl SimulatedTime {
    fn new(end: Duration, runs: u64) -> Self {
        let bar = ProgressBar::new(whole(end, runs));
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent}% {msg} eta {eta}") {
            bar.set_style(style);
        }
        Self {
            bar,
            end,
            runs,
            began: std::time::Instant::now(),
            shown: Mutex::new(0),
        }
    }

    /// `micros` and `events` are sums over all runs. Runs report in parallel and perhaps out of
    /// order, so a smaller value is ignored.
    fn show(&self, micros: u64, events: u64) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if micros < *shown {
            return;
        }
        *shown = micros;
        self.bar.set_position(micros);
        let each = micros as f64 / 1e6 / self.runs as f64;
        let rate = events as f64 / self.began.elapsed().as_secs_f64().max(1e-3) / 1e6;
        self.bar.set_message(format!(
            "{each:.3} s of {:.3} s, {rate:.1}M events/s",
            self.end.as_secs_f64()
        ));
    }
}

impl Drop for SimulatedTime {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The progress of parallel runs, taken together.
pub(crate) struct JointProgress {
    bar: Option<SimulatedTime>,
    gauge: Gauge,
    events: AtomicU64,
}

impl JointProgress {
    /// For `runs` runs, each until `end`. With a bar if `shown`.
    pub(crate) fn new(end: Duration, runs: u64, gauge: &Gauge, shown: bool) -> Self {
        gauge.start(whole(end, runs));
        Self {
            bar: shown.then(|| SimulatedTime::new(end, runs)),
            gauge: gauge.clone(),
            events: AtomicU64::new(0),
        }
    }

    /// `reported`: the microseconds and events that this replica has reported so far.
    pub(crate) fn tell(&self, progress: scenario::Progress, reported: &mut (u64, u64)) {
        // Microseconds, because their sum over ten thousand long runs fits in u64, while
        // picoseconds would overflow.
        let micros = progress.now.as_picos() / 1_000_000;
        let events = progress.events;
        let more = (micros - reported.0, events - reported.1);
        *reported = (micros, events);
        let all = self.gauge.add(more.0);
        let events = self.events.fetch_add(more.1, Ordering::Relaxed) + more.1;
        if let Some(bar) = &self.bar {
            bar.show(all, events);
        }
    }
}
