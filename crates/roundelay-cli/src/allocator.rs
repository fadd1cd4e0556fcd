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
