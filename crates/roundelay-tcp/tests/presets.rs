//! Presets have the parameters of their originals, value by value.

use roundelay::Duration;
use roundelay_tcp::{Config, Control, Flavour, IdleRestart, Offload, PartialTimer, SlowStart};

const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// `TCP/Newreno` with `TCPSink/Sack1` as set by the experiments of R. Mittal et al., "Universal
/// Packet Scheduling", NSDI 2016: packets of 1460 bytes, 1510 on the wire with 40 of headers and 10
/// of timestamps; SYN and acknowledgements 40; each packet acknowledged; a window of ten million
/// packets, which is also the first threshold; two initial segments, after a SYN exchange; a clock
/// of 1 us; timeouts of 0.2 s to 60 s, 3 s initially; three duplicates; limited transmit; partial
/// acknowledgements deflate the window, and only the first one restarts the timer.
#[test]
fn ups_s_ns_2_is_what_its_scripts_set() {
    let ups = Config::ns2_newreno_sack1();
    let expected = Config {
        wrap_differences: false,
        flavour: Flavour::NewReno,
        control: Control::Reno,
        ledbat_target: millis(100),
        ledbat_gain: 1,
        segment_len: 1460,
        header_len: 1510 - 1460,
        bare_len: 40,
        sack_option_counted: false,
        initial_window: 2,
        initial_threshold: None,
        receive_window: 10_000_000,
        window_growth: false,
        min_timeout: millis(200),
        initial_timeout: millis(3_000),
        max_timeout: millis(60_000),
        granularity: Duration::from_micros(1),
        duplicate_threshold: 3,
        limited_transmit: true,
        timestamps: true,
        delayed_acknowledgement: None,
        quick_acknowledgements: false,
        ecn: false,
        pacing: false,
        offload: Offload::None,
        small_queue: false,
        syn_exchange: true,
        idle_restart: IdleRestart::Kept,
        window_validation: false,
        fast_convergence: true,
        partial_deflation: true,
        partial_timer: PartialTimer::First,
        burst_avoidance: false,
        constant_friendliness: false,
        unpaced_start: false,
        least_growth: false,
        whole_segments: false,
        slow_start: SlowStart::UntilLoss,
        proportional_reduction: false,
        timeout_above_round_trip: false,
        rack: false,
        tail_loss_probe: false,
    };
    assert_eq!(ups, expected);
}

/// ns-2's `TCP` and `TCP/Reno` as in the MQFQ paper, with the simulator's defaults: packets of
/// 1000 bytes, one initial packet, a window of 20, a clock of 10 ms, timeouts of at least 0.2 s, no
/// timestamps, no SYN.
#[test]
fn classic_ns_2_is_tahoe_and_reno() {
    for flavour in [Flavour::Tahoe, Flavour::Reno] {
        let classic = Config::ns2_classic(flavour);
        assert_eq!((classic.flavour, classic.control), (flavour, Control::Reno));
        assert_eq!(
            (classic.segment_len + classic.header_len, classic.bare_len),
            (1000, 40)
        );
        assert_eq!(
            (
                classic.initial_window,
                classic.receive_window,
                classic.initial_threshold
            ),
            (1, 20, None)
        );
        assert_eq!(
            (classic.granularity, classic.min_timeout),
            (millis(10), millis(200))
        );
        assert_eq!(
            (classic.initial_timeout, classic.max_timeout),
            (millis(3_000), millis(60_000))
        );
        assert_eq!(
            (
                classic.timestamps,
                classic.syn_exchange,
                classic.limited_transmit,
                classic.ecn
            ),
            (false, false, false, false)
        );
        assert_eq!(
            (classic.delayed_acknowledgement, classic.duplicate_threshold),
            (None, 3)
        );
    }
}

/// `net.ipv4.tcp_rmem` allows a buffer of 6,291,456 bytes, and `net.ipv4.tcp_adv_win_scale` is 1, so
/// half of it is the window (man 7 tcp, ip-sysctl of Linux).
#[test]
fn linux_s_receive_window_grows_to_three_mebibytes() {
    let linux = Config::linux();
    let most = linux.receive_window * linux.segment_len;
    assert!(linux.window_growth && !Config::rfc().window_growth);
    assert!(
        (6_291_456 / 2 - 1448..=6_291_456 / 2).contains(&most),
        "{most}"
    );
}

/// A host of today: SACK (RFC 6675), CUBIC (RFC 9438), ten initial segments (RFC 6928), timestamps
/// (RFC 7323), every second segment acknowledged (RFC 5681), a minimum and an initial timeout of
/// 1 s (RFC 6298, 2.1 and 2.4), limited transmit (RFC 3042), and a SYN exchange. ECN and pacing are
/// off by default.
#[test]
fn a_host_of_today_does_what_the_rfcs_say() {
    let rfc = Config::rfc();
    assert_eq!(
        (
            rfc.flavour,
            rfc.control,
            rfc.initial_window,
            rfc.duplicate_threshold
        ),
        (Flavour::Sack, Control::Cubic, 10, 3)
    );
    assert_eq!(
        (rfc.segment_len + rfc.header_len, rfc.bare_len),
        (1500, 52),
        "20 of IP, 20 of TCP, 12 of timestamps"
    );
    assert_eq!(
        (rfc.min_timeout, rfc.initial_timeout, rfc.max_timeout),
        (millis(1_000), millis(1_000), millis(60_000))
    );
    assert_eq!(
        (rfc.timestamps, rfc.syn_exchange, rfc.limited_transmit),
        (true, true, true)
    );
    assert!(
        rfc.delayed_acknowledgement
            .is_some_and(|delay| delay <= millis(500)),
        "RFC 1122, 4.2.3.2"
    );
    assert_eq!((rfc.ecn, rfc.pacing), (false, false));
    assert_eq!(
        (
            rfc.idle_restart == IdleRestart::AtOnce,
            rfc.window_validation,
            rfc.fast_convergence,
            rfc.partial_deflation
        ),
        (true, true, true, true)
    );
}
