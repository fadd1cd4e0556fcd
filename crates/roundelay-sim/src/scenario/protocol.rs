//! TCP in a scenario: a set of settings with a name, and what differs from it.

use roundelay::Duration;
use roundelay_tcp as tcp;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::written::{InWords, some, some_whole};

/// Bytes that timestamps take in a header (RFC 7323, appendix A).
const TIMESTAMPS_LEN: u32 = 12;

/// Which settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// What the RFCs ask of a host today: SACK, CUBIC, ten segments at first.
    #[default]
    Rfc,
    /// ns-2's NewReno with a sink that sends SACK, as the UPS authors set them.
    Ns2Newreno,
    /// ns-2's Tahoe with its own defaults: `Agent/TCP`.
    Ns2Tahoe,
    /// ns-2's Reno with its own defaults.
    Ns2Reno,
}

/// How losses are found and repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    /// Fast retransmit, then slow start.
    Tahoe,
    /// RFC 5681.
    Reno,
    /// RFC 6582.
    NewReno,
    /// RFC 6675.
    Sack,
}

/// How the window grows and shrinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Control {
    /// RFC 5681.
    Reno,
    /// RFC 9438.
    Cubic,
}

/// What both ends of a connection do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Protocol {
    /// The settings to begin with.
    pub preset: Preset,
    /// How losses are repaired.
    pub flavour: Option<Flavour>,
    /// How the window grows.
    pub control: Option<Control>,
    /// Most data in a segment: 1 to 65,535 bytes.
    #[serde(deserialize_with = "some")]
    #[schemars(with = "Option<InWords<u32>>")]
    pub segment_len: Option<u32>,
    /// First congestion window in segments: 1 to 1,000,000.
    #[serde(deserialize_with = "some_whole::<_, _, 1, 1_000_000>")]
    pub initial_window: Option<u32>,
    /// What the receiver takes beyond what it has acknowledged, in segments: 1 to 100,000,000.
    #[serde(deserialize_with = "some_whole::<_, _, 1, 100_000_000>")]
    pub receive_window: Option<u32>,
    /// Least retransmission timeout: from 1 us.
    #[serde(deserialize_with = "some")]
    #[schemars(with = "Option<InWords<Duration>>")]
    pub min_timeout: Option<Duration>,
    /// Retransmission timeout before the round trip is known: from `min_timeout` to `max_timeout`.
    #[serde(deserialize_with = "some")]
    #[schemars(with = "Option<InWords<Duration>>")]
    pub initial_timeout: Option<Duration>,
    /// Longest retransmission timeout, however often it has backed off: to 1 h.
    #[serde(deserialize_with = "some")]
    #[schemars(with = "Option<InWords<Duration>>")]
    pub max_timeout: Option<Duration>,
    /// Longest time that an acknowledgement waits for a second segment, to 500 ms; 0: each segment is acknowledged.
    #[serde(deserialize_with = "some")]
    #[schemars(with = "Option<InWords<Duration>>")]
    pub delayed_acknowledgement: Option<Duration>,
    /// Whether segments carry timestamps, 12 bytes of each header under `preset = "rfc"`; ns-2 does not count them.
    pub timestamps: Option<bool>,
    /// Whether the first two duplicate acknowledgements let new segments go (RFC 3042).
    pub limited_transmit: Option<bool>,
    /// Whether SYNs are exchanged before data is sent.
    pub syn_exchange: Option<bool>,
    /// Explicit congestion notification.
    pub ecn: Option<bool>,
    /// Whether segments are spread over the round trip.
    pub pacing: Option<bool>,
}

impl Protocol {
    /// The settings.
    pub fn config(&self) -> tcp::Config {
        let mut config = match self.preset {
            Preset::Rfc => tcp::Config::rfc(),
            Preset::Ns2Newreno => tcp::Config::ns2_newreno_sack1(),
            Preset::Ns2Tahoe => tcp::Config::ns2_classic(tcp::Flavour::Tahoe),
            Preset::Ns2Reno => tcp::Config::ns2_classic(tcp::Flavour::Reno),
        };
        let flavour = self.flavour.map(|flavour| match flavour {
            Flavour::Tahoe => tcp::Flavour::Tahoe,
            Flavour::Reno => tcp::Flavour::Reno,
            Flavour::NewReno => tcp::Flavour::NewReno,
            Flavour::Sack => tcp::Flavour::Sack,
        });
        let control = self.control.map(|control| match control {
            Control::Reno => tcp::Control::Reno,
            Control::Cubic => tcp::Control::Cubic,
        });
        config.flavour = flavour.unwrap_or(config.flavour);
        config.control = control.unwrap_or(config.control);
        config.segment_len = self.segment_len.unwrap_or(config.segment_len);
        config.initial_window = self.initial_window.unwrap_or(config.initial_window);
        config.receive_window = self.receive_window.unwrap_or(config.receive_window);
        config.min_timeout = self.min_timeout.unwrap_or(config.min_timeout);
        config.max_timeout = self.max_timeout.unwrap_or(config.max_timeout);
        let initial = config.initial_timeout.min(config.max_timeout).max(config.min_timeout);
        config.initial_timeout = self.initial_timeout.unwrap_or(initial);
        if let Some(wait) = self.delayed_acknowledgement {
            config.delayed_acknowledgement = (wait != Duration::ZERO).then_some(wait);
        }
        if self.preset == Preset::Rfc && self.timestamps == Some(false) {
            config.header_len -= TIMESTAMPS_LEN;
            config.bare_len -= TIMESTAMPS_LEN;
        }
        config.timestamps = self.timestamps.unwrap_or(config.timestamps);
        config.limited_transmit = self.limited_transmit.unwrap_or(config.limited_transmit);
        config.syn_exchange = self.syn_exchange.unwrap_or(config.syn_exchange);
        config.ecn = self.ecn.unwrap_or(config.ecn);
        config.pacing = self.pacing.unwrap_or(config.pacing);
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> tcp::Config {
        toml::from_str::<Protocol>(text).unwrap_or_else(|error| panic!("{text}: {error}")).config()
    }

    #[test]
    fn what_is_written_is_what_is_set() {
        let [rfc, classic] = [tcp::Config::rfc(), tcp::Config::ns2_classic(tcp::Flavour::Reno)];
        let cases = [
            ("timestamps = false", tcp::Config { timestamps: false, header_len: 40, bare_len: 40, ..rfc }),
            ("timestamps = true\npreset = \"ns2_reno\"", tcp::Config { timestamps: true, ..classic }),
            ("limited_transmit = false", tcp::Config { limited_transmit: false, ..rfc }),
            ("syn_exchange = false", tcp::Config { syn_exchange: false, ..rfc }),
            ("initial_timeout = \"3s\"", tcp::Config { initial_timeout: Duration::from_secs(3), ..rfc }),
            ("max_timeout = \"2s\"", tcp::Config { max_timeout: Duration::from_secs(2), ..rfc }),
            ("min_timeout = \"2s\"", tcp::Config { min_timeout: Duration::from_secs(2), initial_timeout: Duration::from_secs(2), ..rfc }),
            ("delayed_acknowledgement = 0", tcp::Config { delayed_acknowledgement: None, ..rfc }),
        ];
        for (text, expected) in cases {
            assert_eq!(config(text), expected, "{text}");
            assert_eq!(expected.check(), Ok(()), "{text}");
        }
    }

    #[test]
    fn timeouts_out_of_order_are_refused() {
        for text in ["max_timeout = \"500ms\"", "initial_timeout = \"500ms\"", "initial_timeout = \"90s\"", "min_timeout = \"90s\""] {
            assert!(config(text).check().is_err(), "{text}");
        }
    }
}
