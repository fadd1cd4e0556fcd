//! Who watches a comparison: progress, a request to stop, and sinks of packets.

use std::error::Error;

use crate::sink::PacketSink;
use crate::stop::Stop;

/// Progress of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Bytes of the capture read, in this reading.
    pub read: u64,
    /// Packets read; in the last reading, packets replayed.
    pub packets: u64,
    /// The number of this reading, from 1 on. What to replay, and in which order, is known after the
    /// others.
    pub reading: u32,
    /// The number of all readings.
    pub readings: u32,
}

/// Callbacks during a comparison. They do nothing by default.
pub trait ReplayObserver {
    /// Called after each block of packets.
    fn progress(&mut self, progress: Progress) {
        let _ = progress;
    }

    /// A request that ends the comparison with [`Stopped`](crate::CompareError::Stopped). Read before
    /// each block of packets of each discipline, and during the cost measurement.
    fn stop(&self) -> Stop {
        Stop::default()
    }

    /// A sink for the packets of this discipline or tree, if wanted. Called once for each, before
    /// the first packet; `zero_unix_nanos` is time zero of the replay in nanoseconds since the Unix
    /// epoch.
    ///
    /// # Errors
    /// The sink cannot be opened.
    fn sink(
        &mut self,
        name: &str,
        index: usize,
        zero_unix_nanos: i64,
    ) -> Result<Option<Box<dyn PacketSink>>, Box<dyn Error + Send + Sync>> {
        let _ = (name, index, zero_unix_nanos);
        Ok(None)
    }
}

/// An observer that does nothing.
impl ReplayObserver for () {}
