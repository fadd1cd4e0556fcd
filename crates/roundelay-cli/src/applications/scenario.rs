//! The scenario of a capture's applications: TOML for `roundelay simulate`, with comments on what
//! the capture could not tell.

use std::fmt::Write;

use roundelay::{Duration, LinkLayer, Rate};
use roundelay_report::clean;
use roundelay_trace::connections::{Applications, Seen, ShownBy, Sign, Window};

use super::doubts::Shares;
use super::setting::{Setting, time};
use super::sources::{self, Sources};

/// The round trip of connections of which nothing is known.
const USUAL: Duration = Duration::from_millis(40);
/// A capture in which next to nothing goes over the link has no slower one.
const LEAST_RATE: Rate = Rate::from_bits_per_second(1000).unwrap();
/// A shorter queue of the other direction, in bytes, is none that we can tell: ten packets.
const LEAST_QUEUE: u64 = 15_000;
/// Length of an Ethernet header, which the simulator's packets do not have.
const ETHERNET: i32 = 14;

/// The scenario, headed by what was read, what the capture could not tell, and what is in doubt.
pub(crate) fn text(applications: &Applications, setting: &Setting, doubts: &[String]) -> String {
    let unknown = round_trip(applications, setting);
    comments(applications, setting, unknown, doubts) + &of(applications, setting).text
}

/// The scenario, and the entries of each source's list.
pub(crate) fn of(applications: &Applications, setting: &Setting) -> Sources {
    let mut text = String::new();
    let rate = rate(applications, setting.rate);
    let length = applications.length.as_nanos().div_ceil(1_000_000).max(1);
    let link = if setting.link == LinkLayer::NONE {
        LinkLayer::with_overhead(ETHERNET)
    } else {
        setting.link
    };
    write!(
        text,
        "\nseed = {seed}\nduration = \"{length}ms\"\n\n\
         [queue]\ncore = \"fifo\"\n\n\
         # What comes over the link starts at left; the delays are in the connections.\n\
         [[node]]\nname = \"left\"\nhost = true\n\n[[node]]\nname = \"entry\"\n\n\
         [[node]]\nname = \"exit\"\n\n[[node]]\nname = \"right\"\nhost = true\n\n\
         [[link]]\nfrom = \"left\"\nto = \"entry\"\nrate = \"10gbit\"\n\n\
         [[link]]\nfrom = \"entry\"\nto = \"exit\"\nrate = \"10gbit\"\n\n\
         [[link]]\nfrom = \"exit\"\nto = \"right\"\nrate = \"10gbit\"\n\n\
         # The link.\n\
         [[port]]\nfrom = \"entry\"\nto = \"exit\"\nrate = \"{rate}\"\noverhead = {overhead}\n\
         mpu = {mpu}\nframing = \"{framing}\"\n",
        seed = setting.seed,
        overhead = link.overhead,
        mpu = link.mpu,
        framing = link.framing.name(),
    )
    .unwrap_or_default();
    if let Some(up) = WayUp::of(applications, setting) {
        write!(
            text,
            "\n# The link's other direction, at the hosts that upload.\n\
             [[port]]\nfrom = \"right\"\nto = \"exit\"\nrate = \"{rate}\"\n\
             queue = \"{queue}\"\noverhead = {overhead}\nmpu = {mpu}\n\
             framing = \"{framing}\"\n",
            rate = up.rate,
            queue = up.queue,
            overhead = link.overhead,
            mpu = link.mpu,
            framing = link.framing.name(),
        )
        .unwrap_or_default();
    }
    let sources = sources::all(applications, setting, round_trip(applications, setting));
    Sources {
        text: text + &sources.text,
        ..sources
    }
}

/// The link's other direction.
#[derive(Debug, Clone)]
struct WayUp {
    rate: Rate,
    queue: String,
}

impl WayUp {
    /// As stated, or as captured if the network held uploads back. None: nothing tells a limit.
    fn of(applications: &Applications, setting: &Setting) -> Option<Self> {
        let captured = Rate::from_bits_per_second(applications.captured_rates[1] as u64);
        let captured = applications.back.wait.and(captured);
        let rate = setting.up.up_rate.or(captured)?;
        let wait = applications.back.wait.unwrap_or(Duration::ZERO);
        let bytes = rate.bits_per_second() as f64 / 8.0 * wait.as_secs_f64();
        let queue = match &setting.up.up_queue {
            Some(queue) => queue.clone(),
            None if bytes as u64 > LEAST_QUEUE && applications.back.losses > 0 => {
                format!("fifo limit {}b", bytes as u64)
            }
            None => "fifo limit 1000".to_owned(),
        };
        Some(Self { rate, queue })
    }
}

/// The rate of the link: as set, or that of the captured one.
pub(crate) fn rate(applications: &Applications, set: Option<Rate>) -> Rate {
    let captured = Rate::from_bits_per_second(applications.captured_rates[0] as u64);
    set.unwrap_or(captured.map_or(LEAST_RATE, |rate| rate.max(LEAST_RATE)))
}

/// The round trip of connections of which nothing is known: as set, or the usual one.
fn round_trip(applications: &Applications, setting: &Setting) -> Duration {
    setting.round_trip.unwrap_or_else(|| usual(applications))
}

/// The median of the measured round trips.
fn usual(applications: &Applications) -> Duration {
    let mut known: Vec<_> = applications.round_trips().into_iter().flatten().collect();
    known.sort_unstable();
    known.get(known.len() / 2).copied().unwrap_or(USUAL)
}

/// What was read, and what could not be known: open parameters with their ranges.
fn comments(
    applications: &Applications,
    setting: &Setting,
    unknown: Duration,
    doubts: &[String],
) -> String {
    let Applications { connections, .. } = applications;
    let shares = Shares::of(applications);
    let mut whole = 0;
    let mut before = 0;
    let mut endless = 0;
    let mut paced = 0;
    let mut concurrent = 0;
    let mut elsewhere = 0;
    let [mut by_window, mut without_window] = [0; 2];
    let [mut follow, mut small_queues] = [0; 2];
    for connection in connections {
        whole += usize::from(connection.is_whole());
        before += usize::from(!connection.has_opening);
        endless += usize::from(connection.endless);
        paced += usize::from(!connection.writes_if_paced.is_empty());
        concurrent += usize::from(connection.concurrent);
        elsewhere += usize::from(connection.over == [false; 2]);
        follow += usize::from(connection.follows.is_some());
        small_queues += usize::from(connection.has_small_queue);
        by_window += usize::from(matches!(connection.window, Window::Limit(_)));
        without_window += usize::from(connection.window == Window::Unknown);
    }
    let round_trips = applications.round_trips();
    let without = round_trips.iter().filter(|known| known.is_none()).count();
    let percent = |bytes| 100.0 * shares.part(bytes);
    let mut lines = vec![
        format!(
            "The applications behind {}, {:.1} s: {} TCP connections, {} flows that are not TCP.",
            clean(&applications.name),
            applications.length.as_secs_f64(),
            connections.len(),
            applications.recorded.len(),
        ),
        "Made by roundelay applications. Run it with roundelay simulate, under any --queue."
            .to_owned(),
        String::new(),
        format!(
            "TCP reacts in the simulation. Captured in both directions: {whole} connections. Begun \
             before the capture: {before}."
        ),
        format!(
            "Wanted more than they got, so they are endless here: {endless}, with {:.0}% of the \
             bytes. Both ends at once: {concurrent}. Held back by the network, with an end or \
             without: {:.0}% of the bytes.",
            percent(shares.endless),
            percent(shares.limited)
        ),
        format!(
            "As recorded, without a reaction: {:.0}% of the bytes, and QUIC with {:.0}%, which \
             would react but shows no acknowledgements.",
            percent(shares.recorded),
            percent(shares.quic)
        ),
    ];
    if follow > 0 {
        lines.push(format!(
            "Begin when an answer on another connection has come, as parts of pages and the next \
             page after reading do: {follow}."
        ));
    }
    if small_queues > 0 {
        lines.push(format!(
            "Uploads that the queue of their own host stops (TCP small queues): {small_queues}."
        ));
    }
    if by_window > 0 {
        lines.push(format!(
            "Limited by a host's receive window, which holds here: {by_window}."
        ));
    }
    lines.extend([
        String::new(),
        "Not in the capture, so open:".to_owned(),
        control(applications, setting),
        "- round_trip: the smallest measured; under load it contains some of the recorded queue's \
         wait. Try half."
            .to_owned(),
    ]);
    if paced > 0 {
        lines.push(format!(
            "- whether {paced} of the endless connections wanted more: their data waited at the \
             link all the time, but their senders pace, as BBR does. An application that writes as \
             fast as this looks the same."
        ));
    }
    if without > 0 {
        lines.push(format!(
            "- round_trip of {without} connections without a measured one: {} here. Try 5ms to \
             200ms.",
            time(unknown)
        ));
    }
    if without_window > 0 {
        lines.push(format!(
            "- receive_window of {without_window} connections without both SYNs, which tell its \
             scale: here it grows as in Linux, so it is no limit."
        ));
    }
    if setting.rate.is_none() {
        lines.push(
            "- rate of the link: here the highest at which bytes left it in a second. Set yours."
                .to_owned(),
        );
    }
    lines.push(match WayUp::of(applications, setting) {
        Some(up) if setting.up.up_rate.is_none() => format!(
            "- the other direction: {} with {} here, because uploads were held back there. Set \
             yours: --up-rate, --up-queue.",
            up.rate, up.queue
        ),
        Some(up) => format!("The other direction has {} with {}.", up.rate, up.queue),
        None => "The other direction held nothing back, so it has no limit here.".to_owned(),
    });
    let contradicting = applications.contradicting_round_trips();
    if contradicting > 0 {
        lines.push(format!(
            "- round_trip of {contradicting} connections, of which measurements contradict each \
             other by half."
        ));
    }
    if shares.half > 0 {
        lines.push(format!(
            "- pauses and requests of connections captured in one direction ({:.0}% of the bytes): \
             requests are known by their acknowledgements, pauses contain the round trip.",
            percent(shares.half)
        ));
    }
    if elsewhere > 0 {
        lines.push(format!(
            "{elsewhere} connections do not go over the link's direction and are left out."
        ));
    }
    if let Some(chosen) = &applications.observed.chosen {
        lines.push(format!(
            "The link's direction was chosen: {}.",
            chosen.options.join(" ")
        ));
    }
    for doubt in doubts {
        lines.push(format!("Note: {doubt}"));
    }
    let mut text = String::new();
    for line in lines {
        writeln!(text, "{}", format!("# {line}").trim_end()).unwrap_or_default();
    }
    text
}

/// Whose congestion control transfers show, how certain that is, and what the others have here.
fn control(applications: &Applications, setting: &Setting) -> String {
    let mut shown: Vec<(Seen, ShownBy, usize, f64)> = Vec::new();
    let mut assumed = 0;
    for connection in &applications.connections {
        let Some(Sign {
            seen,
            by,
            certainty,
        }) = connection.control
        else {
            assumed += 1;
            continue;
        };
        let known = shown
            .iter_mut()
            .find(|(known, by_whom, ..)| (*known, *by_whom) == (seen, by));
        match known {
            Some((_, _, count, least)) => {
                *count += 1;
                *least = certainty.min(*least);
            }
            None => shown.push((seen, by, 1, certainty)),
        }
    }
    let mut text = "- control:".to_owned();
    for (seen, by, count, certainty) in shown {
        let shows = match (seen, by) {
            (Seen::Bbr, ShownBy::Itself) => {
                "show BBR: they heed no losses, measure the empty path or have its gain cycles"
            }
            (Seen::HeedsLosses, ShownBy::Itself) => {
                "heed losses, as CUBIC, Reno and BBR 3 do, or grow until there are some"
            }
            (Seen::Bbr, ShownBy::Server) => "have BBR by others of their server",
            (Seen::HeedsLosses, ShownBy::Server) => "heed losses by others of their server",
            (Seen::Bbr, ShownBy::Host) => "have BBR by others of their host",
            (Seen::HeedsLosses, ShownBy::Host) => "heed losses by others of their host",
        };
        write!(
            text,
            " {count} connections {shows} (certain to {:.0}% or more).",
            100.0 * certainty
        )
        .unwrap_or_default();
    }
    write!(
        text,
        " {assumed} show nothing: {} here. Try cubic and bbr, which lose differently.",
        setting.controls.usual.name()
    )
    .unwrap_or_default();
    text
}
