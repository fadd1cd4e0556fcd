//! Real packets through any queue discipline: a bottleneck between two interfaces, and a record of
//! each run that replays to the packet.
//!
//! The [`Bottleneck`] is pure: frames and times go in, and frames that are due come out. Because it
//! reads no clock and opens no socket, a [replay](replay()) of a record takes the very same
//! decisions.

mod books;
mod bottleneck;
#[cfg(target_os = "linux")]
mod checksum;
mod clock;
#[cfg(target_os = "linux")]
pub mod control;
#[cfg(target_os = "linux")]
pub mod demo;
mod device;
mod driver;
mod fidelity;
mod flows;
#[cfg(target_os = "linux")]
mod frame_lengths;
#[cfg(target_os = "linux")]
mod interface;
mod journal;
mod kinds;
mod late_file;
mod line;
mod log;
#[cfg(target_os = "linux")]
mod loops;
mod marking;
mod meter;
mod metrics;
#[cfg(target_os = "linux")]
pub mod offloads;
#[cfg(target_os = "linux")]
mod packet_socket;
mod phases;
#[cfg(target_os = "linux")]
pub mod processes;
mod quantiles;
mod random;
mod record;
mod recording;
mod replay;
mod request;
#[cfg(target_os = "linux")]
mod samples;
#[cfg(target_os = "linux")]
pub mod sandbox;
mod session;
mod settings;
mod slots;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod tap;
#[cfg(target_os = "linux")]
pub mod world;
#[cfg(target_os = "linux")]
mod xdp_socket;

pub use books::{Books, LostOutside};
pub use bottleneck::{Bottleneck, Due};
pub use clock::{Clock, WallClock};
pub use device::{Device, Received};
pub use driver::{Driver, DriverError};
pub use fidelity::{Fidelity, Verdict, WayFidelity};
pub use flows::{FlowBooks, FlowFigures};
#[cfg(target_os = "linux")]
pub use interface::{DeviceKind, Interface};
pub use journal::{Fate, Journal, NoJournal};
pub use kinds::{KindFigures, KindSample, KindSamples, Kinds, PacketKind, Recent};
pub use late_file::LateFile;
pub use log::{RunLog, log};
pub use meter::WaySample;
pub use metrics::Metrics;
#[cfg(target_os = "linux")]
pub use packet_socket::PacketSocket;
pub use phases::{Conditions, PhaseBooks, PhaseFigures, PhaseRow};
pub use quantiles::quantiles;
pub use record::{End, FORMAT, Line, NOTES, Recorder, Start};
pub use recording::{Entry, RecordError, Recording, is_record};
pub use replay::{Replayed, ReplayedWay, replay};
#[cfg(target_os = "linux")]
pub use samples::{Sample, Samples};
pub use session::{Running, Session};
pub use settings::{
    Change, LONGEST_DELAY, LinkText, QueueText, Settings, SettingsError, Way, WaySettings,
    WeightTexts,
};
pub use slots::{Slot, Slots};
#[cfg(target_os = "linux")]
pub use tap::Tap;
#[cfg(target_os = "linux")]
pub use xdp_socket::XdpSocket;
