//! Custom congestion control: a law from another crate replaces Reno's or CUBIC's.
//!
//! A program implements [`CongestionControl`] and gives a function that makes one. Each connection
//! gets an instance of its own. The law says how the window grows and shrinks. The sender
//! ([`Flavour`](crate::Flavour)) still detects and repairs losses, as it does for the built-in
//! laws, which implement the same trait.
//!
//! ```
//! use roundelay_tcp::{Config, CongestionControl, CustomControl, Feedback, Sender};
//!
//! /// A segment more each round trip, an eighth less on a loss.
//! #[derive(Default)]
//! struct Gentle {
//!     credit: u64,
//! }
//!
//! impl CongestionControl for Gentle {
//!     fn on_ack(&mut self, feedback: &Feedback) -> u64 {
//!         if let Some(window) = feedback.slow_start() {
//!             return window;
//!         }
//!         self.credit += feedback.acknowledged * feedback.segment_len;
//!         let growth = self.credit / feedback.window;
//!         self.credit %= feedback.window;
//!         feedback.window + growth
//!     }
//!
//!     fn on_loss(&mut self, feedback: &Feedback) -> u64 {
//!         feedback.in_flight / 8 * 7
//!     }
//! }
//!
//! let gentle = CustomControl::new("gentle", |_config| Gentle::default());
//! let sender = Sender::with_control(Config::rfc(), Some(1_000_000), gentle)?;
//! assert_eq!(sender.window(), 14_480);
//! # Ok::<(), roundelay_tcp::ConfigError>(())
//! ```
//!
//! Cost: one call through a pointer for each acknowledgement. Built-in laws have none.

use std::fmt;
use std::sync::Arc;

use roundelay::{Duration, Instant};

use crate::config::Config;

/// What a sender knows when it calls its congestion control. Lengths and windows are in bytes of
/// data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feedback {
    /// When the call is made.
    pub now: Instant,
    /// The congestion window before the call (cwnd).
    pub window: u64,
    /// The slow start threshold before the call (ssthresh).
    pub threshold: u64,
    /// The most data in a segment (SMSS).
    pub segment_len: u64,
    /// Newly acknowledged data. 0 on losses, marks and timeouts.
    pub acknowledged: u64,
    /// Data in the network. At an acknowledgement this is the pipe of RFC 6675 or, without
    /// selective acknowledgements, what lies between the acknowledgement and the next byte to send.
    /// At losses, marks and timeouts it is FlightSize of RFC 5681: data that is sent but not
    /// acknowledged.
    pub in_flight: u64,
    /// The round trip that this acknowledgement measured, in multiples of [`Config::granularity`].
    /// None if it measured none.
    pub round_trip: Option<Duration>,
    /// The smoothed round trip (SRTT of RFC 6298). None before the first measurement.
    pub smoothed_round_trip: Option<Duration>,
}

impl Feedback {
    /// The window after an acknowledgement in slow start (RFC 5681, equation 2). None if the window
    /// has reached the threshold.
    #[inline]
    pub fn slow_start(&self) -> Option<u64> {
        (self.window < self.threshold)
            .then(|| self.window + self.acknowledged.min(self.segment_len))
    }
}

/// A law by which the congestion window grows and shrinks, with one connection's state.
///
/// Results are in bytes. If a result is below one segment, the sender raises it to a segment,
/// because it needs that to go on. If it is above [`MAX_WINDOW`], the sender lowers it to this
/// maximum.
pub trait CongestionControl: Send {
    /// Handles an acknowledgement of new data outside of fast recovery, but also in slow start.
    /// Returns the window.
    fn on_ack(&mut self, feedback: &Feedback) -> u64;

    /// Handles an acknowledgement that causes no growth, because the window was not in full use
    /// ([`Config::window_validation`]) or because the acknowledgement echoes a mark.
    fn on_limited(&mut self, feedback: &Feedback) {
        let _ = feedback;
    }

    /// Handles a loss that duplicate acknowledgements tell of, once for each recovery. Returns the
    /// threshold, which is also the window during fast recovery and after it.
    fn on_loss(&mut self, feedback: &Feedback) -> u64;

    /// Handles an ECN mark, once for each window (RFC 3168). Returns the threshold, which is also
    /// the window. By default, this is the same as a loss.
    fn on_mark(&mut self, feedback: &Feedback) -> u64 {
        self.on_loss(feedback)
    }

    /// Handles a retransmission timeout, if it is the first since new data was acknowledged. At the
    /// next ones the threshold stays (RFC 5681, section 3.1). Returns the threshold, while the
    /// window is one segment. By default, this is the same as a loss.
    fn on_timeout(&mut self, feedback: &Feedback) -> u64 {
        self.on_loss(feedback)
    }
}

/// The largest window and threshold that a custom control may have, in bytes.
pub const MAX_WINDOW: u64 = 1 << 50;

/// A function that makes congestion controls, with a name. It is equal only to its clones.
#[derive(Clone)]
pub struct CustomControl(Arc<Maker>);

struct Maker {
    name: String,
    make: Box<Make>,
}

type Make = dyn Fn(&Config) -> Box<dyn CongestionControl> + Send + Sync;

impl CustomControl {
    /// Controls that `make` makes. It gets the connection's configuration, whose field
    /// [`Config::control`] has no effect.
    pub fn new<C: CongestionControl + 'static>(
        name: &str,
        make: impl Fn(&Config) -> C + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Maker {
            name: name.to_owned(),
            make: Box::new(move |config| Box::new(make(config))),
        }))
    }

    /// The name in messages and metadata.
    pub fn name(&self) -> &str {
        &self.0.name
    }
}

impl fmt::Debug for CustomControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CustomControl").field(&self.0.name).finish()
    }
}

impl PartialEq for CustomControl {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for CustomControl {}

/// One connection's control, made at the first call. A copy of the connection makes another one.
pub(crate) struct Instance {
    pub(crate) control: CustomControl,
    config: Config,
    made: Option<Box<dyn CongestionControl>>,
}

impl Instance {
    pub(crate) fn new(control: CustomControl, config: Config) -> Self {
        Self {
            control,
            config,
            made: None,
        }
    }

    #[cold]
    pub(crate) fn get(&mut self) -> &mut dyn CongestionControl {
        let Self {
            control,
            config,
            made,
        } = self;
        &mut **made.get_or_insert_with(|| (control.0.make)(config))
    }

    /// Brings a window or threshold into the legal range.
    pub(crate) fn legal(&self, bytes: u64) -> u64 {
        bytes.clamp(u64::from(self.config.segment_len), MAX_WINDOW)
    }
}

impl Clone for Instance {
    fn clone(&self) -> Self {
        Self::new(self.control.clone(), self.config)
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance")
            .field("control", &self.control)
            .finish_non_exhaustive()
    }
}
