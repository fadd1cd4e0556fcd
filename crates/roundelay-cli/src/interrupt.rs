//! Handles signals. A signal ends the command at once, but incomplete files are removed first.

/// From now on, a signal that ends the process first removes incomplete files, and a file beyond
/// the size limit is an ordinary error. Signals that the parent process ignored stay ignored. One
/// thread waits for signals, however many commands a process runs.
#[cfg(unix)]
pub(crate) fn listen() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(wait_for_signals);
}

#[cfg(unix)]
fn wait_for_signals() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    let ignored = ignored();
    let heeded = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ]
        .into_iter()
        .filter(move |signal| ignored >> (signal - 1) & 1 == 0);
    let (ready, is_ready) = std::sync::mpsc::channel::<()>();
    let listen = move || {
        let Ok(mut signals) = Signals::new(heeded) else {
            return;
        };
        drop(ready);
        for signal in signals.forever().filter(|signal| *signal != SIGXFSZ) {
            roundelay_report::abandon_files();
            drop(emulate_default_handler(signal));
        }
    };
    // If there is no thread, signals keep their default effect.
    if std::thread::Builder::new().spawn(listen).is_ok() {
        _ = is_ready.recv();
    }
}

/// The ignored signals, one bit each, if the system reports them.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(not(unix))]
pub(crate) const fn listen() {}
