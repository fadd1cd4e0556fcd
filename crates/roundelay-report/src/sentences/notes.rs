//! Notes on the capture and the replay in words.

use roundelay::LinkLayer;
use roundelay_advice::{Note, Obstacle, Oddity};
use roundelay_metrics::units::{counted, in_number, percent, rate, seconds};
use roundelay_trace::{
    FlowBy, InterfaceLoad, OtherFlows, PlateauRate, SetForward, Silence, Tunnel,
};

use super::shapers::shapes_to_less;

/// What may be wrong where a tree's rules match no flow.
const OTHER_WAY: &str = " With source and destination exchanged, more rules would match: is \
    this the tree of the other direction? `roundelay import --dev` names the interface, and \
    uploads leave by another one than downloads.";

/// Note on packets longer than Ethernet's, after their number.
pub const LONG_PACKETS: &str = "{packet is|packets are} longer than 1500 bytes: jumbo frames, or \
    packets merged by the capturing host's offloading, where a link would carry the parts \
    (before the capture: ethtool -K DEV gro off lro off gso off tso off)";

/// Note on a compressed capture without its end, after the number 1.
pub const TRUNCATED_COMPRESSION: &str =
    "compressed file is cut off: the packets after the cut are missing";

/// Note on a capture that ends within a packet, after the number of bytes.
pub const CUT_OFF: &str = "{byte at the end is a packet cut off and was|bytes at the end are a \
    packet cut off and were} left out";

/// Note on packets longer in the capture than on the wire, after their number.
pub const RAISED_LENGTHS: &str = "{packet has|packets have} a length on the wire below the \
    captured length; the captured length counts";

/// Note on times with a wrong fraction, after their number.
pub const LARGE_FRACTIONS: &str =
    "{time has|times have} fractions of a second or more, which were added";

/// Note on pcapng blocks without packets, after their number.
pub const SKIPPED_BLOCKS: &str =
    "{block holds no packets and was|blocks hold no packets and were} skipped";

/// Note on packets that are not IP, as ARP's, after their number.
pub const NOT_IP: &str = "{packet is not IP (ARP, LLDP and the like) and has a flow of its \
    own|packets are not IP (ARP, LLDP and the like) and share a flow of their own}";

/// Note on packets whose headers are cut, damaged or from an unknown link, after their number.
pub const UNREADABLE: &str = "{packet whose headers could not be read has a flow of its \
    own|packets whose headers could not be read share a flow of their own}";

/// Note on 802.11 frames whose packets are not visible, after their number.
pub const ENCRYPTED: &str = "of these packets {is an encrypted 802.11 frame|are encrypted 802.11 \
    frames}; decrypt the capture first, as with airdecap-ng";

/// Note on packets cut before the ports, after their number.
pub const WITHOUT_PORTS: &str = "{packet was|packets were} cut before the ports: {its flow \
    is|their flows are} told by addresses and protocol alone";

/// Note on packets out of order, after their number.
pub const SORTED: &str = "{packet is|packets are} out of order in the file and {was|were} put in \
    the order of times";

/// Note on frames cut with their length, after their number.
pub const UNCUT: &str = "{frame|frames} {was|were} cut by a tool together with {its length|their \
    lengths}; the length in the IP header counts";

/// Note on silences too long for the clock, after their number.
pub const CUT_SILENCES: &str = "{silence of more than an hour was|silences of more than an hour \
    were} cut to an hour, because the capture is longer than the clock; rates are over its real \
    time";

/// What limits every replay.
const OPEN_LOOP: &str = "A replay is open-loop: TCP does not react to drops and delays.";

/// Note where light flows lose packets.
const LIGHT_LOSS: &str = "Light flows lose more on a real link than here, because TCP senders fill \
    the queue again after each drop.";

/// Most interfaces named.
const NAMED: usize = 8;

/// Copies among two hundred packets from which on we say that nearly every packet comes twice.
const NEARLY_EVERY: u64 = 90;

pub(super) fn sentence(note: &Note) -> String {
    match note {
        Note::Lengths {
            link,
            bytes,
            captured,
        } => lengths(*link, *bytes, *captured),
        Note::Overload { load, rate } => {
            format!("The load is {load:.0} times the link's rate: is --rate {rate} meant?")
        }
        Note::Plateau(plateau) => behind_a_queue(*plateau),
        Note::LeftOut {
            replayed,
            read,
            by_option,
            duplicates,
        } => left_out(*replayed, *read, by_option, *duplicates),
        Note::Chosen(chosen) => super::chosen::note(chosen),
        Note::Mirrored { copies, replayed } => mirrored(*copies, *replayed),
        Note::Interfaces(interfaces) => format!(
            "Packets of several interfaces share the replayed link: {}.",
            list(interfaces)
        ),
        Note::Translated { copies, replayed } => format!(
            "{copies} of {replayed} packets look like copies behind a router that translates \
            addresses (NAT: equal but for an address and its \
             port, captured at another interface or on the way out)."
        ),
        Note::BothWays(0) => {
            "Both directions of a wire are captured, and share the replayed link, \
                              as its link-layer addresses show."
                .to_owned()
        }
        Note::BothWays(connections) => in_number(
            *connections as u64,
            "{connection is|connections are} captured in both directions, and both share the \
            replayed link.",
        ),
        Note::Split {
            packets,
            pieces,
            mtu,
        } => in_number(
            *packets,
            &format!(
                "{{packet is|packets are}} longer than the link's {mtu} bytes, as offloading makes \
                 them, and {{was|were}} split into {pieces} as on the wire (--mtu sets the \
                 longest, --mtu none splits none)."
            ),
        ),
        Note::InTunnel { tunnel, part, by } => {
            format!(
                "{} of the bytes {}",
                percent(*part),
                in_tunnel(*tunnel, *by)
            )
        }
        Note::Part {
            from,
            to,
            is_busiest,
            packets,
        } => part(*from, *to, *is_busiest, *packets),
        Note::Odd(oddity, count) => in_number(*count, what_is_odd(*oddity)) + ".",
        Note::SetForward(forward) => set_forward(*forward),
        Note::Silence(Silence { at, by }) => {
            let parts = parts([*at, at + by]);
            let by = seconds(*by as f64 / 1e9);
            format!(
                "No packet comes for {by}, and then all connections go on at once. Rates are over \
                 the whole time. If the clock was set there or nothing was captured, {parts}."
            )
        }
        Note::CoarseClock(tick) => format!(
            "The capture's clock shows multiples of {0} and nothing between, so packets that came \
             one by one arrive at once. Waits of up to {0} may be the clock's.",
            seconds(tick.as_secs_f64())
        ),
        Note::OtherFlows(others) => other_flows(*others),
        Note::IdleRule { number, rules } => {
            format!("Weight rule {number} of {rules} matches no flow of this capture.")
        }
        Note::WithoutWeights(names) => {
            format!("These disciplines ignore weights: {}.", names.join(", "))
        }
        Note::WithoutField(missing, names) => format!(
            "{}, so these disciplines have nothing to order by: {}.",
            what_is_missing(*missing),
            Vec::from_iter(names.iter().copied()).join(", ")
        ),
        Note::Reserve { tree, reserves } => format!(
            "Tree {} is not all of its script, which the verdict cannot take into account: {}.",
            tree,
            reserves.join("; ")
        ),
        Note::IdleLeaves { tree, idle } => format!(
            "Leaves of tree {tree} whose rules match no flow of this capture: {}.{}",
            idle.leaves.join(", "),
            if idle.looks_reversed { OTHER_WAY } else { "" }
        ),
        Note::Reordered { spec, flows } => reordering_note(spec, &counted(*flows, "flow")),
        Note::UncertainCosts(specs) => format!(
            "The runs that measured what a packet costs differ by more than half, so costs are \
             ranges: {}. Measure again when the machine has less to do.",
            specs.join(", ")
        ),
        Note::ShapesNothing {
            spec,
            bandwidth,
            link,
            is_alone,
        } => format!(
            "{spec} does not shape here, because its {bandwidth} is above the link's {link}: at \
             this rate a real queue builds up behind it, where it does nothing.{}",
            match is_alone {
                true => format!(" Its printed command has {link}."),
                false => String::new(),
            }
        ),
        Note::ShapesToLess(slower) => shapes_to_less(slower),
        Note::OverheadTwice(spec) => format!(
            "{spec} adds an overhead to lengths that have the link's already: write it in one \
             place."
        ),
        Note::IngressInOpenLoop(spec) => format!(
            "{spec} counts dropped packets as sent, which pays where senders slow down. In a \
             replay they do not, so it loses more than it would: --react has senders that react."
        ),
        Note::LightLoss => LIGHT_LOSS.to_owned(),
        Note::OpenLoop => OPEN_LOOP.to_owned(),
        Note::Reacting {
            control,
            replicas,
            tcp,
            recorded,
        } => super::reacting::basis(control, *replicas, *tcp, *recorded),
        Note::QuicAsRecorded(part) => format!(
            "QUIC has {} of the bytes and is sent as recorded, because a capture shows none of its \
             acknowledgements.",
            percent(*part)
        ),
        Note::NothingEndless => "No transfer wanted more than it got in the capture: what would \
            wait longest at a lower rate may not be in it."
            .to_owned(),
        Note::HalfSeen(part) => format!(
            "{} of the bytes are in connections captured in one direction, so their pauses are \
             guesses.",
            percent(*part)
        ),
    }
}

const fn in_tunnel(tunnel: Tunnel, by: FlowBy) -> &'static str {
    match (tunnel, by) {
        (Tunnel::Open, FlowBy::Outer) => {
            "are in tunnels (GRE, IP in IP or 6in4), each of which is one flow here; Linux \
             tells the flows inside apart, as without --flow-by."
        }
        (Tunnel::Open, _) => {
            "are in tunnels (GRE, IP in IP or 6in4): flows are those inside, as Linux tells \
             them apart; --flow-by outer takes each tunnel for one flow."
        }
        (Tunnel::Esp, FlowBy::Outer) => {
            "are in ESP tunnels, each of which is one flow here; what is inside cannot be \
             read."
        }
        (Tunnel::Esp, _) => {
            "are in ESP tunnels: what is inside cannot be read, so a flow is a security \
             association (SPI), as in Linux, or over UDP the whole tunnel."
        }
        (Tunnel::OverUdp, FlowBy::Inner) => {
            "are in VXLAN, Geneve or GTP-U tunnels: flows are those inside, which Linux does \
             not tell apart."
        }
        (Tunnel::OverUdp, _) => {
            "are in VXLAN, Geneve or GTP-U tunnels, whose outer addresses and ports make the \
             flows, as in Linux; --flow-by inner looks inside."
        }
        (Tunnel::WireGuard, _) => {
            "are in WireGuard tunnels, each of which is one flow, because what is inside \
             cannot be read."
        }
        (Tunnel::Quic, _) => {
            "are QUIC: a connection is one flow, because its streams cannot be read."
        }
    }
}

fn part(from: f64, to: Option<f64>, is_busiest: bool, packets: u64) -> String {
    let what = if is_busiest {
        "the busiest part"
    } else {
        "the part"
    };
    let to = to.map_or_else(|| "the end".to_owned(), seconds);
    format!(
        "Replayed: {what} from {} to {to} after the first packet. {} outside of it.",
        seconds(from),
        counted(packets, "packet")
    )
}

fn lengths(link: LinkLayer, bytes: u64, captured: u64) -> String {
    let from = if link.raw {
        "the captured frame"
    } else {
        "the IP packet"
    };
    format!(
        "Lengths are those on the link ({link}, counted from {from}): {bytes} bytes, {captured} \
        in the capture."
    )
}

fn behind_a_queue(plateau: PlateauRate) -> String {
    let highest = rate(plateau.rate);
    format!(
        "In {} of the time the rate is at most 5% below {highest}, which it hardly ever exceeds: \
        as behind the queue of such a link, or from senders \
         of a constant rate. Packets that waited there do not wait here again: capture before that \
         queue, or give a --rate below {highest}.",
        percent(plateau.part)
    )
}

fn left_out(replayed: u64, read: u64, by_option: &[(String, u64)], duplicates: u64) -> String {
    let mut causes = Vec::new();
    for (option, count) in by_option {
        causes.push(format!("{count} by {option}"));
    }
    if duplicates > 0 {
        causes.push(format!(
            "{duplicates} duplicates (one IP packet captured at several interfaces or on the way \
            in and out; --keep-duplicates keeps them)"
        ));
    }
    if causes.is_empty() {
        causes.push("none".to_owned());
    }
    let replayed = in_number(replayed, &format!("of {read} packets {{is|are}} replayed"));
    format!("{replayed}. Left out: {}.", causes.join(", "))
}

fn mirrored(copies: u64, replayed: u64) -> String {
    let extent = match copies.saturating_mul(200).checked_div(replayed) {
        Some(NEARLY_EVERY..) => ": nearly every packet comes twice",
        _ => "",
    };
    format!(
        "{copies} of {replayed} packets look like copies by a mirror port (equal, at one place \
        and within a millisecond){extent}. \
         Without these: --mirrored."
    )
}

/// The first few interfaces with their packets, and how many others there are.
fn list(interfaces: &[InterfaceLoad]) -> String {
    let mut named = Vec::new();
    for load in interfaces.iter().take(NAMED) {
        let mut packets = format!("{} packets", load.replayed);
        if load.copies > 0 {
            packets += &format!(" and {} duplicates left out", load.copies);
        }
        named.push(format!("{} ({packets})", load.name));
    }
    let others = interfaces.len() - named.len();
    if others > 0 {
        format!("{} and {others} more", named.join(", "))
    } else {
        named.join(", ")
    }
}

const fn what_is_odd(oddity: Oddity) -> &'static str {
    match oddity {
        Oddity::NotIp => NOT_IP,
        Oddity::Unreadable => UNREADABLE,
        Oddity::WithoutPorts => WITHOUT_PORTS,
        Oddity::Encrypted => ENCRYPTED,
        Oddity::Backwards => {
            "{packet has|packets have} an earlier time than the packet before; {it arrives|they \
            arrive} at the time of that packet"
        }
        Oddity::Sorted => SORTED,
        Oddity::SetBack => {
            "{step back of the clock is|steps back of the clock are} taken out, because \
             connections go on behind as before"
        }
        Oddity::Strays => {
            "{packet has a time|packets have times} that all others contradict by more than a \
            second; {it arrives|they arrive} with the packet before"
        }
        Oddity::WrongTimes => {
            "{packet has a time|packets have times} outside of the years 1677 to 2262; {it \
            arrives|they arrive} with the packet before"
        }
        Oddity::Uncut => UNCUT,
        Oddity::CutSilences => CUT_SILENCES,
        Oddity::Long => LONG_PACKETS,
        Oddity::TooLong => {
            "{packet is longer than 64 KB and was|packets are longer than 64 KB and were} taken \
            for 64 KB"
        }
        Oddity::CutOff => CUT_OFF,
        Oddity::TruncatedCompression => TRUNCATED_COMPRESSION,
        Oddity::WithoutTime => {
            "{packet carries no time and arrives together with the one ahead of it|packets carry \
            no time and arrive together with the one ahead of them}"
        }
        Oddity::RaisedLengths => RAISED_LENGTHS,
        Oddity::LargeFractions => LARGE_FRACTIONS,
        Oddity::SkippedBlocks => SKIPPED_BLOCKS,
    }
}

const fn what_is_missing(missing: Obstacle) -> &'static str {
    match missing {
        Obstacle::Classes => "All packets have the same class",
        Obstacle::Slack => "No rule gives packets slack",
        Obstacle::Deadlines => "No rule gives packets a deadline",
        Obstacle::Yardstick | Obstacle::Sizes => "Packets lack what these need",
    }
}

fn set_forward(SetForward { steps, at, by }: SetForward) -> String {
    let parts = parts([at, at]);
    let by = seconds(by as f64 / 1e9);
    let others = match steps - 1 {
        0 => String::new(),
        1 => " A later step is taken out, too.".to_owned(),
        others => format!(" {others} later steps are taken out, too."),
    };
    format!(
        "The capture's clock was set forward by {by} or its host slept: no flow sends meanwhile, \
         and then connections go on as if no time had passed. The silence is taken out.{others} \
         {parts}."
    )
}

/// The options for the parts before and behind a silence at these nanoseconds.
fn parts([start, end]: [u64; 2]) -> String {
    const MICRO: u64 = 1000;
    let to = start.div_ceil(MICRO) as f64 / 1e6;
    // Where no time is left between both, they are one.
    let from = (end / MICRO) as f64 / 1e6;
    let from = from.max(to);
    format!("--to {to:.6}s and --from {from:.6}s compare the parts before and behind it")
}

fn other_flows(OtherFlows { packets, most }: OtherFlows) -> String {
    let packets = in_number(
        packets,
        "{packet belongs to a flow|packets belong to flows}",
    );
    let most = counted(most as u64, "flow");
    format!(
        "{packets} beyond the first {most}. Such flows count as one, which may be heavy although \
        none of them is: --max-flows N keeps more flows apart."
    )
}

/// Note on a discipline that reordered these flows' packets, against its declaration.
pub fn reordering_note(name: &str, flows: &str) -> String {
    format!("{name} reordered packets of {flows}, and does not declare `reorders`.")
}

/// A sentence for each count that is not zero: the count, then the text in the count's number.
pub fn counted_sentences(counts: &[(u64, &str)]) -> Vec<String> {
    let mut sentences = Vec::new();
    for (count, what) in counts {
        if *count > 0 {
            sentences.push(in_number(*count, what) + ".");
        }
    }
    sentences
}
