//! Who ends the command ends it at once; files that are not whole do not stay.

/// From now on signals that end the process remove files that are not whole before they do, and a file that grows beyond its limit is an error like
/// others. Signals that whoever started the process has it ignore are ignored.
#[cfg(unix)]
pub(crate) fn listen() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    let ignored = ignored();
    let heeded = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ].into_iter().filter(move |signal| ignored >> (signal - 1) & 1 == 0);
    let (ready, is_ready) = std::sync::mpsc::channel::<()>();
    let listen = move || {
        let Ok(mut signals) = Signals::new(heeded) else { return };
        drop(ready);
        for signal in signals.forever().filter(|signal| *signal != SIGXFSZ) {
            roundelay_report::abandon_files();
            drop(emulate_default_handler(signal));
        }
    };
    // Where nobody can listen, signals do what they always did.
    if std::thread::Builder::new().spawn(listen).is_ok() {
        _ = is_ready.recv();
    }
}

/// Signals that the process ignores, a bit each, as far as the system says so.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(not(unix))]
pub(crate) const fn listen() {}
