//! The command's global allocator. It is the system's, but when memory runs out the command fails
//! with status 1 instead of an abort.

#![allow(
    unsafe_code,
    reason = "an allocator has no safe interface; the calls go to the system's unchanged"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use roundelay_cli::MEMORY_ADVICE;
use roundelay_report::try_abandon_files;

/// The allocator.
pub(crate) struct OrExit;

// SAFETY: each call is the system allocator's with the same arguments, and returns its result.
unsafe impl GlobalAlloc for OrExit {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        present(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        present(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        present(unsafe { System.realloc(memory, layout, bytes) }, bytes)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[inline]
fn present(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() {
        end(bytes);
    }
    memory
}

/// Ends the process. Returns only if memory is short again while this thread already ends the
/// process.
#[cold]
fn end(bytes: usize) {
    static IS_ENDING: AtomicBool = AtomicBool::new(false);
    thread_local!(static ENDS: Cell<bool> = const { Cell::new(false) });
    if ENDS.replace(true) {
        return;
    }
    if IS_ENDING.swap(true, Ordering::Relaxed) {
        // Another thread ends the process, so wait for it.
        thread::sleep(Duration::MAX);
    }
    // Without a buffer, because writing then allocates nothing.
    let advice = MEMORY_ADVICE.get().unwrap_or(&"");
    _ = writeln!(
        io::stderr(),
        "roundelay: out of memory: the system refuses {bytes} more bytes{advice}"
    );
    try_abandon_files();
    exit();
}

/// Ends the process with status 1, whatever other code holds. `process::exit` would wait for locks
/// of the standard library, one of which the failed allocation may hold.
#[cfg(unix)]
fn exit() -> ! {
    unsafe extern "C" {
        safe fn _exit(status: i32) -> !;
    }
    _exit(1)
}

#[cfg(not(unix))]
fn exit() -> ! {
    std::process::exit(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `make miri` interprets this test, and finds what the contract forbids.
    #[test]
    fn memory_has_the_size_and_the_alignment_that_were_asked_for() {
        for (bytes, alignment) in [(1, 1), (24, 8), (100, 64), (5000, 4096)] {
            let layout = Layout::from_size_align(bytes, alignment).unwrap();
            let larger = Layout::from_size_align(3 * bytes, alignment).unwrap();
            // SAFETY: no size is zero, memory goes back with the layout that it has by then, and
            // bytes are read within it, after they are written.
            unsafe {
                let zeroed = OrExit.alloc_zeroed(layout);
                assert!((0..bytes).all(|offset| zeroed.add(offset).read() == 0));
                let memory = OrExit.alloc(layout);
                assert_eq!(memory.addr() % alignment, 0);
                memory.write_bytes(7, bytes);
                let memory = OrExit.realloc(memory, layout, larger.size());
                memory.add(bytes).write_bytes(8, 2 * bytes);
                let expected = |offset| if offset < bytes { 7 } else { 8 };
                for offset in 0..larger.size() {
                    assert_eq!(memory.add(offset).read(), expected(offset));
                }
                OrExit.dealloc(memory, larger);
                OrExit.dealloc(zeroed, layout);
            }
        }
    }
}
