//! Qdiscs with their classes and filters: the shaper at the device's root, and disciplines below it.

use roundelay::schedulers::{AnyDiscipline, Linux, LinuxFlows, ets};
use roundelay::{Limit, QueueSpec, Rate};
use roundelay_trace::{CodePoints, FlowBy};

use super::distinctions::Distinctions;
use super::leaf::{fifo, leaf};
use super::numbers::{FULL_PACKET, MOST_IN_A_TURN, Reason, at_least_a_byte, number};
use super::weights::{self, CLASSES};

/// Class of the shaper, the parent of the outermost discipline.
pub(super) const ROOT: &str = "1:1";
/// Handle of the discipline below the shaper.
pub(super) const HANDLE: u32 = 0x10;
/// Priority of the filter that comes after all rules.
pub(super) const LAST: u32 = 65_000;

/// Names the interface and removes its root qdisc.
pub(super) fn delete_root() -> [String; 2] {
    [
        "DEV=${DEV:-eth0} # the outgoing interface, on a router the LAN's for downloads; its \
        root qdisc is replaced"
            .to_owned(),
        "tc qdisc del dev $DEV root 2> /dev/null || true".to_owned(),
    ]
}

pub(super) fn shaper(rate: Rate) -> [String; 4] {
    let [interface, delete] = delete_root();
    [
        interface,
        delete,
        "tc qdisc add dev $DEV root handle 1: htb default 1".to_owned(),
        format!(
            "tc class add dev $DEV parent 1: classid 1:1 htb rate {}{}",
            at_least_a_byte(rate),
            htb_quantum(rate)
        ),
    ]
}

/// A discipline that holds packets, with its classes and filters. `link` is the rate that the
/// discipline is told. It is None below the root of a tree.
pub(super) fn discipline_at(
    parent: &str,
    handle: u32,
    spec: &QueueSpec,
    limit: Limit,
    link: Option<Rate>,
    distinctions: &Distinctions<'_>,
) -> Result<Vec<String>, Reason> {
    let mut lines = qdisc_add(parent, handle, &spec.discipline, &leaf(spec, limit, link)?);
    lines.extend(classes(handle, &spec.discipline, distinctions));
    if matches!(spec.discipline, AnyDiscipline::Priority(_)) {
        lines.push(format!(
            "for i in $(seq 1 8); do tc qdisc add dev $DEV parent {handle:x}:$i {}; done",
            fifo(limit)
        ));
        let precedences = "$(seq 0 7)";
        lines.extend(by_code_point(handle, precedences, 32, "0xe0", "$((8 - i))"));
    }
    if let AnyDiscipline::Ets(config) = &spec.discipline {
        lines.extend(bands(handle, config, limit));
    }
    Ok(lines)
}

/// Adds the queues of ets's bands. Filters put packets there by their code point's precedence,
/// which is 7 less the class.
fn bands(handle: u32, config: &ets::Config, limit: Limit) -> Vec<String> {
    let number = config.number_of_bands();
    let mut lines = vec![format!(
        "for i in $(seq 1 {number}); do tc qdisc add dev $DEV parent {handle:x}:$(printf %x $i) \
         {}; done",
        fifo(limit)
    )];
    for band in 0..number {
        let mut precedences = Vec::new();
        for class in 0..8 {
            if config.band_of(class) == band {
                precedences.push((7 - class).to_string());
            }
        }
        if !precedences.is_empty() {
            let class = format!("{:x}", band + 1);
            let precedences = precedences.join(" ");
            lines.extend(by_code_point(handle, &precedences, 32, "0xe0", &class));
        }
    }
    lines
}

pub(super) fn qdisc_add(
    parent: &str,
    handle: u32,
    discipline: &AnyDiscipline,
    words: &str,
) -> Vec<String> {
    let add = format!("tc qdisc add dev $DEV parent {parent} handle {handle:x}: {words}");
    match discipline {
        AnyDiscipline::QfqPlus(config) if config.aggregate < MOST_IN_A_TURN => {
            with_device_queue(config.aggregate - 1, add).to_vec()
        }
        _ => vec![add],
    }
}

/// The words that set htb's quantum, where they are needed. By itself htb takes a tenth of the
/// bytes of a second (tc-htb(8), r2q). If this is outside 1,000 to 200,000 bytes, the kernel warns
/// and takes the nearer bound, so we ask for that bound. The quantum itself is of no matter here,
/// because a class without siblings has the whole link.
fn htb_quantum(rate: Rate) -> String {
    let own = rate.bits_per_second() / 80;
    let taken = own.clamp(1_000, 200_000);
    if own == taken {
        String::new()
    } else {
        format!(" quantum {taken}")
    }
}

/// Linux's qfq derives M from the length that the device's queue has when the qdisc is created.
/// Each class takes its own queue length from the device when it is created, too.
fn with_device_queue(packets: u32, add: String) -> [String; 3] {
    [
        format!(
            "ip link set dev $DEV txqueuelen {packets} # qfq serves as many classes in one turn, \
            and one more"
        ),
        add,
        "ip link set dev $DEV txqueuelen 1000 # the queues of its classes are as long".to_owned(),
    ]
}

/// The words for a class with this weight and longest packet.
pub(super) fn class(discipline: &AnyDiscipline, weight: u32, longest: u32) -> String {
    match discipline {
        AnyDiscipline::Drr(config) => format!(
            "drr quantum {}",
            number(config.quantum.saturating_mul(weight).into())
        ),
        _ => format!("qfq weight {weight} maxpkt {longest}"),
    }
}

/// Adds the classes, with individual weights for code points, and the filters that lead to them.
fn classes(
    handle: u32,
    discipline: &AnyDiscipline,
    distinctions: &Distinctions<'_>,
) -> Vec<String> {
    let Linux::Qdisc {
        flows: LinuxFlows::Classes,
        ..
    } = discipline.info().linux
    else {
        return Vec::new();
    };
    let CodePoints { default, weights } = distinctions.code_points;
    let rules = distinctions.weighted_rules(discipline);
    let (default, weights) = match distinctions.flow_by {
        FlowBy::Dscp => (default, &weights[..]),
        _ if rules.is_empty() => (1, &[][..]),
        _ => (default, &[][..]),
    };
    let class = |weight| class(discipline, weight, FULL_PACKET as u32);
    let mut lines = vec![format!(
        "for i in $(seq 1 {CLASSES}); do tc class add dev $DEV parent {handle:x}: \
         classid {handle:x}:$(printf %x $i) {}; done",
        class(default)
    )];
    for (dscp, weight) in weights.iter().enumerate() {
        if *weight != default {
            lines.push(format!(
                "tc class change dev $DEV parent {handle:x}: classid {handle:x}:{:x} {} \
                 # code point {dscp}",
                dscp + 1,
                class(*weight)
            ));
        }
    }
    let keys = keys(distinctions.flow_by);
    lines.extend(weights::commands(handle, rules, default, class, keys));
    lines.extend(filters(handle, distinctions.flow_by, rules.is_empty()));
    lines
}

/// Filters that spread flows over the classes. They must match every packet, because a packet
/// without a matching filter is dropped.
fn filters(handle: u32, flow_by: FlowBy, are_first: bool) -> Vec<String> {
    if flow_by == FlowBy::Dscp {
        return code_point_filters(handle);
    }
    let keys = keys(flow_by);
    let priority = if are_first { 1 } else { LAST };
    vec![format!(
        "tc filter add dev $DEV parent {handle:x}: protocol all prio {priority} handle 1 flow \
        hash keys {keys} divisor {CLASSES} \
         baseclass {handle:x}:1"
    )]
}

/// Which keys make the flow filter tell flows apart.
const fn keys(flow_by: FlowBy) -> &'static str {
    match flow_by {
        FlowBy::FiveTuple | FlowBy::Inner | FlowBy::Outer | FlowBy::Dscp => {
            "src,dst,proto,proto-src,proto-dst"
        }
        FlowBy::Source => "src",
        FlowBy::Destination => "dst",
    }
}

/// Filters for as many code points as there are classes: one class each. Packets that are not IP go
/// to the default class.
fn code_point_filters(handle: u32) -> Vec<String> {
    let rest = format!(
        "tc filter add dev $DEV parent {handle:x}: protocol all prio 3 matchall flowid {handle:x}:1"
    );
    let class = "$(printf %x $((i + 1)))";
    let mut lines = by_code_point(handle, "$(seq 0 63)", 4, "0xfc", class).to_vec();
    lines.push(rest);
    lines
}

/// For each of these values, in steps of `step`, a filter on the `mask` bits in the byte of the
/// code point.
fn by_code_point(handle: u32, values: &str, step: u32, mask: &str, class: &str) -> [String; 2] {
    [("ip", 1, "ip dsfield"), ("ipv6", 2, "ip6 priority")].map(|(protocol, priority, field)| {
        format!(
            "for i in {values}; do tc filter add dev $DEV parent {handle:x}: protocol \
            {protocol} prio {priority} u32 match {field} \
             $((i * {step})) {mask} flowid {handle:x}:{class}; done"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn htb_takes_a_quantum_that_the_kernel_does_not_warn_of() {
        let quantum = |rate: &str| htb_quantum(rate.parse().unwrap());
        assert_eq!(["80kbit", "5mbit", "16mbit"].map(quantum), ["", "", ""]);
        assert_eq!(
            ["79kbit", "20mbit", "10gbit"].map(quantum),
            [" quantum 1000", " quantum 200000", " quantum 200000"]
        );
    }
}
