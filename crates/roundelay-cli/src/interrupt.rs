//! Who ends the command ends it at once; files that are not whole do not stay.

/// From now on SIGINT and SIGTERM remove files that are not whole before they end the process, as they would have.
#[cfg(unix)]
pub(crate) fn listen() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    // Where nobody can listen, signals do what they always did.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            roundelay_report::abandon_files();
            drop(emulate_default_handler(signal));
        }
    });
}

#[cfg(not(unix))]
pub(crate) const fn listen() {}
