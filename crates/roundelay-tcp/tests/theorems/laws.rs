//! Long-run laws of TCP throughput.

use roundelay::{Duration, Instant};
use roundelay_tcp::{Config, Control, Flavour, Segment};

use super::link::{Fate, Link, World};

const ROUND_TRIP: Duration = Duration::from_millis(100);

/// A bulk connection of 1000-byte segments.
fn bulk(flavour: Flavour, control: Control) -> Config {
    Config {
        flavour,
        control,
        segment_len: 1000,
        header_len: 0,
        receive_window: 100_000,
        initial_threshold: Some(20),
        min_timeout: Duration::from_millis(300),
        granularity: Duration::from_micros(1),
        delayed_acknowledgement: None,
        syn_exchange: false,
        ..Config::rfc()
    }
}

/// A link without queue that applies `harm` to each `period`-th new segment.
fn periodic(round_trip: Duration, period: u64, harm: Fate) -> Link {
    let mut new = 0;
    let fate = move |_, segment: &Segment| {
        new += u64::from(!segment.is_retransmission());
        if !segment.is_retransmission() && new % period == 0 {
            harm
        } else {
            Fate::Deliver
        }
    };
    Link {
        time_per_byte: Duration::from_picos(1),
        round_trip,
        fate: Box::new(fate),
        ..Link::default()
    }
}

/// Segments each round trip over twenty losses, after a warm-up of `warm_up` losses.
fn throughput(config: Config, round_trip: Duration, period: u64, harm: Fate, warm_up: u64) -> f64 {
    let mut world = World::new(config, None, periodic(round_trip, period, harm));
    world.open();
    let mut reach = |segments: u64| {
        while world.sender.acknowledged() < segments * 1000 {
            assert!(world.step(Instant::MAX));
        }
        world.now
    };
    let (from, to) = (reach(warm_up * period), reach((warm_up + 20) * period));
    (20 * period) as f64 * round_trip.as_secs_f64() / to.since(from).as_secs_f64()
}

/// M. Mathis, J. Semke, J. Mahdavi, T. Ott, "The Macroscopic Behavior of the TCP Congestion
/// Avoidance Algorithm", 1997: sqrt(3 / 2p) segments a round trip for periodic loss.
fn square_root_law(period: u64) -> f64 {
    (1.5 * period as f64).sqrt()
}

fn deviation(measured: f64, law: f64) -> f64 {
    (measured / law - 1.0).abs()
}

/// The model repairs in no time and allows fractions of segments. A cycle has W/2 round trips in
/// the model, with W = sqrt(8 / 3p). A real sender takes two more (the repair, and the first window
/// afterwards), and halves are rounded down: the throughput is at most 4/W below the law, and never
/// above.
fn obeys_square_root_law(measured: f64, period: u64) -> bool {
    let window = (8.0 / 3.0 * period as f64).sqrt();
    let law = square_root_law(period);
    println!(
        "1/{period}: {measured:.2} segments a round trip, law {law:.2}, less {:.2}/W",
        (1.0 - measured / law) * window
    );
    ((1.0 - 4.0 / window) * law..law).contains(&measured)
}

#[test]
fn reno_obeys_the_square_root_law() {
    for flavour in [Flavour::Reno, Flavour::NewReno, Flavour::Sack] {
        for period in [100, 400, 1500, 6000] {
            let measured = throughput(
                bulk(flavour, Control::Reno),
                ROUND_TRIP,
                period,
                Fate::Drop,
                10,
            );
            assert!(
                obeys_square_root_law(measured, period),
                "{flavour:?} 1/{period}: {measured}"
            );
        }
    }
}

/// Marks have the effect of losses.
#[test]
fn marks_obey_the_square_root_law() {
    let config = Config {
        ecn: true,
        ..bulk(Flavour::Sack, Control::Reno)
    };
    for period in [100, 1500] {
        let measured = throughput(config, ROUND_TRIP, period, Fate::Mark, 10);
        assert!(
            obeys_square_root_law(measured, period),
            "1/{period}: {measured}"
        );
    }
}

/// RFC 9438, section 5.1 with C = 0.4: 1.054 RTT^(3/4) / p^(3/4).
fn cubic_law(round_trip: Duration, period: u64) -> f64 {
    1.054 * (round_trip.as_secs_f64() * period as f64).powf(0.75)
}

/// CUBIC exceeds the square-root law and follows its own law, which is for CUBIC without fast
/// convergence; Tahoe starts from one segment after each loss and stays below.
#[test]
fn the_square_root_law_can_fail() {
    let (config, period) = (bulk(Flavour::Sack, Control::Cubic), 10_000);
    let measure = |fast_convergence| {
        throughput(
            Config {
                fast_convergence,
                ..config
            },
            ROUND_TRIP,
            period,
            Fate::Drop,
            80,
        )
    };
    let [fast, cubic] = [true, false].map(measure);
    println!(
        "CUBIC {cubic:.1}, with fast convergence {fast:.1}, law {:.1}",
        cubic_law(ROUND_TRIP, period)
    );
    assert!(!obeys_square_root_law(cubic, period));
    assert!(
        deviation(cubic, cubic_law(ROUND_TRIP, period)) < 0.1 && fast < cubic,
        "{cubic}"
    );
    let tahoe = throughput(
        bulk(Flavour::Tahoe, Control::Reno),
        ROUND_TRIP,
        6000,
        Fate::Drop,
        10,
    );
    assert!(!obeys_square_root_law(tahoe, 6000));
}

/// CUBIC's throughput is near Reno's with short round trips or frequent losses (RFC 9438, section
/// 4.3).
#[test]
fn cubic_is_reno_friendly() {
    for period in [100, 400] {
        let [cubic, reno] = [Control::Cubic, Control::Reno]
            .map(|c| throughput(bulk(Flavour::Sack, c), ROUND_TRIP, period, Fate::Drop, 20));
        println!("1/{period}: CUBIC {cubic:.2}, Reno {reno:.2}");
        assert!((0.95..1.2).contains(&(cubic / reno)), "{cubic} {reno}");
    }
}

/// Seconds until 2900 segments have arrived. Each `period`-th new segment is lost, and then every
/// second one, `burst` in all.
fn time_with_bursts(flavour: Flavour, burst: u64, period: u64) -> (f64, u64) {
    let mut new = 0;
    let fate = move |_, segment: &Segment| {
        new += u64::from(!segment.is_retransmission());
        let position = new % period;
        let is_lost = !segment.is_retransmission()
            && new >= period
            && position.is_multiple_of(2)
            && position < 2 * burst;
        if is_lost { Fate::Drop } else { Fate::Deliver }
    };
    let link = Link {
        time_per_byte: Duration::from_nanos(1),
        round_trip: ROUND_TRIP,
        fate: Box::new(fate),
        ..Link::default()
    };
    let mut world = World::new(bulk(flavour, Control::Reno), Some(2_900_000), link);
    world.open();
    assert!(world.run(Instant::MAX));
    (world.now.as_secs_f64(), world.sender.statistics().timeouts)
}

/// The order found by Fall and Floyd: single losses hurt only Tahoe; with bursts of losses Reno
/// waits for timeouts, NewReno takes a round trip for each loss, SACK one for all.
#[test]
fn flavours_stand_in_order() {
    let [tahoe, reno, newreno, sack] = [
        Flavour::Tahoe,
        Flavour::Reno,
        Flavour::NewReno,
        Flavour::Sack,
    ]
    .map(|f| time_with_bursts(f, 1, 500));
    println!("one loss: Tahoe {tahoe:?}, Reno {reno:?}, NewReno {newreno:?}, SACK {sack:?}");
    assert!(
        tahoe.0 > 1.1 * reno.0
            && deviation(reno.0, newreno.0) < 0.02
            && deviation(sack.0, newreno.0) < 0.02
    );
    assert_eq!(tahoe.1 + reno.1 + newreno.1 + sack.1, 0);
    let [tahoe, reno, newreno, sack] = [
        Flavour::Tahoe,
        Flavour::Reno,
        Flavour::NewReno,
        Flavour::Sack,
    ]
    .map(|f| time_with_bursts(f, 3, 500));
    println!("three: Tahoe {tahoe:?}, Reno {reno:?}, NewReno {newreno:?}, SACK {sack:?}");
    assert!(sack.0 < 0.98 * newreno.0 && newreno.0 < 0.9 * reno.0);
    assert!(reno.1 >= 5 && sack.1 == 0);
}

/// An overflowing queue: the link stays busy with every flavour, and SACK has no timeouts.
#[test]
fn a_bottleneck_is_filled() {
    for flavour in [Flavour::NewReno, Flavour::Sack] {
        for control in [Control::Reno, Control::Cubic] {
            // 8 Mbit/s and 100 ms: 100 segments; the queue holds the same number.
            let link = Link {
                round_trip: Duration::from_millis(99),
                queue_limit: 100,
                ..Link::default()
            };
            let mut world = World::new(
                Config {
                    initial_threshold: Some(100),
                    ..bulk(flavour, control)
                },
                None,
                link,
            );
            world.open();
            world.run(Instant::ZERO + Duration::from_secs(60));
            let utilisation = world.receiver.delivered() as f64 / 60_000_000.0;
            println!(
                "{flavour:?} {control:?}: {utilisation:.4}, {} overflows, {:?}",
                world.overflows,
                world.sender.statistics()
            );
            // CUBIC overflows the queue by more segments at once than NewReno can repair before the
            // timeout.
            let least = if flavour == Flavour::NewReno && control == Control::Cubic {
                0.85
            } else {
                0.97
            };
            assert!(
                utilisation > least && world.overflows > 0,
                "{flavour:?} {control:?}: {utilisation}"
            );
        }
    }
}

/// Pacing spreads a window: apart from retransmissions, no two segments are closer than five sixths
/// of their share of the round trip.
#[test]
fn pacing_spreads_segments() {
    let gaps = |pacing| {
        let config = Config {
            pacing,
            ..bulk(Flavour::Sack, Control::Reno)
        };
        let mut world = World::new(
            config,
            Some(2_000_000),
            periodic(ROUND_TRIP, 500, Fate::Drop),
        );
        world.keeps_steps = true;
        world.open();
        assert!(world.run(Instant::MAX));
        let bursts = world.steps.iter().skip(1).map(|step| {
            step.sent
                .iter()
                .filter(|segment| !segment.is_retransmission())
                .count()
        });
        (bursts.max().expect("steps"), world.now.as_secs_f64())
    };
    let ((paced, paced_time), (unpaced, unpaced_time)) = (gaps(true), gaps(false));
    println!(
        "most segments at once {paced} in {paced_time:.2} s, unpaced {unpaced} in {unpaced_time:.2} s"
    );
    assert!(paced == 1 && unpaced > 1);
    assert!(deviation(paced_time, unpaced_time) < 0.1);
}

/// Seconds until the acknowledgement of the last byte, and bytes, for a single flow on a path of
/// 1 Gbit/s with ns-2's parameters.
fn completion(segments: u64, round_trip: Duration) -> (f64, f64) {
    let config = Config::ns2_newreno_sack1();
    let bytes = segments * u64::from(config.segment_len);
    let link = Link {
        time_per_byte: Duration::from_nanos(8),
        round_trip,
        ..Link::default()
    };
    let mut world = World::new(config, Some(bytes), link);
    world.open();
    assert!(world.run(Instant::MAX));
    (world.now.as_secs_f64(), bytes as f64)
}

/// R. Mittal et al., "Universal Packet Scheduling", NSDI 2016: the paper's workload (sizes in
/// segments, and the share of flows up to each) over the paper's Internet2 (pairs of cores by the
/// number of 10 ms links between them, 4 ms for access) without any queueing. At a load of 30 % SJF
/// comes close to this for the mean flow, and fair queueing for the mean byte: the paper has
/// 0.182 s and 0.537 s (figure 2, table 2).
#[test]
fn flows_on_an_idle_internet2_take_what_ups_has() {
    let sizes = [
        (1, 0.5),
        (2, 0.6),
        (3, 0.7),
        (5, 0.75),
        (7, 0.8),
        (40, 0.8125),
        (72, 0.825),
        (137, 0.85),
        (267, 0.9),
        (1187, 0.95),
        (2107, 1.0),
    ];
    let pairs = [(1, 32.0), (2, 34.0), (3, 18.0), (4, 6.0)];
    let (mut mean, mut weighted, mut bytes, mut below) = (0.0, 0.0, 0.0, 0.0);
    for (segments, up_to) in sizes {
        for (links, count) in pairs {
            let share = (up_to - below) * count / 90.0;
            let (seconds, size) = completion(segments, Duration::from_millis(2 * (4 + 10 * links)));
            (mean, weighted, bytes) = (
                mean + share * seconds,
                weighted + share * size * seconds,
                bytes + share * size,
            );
        }
        below = up_to;
    }
    println!("mean {mean:.4} s, by bytes {:.4} s", weighted / bytes);
    assert!(
        deviation(mean, 0.182) < 0.02 && deviation(weighted / bytes, 0.537) < 0.02,
        "{mean} {weighted}"
    );
}
