//! Terminal output of the log verifier.

use std::fmt::Write as _;

use roundelay_sim::link_name;
use roundelay_verify::log::Header;
use roundelay_verify::{Checks, Inspection, Verified};

use crate::text::clean;
use crate::units::{count, counted, in_number, seconds};

/// The verifier's findings as text: a summary of the log, how many checks of each kind ran, and the
/// first faults with their lines.
pub fn verified(name: &str, inspection: &Inspection) -> String {
    let Inspection {
        header,
        time,
        totals,
        checks,
        faults,
        is_cut,
    } = inspection;
    let Verified {
        events,
        sent,
        delivered,
        dropped,
        lost,
        on_their_way,
    } = *totals;
    let name = clean(name);
    let mut text = String::new();
    let verdict = match (faults_in_words(inspection), is_cut) {
        (None, _) => "all of it can be".to_owned(),
        (Some(found), false) => found,
        (Some(found), true) => format!("{found}; it was not read further"),
    };
    let _ = writeln!(text, "{name}: {verdict}.");
    let nodes = count(header.nodes.into());
    let links = count(header.links.len() as u64);
    let _ = writeln!(
        text,
        "{} of {nodes} nodes and {links} links: {} events.",
        seconds(*time as f64 / 1e12),
        count(events)
    );
    let fates = [
        (delivered, "delivered"),
        (dropped, "dropped"),
        (lost, "lost on wires"),
        (on_their_way, "on their way at the end"),
    ];
    let fates: Vec<_> = fates
        .iter()
        .map(|(number, what)| format!("{} {what}", count(*number)))
        .collect();
    let _ = writeln!(
        text,
        "{} packets sent: {}.\n",
        count(sent),
        fates.join(", ")
    );
    table(&mut text, checks);
    if !faults.is_empty() {
        let _ = writeln!(text);
    }
    for fault in faults {
        let _ = writeln!(text, "{name}:{}: {}", fault.line, clean(&fault.what));
        if fault.wake > 0 {
            let _ = writeln!(
                text,
                "    and {} more{}, which may follow from it",
                count(fault.wake),
                location(header, fault.link)
            );
        }
    }
    text
}

/// The number of faults, and of lines with other faults about the same links, which may follow from
/// these. None: no fault.
pub fn faults_in_words(inspection: &Inspection) -> Option<String> {
    let faults = &inspection.faults;
    let wake: u64 = faults.iter().map(|fault| fault.wake).sum();
    let found = counted(faults.len() as u64, "fault");
    match (faults.is_empty(), wake) {
        (true, _) => None,
        (false, 0) => Some(found),
        (false, wake) => {
            let follow = in_number(wake, "{line that may follow|lines that may follow}");
            Some(format!("{found}, and {follow}"))
        }
    }
}

/// Where a fault is: the names of the link's ends.
fn location(header: &Header, link: Option<u32>) -> String {
    let link = link.and_then(|link| header.links.get(link as usize));
    link.map_or_else(String::new, |link| {
        clean(&format!(
            " about the link {}",
            link_name(&header.name(link.from), &header.name(link.to))
        ))
    })
}

fn table(text: &mut String, checks: &Checks) {
    let Checks {
        fates,
        hops,
        transmissions,
        rests,
        wires,
        fifo,
        in_flow,
        flows,
    } = *checks;
    let rows = [
        (
            "delivered, dropped or lost once, and where it should be",
            fates,
            "packets",
        ),
        (
            "from node to node, along links that meet",
            hops,
            "arrivals at queues",
        ),
        (
            "one packet at a time, for as long as the rate has it",
            transmissions,
            "transmissions",
        ),
        ("no rest while packets wait", rests, "instants"),
        (
            "off the wire after its delay, in order",
            wires,
            "packets on wires",
        ),
        (
            "first in, first out, where the queue promises it",
            fifo,
            "departures",
        ),
        (
            "in order within the flow, where the queue keeps order",
            in_flow,
            "departures",
        ),
        ("flows’ counts are equal to the events", flows, "flows"),
    ];
    for (what, number, of) in rows {
        let _ = writeln!(
            text,
            "{what:<56}{:>14} {of}",
            if number == 0 {
                "–".to_owned()
            } else {
                count(number)
            }
        );
    }
}
