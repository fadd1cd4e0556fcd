//! The peak memory of this process, if the system reports it (Linux).

/// Resets the peak.
pub(super) fn forget_peak() {
    // If this fails, the peak counts from the start of the process.
    drop(std::fs::write("/proc/self/clear_refs", "5"));
}

/// The most resident bytes since the reset.
pub(super) fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kilobytes = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?
        .trim()
        .strip_suffix(" kB")?;
    Some(kilobytes.parse::<u64>().ok()? * 1024)
}
