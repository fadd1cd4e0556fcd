//! Source `voip`: speech, with fifty packets a second in talkspurts and none in pauses.
//!
//! Talkspurts and pauses are exponential, with the means in ITU-T Recommendation P.59, "Artificial
//! Conversational Speech" (1993), table 1: 1.004 s and 1.587 s. A packet is due within 150 ms,
//! because up to this one-way delay most conversations do not suffer (ITU-T G.114, 2003).

use roundelay::{Duration, Rate};
use roundelay_files::{InWords, some_whole};
use serde::Deserialize;

use crate::agent::Agent;
use crate::sources::load::{Amount, Load};
use crate::sources::on_off::{self, OnOff};
use crate::sources::source::{Conditions, Facts, Site, Source};
use crate::sources::source_flow::Terms;
use crate::sources::urgency::Urgency;
use crate::sources::{Check, MOST_PACKETS, SourceError};

/// How long a talkspurt is on average.
pub const TALKSPURT: Duration = Duration::from_millis(1004);
/// How long a pause is on average.
pub const PAUSE: Duration = Duration::from_millis(1587);
/// The time between two packets in a talkspurt.
pub const FRAME: Duration = Duration::from_millis(20);
/// A packet is due this long after it is sent.
pub const DUE_WITHIN: Duration = Duration::from_millis(150);

#[cfg(feature = "schema")]
pub(super) const SENDS: &str = "Speech: fifty packets a second in talkspurts.";
pub(super) const EXAMPLES: [&str; 2] = ["", "packet_len = 100"];

/// Parameters of the source. Without urgency, packets carry the deadline above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Bytes of a packet: 1 to 65,535. 200: G.711 with headers.
    #[serde(default = "speech_len", with = "InWords::<u32>")]
    pub packet_len: u32,
    /// Number of packets. Left out: no end.
    #[serde(default, deserialize_with = "some_whole::<_, _, 1, MOST_PACKETS>")]
    #[cfg_attr(
        feature = "schema",
        schemars(range(min = 1, max = 1_000_000_000_000u64))
    )]
    pub packets: Option<u64>,
}

/// G.711: 64 kbit/s make 160 bytes a packet, and headers of RTP, UDP and IPv4 add 40.
const fn speech_len() -> u32 {
    200
}

impl Default for Config {
    fn default() -> Self {
        Self {
            packet_len: speech_len(),
            packets: None,
        }
    }
}

impl Config {
    /// The rate in a talkspurt. None if packets have 0 bytes.
    fn rate(&self) -> Option<Rate> {
        Rate::from_bits_per_second(
            u64::from(self.packet_len) * 8 * (1_000_000_000_000 / FRAME.as_picos()),
        )
    }

    /// The talkspurts and pauses, as on-times and off-times.
    fn on_off(&self) -> Option<on_off::Config> {
        let config = on_off::Config::new(self.rate()?, self.packet_len, [TALKSPURT, PAUSE]);
        Some(on_off::Config {
            packets: self.packets,
            ..config
        })
    }
}

impl Source for Config {
    fn facts(&self) -> Facts<'_> {
        on_off::Config::facts_of(self.rate(), self.packet_len, self.packets)
    }

    fn load(&self, conditions: &Conditions) -> Load {
        let packets = self.on_off().map_or(Amount::exact(0.0), |speech| {
            speech.packets_in(conditions.span.as_secs_f64())
        });
        Load::of_flow(packets)
    }

    fn agent(&self, terms: Terms, _: &Site<'_>) -> Result<Box<dyn Agent>, SourceError> {
        Ok(Box::new(new(terms, *self)?))
    }
}

/// A source of speech.
///
/// # Errors
/// A parameter is out of range.
pub fn new(mut terms: Terms, config: Config) -> Result<OnOff, SourceError> {
    if terms.urgency == Urgency::None {
        terms.urgency = Urgency::Deadline(DUE_WITHIN);
    }
    let speech = config
        .on_off()
        .ok_or_else(|| SourceError::new("voip", "packet_len", config.packet_len, "1 to 65535"))?;
    OnOff::with_times(Check("voip"), terms, speech, speech.times())
}
