//! Tests of logs written by hand: what is counted, and where a check begins.

use crate::link::LinkState;
use crate::log::{Event, FORMAT, Line, LinkRecord, MostRecord, Order, ShaperRecord};
use crate::{Checks, Inspection, inspect};

/// Picoseconds of a millisecond, in which a packet of 1,000 bytes crosses the link.
const MS: u64 = 1_000_000_000;

/// A link of 8 Mbit/s from node 0 to node 1 with room for 9 packets.
fn link(queue: &str, order: Order) -> LinkRecord {
    let order = serde_json::to_string(&order).unwrap();
    let text = format!(
        r#"{{"from":0,"to":1,"rate":8000000,"delay":0,"jitter":0,"overhead":0,"loss":0,
        "queue":"{queue}","limit":{{"packets":9,"bytes":null}},"order":{order},"preempts":false}}"#
    );
    serde_json::from_str(&text).unwrap()
}

/// Inspects a log of these links and events; flow 0 goes from node 0 to node 1.
fn told(links: &[LinkRecord], events: &[(u64, Event)], most_faults: usize) -> Inspection {
    let links = serde_json::to_string(links).unwrap();
    let mut log = format!("{{\"format\":{FORMAT},\"nodes\":2,\"links\":{links}}}\n");
    let open = Event::Open {
        flow: 0,
        from: 0,
        to: 1,
        edge: false,
        longest: None,
    };
    for (time, event) in [(0, open)].iter().chain(events) {
        let line = Line {
            time: *time,
            event: event.clone(),
        };
        log += &serde_json::to_string(&line).unwrap();
        log.push('\n');
    }
    inspect(log.as_bytes(), most_faults).unwrap()
}

/// The faults in words.
fn faults(links: &[LinkRecord], events: &[(u64, Event)]) -> Vec<String> {
    let faults = told(links, events, 10).faults;
    faults.into_iter().map(|fault| fault.what).collect()
}

/// A packet of 1,000 bytes is sent and arrives at link 0.
fn comes(time: u64, packet: u64) -> [(u64, Event); 2] {
    let send = Event::Send {
        packet,
        flow: 0,
        len: 1000,
        back: false,
    };
    [(time, send), (time, Event::Arrive { packet, link: 0 })]
}

/// A packet has link 0 for a millisecond from `time` on.
fn goes(time: u64, packet: u64) -> (u64, Event) {
    let end = time + MS;
    let link = 0;
    (time, Event::Transmit { packet, link, end })
}

fn dropped(time: u64, packet: u64, reason: &str) -> (u64, Event) {
    let reason = reason.to_owned();
    let link = 0;
    (
        time,
        Event::Drop {
            packet,
            link,
            reason,
        },
    )
}

fn delivered(time: u64, packet: u64) -> (u64, Event) {
    (time, Event::Deliver { packet })
}

fn ends(time: u64) -> (u64, Event) {
    (time, Event::End { open: 1 })
}

/// Two packets of a flow that closes.
fn two_packets() -> Vec<(u64, Event)> {
    let [first, second] = [comes(0, 0), comes(0, 1)];
    let mut events = [first, second].concat();
    events.extend([goes(0, 0), delivered(MS, 0), goes(MS, 1)]);
    events.push((MS, Event::Finish { flow: 0 }));
    let close = Event::Close {
        flow: 0,
        sent: 2,
        delivered: 2,
    };
    events.extend([delivered(2 * MS, 1), (2 * MS, close)]);
    events.push((2 * MS, Event::End { open: 0 }));
    events
}

/// Departures count where the queue promises an order, under this order.
#[test]
fn each_check_is_counted() {
    for (queue, order, fifo, in_flow) in [
        ("fifo", Order::Fifo, 2, 0),
        ("drr", Order::PerFlow, 0, 2),
        // The promise is less than what one queue keeps.
        ("codel", Order::PerFlow, 2, 0),
        ("random", Order::Any, 0, 0),
    ] {
        let found = told(&[link(queue, order)], &two_packets(), 10);
        assert_eq!(found.faults, [], "{queue}");
        let expected = Checks {
            fates: 2,
            hops: 2,
            transmissions: 2,
            // One packet waited when the other came, and both when a packet went.
            rests: 3,
            wires: 2,
            fifo,
            in_flow,
            flows: 1,
        };
        assert_eq!(found.checks, expected, "{queue}");
    }
}

/// Faults that have nothing to do with each other: packets that never were.
#[test]
fn reading_stops_at_the_last_fault_that_is_wanted() {
    let events = [delivered(0, 7), delivered(0, 8), delivered(0, 9), ends(0)];
    for (most, found, is_cut) in [(1, 1, true), (2, 2, true), (3, 3, true), (4, 3, false)] {
        let told = told(&[], &events, most);
        assert_eq!(told.faults.len(), found, "{most}");
        assert_eq!(told.is_cut, is_cut, "{most}");
    }
}

/// What is false or zero is left out, and read again all the same.
#[test]
fn a_line_says_what_is_true() {
    for (edge, longest, expected) in [
        (
            false,
            None,
            r#"{"time":5,"event":"open","flow":0,"from":0,"to":1}"#,
        ),
        (
            true,
            Some(9),
            r#"{"time":5,"event":"open","flow":0,"from":0,"to":1,"edge":true,"longest":9}"#,
        ),
    ] {
        let event = Event::Open {
            flow: 0,
            from: 0,
            to: 1,
            edge,
            longest,
        };
        let line = Line { time: 5, event };
        assert_eq!(serde_json::to_string(&line).unwrap(), expected);
        assert_eq!(serde_json::from_str::<Line>(expected).unwrap(), line);
    }
}

/// Of fewer than 64 packets none needs to be late; of more, one by a quarter of the jitter.
#[test]
fn jitter_is_doubted_from_sixty_four_packets_on() {
    let record = LinkRecord {
        jitter: 400,
        ..link("fifo", Order::Fifo)
    };
    for (packets, latest, is_fine) in [
        (63, 0, true),
        (64, 99, false),
        (64, 100, true),
        (65, 99, false),
        (65, 100, true),
    ] {
        let mut state = LinkState::new(record.clone(), None).expect("no framing");
        for _ in 1..packets {
            state.comes_late_by(0);
        }
        state.comes_late_by(latest);
        assert_eq!(state.has_jitter().is_ok(), is_fine, "{packets}, {latest}");
    }
}

#[test]
fn a_transmission_of_the_wrong_length_is_told_with_the_right_one() {
    let link = [link("fifo", Order::Fifo)];
    let end = MS + 1;
    let (packet, number) = (0, 0);
    let transmit = Event::Transmit {
        packet,
        link: number,
        end,
    };
    let mut events = comes(0, 0).to_vec();
    events.extend([(0, transmit), ends(0)]);
    assert_eq!(
        faults(&link, &events),
        ["8000 bits take 1000000000 ps on this link, not 1000000001"]
    );
}

/// A packet leaves the queue that it waits in.
#[test]
fn a_packet_is_not_sent_by_another_link() {
    let links = [link("fifo", Order::Fifo), link("fifo", Order::Fifo)];
    let transmit = Event::Transmit {
        packet: 0,
        link: 1,
        end: MS,
    };
    let mut events = comes(0, 0).to_vec();
    events.extend([(0, transmit), ends(0)]);
    assert_eq!(
        faults(&links, &events),
        ["packet 0 is not in the queue of link 1"]
    );
}

/// Only a discipline that reads acknowledgements filters them, and only those before the newest
/// packet.
#[test]
fn only_acknowledgement_filters_filter() {
    let story = |filtered: u64| {
        let mut events = Vec::new();
        for packet in 0..3 {
            events.extend(comes(0, packet));
        }
        events.push(dropped(0, filtered, "filtered"));
        let left = Vec::from_iter((0..3).filter(|packet| *packet != filtered));
        for (time, packet) in (0..).zip(left) {
            let end = (time + 1) * MS;
            events.extend([goes(time * MS, packet), delivered(end, packet)]);
        }
        events.push(ends(2 * MS));
        events
    };
    for (queue, filtered, expected) in [
        ("cake besteffort ack-filter", 1, None),
        (
            "cake besteffort ack-filter",
            2,
            Some("an acknowledgement is filtered only when a later one has come"),
        ),
        (
            "cake besteffort",
            1,
            Some("cake besteffort filters no acknowledgements"),
        ),
        ("sfq", 1, Some("sfq drops no packet as filtered")),
    ] {
        let order = match queue {
            "sfq" => Order::PerFlow,
            _ => Order::Any,
        };
        let found = faults(&[link(queue, order)], &story(filtered));
        let is_so = match expected {
            None => found.is_empty(),
            Some(part) => found.iter().any(|fault| fault.contains(part)),
        };
        assert!(is_so, "{queue}: {found:?}");
    }
}

/// On a preemptive link the packet in transmission is not in the queue: three packets of 1,000 bytes
/// where 2,000 bytes may wait, and four are too many.
#[test]
fn what_a_preemptive_link_sends_does_not_wait() {
    let mut record = link("lstf preempt", Order::Any);
    record.preempts = true;
    (record.limit.packets, record.limit.bytes) = (None, Some(2000));
    for (count, is_fine) in [(3, true), (4, false)] {
        let mut events = Vec::new();
        for packet in 0..count {
            events.extend(comes(0, packet));
        }
        for packet in 0..count {
            let end = (packet + 1) * MS;
            let link = 0;
            let transmit = Event::Transmit { packet, link, end };
            events.extend([(end, transmit), delivered(end, packet)]);
        }
        events.push(ends(count * MS));
        let faults = faults(std::slice::from_ref(&record), &events);
        assert_eq!(faults.is_empty(), is_fine, "{count}: {faults:?}");
    }
}

/// A packet that the link forgets is one fault, and later packets are checked without it.
#[test]
fn a_forgotten_packet_is_told_once() {
    let mut events = comes(0, 0).to_vec();
    events.extend([goes(0, 0), delivered(MS, 0)]);
    events.extend(comes(2 * MS, 1));
    // Here packet 1 should have gone.
    events.extend(comes(5 * MS, 2));
    events.extend(comes(6 * MS, 3));
    events.extend([goes(6 * MS, 3), delivered(7 * MS, 3), ends(7 * MS)]);
    let found = told(&[link("fifo", Order::Fifo)], &events, 10).faults;
    let [fault] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(
        fault.what,
        "the link rests from 2000000000 on while packet 1 waits"
    );
    assert_eq!((fault.link, fault.wake), (Some(0), 0));
}

/// Only the arriving packet can be refused, and only a packet that arrives at a backlog is dropped
/// early by a discipline that goes by it.
#[test]
fn a_packet_that_waits_is_not_refused() {
    let record = link("sfq flows 1", Order::PerFlow);
    let mut events = [comes(0, 0), comes(0, 1)].concat();
    events.extend([dropped(0, 0, "refused"), goes(0, 1)]);
    events.extend([delivered(MS, 1), ends(MS)]);
    assert_eq!(
        faults(&[record], &events),
        ["only the arriving packet can be refused"]
    );
    let record = link("pie", Order::PerFlow);
    for (victim, is_fine) in [(5, true), (1, false)] {
        let mut events = Vec::new();
        for packet in 0..5 {
            events.extend(comes(0, packet));
        }
        // Packet 0 goes at once; a millisecond later one more comes, and it or another is dropped.
        events.extend([goes(0, 0), delivered(MS, 0)]);
        events.extend(comes(MS, 5));
        events.extend([dropped(MS, victim, "early"), ends(MS)]);
        let faults = faults(std::slice::from_ref(&record), &events);
        let is_told = faults
            .iter()
            .any(|fault| fault.contains("drops no packet early"));
        assert_eq!(!is_told, is_fine, "{victim}: {faults:?}");
    }
}

/// Half a line at the end of a log is a log without an end; before other lines, or with another
/// mistake, it is no line of a log.
#[test]
fn half_a_line_is_forgiven_at_the_end_alone() {
    let header = format!("{{\"format\":{FORMAT},\"nodes\":2,\"links\":[]}}\n");
    let end = "{\"time\":0,\"event\":\"end\",\"open\":0}\n";
    let read = |rest: &str| inspect(format!("{header}{rest}").as_bytes(), 10);
    assert_eq!(read(end).unwrap().faults, []);
    assert_eq!(read("{\"time\":0,").unwrap().faults.len(), 1);
    for rest in [
        &format!("{{\"time\":0,\n{end}"),
        "{\"time\":0,\n",
        "{\"time\":x",
    ] {
        let error = read(rest).expect_err(rest).to_string();
        assert!(error.starts_with("line 2: "), "{rest}: {error}");
    }
}

/// A transmission with a fault keeps the link busy: a packet that waits for its end is no fault.
#[test]
fn a_wrong_transmission_keeps_the_link_busy() {
    let end = MS + 1;
    let (packet, number) = (0, 0);
    let wrong = Event::Transmit {
        packet,
        link: number,
        end,
    };
    let mut events = [comes(0, 0), comes(0, 1)].concat();
    events.extend([(0, wrong), goes(end, 1), delivered(end + MS, 1)]);
    events.push(ends(end + MS));
    let found = told(&[link("fifo", Order::Fifo)], &events, 10).faults;
    let [fault] = &found[..] else {
        panic!("{found:?}");
    };
    assert!(fault.what.starts_with("8000 bits take"), "{fault:?}");
    assert_eq!(fault.wake, 0);
}

/// So does the transmission of a packet that had a fault before.
#[test]
fn a_packet_with_a_fault_keeps_the_link_busy() {
    let mut events = [comes(0, 0), comes(0, 1)].concat();
    events.push((0, Event::Arrive { packet: 1, link: 0 }));
    events.extend([goes(0, 0), delivered(MS, 0), goes(MS, 1)]);
    events.extend(comes(MS + 1, 2));
    events.extend([delivered(2 * MS, 1), goes(2 * MS, 2), delivered(3 * MS, 2)]);
    events.push(ends(3 * MS));
    let found = told(&[link("fifo", Order::Fifo)], &events, 10).faults;
    let [fault] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(fault.what, "packet 1 waits at link 0");
    assert_eq!(fault.wake, 0);
}

/// A packet that others overtake, and that never goes, is told once.
#[test]
fn a_packet_that_is_overtaken_is_told_once() {
    let mut events = [comes(0, 0), comes(0, 1), comes(0, 2)].concat();
    events.extend([goes(0, 1), delivered(MS, 1)]);
    events.extend([goes(MS, 2), delivered(2 * MS, 2), ends(2 * MS)]);
    let found = told(&[link("fifo", Order::Fifo)], &events, 10).faults;
    let [fault] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(
        fault.what,
        "the packet overtakes packet 0 in a queue that keeps order"
    );
    assert_eq!(fault.wake, 0);
}

/// A shaper may let the link rest until its bucket lets the next packet go, and no longer, and it sends
/// no more than it promises. Packets of 1,000 bytes take 1 ms on the link and 2 ms at the shaper's rate.
#[test]
fn a_shaper_rests_and_keeps_to_its_rate() {
    let mut record = link("tbf rate 4mbit burst 1000b", Order::PerFlow);
    for (gap, promise) in [
        (MS, "sends more than"),
        (2 * MS, ""),
        (3 * MS, "rests from"),
    ] {
        record.shaper = Some(ShaperRecord {
            most: Some(MostRecord {
                rate: 4_000_000,
                burst: 1000,
            }),
            prompt: Some(1000),
            tells_rests: false,
        });
        let mut events = [comes(0, 0), comes(0, 1)].concat();
        events.extend([goes(0, 0), delivered(MS, 0), goes(gap, 1)]);
        events.extend([delivered(gap + MS, 1), ends(gap + MS)]);
        let found = faults(std::slice::from_ref(&record), &events);
        assert_eq!(found.is_empty(), promise.is_empty(), "{gap}: {found:?}");
        assert!(
            found.iter().all(|fault| fault.contains(promise)),
            "{found:?}"
        );
        // Without a shaper it may not rest.
        let unshaped = link("drr", Order::PerFlow);
        let found = faults(&[unshaped], &events);
        assert_eq!(found.is_empty(), gap == MS, "{found:?}");
    }
}

/// A tree rests until the time that its log tells, and an arrival ends the rest.
#[test]
fn a_link_rests_until_the_time_that_is_told() {
    let mut record = link("tree eth0", Order::PerFlow);
    record.shaper = Some(ShaperRecord {
        most: None,
        prompt: None,
        tells_rests: true,
    });
    let rest = |time, until| (time, Event::Rest { link: 0, until });
    let mut before = [comes(0, 0), comes(0, 1)].concat();
    before.extend([goes(0, 0), delivered(MS, 0)]);
    let [two, three] = [2, 3].map(|number| number * MS);
    let last = |time| vec![goes(time, 1), delivered(time + MS, 1), ends(time + MS)];
    let arrival = comes(two, 2).to_vec();
    for (what, events, promise) in [
        ("until then", [vec![rest(MS, three)], last(three)], ""),
        ("sooner", [vec![rest(MS, three)], last(two)], ""),
        ("longer", [vec![rest(MS, two)], last(three)], "rests from"),
        (
            "twice",
            [vec![rest(MS, two), rest(two, three)], last(three)],
            "",
        ),
        ("untold", [vec![], last(three)], "rests from"),
        ("busy", [vec![rest(0, three)], last(three)], "not free"),
        (
            "ended",
            [vec![rest(MS, MS)], last(MS)],
            "ends before it begins",
        ),
        (
            "an arrival",
            [[vec![rest(MS, three)], arrival].concat(), last(three)],
            "rests from",
        ),
    ] {
        // A rest of time 0 stands before the first delivery.
        let at = if events[0].first().is_some_and(|event| event.0 == 0) {
            before.len() - 1
        } else {
            before.len()
        };
        let mut all = before.clone();
        all.splice(at..at, events.concat());
        all.sort_by_key(|event| event.0);
        let found = faults(std::slice::from_ref(&record), &all);
        let is_fine = found.is_empty() && promise.is_empty();
        let is_told = found.first().is_some_and(|fault| fault.contains(promise));
        assert!(
            is_fine || !promise.is_empty() && is_told,
            "{what}: {found:?}"
        );
    }
    let without = link("drr", Order::PerFlow);
    let events = [before, vec![rest(MS, three)], last(three)].concat();
    let found = faults(&[without], &events);
    assert!(found[0].contains("tells of no rests"), "{found:?}");
}

/// What a shaper promises is its discipline's own rule, so a header cannot promise less, and no other
/// discipline may rest.
#[test]
fn a_shaper_in_the_header_is_that_of_the_queue() {
    let mut of_tbf = link("tbf rate 4mbit burst 1000b", Order::PerFlow);
    let promise = |rate, prompt| {
        let burst = 1000;
        let most = Some(MostRecord { rate, burst });
        let tells_rests = false;
        Some(ShaperRecord {
            most,
            prompt,
            tells_rests,
        })
    };
    for (shaper, is_fine) in [
        (promise(4_000_000, Some(1000)), true),
        (promise(4_000_000, None), false),
        (promise(8_000_000, Some(1000)), false),
        (None, false),
    ] {
        of_tbf.shaper = shaper;
        assert_eq!(
            error_of(&of_tbf).is_none(),
            is_fine,
            "{:?}: {:?}",
            of_tbf.shaper,
            error_of(&of_tbf)
        );
    }
    let mut of_drr = link("drr", Order::PerFlow);
    of_drr.shaper = promise(4_000_000, Some(1000));
    let error = error_of(&of_drr).expect("drr rests");
    assert!(error.contains("drr"), "{error}");
}

/// Why the header of a log with this link is refused.
fn error_of(record: &LinkRecord) -> Option<String> {
    let link = serde_json::to_string(record).unwrap();
    let log = format!("{{\"format\":{FORMAT},\"nodes\":2,\"links\":[{link}]}}\n");
    let error = inspect(log.as_bytes(), 1).err()?;
    Some(error.to_string())
}

/// A queue with a limit for each flow refuses a packet while the buffer has room, and none else does.
#[test]
fn a_flow_at_its_own_limit_loses_its_next_packet() {
    for (queue, is_fine) in [("fq flow_limit 1", true), ("drr", false)] {
        let record = link(queue, Order::PerFlow);
        let mut events = [comes(0, 0), comes(0, 1), comes(0, 2)].concat();
        events.extend([dropped(0, 2, "refused"), goes(0, 0), delivered(MS, 0)]);
        events.extend([goes(MS, 1), delivered(2 * MS, 1), ends(2 * MS)]);
        let found = faults(&[record], &events);
        assert_eq!(found.is_empty(), is_fine, "{queue}: {found:?}");
    }
}
