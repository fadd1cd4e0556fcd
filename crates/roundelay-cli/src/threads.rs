//! Threads of one call: a pool that ends with the call.

use rayon::ThreadPoolBuilder;

use crate::failure::Failure;

/// Runs `work` in a pool of `threads` threads, by default one a core. All threads have ended when the
/// call returns: a process may fork afterwards.
///
/// # Errors
/// The operating system cannot start the threads.
pub(crate) fn in_pool<R: Send>(threads: Option<u16>, work: impl FnOnce() -> R + Send) -> Result<R, Failure> {
    let pool = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0).into());
    pool.build_scoped(|thread| thread.run(), |pool| pool.install(work)).map_err(Failure::run)
}
