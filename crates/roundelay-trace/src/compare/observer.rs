//! Who watches a comparison: progress, a request to stop, and sinks of packets.

use std::error::Error;

use crate::sink::PacketSink;
use crate::stop::Stop;

/// How far a comparison has come.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Bytes of the capture read so far, in this reading.
    pub read: u64,
    /// Packets read so far, or in the last reading packets replayed.
    pub packets: u64,
    /// Which reading this is, from 1 on. Only after the others do we know what to replay and in
    /// which order.
    pub reading: u32,
    /// How many readings there are.
    pub readings: u32,
}

/// Callbacks during a comparison. By default they do nothing.
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

    /// A sink for this discipline's or tree's packets, if you want one. Called once for each before
    /// the first packet. `zero_unix_nanos` is the replay's time zero, in nanoseconds since the Unix
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
