//! What a capture does not say about its applications.

use roundelay::{Duration, LinkLayer, Rate};

use super::arguments::{Controls, Up};

/// What the capture does not say.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    /// Rate of the link.
    pub(crate) rate: Option<Rate>,
    /// The link's other direction, as far as it was stated.
    pub(crate) up: Up,
    /// Round trip of connections without a measured one.
    pub(crate) round_trip: Option<Duration>,
    /// The part of each measured round trip that is simulated: under load they are upper bounds.
    pub(crate) round_trip_part: f64,
    pub(crate) controls: Controls,
    /// The link's overhead and framing. None: an Ethernet header.
    pub(crate) link: LinkLayer,
    pub(crate) seed: u64,
    /// Whether recorded flows of the other direction, where nothing waits, are left out.
    pub(crate) link_only: bool,
    /// How much later than recorded a connection may start: replicas differ by it.
    pub(crate) jitter: &'static str,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            rate: None,
            up: Up::default(),
            round_trip: None,
            round_trip_part: 1.0,
            controls: Controls::default(),
            link: LinkLayer::NONE,
            seed: 1,
            link_only: false,
            jitter: "10ms",
        }
    }
}

/// A time in the largest unit without a fraction, to the microsecond.
pub(super) fn time(time: Duration) -> String {
    let micros = (time.as_nanos() + 500) / 1000;
    Duration::from_micros(micros).to_string()
}
