//! Source `voip`: speech, fifty packets a second in talkspurts, none in pauses.
//!
//! Talkspurts and pauses are exponential, with the means of ITU-T Recommendation P.59, "Artificial
//! Conversational Speech" (1993), table 1: 1.004 s and 1.587 s. A packet is due within 150 ms, the
//! one-way delay up to which most conversations do not suffer (ITU-T G.114, 2003).

use roundelay::{Duration, Rate};

use crate::sources::SourceError;
use crate::sources::on_off::{self, OnOff};
use crate::sources::outlet::Terms;
use crate::sources::urgency::Urgency;

/// Mean talkspurt.
pub const TALKSPURT: Duration = Duration::from_millis(1004);
/// Mean pause.
pub const PAUSE: Duration = Duration::from_millis(1587);
/// Time between two packets of a talkspurt.
pub const FRAME: Duration = Duration::from_millis(20);
/// Deadline of a packet, from its sending.
pub const DUE_WITHIN: Duration = Duration::from_millis(150);

/// Parameters of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Hosts, times and urgency. Without urgency, packets carry the deadline above.
    pub terms: Terms,
    /// Bytes of a packet, 1 to 65,535. G.711: 160 and 40 of headers.
    pub packet_len: u32,
    /// Number of packets, 1 to 10^12. None: no end.
    pub packets: Option<u64>,
}

impl Config {
    /// G.711: 64 kbit/s, and headers of RTP, UDP and IPv4.
    pub const fn new(terms: Terms) -> Self {
        Self { terms, packet_len: 200, packets: None }
    }
}

/// The rate of a talkspurt with packets of `packet_len` bytes; none for 0.
pub(crate) fn rate(packet_len: u32) -> Option<Rate> {
    Rate::from_bits_per_second(u64::from(packet_len) * 8 * (1_000_000_000_000 / FRAME.as_picos()))
}

/// A source of speech.
///
/// # Errors
/// A parameter is out of range.
pub fn new(config: Config) -> Result<OnOff, SourceError> {
    let Config { mut terms, packet_len, packets } = config;
    if terms.urgency == Urgency::None {
        terms.urgency = Urgency::Deadline(DUE_WITHIN);
    }
    let rate = rate(packet_len).ok_or_else(|| SourceError::new("voip", "packet_len", packet_len, "1 to 65535"))?;
    let config = on_off::Config::exponential(terms, rate, packet_len, [TALKSPURT, PAUSE]);
    OnOff::named("voip", on_off::Config { packets, ..config })
}
