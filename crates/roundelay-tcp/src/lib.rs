//! TCP for simulation: a sender and a receiver as pure state machines.
//!
//! Neither reads a clock, opens a socket or holds data. Time and segments come in as arguments, and
//! segments and the time of the next timer come out. All state is in integers, so runs are the same
//! on all machines. Data flows one way, from a [`Sender`] to a [`Receiver`].
//! `docs/simulator/tcp.md` lists what is modelled, with the RFCs.
//!
//! ```
//! use roundelay::{Duration, Instant};
//! use roundelay_tcp::{Config, Receiver, Sender};
//!
//! let config = Config { syn_exchange: false, ..Config::rfc() };
//! let (mut sender, mut receiver) = (Sender::new(config, Some(100_000))?, Receiver::new(config)?);
//! let mut now = Instant::ZERO;
//! sender.open(now);
//! while !sender.is_done() {
//!     let sent: Vec<_> = std::iter::from_fn(|| sender.poll(now)).collect();
//!     now = now + Duration::from_millis(10); // a round trip on a link without limit
//!     for segment in sent {
//!         if let Some(acknowledgement) = receiver.on_segment(now, &segment, false) {
//!             sender.on_segment(now, &acknowledgement);
//!         }
//!     }
//!     if let Some(acknowledgement) = receiver.on_timer(now) {
//!         sender.on_segment(now, &acknowledgement);
//!     }
//! }
//! assert_eq!(receiver.delivered(), 100_000);
//! # Ok::<(), roundelay_tcp::ConfigError>(())
//! ```

mod bbr;
mod bbr3;
mod config;
mod congestion;
mod cubic;
mod custom;
mod delivery;
mod hystart;
mod ledbat;
mod model;
mod offload;
mod policer;
mod probe;
mod prr;
mod rack;
mod ranges;
pub mod rc3;
mod receive_window;
mod receiver;
mod recovery;
mod reno;
mod rto;
mod scoreboard;
mod segment;
mod sender;
mod small_queue;
mod tail_loss;

pub use config::{
    Config, ConfigError, Control, Flavour, IdleRestart, Offload, PartialTimer, SlowStart,
};
pub use cubic::Cubic;
pub use custom::{CongestionControl, CustomControl, Feedback, MAX_WINDOW};
pub use receiver::{Receiver, ReceiverStatistics};
pub use reno::Reno;
pub use segment::{Block, Flags, MAX_BLOCKS, Segment};
pub use sender::{Sender, SenderStatistics, State};

#[cfg(doctest)]
#[doc = include_str!("../../../docs/simulator/tcp.md")]
struct PageExamples;
