//! The threads of one call: a pool that ends with the call.

use std::sync::OnceLock;

use rayon::ThreadPoolBuilder;

use crate::failure::Failure;

/// Runs a thread's work, and does what a host program needs before and after.
pub type AroundThread = fn(Box<dyn FnOnce() + Send + '_>);

static AROUND: OnceLock<AroundThread> = OnceLock::new();

/// Runs each thread of later calls within `around`. Only the first call counts.
pub fn set_around_threads(around: AroundThread) {
    AROUND.get_or_init(|| around);
}

/// Runs `work` in a pool of `threads` threads, by default one a core. All threads have ended when
/// the call returns, so that a process may fork afterwards.
///
/// # Errors
/// The operating system cannot start the threads.
pub(crate) fn in_pool<R: Send>(
    threads: Option<u16>,
    work: impl FnOnce() -> R + Send,
) -> Result<R, Failure> {
    let pool = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0).into());
    let run = |thread: rayon::ThreadBuilder| match AROUND.get() {
        Some(around) => around(Box::new(|| thread.run())),
        None => thread.run(),
    };
    // The standard library aborts if a starting thread gets no memory, so all start before the work
    // takes any.
    let after_start = |pool: &rayon::ThreadPool| {
        pool.broadcast(|_| ());
        pool.install(work)
    };
    let outcome = pool.build_scoped(run, after_start);
    outcome.map_err(|error| {
        Failure::run(format!(
            "cannot start the threads of the pool: {error}; --threads 1 needs the fewest"
        ))
    })
}
