//! A progress bar on stderr.

use indicatif::{ProgressBar, ProgressStyle};
use roundelay_trace::Progress;

/// How much of the capture has been replayed. It vanishes when dropped.
pub(crate) struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// A bar over `size` bytes, or a counter if the size is not known.
    pub(crate) fn new(size: Option<u64>) -> Self {
        let bar = size.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
        let template = if size.is_some() { "{bar:40} {percent}% {msg} eta {eta}" } else { "{spinner} {bytes} {msg}" };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self { bar }
    }

    pub(crate) fn show(&self, progress: Progress) {
        self.bar.set_position(progress.read);
        self.bar.set_message(format!("{} packets", progress.packets));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
