//! TCP settings in a scenario: a named preset, and what changes in it.

use std::fmt;

use roundelay::{Duration, Fault};
use roundelay_files::{Maybe, custom, some_whole};
use roundelay_tcp as tcp;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

/// Bytes that timestamps take in the headers of data, and of segments without data. The first
/// follows RFC 7323, appendix A. The second follows ns-2, whose acknowledgements all have one
/// length (for packets of 1000, `ns` prints 1050 and 40 bytes with timestamps, 1040 and 40
/// without).
const RFC_TIMESTAMPS: (u32, u32) = (12, 12);
const NS2_TIMESTAMPS: (u32, u32) = (10, 0);

/// A named set of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// The RFCs' requirements for a host today: SACK, CUBIC, an initial window of ten segments.
    #[default]
    Rfc,
    /// Linux today, as far as it is modelled: `rfc` with HyStart, Linux's CUBIC, quick
    /// acknowledgements, a receive window that grows, proportional rate reduction, RACK, tail loss
    /// probes, and Linux's timers.
    Linux,
    /// ns-2's NewReno with a SACK sink, with the settings of the UPS authors.
    Ns2Newreno,
    /// ns-2's Tahoe with its own defaults: `Agent/TCP`.
    Ns2Tahoe,
    /// ns-2's Reno with its own defaults.
    Ns2Reno,
}

/// Detection and repair of losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// Growth and reduction of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Control {
    /// RFC 5681.
    Reno,
    /// RFC 9438.
    Cubic,
    /// draft-cardwell-iccrg-bbr-congestion-control-00.
    Bbr,
    /// draft-ietf-ccwg-bbr: version 3.
    Bbr3,
    /// RFC 6817.
    Ledbat,
}

/// When the first slow start ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SlowStart {
    /// With a loss or a mark: RFC 5681.
    #[serde(rename = "until_loss")]
    UntilLoss,
    /// With a loss or a mark; the window opens by what is acknowledged, however much: RFC 3465
    /// without its limit, as in Linux's Reno.
    #[serde(rename = "by_bytes")]
    ByBytes,
    /// HyStart++, RFC 9406.
    #[serde(rename = "hystart++")]
    HyStartPlusPlus,
    /// HyStart, as in Linux.
    #[serde(rename = "hystart")]
    HyStart,
}

/// Whether new data goes out in bursts, and who cuts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Offload {
    /// Segments go out one by one.
    None,
    /// In bursts of about a millisecond, of two segments at least and 64 KiB at most. The interface
    /// cuts them, so queues see segments.
    Split,
    /// In the same bursts, each of which is one packet for all queues.
    Whole,
}

/// TCP settings of both ends of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Protocol {
    /// The preset.
    pub preset: Preset,
    /// Loss repair.
    pub flavour: Option<Flavour>,
    /// Window growth.
    pub control: Option<Control>,
    /// The delay that LEDBAT adds to the path: 1 ms to 100 ms.
    #[serde(with = "Maybe::<Duration>")]
    pub ledbat_target: Option<Duration>,
    /// How fast LEDBAT follows its target: 1 to 10.
    #[serde(deserialize_with = "some_whole::<_, _, 1, 10>")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 10)))]
    pub ledbat_gain: Option<u32>,
    /// Maximum data in a segment: 1 to 65,535 bytes.
    #[serde(with = "Maybe::<u32>")]
    pub segment_len: Option<u32>,
    /// Initial congestion window in segments: 1 to 1,000,000.
    #[serde(deserialize_with = "initial_window")]
    pub initial_window: Option<u32>,
    /// Receive window, from the last acknowledgement, in segments: 1 to 100,000,000.
    #[serde(deserialize_with = "receive_window")]
    pub receive_window: Option<u32>,
    /// Whether the receive window begins at 65,535 bytes and grows with what arrives in a round trip,
    /// up to `receive_window`, as in Linux.
    pub window_growth: Option<bool>,
    /// Minimum retransmission timeout: from 1 us.
    #[serde(with = "Maybe::<Duration>")]
    pub min_timeout: Option<Duration>,
    /// Retransmission timeout before the first round trip is measured: from `min_timeout` to
    /// `max_timeout`.
    #[serde(with = "Maybe::<Duration>")]
    pub initial_timeout: Option<Duration>,
    /// Maximum retransmission timeout, even after many backoffs: to 1 h.
    #[serde(with = "Maybe::<Duration>")]
    pub max_timeout: Option<Duration>,
    /// Maximum time that an acknowledgement waits for a second segment, to 500 ms; 0: every segment
    /// is acknowledged.
    #[serde(with = "Maybe::<Duration>")]
    pub delayed_acknowledgement: Option<Duration>,
    /// Whether segments are acknowledged one by one where Linux does so, though acknowledgements are
    /// delayed: at the start, after a pause, and while its receive window grows.
    pub quick_acknowledgements: Option<bool>,
    /// Whether segments carry timestamps: 12 bytes of each header under `preset = "rfc"`, under
    /// those of ns-2 10 bytes of the headers of data.
    pub timestamps: Option<bool>,
    /// Whether the first two duplicate acknowledgements let new segments go (RFC 3042).
    pub limited_transmit: Option<bool>,
    /// Whether the difference between a round trip and its mean is kept in 16 bits of ticks, as in
    /// ns-2: at its tick of 1 us, differences beyond 32.767 ms change sign.
    pub wrap_differences: Option<bool>,
    /// Whether SYNs are exchanged before data.
    pub syn_exchange: Option<bool>,
    /// Explicit congestion notification.
    pub ecn: Option<bool>,
    /// Whether segments are spread over the round trip.
    pub pacing: Option<bool>,
    /// Whether new data goes out in bursts of about a millisecond, as with segmentation offload, and
    /// whether these are cut before the queues; with `flavour = "sack"`.
    pub offload: Option<Offload>,
    /// Whether a sender waits while the queue of its own host holds two bursts of its data, as
    /// Linux's do (TCP small queues).
    pub small_queue: Option<bool>,
    /// When the first slow start ends, if not at a threshold.
    pub slow_start: Option<SlowStart>,
    /// CUBIC: whether its least window always grows by 9/17 of a segment each round trip (RFC 8312),
    /// and not by a segment once it is back at the window before the last loss (RFC 9438).
    pub constant_friendliness: Option<bool>,
    /// Whether the first ten segments of a paced connection leave at once, as in Linux.
    pub unpaced_start: Option<bool>,
    /// CUBIC: whether the window grows by at least a twentieth each round trip before the first
    /// loss, as in Linux.
    pub least_growth: Option<bool>,
    /// Whether a loss leaves a window of whole segments, as in Linux.
    pub whole_segments: Option<bool>,
    /// Whether the window shrinks with what arrives during a repair, with `flavour = "sack"` (RFC
    /// 9937).
    pub proportional_reduction: Option<bool>,
    /// Whether `min_timeout` is the least that a timeout lies above the round trip, as in Linux.
    pub timeout_above_round_trip: Option<bool>,
    /// Whether losses are found by time and not by counting duplicates, with `flavour = "sack"`
    /// (RACK, RFC 8985).
    pub rack: Option<bool>,
    /// With `rack`, whether a probe asks for an acknowledgement before the timeout (TLP, RFC 8985).
    pub tail_loss_probe: Option<bool>,
}

fn initial_window<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    deserializer
        .deserialize_any(Segments {
            key: "initial_window",
            most: 1_000_000,
        })
        .map(Some)
}

fn receive_window<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    deserializer
        .deserialize_any(Segments {
            key: "receive_window",
            most: 100_000_000,
        })
        .map(Some)
}

/// A window in segments. Messages name the unit, because windows often are in bytes.
struct Segments {
    key: &'static str,
    most: u32,
}

impl Visitor<'_> for Segments {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} in segments, a whole number, legal range 1 to {}",
            self.key, self.most
        )
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u32, E> {
        let legal = u32::try_from(number)
            .ok()
            .filter(|number| (1..=self.most).contains(number));
        legal.ok_or_else(|| {
            let legal = format_args!("1 to {} segments", self.most);
            custom(Fault::range(number, legal).behind(format_args!("{} ", self.key)))
        })
    }
}

impl Protocol {
    /// The settings that result.
    pub fn config(&self) -> tcp::Config {
        let mut config = match self.preset {
            Preset::Rfc => tcp::Config::rfc(),
            Preset::Linux => tcp::Config::linux(),
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
            Control::Bbr => tcp::Control::Bbr,
            Control::Bbr3 => tcp::Control::Bbr3,
            Control::Ledbat => tcp::Control::Ledbat,
        });
        config.flavour = flavour.unwrap_or(config.flavour);
        config.control = control.unwrap_or(config.control);
        config.ledbat_target = self.ledbat_target.unwrap_or(config.ledbat_target);
        config.ledbat_gain = self.ledbat_gain.unwrap_or(config.ledbat_gain);
        config.segment_len = self.segment_len.unwrap_or(config.segment_len);
        config.initial_window = self.initial_window.unwrap_or(config.initial_window);
        config.receive_window = self.receive_window.unwrap_or(config.receive_window);
        config.min_timeout = self.min_timeout.unwrap_or(config.min_timeout);
        config.max_timeout = self.max_timeout.unwrap_or(config.max_timeout);
        let initial = config
            .initial_timeout
            .min(config.max_timeout)
            .max(config.min_timeout);
        config.initial_timeout = self.initial_timeout.unwrap_or(initial);
        if let Some(wait) = self.delayed_acknowledgement {
            config.delayed_acknowledgement = (wait != Duration::ZERO).then_some(wait);
        } else if config.control == tcp::Control::Ledbat {
            // Its receiver tells of each packet's delay (RFC 6817, section 2.4.1).
            config.delayed_acknowledgement = None;
        }
        let (of_data, of_bare) = match self.preset {
            Preset::Rfc | Preset::Linux => RFC_TIMESTAMPS,
            Preset::Ns2Newreno | Preset::Ns2Tahoe | Preset::Ns2Reno => NS2_TIMESTAMPS,
        };
        match (config.timestamps, self.timestamps) {
            (true, Some(false)) => {
                config.header_len -= of_data;
                config.bare_len -= of_bare;
            }
            (false, Some(true)) => {
                config.header_len += of_data;
                config.bare_len += of_bare;
            }
            _ => {}
        }
        config.timestamps = self.timestamps.unwrap_or(config.timestamps);
        // The receiver measures round trips by timestamps.
        config.window_growth = self
            .window_growth
            .unwrap_or(config.window_growth && config.timestamps);
        config.limited_transmit = self.limited_transmit.unwrap_or(config.limited_transmit);
        config.wrap_differences = self.wrap_differences.unwrap_or(config.wrap_differences);
        config.syn_exchange = self.syn_exchange.unwrap_or(config.syn_exchange);
        config.ecn = self.ecn.unwrap_or(config.ecn);
        config.pacing = self.pacing.unwrap_or(config.pacing);
        if let Some(offload) = self.offload {
            config.offload = match offload {
                Offload::None => tcp::Offload::None,
                Offload::Split => tcp::Offload::Split,
                Offload::Whole => tcp::Offload::Whole,
            };
        } else if self.preset == Preset::Linux && config.control == tcp::Control::Bbr {
            // BBR's send quantum, which Linux is seen to send: two segments at once and more.
            config.offload = tcp::Offload::Split;
        }
        config.small_queue = self.small_queue.unwrap_or(config.small_queue);
        if let Some(slow_start) = self.slow_start {
            config.slow_start = match slow_start {
                SlowStart::UntilLoss => tcp::SlowStart::UntilLoss,
                SlowStart::ByBytes => tcp::SlowStart::ByBytes,
                SlowStart::HyStartPlusPlus => tcp::SlowStart::HyStartPlusPlus,
                SlowStart::HyStart => tcp::SlowStart::HyStart,
            };
        } else if config.control == tcp::Control::Reno
            && config.slow_start == tcp::SlowStart::HyStart
        {
            // In Linux, the HyStart that the preset has is a part of CUBIC.
            config.slow_start = tcp::SlowStart::ByBytes;
        }
        config.quick_acknowledgements = self
            .quick_acknowledgements
            .unwrap_or(config.quick_acknowledgements);
        config.constant_friendliness = self
            .constant_friendliness
            .unwrap_or(config.constant_friendliness);
        config.unpaced_start = self.unpaced_start.unwrap_or(config.unpaced_start);
        config.least_growth = self.least_growth.unwrap_or(config.least_growth);
        config.whole_segments = self.whole_segments.unwrap_or(config.whole_segments);
        config.proportional_reduction = self
            .proportional_reduction
            .unwrap_or(config.proportional_reduction);
        config.timeout_above_round_trip = self
            .timeout_above_round_trip
            .unwrap_or(config.timeout_above_round_trip);
        // A preset's RACK goes with its flavour, and its probes go with RACK.
        let is_sack = config.flavour == tcp::Flavour::Sack;
        config.rack = self.rack.unwrap_or(config.rack && is_sack);
        config.tail_loss_probe = self
            .tail_loss_probe
            .unwrap_or(config.tail_loss_probe && config.rack);
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> tcp::Config {
        toml::from_str::<Protocol>(text)
            .unwrap_or_else(|error| panic!("{text}: {error}"))
            .config()
    }

    #[test]
    fn what_is_written_is_what_is_set() {
        let [rfc, classic] = [
            tcp::Config::rfc(),
            tcp::Config::ns2_classic(tcp::Flavour::Reno),
        ];
        let newreno = tcp::Config::ns2_newreno_sack1();
        let cases = [
            ("preset = \"linux\"", tcp::Config::linux()),
            (
                "slow_start = \"hystart++\"\nproportional_reduction = true\ntimeout_above_round_trip = true",
                tcp::Config {
                    slow_start: tcp::SlowStart::HyStartPlusPlus,
                    proportional_reduction: true,
                    timeout_above_round_trip: true,
                    ..rfc
                },
            ),
            (
                "rack = true\ntail_loss_probe = true",
                tcp::Config {
                    rack: true,
                    tail_loss_probe: true,
                    ..rfc
                },
            ),
            (
                "offload = \"split\"",
                tcp::Config {
                    offload: tcp::Offload::Split,
                    ..rfc
                },
            ),
            (
                "offload = \"whole\"",
                tcp::Config {
                    offload: tcp::Offload::Whole,
                    ..rfc
                },
            ),
            (
                "preset = \"linux\"\ncontrol = \"reno\"",
                tcp::Config {
                    control: tcp::Control::Reno,
                    slow_start: tcp::SlowStart::ByBytes,
                    ..tcp::Config::linux()
                },
            ),
            (
                "preset = \"linux\"\ncontrol = \"bbr\"",
                tcp::Config {
                    control: tcp::Control::Bbr,
                    offload: tcp::Offload::Split,
                    ..tcp::Config::linux()
                },
            ),
            (
                "preset = \"linux\"\ncontrol = \"bbr\"\noffload = \"none\"",
                tcp::Config {
                    control: tcp::Control::Bbr,
                    ..tcp::Config::linux()
                },
            ),
            (
                "preset = \"linux\"\nrack = false",
                tcp::Config {
                    rack: false,
                    tail_loss_probe: false,
                    ..tcp::Config::linux()
                },
            ),
            (
                "preset = \"linux\"\nflavour = \"newreno\"",
                tcp::Config {
                    flavour: tcp::Flavour::NewReno,
                    rack: false,
                    tail_loss_probe: false,
                    ..tcp::Config::linux()
                },
            ),
            (
                "preset = \"linux\"\ntimestamps = false",
                tcp::Config {
                    timestamps: false,
                    window_growth: false,
                    header_len: 40,
                    bare_len: 40,
                    ..tcp::Config::linux()
                },
            ),
            (
                "receive_window = 1000\nwindow_growth = true",
                tcp::Config {
                    receive_window: 1000,
                    window_growth: true,
                    ..rfc
                },
            ),
            (
                "timestamps = false",
                tcp::Config {
                    timestamps: false,
                    header_len: 40,
                    bare_len: 40,
                    ..rfc
                },
            ),
            (
                "timestamps = true\npreset = \"ns2_reno\"",
                tcp::Config {
                    timestamps: true,
                    header_len: 50,
                    ..classic
                },
            ),
            (
                "timestamps = false\npreset = \"ns2_newreno\"",
                tcp::Config {
                    timestamps: false,
                    header_len: 40,
                    ..newreno
                },
            ),
            ("timestamps = true\npreset = \"ns2_newreno\"", newreno),
            (
                "limited_transmit = false",
                tcp::Config {
                    limited_transmit: false,
                    ..rfc
                },
            ),
            (
                "syn_exchange = false",
                tcp::Config {
                    syn_exchange: false,
                    ..rfc
                },
            ),
            (
                "initial_timeout = \"3s\"",
                tcp::Config {
                    initial_timeout: Duration::from_secs(3),
                    ..rfc
                },
            ),
            (
                "max_timeout = \"2s\"",
                tcp::Config {
                    max_timeout: Duration::from_secs(2),
                    ..rfc
                },
            ),
            (
                "min_timeout = \"2s\"",
                tcp::Config {
                    min_timeout: Duration::from_secs(2),
                    initial_timeout: Duration::from_secs(2),
                    ..rfc
                },
            ),
            (
                "delayed_acknowledgement = 0",
                tcp::Config {
                    delayed_acknowledgement: None,
                    ..rfc
                },
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(config(text), expected, "{text}");
            assert_eq!(expected.check(), Ok(()), "{text}");
        }
    }

    #[test]
    fn windows_are_in_segments() {
        let refused = |text: &str| {
            toml::from_str::<Protocol>(text)
                .unwrap_err()
                .message()
                .to_owned()
        };
        let expected = "receive_window in segments, a whole number, legal range 1 to 100000000";
        assert_eq!(
            refused("receive_window = \"30kb\""),
            format!("invalid type: string \"30kb\", expected {expected}")
        );
        assert_eq!(
            refused("receive_window = 0"),
            "receive_window 0: legal range 1 to 100000000 segments"
        );
        assert_eq!(
            refused("initial_window = 1000001"),
            "initial_window 1000001: legal range 1 to 1000000 segments"
        );
        let most = config("initial_window = 1000000\nreceive_window = 100000000");
        assert_eq!(
            (most.initial_window, most.receive_window, most.check()),
            (1_000_000, 100_000_000, Ok(()))
        );
    }

    /// A key's value in a preset, as you write it in scenarios.
    fn written(config: &tcp::Config, key: &str) -> String {
        let word = |shown: &dyn fmt::Debug| format!("{shown:?}").to_lowercase();
        match key {
            "flavour" => word(&config.flavour),
            "control" => word(&config.control),
            "ledbat_target" => config.ledbat_target.to_string(),
            "ledbat_gain" => config.ledbat_gain.to_string(),
            "segment_len" => config.segment_len.to_string(),
            "initial_window" => config.initial_window.to_string(),
            "receive_window" => config.receive_window.to_string(),
            "window_growth" => config.window_growth.to_string(),
            "min_timeout" => config.min_timeout.to_string(),
            "initial_timeout" => config.initial_timeout.to_string(),
            "max_timeout" => config.max_timeout.to_string(),
            "delayed_acknowledgement" => config
                .delayed_acknowledgement
                .map_or_else(|| "0".to_owned(), |wait| wait.to_string()),
            "quick_acknowledgements" => config.quick_acknowledgements.to_string(),
            "timestamps" => config.timestamps.to_string(),
            "limited_transmit" => config.limited_transmit.to_string(),
            "wrap_differences" => config.wrap_differences.to_string(),
            "syn_exchange" => config.syn_exchange.to_string(),
            "ecn" => config.ecn.to_string(),
            "pacing" => config.pacing.to_string(),
            "offload" => word(&config.offload),
            "small_queue" => config.small_queue.to_string(),
            "slow_start" => match config.slow_start {
                tcp::SlowStart::UntilLoss => "until_loss".to_owned(),
                tcp::SlowStart::ByBytes => "by_bytes".to_owned(),
                tcp::SlowStart::HyStartPlusPlus => "hystart++".to_owned(),
                tcp::SlowStart::HyStart => "hystart".to_owned(),
            },
            "constant_friendliness" => config.constant_friendliness.to_string(),
            "unpaced_start" => config.unpaced_start.to_string(),
            "least_growth" => config.least_growth.to_string(),
            "whole_segments" => config.whole_segments.to_string(),
            "proportional_reduction" => config.proportional_reduction.to_string(),
            "timeout_above_round_trip" => config.timeout_above_round_trip.to_string(),
            "rack" => config.rack.to_string(),
            "tail_loss_probe" => config.tail_loss_probe.to_string(),
            _ => panic!("a key without a column: {key}"),
        }
    }

    /// The page has a row for each key in the schema but `preset`, and a column for each preset.
    #[test]
    fn the_page_has_all_keys_with_their_defaults() {
        let page = std::fs::read_to_string(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/simulator/scenarios.md"
        ))
        .unwrap();
        let (_, table) = page
            .split_once("| key of `tcp` |")
            .expect("a table of the keys of tcp");
        let rows: Vec<Vec<_>> = table
            .lines()
            .skip(2)
            .take_while(|line| line.starts_with('|'))
            .map(|line| line.split('|').map(str::trim).collect())
            .collect();
        let schema: serde_json::Value = serde_json::from_str(crate::scenario::SCHEMA).unwrap();
        let mut keys: Vec<_> = schema["$defs"]["Protocol"]["properties"]
            .as_object()
            .unwrap()
            .keys()
            .filter(|key| *key != "preset")
            .cloned()
            .collect();
        let mut of_page: Vec<_> = rows
            .iter()
            .map(|row| row[1].trim_matches('`').to_owned())
            .collect();
        keys.sort_unstable();
        of_page.sort_unstable();
        assert_eq!(of_page, keys);
        let presets = ["rfc", "linux", "ns2_newreno", "ns2_tahoe", "ns2_reno"]
            .map(|name| config(&format!("preset = \"{name}\"")));
        for row in rows {
            let key = row[1].trim_matches('`');
            assert_eq!(
                row[4..9],
                presets.each_ref().map(|preset| written(preset, key)),
                "{key}"
            );
        }
    }

    #[test]
    fn probes_need_rack_and_rack_needs_selective_acknowledgements() {
        let refused = |text: &str| config(text).check().unwrap_err().to_string();
        assert_eq!(
            refused("flavour = \"reno\"\nrack = true"),
            "tcp: rack is true with flavour Reno, but must be false, as rack needs selective \
             acknowledgements (flavour sack)"
        );
        assert_eq!(
            refused("tail_loss_probe = true"),
            "tcp: tail_loss_probe is true without rack, but must be false, as rack finds the losses \
             that a probe uncovers"
        );
    }

    #[test]
    fn timeouts_out_of_order_are_refused() {
        for text in [
            "max_timeout = \"500ms\"",
            "initial_timeout = \"500ms\"",
            "initial_timeout = \"90s\"",
            "min_timeout = \"90s\"",
        ] {
            assert!(config(text).check().is_err(), "{text}");
        }
    }
}
