//! Peak memory of this process, where the system tells (Linux).

/// Begins to count anew.
pub(super) fn forget_peak() {
    // Where that cannot be done, the peak is that since the process began.
    drop(std::fs::write("/proc/self/clear_refs", "5"));
}

/// Most bytes in memory since then.
pub(super) fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().strip_suffix(" kB")?;
    Some(kilobytes.parse::<u64>().ok()? * 1024)
}
