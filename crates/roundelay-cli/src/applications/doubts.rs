//! What a capture cannot tell of its applications, and the capture that would.

use roundelay::{Duration, Rate};
use roundelay_trace::connections::{Applications, End};

use super::arguments::Up;

/// A shorter capture says nothing of senders that react: slow start alone takes seconds.
const SHORTEST: Duration = Duration::from_secs(10);
/// A smaller part of the bytes over TCP leaves nearly all as recorded. In the direction of requests
/// and acknowledgements, which is not the bottleneck of the simulation, these come as no link sent them.
const FEW: f64 = 0.05;
/// The part of the bytes that is too much if receivers have it and the capture does not.
const MISSING: f64 = 0.01;
/// The part that is too much if a window of unknown scale limited it, if nothing tells its round
/// trip, or if it waited while the link had room.
const UNKNOWN: f64 = 0.2;
/// Data in the longest segment that Ethernet carries.
const SEGMENT: u32 = 1460;
/// The part of TCP's bytes in connections of which one direction was captured, that is too much.
const HALF: f64 = 0.5;
/// A link that was full for this long, and for this part of the time, without a sender that wanted
/// more, contradicts what was read of the senders.
const UNEXPLAINED: (Duration, f64) = (Duration::from_secs(2), 0.1);
/// The part of the bytes over the link that uploads have at least if it matters what limited them.
const UPLOADS: f64 = 0.1;

/// Shares of a capture's bytes that go over the link.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shares {
    /// Bytes over the link.
    pub(crate) bytes: u64,
    /// Of TCP connections, captured in both directions or in one.
    pub(crate) whole: u64,
    pub(crate) half: u64,
    /// Of connections without end.
    pub(crate) endless: u64,
    /// Of messages of which the network was the limit, with an end or without.
    pub(crate) limited: u64,
    /// Of QUIC, which would react but shows no acknowledgements.
    pub(crate) quic: u64,
    /// Of all else that is not TCP.
    pub(crate) recorded: u64,
    /// Of connections whose congestion control the capture shows.
    pub(crate) shown: u64,
    /// Of connections whose acknowledgements hardly are in the capture.
    unacknowledged: u64,
    /// Acknowledged, but not captured.
    missing: u64,
    /// In messages that a receive window of unknown scale limited.
    by_unknown_window: u64,
    /// Of connections with segments longer than Ethernet carries.
    merged: u64,
}

impl Shares {
    pub(crate) fn of(applications: &Applications) -> Self {
        let mut shares = Self::default();
        for connection in &applications.connections {
            let mut bytes = 0;
            for end in End::BOTH {
                let index = end as usize;
                if !connection.over[index] {
                    continue;
                }
                bytes += connection.bytes[index];
                shares.limited += connection.limited[index];
                shares.missing += connection.missing[index];
                shares.by_unknown_window += connection.by_unknown_window[index];
                if connection.is_unacknowledged(end) {
                    shares.unacknowledged += connection.bytes[index];
                }
            }
            if connection.over == [false; 2] && !connection.is_whole() {
                // The link's data is that of the end that was not captured.
                for end in 0..2 {
                    if !connection.seen[end] {
                        bytes += connection.bytes[end];
                    }
                }
            }
            shares.bytes += bytes;
            if connection.segment_len.iter().any(|len| *len > SEGMENT) {
                shares.merged += bytes;
            }
            if connection.control.is_some() {
                shares.shown += bytes;
            }
            if connection.is_whole() {
                shares.whole += bytes;
            } else {
                shares.half += bytes;
            }
            if connection.endless {
                shares.endless += bytes;
            }
        }
        for flow in applications.recorded.iter().filter(|flow| flow.over) {
            let bytes = flow.bytes();
            shares.bytes += bytes;
            if flow.is_quic() {
                shares.quic += bytes;
            } else {
                shares.recorded += bytes;
            }
        }
        shares
    }

    /// A part of the bytes over the link.
    pub(crate) fn part(&self, bytes: u64) -> f64 {
        bytes as f64 / self.bytes.max(1) as f64
    }
}

/// A link with a load below this part of its rate is idle.
const IDLE: f64 = 0.3;
/// The part of the bytes of transfers that the network held back, below which none was.
const HELD_BACK: f64 = 0.05;

/// The question of a capture in which nothing was held back, if the link that is asked for would be
/// idle, too: every discipline serves an idle link alike.
pub(crate) fn question_of_idle_link(applications: &Applications, rate: Rate) -> Option<String> {
    let shares = Shares::of(applications);
    let load = applications.mean / rate.bits_per_second() as f64;
    let is_held_back = shares.endless > 0 || shares.part(shares.limited) >= HELD_BACK;
    (load < IDLE && !is_held_back).then(|| {
        format!(
            "{}: no transfer wanted more than it got in the capture, and its traffic is {:.0}% of \
             {rate}. A link with room serves everybody alike under any discipline, so there is \
             nothing to compare.\n\nPlease take a capture while somebody downloads or uploads a \
             large file, on the senders' side of the bottleneck:\n\n    tcpdump -i INTERFACE -s \
             100 -w both.pcap\n\nOr ask for a slower link with --rate.\n",
            applications.name,
            100.0 * load
        )
    })
}

/// The question that a capture leaves open, if it cannot tell what senders that react would do:
/// why, and the capture to take. `has_round_trip`: the caller states what one direction hides.
pub(crate) fn question(
    applications: &Applications,
    has_round_trip: bool,
    up: &Up,
) -> Option<String> {
    let reasons = reasons(applications, has_round_trip, up);
    if reasons.is_empty() {
        return None;
    }
    let mut text = format!(
        "{}: this capture cannot tell what senders that react would do, because {}.\n\nPlease take \
         one capture of both directions, on the senders' side of the bottleneck, for a minute in \
         which the link is busy. Headers suffice:\n\n    tcpdump -i INTERFACE -s 100 -w \
         both.pcap\n",
        applications.name,
        reasons.join(", and because ")
    );
    if Shares::of(applications).half > 0 && !has_round_trip {
        text += "\nOr state the round trip, --round-trip 40ms: completion times are then about 15% \
                 off, and pauses between requests are lost. Without --react the packets are \
                 replayed as they were.\n";
    }
    Some(text)
}

/// The same beside a scenario that is written all the same: one sentence.
pub(crate) fn warning(
    applications: &Applications,
    has_round_trip: bool,
    up: &Up,
) -> Option<String> {
    let reasons = reasons(applications, has_round_trip, up);
    (!reasons.is_empty()).then(|| {
        format!(
            "This capture cannot tell what senders that react would do, because {}.",
            reasons.join(", and because ")
        )
    })
}

/// What a capture hides without making its answer worthless.
pub(crate) fn remark(applications: &Applications) -> Option<String> {
    let shares = Shares::of(applications);
    let part = shares.part(shares.merged);
    (part > UNKNOWN).then(|| {
        format!(
            "Connections with {:.0}% of the bytes have segments longer than Ethernet carries, \
             merged by offloads, which hide how their senders pace. Capture with these off \
             (ethtool -K INTERFACE tso off gso off gro off lro off), or on a router.",
            100.0 * part
        )
    })
}

/// Why a capture cannot tell what senders that react would do; empty if it can.
fn reasons(applications: &Applications, has_round_trip: bool, up: &Up) -> Vec<String> {
    let shares = Shares::of(applications);
    let tcp = shares.whole + shares.half;
    let mut reasons = Vec::new();
    if tcp == 0 {
        reasons.push(
            "it shows no data over TCP in the link's direction, so nothing in it reacts".to_owned(),
        );
    } else if shares.part(tcp) < FEW {
        reasons.push(format!(
            "{:.1}% of its bytes in the link's direction are data over TCP, so hardly anything in \
             it reacts (the other direction may be the one to compare)",
            100.0 * shares.part(tcp)
        ));
    } else if shares.half as f64 > HALF * tcp as f64 && !has_round_trip {
        reasons.push(format!(
            "it shows one direction only of connections with {:.0}% of TCP's bytes, so round trips \
             and pauses are unknown",
            100.0 * shares.half as f64 / tcp as f64
        ));
    }
    let Applications {
        unexplained,
        length,
        elsewhere,
        captured_rates: [rate, _],
        ..
    } = *applications;
    let is_half_seen = shares.half as f64 > HALF * tcp as f64;
    if shares.unacknowledged as f64 > HALF * tcp as f64 && !is_half_seen {
        reasons.push(format!(
            "it has hardly an acknowledgement for {:.0}% of TCP's bytes, so nothing tells whether \
             their senders waited (a capture filter may have left short packets out)",
            100.0 * shares.unacknowledged as f64 / tcp as f64
        ));
    }
    if shares.part(shares.missing) > MISSING {
        reasons.push(format!(
            "receivers acknowledged {:.1}% of its bytes that it does not have (the tool dropped \
             packets, sampled them, or they took another way)",
            100.0 * shares.part(shares.missing)
        ));
    }
    if shares.part(elsewhere) > UNKNOWN {
        reasons.push(format!(
            "the data of {:.0}% of its bytes waited while the link had room, so the link was \
             slower then, or carried more than was captured, or another link held them up (if \
             {:.3} Mbit/s was not its rate, state it: --captured-rate)",
            100.0 * shares.part(elsewhere),
            rate / 1e6
        ));
    }
    if shares.part(shares.by_unknown_window) > UNKNOWN {
        reasons.push(format!(
            "the senders of {:.0}% of its bytes filled a receive window of unknown scale, because \
             the connections began before the capture",
            100.0 * shares.part(shares.by_unknown_window)
        ));
    }
    let without = without_round_trip(applications);
    if !is_half_seen && shares.part(without) > UNKNOWN && !has_round_trip {
        reasons.push(format!(
            "nothing in it tells the round trips of connections with {:.0}% of its bytes (state \
             them: --round-trip)",
            100.0 * shares.part(without)
        ));
    }
    let is_much = unexplained.as_secs_f64() > UNEXPLAINED.1 * length.as_secs_f64();
    if unexplained >= UNEXPLAINED.0 && is_much {
        reasons.push(format!(
            "the link was full for {:.0} s, with data that waited or was lost, but no sender looks \
             limited by it (if {:.3} Mbit/s was not its rate, state it: --captured-rate)",
            unexplained.as_secs_f64(),
            rate / 1e6
        ));
    }
    if up.up_rate.is_none() && applications.back.unclear as f64 > UPLOADS * shares.bytes as f64 {
        reasons.push(
            "nothing in it tells whether the link or their applications limited its uploads (state \
             the other direction: --up-rate)"
                .to_owned(),
        );
    }
    if applications.length < SHORTEST {
        reasons.push(format!(
            "it lasts {:.1} s, in which bulk transfers hardly begin",
            applications.length.as_secs_f64()
        ));
    }
    reasons
}

/// Bytes over the link of connections whose round trip nothing tells.
fn without_round_trip(applications: &Applications) -> u64 {
    let mut bytes = 0;
    let round_trips = applications.round_trips();
    for (connection, round_trip) in applications.connections.iter().zip(round_trips) {
        for end in 0..2 {
            if connection.over[end] && round_trip.is_none() {
                bytes += connection.bytes[end];
            }
        }
    }
    bytes
}
