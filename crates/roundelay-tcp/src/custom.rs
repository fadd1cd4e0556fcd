//! Custom congestion control: a law of another crate, in place of Reno's or CUBIC's.
//!
//! A program implements [`CongestionControl`] and gives a function that makes one; each connection
//! gets an instance of its own. The law says how the window grows and shrinks. Detection and repair
//! of losses stay with the sender ([`Flavour`](crate::Flavour)), as for the built-in laws, which
//! implement the same trait.
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
//! Cost: one call through a pointer for each acknowledgement; built-in laws have none.

use std::fmt;
use std::sync::Arc;

use roundelay::{Duration, Instant};

use crate::config::Config;

/// A sender's knowledge at a call of its congestion control. Lengths and windows are in bytes of
/// data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feedback {
    /// Time of the call.
    pub now: Instant,
    /// The congestion window before the call (cwnd).
    pub window: u64,
    /// The slow start threshold before the call (ssthresh).
    pub threshold: u64,
    /// Most data in a segment (SMSS).
    pub segment_len: u64,
    /// Newly acknowledged data; 0 on losses, marks and timeouts.
    pub acknowledged: u64,
    /// Data in the network: at an acknowledgement the pipe of RFC 6675 or, without selective
    /// acknowledgements, from the acknowledgement to the next byte to send; at losses, marks and
    /// timeouts FlightSize of RFC 5681, data sent and not acknowledged.
    pub in_flight: u64,
    /// The round trip measured by this acknowledgement, in multiples of [`Config::granularity`];
    /// None if there is none.
    pub round_trip: Option<Duration>,
    /// The smoothed round trip (SRTT of RFC 6298); None before the first measurement.
    pub smoothed_round_trip: Option<Duration>,
}

impl Feedback {
    /// The window after an acknowledgement in slow start (RFC 5681, equation 2); None if the window
    /// has reached the threshold.
    #[inline]
    pub fn slow_start(&self) -> Option<u64> {
        (self.window < self.threshold)
            .then(|| self.window + self.acknowledged.min(self.segment_len))
    }
}

/// A law of growth and reduction of the congestion window, with the state of one connection.
///
/// Results are in bytes. The sender raises a result below one segment to a segment, which it needs
/// to go on, and lowers a result above [`MAX_WINDOW`] to this maximum.
pub trait CongestionControl: Send {
    /// Handles an acknowledgement of new data outside of fast recovery, in slow start too. Returns
    /// the window.
    fn on_ack(&mut self, feedback: &Feedback) -> u64;

    /// Handles an acknowledgement that causes no growth: the window was not in full use
    /// ([`Config::window_validation`]), or the acknowledgement echoes a mark.
    fn on_limited(&mut self, feedback: &Feedback) {
        let _ = feedback;
    }

    /// Handles a loss told by duplicate acknowledgements, once for each recovery. Returns the
    /// threshold, which is the window of fast recovery and after it.
    fn on_loss(&mut self, feedback: &Feedback) -> u64;

    /// Handles an ECN mark, once for each window (RFC 3168). Returns threshold and window. By
    /// default as a loss.
    fn on_mark(&mut self, feedback: &Feedback) -> u64 {
        self.on_loss(feedback)
    }

    /// Handles a retransmission timeout, the first since new data was acknowledged: at the next
    /// ones the threshold stays (RFC 5681, section 3.1). Returns the threshold; the window is one
    /// segment. By default as a loss.
    fn on_timeout(&mut self, feedback: &Feedback) -> u64 {
        self.on_loss(feedback)
    }
}

/// Largest window and threshold of a custom control, in bytes.
pub const MAX_WINDOW: u64 = 1 << 50;

/// A function that makes congestion controls, with a name. Equal only to its clones.
#[derive(Clone)]
pub struct CustomControl(Arc<Maker>);

struct Maker {
    name: String,
    make: Box<Make>,
}

type Make = dyn Fn(&Config) -> Box<dyn CongestionControl> + Send + Sync;

impl CustomControl {
    /// Controls made by `make`, which gets the connection's configuration. The field
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

    /// Name in messages and metadata.
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

/// The control of one connection, made at the first call. A copy of the connection makes another
/// one.
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

    /// A window or threshold in the legal range.
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
