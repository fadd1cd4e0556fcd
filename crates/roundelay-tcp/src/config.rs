//! TCP configuration: recovery, how the window grows, timers. Both ends use the same configuration.

use std::fmt;

use roundelay::Duration;

/// How losses are detected and repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flavour {
    /// Fast retransmit, then slow start from one segment, going back to the first missing byte.
    Tahoe,
    /// Fast recovery until the first acknowledgement of new data: RFC 5681.
    Reno,
    /// Fast recovery that repairs one loss each round trip until all are repaired: RFC 6582.
    NewReno,
    /// Selective acknowledgements, with the scoreboard and pipe of RFC 6675.
    Sack,
}

/// How the window grows and shrinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Control {
    /// Halves on loss, then adds a segment each round trip: RFC 5681.
    Reno,
    /// Seven tenths on loss, then a cubic function of time: RFC 9438.
    Cubic,
    /// Goes by the bandwidth and the shortest round trip that it finds, and paces. It needs
    /// selective acknowledgements. This is the first version:
    /// draft-cardwell-iccrg-bbr-congestion-control-00. It has no answer to marks, so `ecn` is
    /// refused.
    Bbr,
    /// As `Bbr`, but also goes by the losses that probing causes, with bounds on what is in flight
    /// for the long term and the short. This is the third version, draft-ietf-ccwg-bbr of
    /// August 2026. The draft has no answer to marks, so `ecn` is refused.
    Bbr3,
    /// Keeps the delay that it adds at a target, and so yields to others: RFC 6817. It measures
    /// one-way delays by `timestamps`.
    Ledbat,
}

impl Control {
    /// Whether a model of the path sets window and pacing rate.
    pub(crate) fn has_model(self) -> bool {
        matches!(self, Self::Bbr | Self::Bbr3)
    }

    /// The name in messages.
    fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
            Self::Bbr3 => "bbr3",
            Self::Ledbat => "ledbat",
        }
    }
}

/// When slow start ends, if not at a threshold. BBR has a start of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SlowStart {
    /// With a loss or a mark. An acknowledgement opens the window by at most a segment: RFC 5681.
    UntilLoss,
    /// With a loss or a mark. The window opens by what is acknowledged, however much: RFC 3465
    /// without its limit L, as Linux does without HyStart.
    ByBytes,
    /// When round trips grow, after five slower rounds. An acknowledgement opens the window by at
    /// most eight segments: RFC 9406.
    HyStartPlusPlus,
    /// At once, when round trips grow or when acknowledgements come in a train of half a round
    /// trip. The window opens by what is acknowledged, in later slow starts too: S. Ha, I. Rhee,
    /// 2011, with Linux's constants.
    HyStart,
}

/// Segmentation offload: whether a sender hands several segments at once to its interface, and who
/// cuts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Offload {
    /// Segments go out one by one, each as soon as window and pacing allow.
    None,
    /// A burst of segments at one time, about as much as a millisecond carries. The interface cuts
    /// it, so queues see segments.
    Split,
    /// The same burst as one packet of up to 65,535 bytes, which nobody cuts before the receiver.
    Whole,
}

/// What a sender's window is after a silence of more than a timeout, at most. The threshold is then
/// at least three quarters of the window before (RFC 2861, section 3.2; RFC 7661, section 4.4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IdleRestart {
    /// As before the silence.
    Kept,
    /// The initial window, however long the silence was: RFC 5681, section 4.1.
    AtOnce,
    /// Half for each timeout of the silence, down to the initial window: RFC 2861, section 3.2, as in
    /// Linux (`net.ipv4.tcp_slow_start_after_idle`, man 7 tcp).
    ByHalves,
}

/// When to restart the retransmission timer during NewReno's recovery: RFC 6582, section 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PartialTimer {
    /// Only at the first partial acknowledgement ("impatient", which the RFC recommends). Many
    /// losses then end in a timeout.
    First,
    /// At each partial acknowledgement ("slow but steady").
    Each,
}

/// A connection's parameters. Lengths are in bytes, windows in segments of `segment_len`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Loss detection and repair.
    pub flavour: Flavour,
    /// How the window grows.
    pub control: Control,
    /// The delay that LEDBAT adds to the path: 1 ms to 100 ms (RFC 6817, section 2.4.2, TARGET).
    pub ledbat_target: Duration,
    /// How fast LEDBAT follows its target: 1 to 10. RFC 6817 allows at most 1, with which the window
    /// grows no faster than Reno's (section 2.4.2, GAIN). RFC 7928, section 5.4, asks for 10.
    pub ledbat_gain: u32,
    /// The most data in a segment (SMSS): 1 to 65535 bytes.
    pub segment_len: u32,
    /// Bytes that a segment takes on the wire in addition to its data: 0 to 65535.
    pub header_len: u32,
    /// Bytes that a segment without data (SYN, acknowledgement) takes on the wire: 1 to 65535.
    pub bare_len: u32,
    /// Whether `bare_len` grows by the option for selective acknowledgements, which takes 4 bytes
    /// and 8 for each block.
    pub sack_option_counted: bool,
    /// The initial congestion window in segments: 1 to 1000000. RFC 6928: 10.
    pub initial_window: u32,
    /// The initial slow start threshold in segments, 2 to 100000000. If None, it is the receive
    /// window.
    pub initial_threshold: Option<u32>,
    /// The receive window in segments: 1 to 100000000. It never shrinks, because data is read at
    /// once. With `window_growth` this is the most that it grows to, up to 65,535 * 2^14 bytes (RFC
    /// 7323, section 2.3).
    pub receive_window: u32,
    /// Whether the receive window begins at 65,535 bytes and grows with what arrives in a round
    /// trip: M. Fisk, W. Feng, "Dynamic Right-Sizing in TCP", 2001. Acknowledgements tell the
    /// sender, and the receiver measures round trips by its timestamps, so `timestamps` are needed.
    pub window_growth: bool,
    /// The shortest retransmission timeout: 1 us to `max_timeout`. RFC 6298 requires 1 s, but
    /// common stacks use 200 ms.
    pub min_timeout: Duration,
    /// The timeout before the first round-trip sample: `min_timeout` to `max_timeout`. RFC 6298: 1
    /// s.
    pub initial_timeout: Duration,
    /// The longest timeout: up to 1 hour. RFC 6298: 60 s or more.
    pub max_timeout: Duration,
    /// The tick of the clock for round trips (G in RFC 6298): 1 ns to 1 s.
    pub granularity: Duration,
    /// Whether the difference between a round trip and its mean is kept in 16 bits of ticks, as in
    /// ns-2's `short`. If a tick is 1 us, differences beyond 32.767 ms change sign.
    pub wrap_differences: bool,
    /// Duplicate acknowledgements that signal a loss (DupThresh): 1 to 1000. RFC 5681: 3.
    pub duplicate_threshold: u32,
    /// Whether the first duplicates send new data: RFC 3042.
    pub limited_transmit: bool,
    /// Whether segments carry timestamps, so that each acknowledgement of new data gives a
    /// round-trip sample (RFC 7323). Without timestamps, one segment at a time is measured, but
    /// never a retransmitted one (Karn).
    pub timestamps: bool,
    /// How long an acknowledgement may wait for a second segment: 1 us to 500 ms (RFC 5681, section
    /// 4.2). If None, each segment is acknowledged.
    pub delayed_acknowledgement: Option<Duration>,
    /// With delayed acknowledgements, whether segments are acknowledged one by one where Linux does
    /// so: the first 16 of the connection and after a pause of `min_timeout`, and while Linux's
    /// receive window grows. RFC 5681, section 4.2, says how many acknowledgements there must be at
    /// least, but not at most.
    pub quick_acknowledgements: bool,
    /// Explicit congestion notification: RFC 3168.
    pub ecn: bool,
    /// Whether segments are spread over the round trip. Otherwise they follow acknowledgements in
    /// bursts.
    pub pacing: bool,
    /// Whether new data goes out in bursts, as with segmentation offload. This needs selective
    /// acknowledgements. What is sent again goes out one by one.
    pub offload: Offload,
    /// Whether a sender waits while the queue of its own host holds two bursts of its data, or more
    /// than 1/1024 s at its pacing rate, so that it never fills that queue: TCP small queues, as in
    /// Linux. The driver tells what leaves that queue ([`Sender::depart`](crate::Sender::depart)).
    pub small_queue: bool,
    /// Whether the connection starts with SYN and SYN-ACK.
    pub syn_exchange: bool,
    /// The window of a sender that was idle for longer than a timeout. BBR keeps its own.
    pub idle_restart: IdleRestart,
    /// Whether the window grows only when it is in full use: RFC 9438, section 5.8, and RFC 7661.
    pub window_validation: bool,
    /// CUBIC: whether a connection whose window shrinks makes room for others sooner (RFC 9438,
    /// section 4.7).
    pub fast_convergence: bool,
    /// CUBIC: whether its least window, which is Reno's, always grows by 9/17 of a segment each
    /// round trip (RFC 8312, section 4.2), as in Linux. If not, it grows by a segment once it is
    /// back at the window before the last loss (RFC 9438, section 4.3).
    pub constant_friendliness: bool,
    /// Whether the first ten segments of a paced connection leave at once, as measured in
    /// Linux.
    pub unpaced_start: bool,
    /// CUBIC: whether the window grows by at least a twentieth each round trip while W_max is not
    /// known, as measured in Linux before the first loss. After a timeout W_max is not known
    /// either, so the window grows so then, too, although we have not measured this. RFC 9438,
    /// section 4.8, has the curve begin with K = 0 and the present window as W_max, and no least
    /// growth.
    pub least_growth: bool,
    /// Whether a reduction counts the window in whole segments, as Linux does, and leaves whole
    /// segments: seven tenths of 6.9 segments are 4 and not 4.8. `reno` and `cubic` do so. CUBIC's
    /// curve then counts in whole segments from its peak, so that the window grows sooner below the
    /// peak and later above it.
    pub whole_segments: bool,
    /// When the first slow start ends.
    pub slow_start: SlowStart,
    /// Whether the window shrinks with what arrives during a fast recovery with selective
    /// acknowledgements, and not at once: RFC 9937. BBR has its own way.
    pub proportional_reduction: bool,
    /// Whether `min_timeout` is how far the timeout lies at least above the smoothed round trip, as
    /// in Linux, and not the shortest timeout.
    pub timeout_above_round_trip: bool,
    /// With selective acknowledgements, whether losses are found by time and not by counting
    /// duplicates: RACK, RFC 8985, section 6.
    pub rack: bool,
    /// With `rack`, whether a probe asks for an acknowledgement before the timeout: TLP, RFC 8985,
    /// section 7.
    pub tail_loss_probe: bool,
    /// NewReno: whether a partial acknowledgement reduces the window by the bytes that it
    /// acknowledges (RFC 6582, section 3.2, step 3).
    pub partial_deflation: bool,
    /// NewReno: which partial acknowledgements restart the timer.
    pub partial_timer: PartialTimer,
    /// NewReno: whether the window after recovery is at most one segment more than the flight, so
    /// that there is no burst (RFC 6582, section 3.2, step 3, full acknowledgements, first choice).
    pub burst_avoidance: bool,
}

/// A parameter is out of range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// Which field of [`Config`].
    pub parameter: &'static str,
    /// The value.
    pub value: String,
    /// The legal range.
    pub range: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "tcp: {} is {}, but must be {}",
            self.parameter, self.value, self.range
        )
    }
}

impl std::error::Error for ConfigError {}

impl Default for Config {
    fn default() -> Self {
        Self::rfc()
    }
}

const MICROSECOND: Duration = Duration::from_micros(1);
/// The largest window that a header can tell: RFC 7323, section 2.3.
const MOST_TOLD: u64 = 65_535 << 14;

impl Config {
    /// What the RFCs require from a host today: SACK, CUBIC, ten initial segments, timestamps,
    /// delayed acknowledgements, a minimum timeout of 1 s.
    pub const fn rfc() -> Self {
        Self {
            flavour: Flavour::Sack,
            control: Control::Cubic,
            ledbat_target: Duration::from_millis(100),
            ledbat_gain: 1,
            segment_len: 1448,
            header_len: 52,
            bare_len: 52,
            sack_option_counted: true,
            initial_window: 10,
            initial_threshold: None,
            receive_window: 45_000,
            window_growth: false,
            min_timeout: Duration::from_secs(1),
            initial_timeout: Duration::from_secs(1),
            max_timeout: Duration::from_secs(60),
            granularity: Duration::from_millis(1),
            wrap_differences: false,
            duplicate_threshold: 3,
            limited_transmit: true,
            timestamps: true,
            delayed_acknowledgement: Some(Duration::from_millis(200)),
            quick_acknowledgements: false,
            ecn: false,
            pacing: false,
            offload: Offload::None,
            small_queue: false,
            syn_exchange: true,
            idle_restart: IdleRestart::AtOnce,
            window_validation: true,
            fast_convergence: true,
            constant_friendliness: false,
            unpaced_start: false,
            least_growth: false,
            whole_segments: false,
            slow_start: SlowStart::UntilLoss,
            proportional_reduction: false,
            timeout_above_round_trip: false,
            rack: false,
            tail_loss_probe: false,
            partial_deflation: true,
            partial_timer: PartialTimer::First,
            burst_avoidance: true,
        }
    }

    /// Linux today, as far as we model it. As `rfc`, with HyStart, Linux's CUBIC, proportional rate
    /// reduction, RACK and tail loss probes, timeouts of 200 ms and more above the round trip,
    /// acknowledgements delayed by 40 ms and quick ones, windows that a silence halves for each
    /// timeout and that a loss leaves in whole segments, and a clock of 1 us. The receive window
    /// grows to 3 MiB, which is half of the buffer that `net.ipv4.tcp_rmem` allows, 6,291,456
    /// bytes, because `net.ipv4.tcp_adv_win_scale` is 1 (man 7 tcp, and Linux's ip-sysctl). D-SACK
    /// is not there.
    pub const fn linux() -> Self {
        Self {
            idle_restart: IdleRestart::ByHalves,
            slow_start: SlowStart::HyStart,
            receive_window: 3 * 1024 * 1024 / 1448,
            window_growth: true,
            constant_friendliness: true,
            unpaced_start: true,
            least_growth: true,
            whole_segments: true,
            proportional_reduction: true,
            timeout_above_round_trip: true,
            rack: true,
            tail_loss_probe: true,
            min_timeout: Duration::from_millis(200),
            delayed_acknowledgement: Some(Duration::from_millis(40)),
            quick_acknowledgements: true,
            granularity: MICROSECOND,
            ..Self::rfc()
        }
    }

    /// ns-2's `TCP/Newreno` with `TCPSink/Sack1`, as the experiments in UPS (NSDI 2016) set them:
    /// NewReno, two initial segments, each segment acknowledged, a clock of 1 us, timeouts of at
    /// least 0.2 s. Data takes 1510 bytes on the wire, acknowledgements 40. The sink sends
    /// selective acknowledgements, but this sender ignores them.
    pub const fn ns2_newreno_sack1() -> Self {
        Self {
            flavour: Flavour::NewReno,
            control: Control::Reno,
            segment_len: 1460,
            header_len: 50,
            bare_len: 40,
            sack_option_counted: false,
            initial_window: 2,
            receive_window: 10_000_000,
            min_timeout: Duration::from_millis(200),
            initial_timeout: Duration::from_secs(3),
            granularity: MICROSECOND,
            delayed_acknowledgement: None,
            idle_restart: IdleRestart::Kept,
            window_validation: false,
            burst_avoidance: false,
            ..Self::rfc()
        }
    }

    /// ns-2's classic `TCP` and its sink: Tahoe or Reno, 1000-byte packets including 40 bytes of
    /// header, one initial segment, a window of 20, a clock of 10 ms, no timestamps, no SYN.
    pub const fn ns2_classic(flavour: Flavour) -> Self {
        Self {
            flavour,
            segment_len: 960,
            header_len: 40,
            initial_window: 1,
            receive_window: 20,
            initial_timeout: Duration::from_secs(3),
            granularity: Duration::from_millis(10),
            limited_transmit: false,
            timestamps: false,
            syn_exchange: false,
            ..Self::ns2_newreno_sack1()
        }
    }

    /// # Errors
    /// The first parameter that is out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let control = self.control.name();
        if self.control.has_model() && self.flavour != Flavour::Sack {
            return Err(ConfigError {
                parameter: "flavour",
                value: format!("{:?} with control {control}", self.flavour),
                range: format!("sack, as {control} counts what selective acknowledgements tell"),
            });
        }
        if self.control.has_model() && self.ecn {
            let version = match self.control {
                Control::Bbr3 => "the draft",
                _ => "the first version",
            };
            return Err(ConfigError {
                parameter: "ecn",
                value: format!("true with control {control}"),
                range: format!("false, as {version} of bbr has no answer to marks"),
            });
        }
        if self.control == Control::Ledbat && !self.timestamps {
            return Err(ConfigError {
                parameter: "timestamps",
                value: "false with control ledbat".to_owned(),
                range: "true, as ledbat measures one-way delays by them".to_owned(),
            });
        }
        if self.rack && self.flavour != Flavour::Sack {
            return Err(ConfigError {
                parameter: "rack",
                value: format!("true with flavour {:?}", self.flavour),
                range: "false, as rack needs selective acknowledgements (flavour sack)".to_owned(),
            });
        }
        if self.tail_loss_probe && !self.rack {
            return Err(ConfigError {
                parameter: "tail_loss_probe",
                value: "true without rack".to_owned(),
                range: "false, as rack finds the losses that a probe uncovers".to_owned(),
            });
        }
        if self.offload != Offload::None && self.flavour != Flavour::Sack {
            return Err(ConfigError {
                parameter: "offload",
                value: format!("{:?} with flavour {:?}", self.offload, self.flavour),
                range:
                    "none, as bursts are of senders with selective acknowledgements (flavour sack)"
                        .to_owned(),
            });
        }
        if self.window_growth && !self.timestamps {
            return Err(ConfigError {
                parameter: "window_growth",
                value: "true without timestamps".to_owned(),
                range: "false, as the receiver measures round trips by them".to_owned(),
            });
        }
        if self.window_growth && self.receive_window_bytes() > MOST_TOLD {
            return Err(ConfigError {
                parameter: "receive_window",
                value: format!(
                    "{} segments of {} bytes with window_growth",
                    self.receive_window, self.segment_len
                ),
                range: format!("{MOST_TOLD} bytes in all or less, the most that headers can tell"),
            });
        }
        count("segment_len", self.segment_len, 1, 65_535)?;
        count("header_len", self.header_len, 0, 65_535)?;
        count("bare_len", self.bare_len, 1, 65_535)?;
        count("initial_window", self.initial_window, 1, 1_000_000)?;
        count(
            "initial_threshold",
            self.initial_threshold.unwrap_or(2),
            2,
            100_000_000,
        )?;
        count("receive_window", self.receive_window, 1, 100_000_000)?;
        count("duplicate_threshold", self.duplicate_threshold, 1, 1000)?;
        count("ledbat_gain", self.ledbat_gain, 1, 10)?;
        span(
            "ledbat_target",
            self.ledbat_target,
            Duration::from_millis(1),
            Duration::from_millis(100),
        )?;
        span(
            "max_timeout",
            self.max_timeout,
            MICROSECOND,
            Duration::from_secs(3600),
        )?;
        span(
            "min_timeout",
            self.min_timeout,
            MICROSECOND,
            self.max_timeout,
        )?;
        span(
            "initial_timeout",
            self.initial_timeout,
            self.min_timeout,
            self.max_timeout,
        )?;
        span(
            "granularity",
            self.granularity,
            Duration::from_nanos(1),
            Duration::from_secs(1),
        )?;
        let delay = self.delayed_acknowledgement.unwrap_or(MICROSECOND);
        span(
            "delayed_acknowledgement",
            delay,
            MICROSECOND,
            Duration::from_millis(500),
        )
    }

    /// Bytes in the longest packet: a full segment with its header, or all that a burst may hold if
    /// it passes whole.
    pub fn longest_packet(&self) -> u32 {
        let segment = self.segment_len.saturating_add(self.header_len);
        match self.offload {
            Offload::None | Offload::Split => segment,
            Offload::Whole => segment.saturating_mul(self.most_in_burst()),
        }
    }

    /// The most segments in a burst: as many as an IP packet of 65,535 bytes has room for.
    pub(crate) fn most_in_burst(&self) -> u32 {
        (65_535 / self.segment_len.saturating_add(self.header_len)).max(1)
    }

    /// Segments that `len` bytes of data make.
    pub(crate) fn segments(&self, len: u32) -> u32 {
        if len <= self.segment_len {
            return 1;
        }
        len.div_ceil(self.segment_len)
    }

    /// The receive window in bytes.
    pub(crate) fn receive_window_bytes(&self) -> u64 {
        u64::from(self.receive_window) * u64::from(self.segment_len)
    }

    /// The initial slow start threshold in bytes.
    pub(crate) fn initial_threshold_bytes(&self) -> u64 {
        u64::from(self.initial_threshold.unwrap_or(self.receive_window).max(2))
            * u64::from(self.segment_len)
    }
}

fn count(parameter: &'static str, value: u32, min: u32, max: u32) -> Result<(), ConfigError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(ConfigError {
        parameter,
        value: value.to_string(),
        range: format!("{min} to {max}"),
    })
}

fn span(
    parameter: &'static str,
    value: Duration,
    min: Duration,
    max: Duration,
) -> Result<(), ConfigError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(ConfigError {
        parameter,
        value: value.to_string(),
        range: format!("{min} to {max}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_legal() {
        for config in [
            Config::rfc(),
            Config::linux(),
            Config::ns2_newreno_sack1(),
            Config::ns2_classic(Flavour::Tahoe),
            Config::ns2_classic(Flavour::Reno),
        ] {
            assert_eq!(config.check(), Ok(()));
        }
    }

    #[test]
    fn errors_name_parameter_and_range() {
        let error = Config {
            duplicate_threshold: 0,
            ..Config::rfc()
        }
        .check()
        .expect_err("no threshold");
        assert_eq!(
            error.to_string(),
            "tcp: duplicate_threshold is 0, but must be 1 to 1000"
        );
        let error = Config {
            min_timeout: Duration::from_secs(61),
            ..Config::rfc()
        }
        .check()
        .expect_err("more than the most");
        assert_eq!(
            error.to_string(),
            "tcp: min_timeout is 61s, but must be 1us to 60s"
        );
        let error = Config {
            initial_timeout: Duration::ZERO,
            ..Config::rfc()
        }
        .check()
        .expect_err("no timeout");
        assert_eq!(
            error.to_string(),
            "tcp: initial_timeout is 0s, but must be 1s to 60s"
        );
        let error = Config {
            rack: true,
            flavour: Flavour::NewReno,
            ..Config::rfc()
        }
        .check()
        .expect_err("no selective acknowledgements");
        assert_eq!(
            error.to_string(),
            "tcp: rack is true with flavour NewReno, but must be false, as rack needs selective \
             acknowledgements (flavour sack)"
        );
        let error = Config {
            timestamps: false,
            ..Config::linux()
        }
        .check()
        .expect_err("nothing to measure by");
        assert_eq!(
            error.to_string(),
            "tcp: window_growth is true without timestamps, but must be false, as the receiver measures \
             round trips by them"
        );
        let error = Config {
            receive_window: 1_000_000,
            ..Config::linux()
        }
        .check()
        .expect_err("more than a header can tell");
        assert_eq!(
            error.to_string(),
            "tcp: receive_window is 1000000 segments of 1448 bytes with window_growth, but must be \
             1073725440 bytes in all or less, the most that headers can tell"
        );
        let error = Config {
            tail_loss_probe: true,
            ..Config::rfc()
        }
        .check()
        .expect_err("nothing to judge by");
        assert_eq!(
            error.to_string(),
            "tcp: tail_loss_probe is true without rack, but must be false, as rack finds the losses \
             that a probe uncovers"
        );
    }
}
