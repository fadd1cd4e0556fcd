//! Logs of random networks, checked by the verifier; and false logs, which the verifier must
//! reject.

use rand::{RngExt as _, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::Seed;
use roundelay::schedulers::AnyDiscipline;
use roundelay::{
    Billionths, DropReason, Duration, FlowId, Framing, Instant, LinkLayer, QueueSpec, Rate, Slack,
};
use roundelay_sim::log::Log;
use roundelay_sim::{
    Agent, Arrival, Context, Direction, FlowSpec, LinkConfig, Network, NodeId, Outgoing,
};
use roundelay_verify::log::{Event, FORMAT, Header, Limits, Line, LinkRecord, Order};
use roundelay_verify::{Verified, VerifyError, inspect, verify};

use crate::Observed;

const QUEUES: [&str; 15] = [
    "fifo limit 5",
    "fifo limit 1000",
    "drr limit 20",
    "qfq limit 30",
    "qfq_plus limit 30",
    "wf2q_plus limit 20",
    "sfq divisor 16 depth 3 headdrop",
    "fq_codel limit 20 target 1ms interval 5ms",
    "codel limit 20 target 1ms interval 5ms",
    "red min 2kb max 8kb burst 5 probability 0.5 avpkt 1000b",
    "lstf limit 10",
    "lstf preempt limit 10",
    "random limit 20",
    "mqfq limit 20",
    "choke limit 10",
];

/// Sends now and then, answers half of the arrivals, and sometimes opens another flow.
struct Chatter {
    from: NodeId,
    to: NodeId,
    flow: Option<FlowId>,
    packets: u32,
}

impl Agent for Chatter {
    fn wake(&mut self, context: &mut Context<'_>) {
        let spec = FlowSpec {
            from: self.from,
            to: self.to,
            config: None,
        };
        let flow = *self.flow.get_or_insert_with(|| context.open(spec));
        for _ in 0..context.random().random_range(1..4) {
            let len = context.random().random_range(64..=1500);
            let slack = Slack::from_picos(context.random().random_range(0..1_000_000_000));
            context.send(Outgoing {
                slack,
                ..Outgoing::new(flow, len)
            });
        }
        self.packets -= 1;
        if self.packets.is_multiple_of(20) {
            context.close(flow);
            self.flow = None;
        }
        if self.packets == 0 {
            return context.leave();
        }
        let pause = context.random().random_range(0..2_000_000_000);
        context.wake_at(context.now() + Duration::from_picos(pause));
    }

    fn arrive(&mut self, arrival: &Arrival, context: &mut Context<'_>) {
        if arrival.direction == Direction::Forward && context.random().random() {
            context.send(Outgoing {
                direction: Direction::Backward,
                ..Outgoing::new(arrival.flow, 40)
            });
        }
    }
}

/// A random tree of routers. For networks with cycles see `conservation.rs`.
fn network(random: &mut Pcg64Mcg, queues: &[&str]) -> Network {
    let mut network = Network::default();
    let nodes: Vec<_> = (0..random.random_range(2..8))
        .map(|_| network.add_node())
        .collect();
    let mut link = |random: &mut Pcg64Mcg, from, to| {
        let rate = Rate::from_bits_per_second(random.random_range(1_000_000..20_000_000)).unwrap();
        let queue = queues[random.random_range(0..queues.len())]
            .parse()
            .unwrap();
        let mut config = LinkConfig::new(
            from,
            to,
            rate,
            Duration::from_picos(random.random_range(0..3_000_000_000)),
            queue,
        );
        config.loss = Billionths(random.random_range(0..3) * 10_000_000);
        config.jitter = Duration::from_micros(random.random_range(0..2) * 500);
        let framing = Framing::ALL[random.random_range(0..3)];
        let layer = LinkLayer {
            raw: true,
            overhead: random.random_range(-20..40),
            mpu: random.random_range(0..2) * 84,
            framing,
        };
        config.layer = layer;
        network.add_link(config).unwrap();
    };
    for (place, node) in nodes.iter().enumerate().skip(1) {
        let other = nodes[random.random_range(0..place)];
        link(random, *node, other);
        link(random, other, *node);
    }
    network
}

/// Simulates the network of `seed`. Returns the log and the number of packets on their way at the
/// end.
fn simulate(seed: u64) -> (String, u64) {
    let mut random = Pcg64Mcg::seed_from_u64(!seed);
    simulate_for(seed, Duration::from_millis(random.random_range(20..200)))
}

/// The same, until the agents have left and no packet waits.
fn simulate_all(seed: u64) -> String {
    let (log, on_their_way) = simulate_for(seed, Duration::from_secs(3));
    assert_eq!(on_their_way, 0, "seed {seed}");
    log
}

fn simulate_for(seed: u64, span: Duration) -> (String, u64) {
    simulate_queues(seed, span, &QUEUES)
}

fn simulate_queues(seed: u64, span: Duration, queues: &[&str]) -> (String, u64) {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let network = network(&mut random, queues);
    let nodes = network.nodes() as u32;
    let mut bytes = Vec::new();
    let mut log = Log::new(&mut bytes, &network);
    let mut simulation = Observed::with_probe(network, Seed::new(seed), &mut log).unwrap();
    for _ in 0..random.random_range(1..6) {
        let from = random.random_range(0..nodes);
        let to = (from + random.random_range(1..nodes)) % nodes;
        let chatter = Chatter {
            from: NodeId(from),
            to: NodeId(to),
            flow: None,
            packets: random.random_range(1..100),
        };
        simulation.spawn(
            Box::new(chatter),
            Instant::from_nanos(random.random_range(0..1_000_000)),
        );
    }
    simulation.run(Instant::ZERO + span).unwrap();
    let (now, on_their_way) = (simulation.now(), simulation.on_their_way() as u64);
    log.finish(now).unwrap();
    drop(log);
    (String::from_utf8(bytes).unwrap(), on_their_way)
}

fn check(log: &str) -> Result<Verified, VerifyError> {
    verify(log.as_bytes())
}

#[test]
fn what_the_simulator_does_a_network_can_do() {
    let mut all = Verified::default();
    for seed in 0..200 {
        let (log, on_their_way) = simulate(seed);
        let verified = check(&log).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let Verified {
            sent,
            delivered,
            dropped,
            lost,
            ..
        } = verified;
        assert_eq!(verified.on_their_way, on_their_way, "seed {seed}");
        assert_eq!(
            sent,
            delivered + dropped + lost + on_their_way,
            "seed {seed}: packets are conserved"
        );
        all.sent += sent;
        all.dropped += dropped;
        all.lost += lost;
        all.on_their_way += on_their_way;
    }
    assert!(
        all.sent > 20_000 && all.dropped > 1_000 && all.lost > 100 && all.on_their_way > 100,
        "{all:?}"
    );
}

/// Networks of each discipline alone, with a short buffer; some with settings that drop more.
const SETTINGS: [&str; 9] = [
    "afd target 4kb shadow 16 sample 1 interval 1ms limit 20",
    "aifo rank slack limit 10",
    "choke min 2 max 6 burst 1 probability 0.5 limit 10",
    "choke min 2 max 6 burst 1 probability 0.5 limit 10 linux",
    "fq_codel flows 4 target 1us interval 1us drop_batch 1 limit 20",
    "mqfq queues 4 buffer 12 limit 20",
    "pie target 1ms tupdate 500us burst 0 limit 30",
    "sfb levels 2 bins 2 target 1 max 3 increment 0.5 decrement 0.1 limit 30",
    "sfq divisor 4 flows 3 depth 2 limit 20",
];

fn each_queue() -> Vec<String> {
    let all = AnyDiscipline::all()
        .into_iter()
        .map(|discipline| format!("{discipline} limit 8p"));
    all.chain(QUEUES.into_iter().chain(SETTINGS).map(str::to_owned))
        .collect()
}

/// No true log is refused, whatever the discipline; most disciplines drop packets here.
#[test]
fn no_discipline_is_accused() {
    let mut without = Vec::new();
    for queue in each_queue() {
        let mut dropped = 0;
        for seed in 0..12 {
            let (log, _) = simulate_queues(seed, Duration::from_secs(3), &[&queue]);
            dropped += check(&log)
                .unwrap_or_else(|error| panic!("{queue}, seed {seed}: {error}"))
                .dropped;
        }
        if dropped < 5 {
            without.push(queue);
        }
    }
    assert!(without.len() < 5, "few drops: {without:?}");
}

/// A drop for a reason that the discipline does not have is found, with each discipline; so is the
/// reason of the other packet at a full buffer.
#[test]
fn no_drop_has_the_reason_of_another() {
    let mut tested = 0;
    for queue in each_queue() {
        let info = queue.parse::<QueueSpec>().unwrap().discipline.info();
        for reason in DropReason::ALL {
            let swaps_at_a_limit = |old: &str| {
                let at_limit = [DropReason::Full, DropReason::PushedOut];
                at_limit.contains(&reason)
                    && at_limit
                        .iter()
                        .any(|other| other.name() == old && !info.bounds.contains(&reason))
            };
            let mut found = [0, 0];
            for seed in 0..5 {
                let (log, _) = simulate_queues(seed, Duration::from_secs(3), &[&queue]);
                let (header, rest) = log.split_once('\n').unwrap();
                let preempts = header.contains(r#""preempts":true"#);
                let lines: Vec<Line> = rest
                    .lines()
                    .map(|line| serde_json::from_str(line).unwrap())
                    .collect();
                for at in 0..lines.len() {
                    let Event::Drop {
                        packet,
                        link,
                        reason: old,
                    } = &lines[at].event
                    else {
                        continue;
                    };
                    let is_false =
                        !info.drops.contains(&reason) || swaps_at_a_limit(old) && !preempts;
                    if *old == reason.name() || !is_false || found[0] == 20 {
                        continue;
                    }
                    let mut lines = lines.clone();
                    lines[at].event = Event::Drop {
                        packet: *packet,
                        link: *link,
                        reason: reason.name().to_owned(),
                    };
                    let text: String = lines
                        .iter()
                        .map(|line| serde_json::to_string(line).unwrap() + "\n")
                        .collect();
                    found[0] += 1;
                    found[1] += u32::from(check(&format!("{header}\n{text}")).is_err());
                }
            }
            assert_eq!(
                found[0],
                found[1],
                "{queue}: drops called {}",
                reason.name()
            );
            tested += u32::from(found[0] > 0);
        }
    }
    assert!(tested > 80, "{tested} pairs of a discipline and a reason");
}

#[test]
fn the_same_seed_gives_the_same_log() {
    for seed in 0..20 {
        assert_eq!(simulate(seed), simulate(seed));
    }
}

/// A false log: changes the lines, or returns false if impossible here.
type Lie = fn(&mut Vec<Line>) -> bool;

fn first(lines: &[Line], is: impl Fn(&Event) -> bool) -> Option<usize> {
    lines.iter().position(|line| is(&line.event))
}

/// Logs of a simulator with bugs; simulators have had each of these bugs.
const LIES: [(&str, Lie); 30] = [
    ("a delivery becomes a drop by Edge-CoDel", |lines| {
        let Some(at) = first(lines, |event| matches!(event, Event::Deliver { .. })) else {
            return false;
        };
        let Event::Deliver { packet } = lines[at].event else {
            return false;
        };
        lines[at].event = Event::EdgeDrop { packet };
        true
    }),
    ("a flow stays open, and the end says so", |lines| {
        let Some(at) = first(lines, |event| matches!(event, Event::Close { .. })) else {
            return false;
        };
        lines.remove(at);
        let Some(Line {
            event: Event::End { open },
            ..
        }) = lines.last_mut()
        else {
            return false;
        };
        *open += 1;
        true
    }),
    ("a flow closes late", |lines| {
        let Some(at) = first(lines, |event| matches!(event, Event::Close { .. })) else {
            return false;
        };
        let Some(after) = lines.iter().position(|line| line.time > lines[at].time) else {
            return false;
        };
        let Line { event, .. } = lines.remove(at);
        lines.insert(
            after,
            Line {
                time: lines[after - 1].time,
                event,
            },
        );
        true
    }),
    ("a flow sends after its end", |lines| {
        let Some(at) = first(lines, |event| matches!(event, Event::Finish { .. })) else {
            return false;
        };
        let Event::Finish { flow: finished } = lines[at].event else {
            return false;
        };
        let Some(sent) = first(
            lines,
            |event| matches!(event, Event::Send { flow, .. } if *flow == finished),
        ) else {
            return false;
        };
        let line = Line {
            time: lines[sent].time,
            ..lines.remove(at)
        };
        lines.insert(sent, line);
        true
    }),
    ("a packet is delivered twice", |lines| {
        let Some(at) = first(lines, |event| matches!(event, Event::Deliver { .. })) else {
            return false;
        };
        lines.insert(at, lines[at].clone());
        true
    }),
    ("a packet vanishes in a queue", |lines| {
        let Some(at) = first(lines, |event| matches!(event, Event::Drop { .. })) else {
            return false;
        };
        lines.remove(at);
        true
    }),
    ("a packet vanishes on the wire", |lines| {
        let Some(at) = first(lines, |event| matches!(event, Event::Deliver { .. })) else {
            return false;
        };
        lines.remove(at);
        true
    }),
    ("a dropped packet goes on", |lines| {
        let Some(at) = first(lines, |event| matches!(event, Event::Drop { .. })) else {
            return false;
        };
        let Event::Drop { packet, .. } = lines[at].event else {
            return false;
        };
        lines.insert(
            at + 1,
            Line {
                time: lines[at].time,
                event: Event::Deliver { packet },
            },
        );
        true
    }),
    ("a packet comes out of nowhere", |lines| {
        let Some(at) = first(lines, |event| matches!(event, Event::Send { .. })) else {
            return false;
        };
        lines.remove(at);
        true
    }),
    ("the wire is too fast", |lines| {
        let Some(at) = first(lines, |event| matches!(event, Event::Deliver { .. })) else {
            return false;
        };
        let Line {
            event: Event::Deliver { packet },
            ..
        } = lines.remove(at)
        else {
            return false;
        };
        let sent = |line: &Line| matches!(line.event, Event::Transmit { packet: other, .. } if other == packet);
        let Some(sent) = lines[..at].iter().rposition(sent) else {
            return false;
        };
        lines.insert(
            sent + 1,
            Line {
                time: lines[sent].time,
                event: Event::Deliver { packet },
            },
        );
        true
    }),
    ("the wire is too slow", |lines| {
        let Some(at) = first(lines, |event| matches!(event, Event::Deliver { .. })) else {
            return false;
        };
        let longest_jitter = 500_000_000;
        let Some(after) = lines
            .iter()
            .position(|line| line.time > lines[at].time + longest_jitter)
        else {
            return false;
        };
        let Line { event, .. } = lines.remove(at);
        lines.insert(
            after,
            Line {
                time: lines[after - 1].time,
                event,
            },
        );
        true
    }),
    ("a link is too fast", |lines| {
        change_transmission(lines, |end| end - 1)
    }),
    ("a link is too slow", |lines| {
        change_transmission(lines, |end| end + 1)
    }),
    ("a link sends two packets at once", |lines| {
        let busy = (1..lines.len()).find(|at| {
            let (Event::Transmit { link, .. }, time) = (&lines[*at].event, lines[*at].time) else { return false };
            lines[..*at].iter().any(|line| matches!(line.event, Event::Transmit { link: other, end, .. } if other == *link && end == time))
        });
        let Some(at) = busy else { return false };
        let before = lines[at - 1].time;
        let span = lines[at].time - before;
        lines[at].time = before;
        if let Event::Transmit { end, .. } = &mut lines[at].event {
            *end -= span;
        }
        span > 0
    }),
    ("a link rests while packets wait", |lines| {
        // A preemptive link may send another packet meanwhile.
        let starts =
            |line: &Line| matches!(line.event, Event::Transmit { end, .. } if end > line.time);
        let Some(at) = lines.iter().position(starts) else {
            return false;
        };
        let span = lines[at + 1].time - lines[at].time;
        lines[at].time += span;
        if let Event::Transmit { end, .. } = &mut lines[at].event {
            *end += span;
        }
        span > 0
    }),
    ("a packet jumps from link to link", |lines| {
        let Some(at) = first(lines, |event| matches!(event, Event::Arrive { .. })) else {
            return false;
        };
        if let Event::Arrive { link, .. } = &mut lines[at].event {
            *link ^= 1;
        }
        true
    }),
    ("time runs backwards", |lines| {
        let Some(at) = (1..lines.len()).find(|at| lines[*at].time > lines[at - 1].time) else {
            return false;
        };
        lines.swap(at, at - 1);
        true
    }),
    ("a flow's counts are wrong", |lines| {
        let Some(at) = first(lines, |event| matches!(event, Event::Close { .. })) else {
            return false;
        };
        if let Event::Close { delivered, .. } = &mut lines[at].event {
            *delivered += 1;
        }
        true
    }),
    ("a flow closes before its packets are gone", |lines| {
        let Some(at) = first(
            lines,
            |event| matches!(event, Event::Close { sent, .. } if *sent > 0),
        ) else {
            return false;
        };
        let line = lines.remove(at);
        let Event::Close { flow, .. } = line.event else {
            return false;
        };
        let Some(sent) = first(
            lines,
            |event| matches!(event, Event::Send { flow: other, .. } if *other == flow),
        ) else {
            return false;
        };
        lines.insert(
            sent + 1,
            Line {
                time: lines[sent].time,
                ..line
            },
        );
        true
    }),
    ("a packet has the number of one that is gone", |lines| {
        let Some(at) = first(lines, |event| {
            matches!(event, Event::Send { packet: 1, .. })
        }) else {
            return false;
        };
        if let Event::Send { packet, .. } = &mut lines[at].event {
            *packet = 0;
        }
        true
    }),
    ("a flow has the number of one that is gone", |lines| {
        let opens = |line: &Line| matches!(line.event, Event::Open { .. });
        let Some(at) = lines.iter().rposition(opens).filter(|at| *at > 0) else {
            return false;
        };
        let Event::Open { flow, .. } = &mut lines[at].event else {
            return false;
        };
        let was = *flow;
        *flow = 0;
        was > 0
    }),
    ("a packet lingers outside of queues", |lines| {
        let Some(at) = first(lines, |event| matches!(event, Event::Arrive { .. })) else {
            return false;
        };
        let Some(after) = (at..lines.len()).find(|after| lines[*after].time > lines[at].time)
        else {
            return false;
        };
        let Line { event, .. } = lines.remove(at);
        lines.insert(
            after,
            Line {
                time: lines[after - 1].time,
                event,
            },
        );
        true
    }),
    ("a packet is dropped for no reason", |lines| {
        let Some(at) = first(lines, |event| matches!(event, Event::Drop { .. })) else {
            return false;
        };
        if let Event::Drop { reason, .. } = &mut lines[at].event {
            "mood".clone_into(reason);
        }
        true
    }),
    ("an early drop becomes one for want of room", |lines| {
        swap_reason(lines, "early", "full")
    }),
    ("a packet is pushed out by itself", |lines| {
        let Some(at) = first(lines, |event| matches!(event, Event::Transmit { .. })) else {
            return false;
        };
        let Event::Transmit { packet, link, .. } = lines[at].event else {
            return false;
        };
        lines[at].event = Event::Drop {
            packet,
            link,
            reason: "pushed_out".to_owned(),
        };
        true
    }),
    ("a packet's number skips", |lines| {
        let Some(at) = first(lines, |event| {
            matches!(event, Event::Send { packet: 3, .. })
        }) else {
            return false;
        };
        let most = |line: &Line| matches!(line.event, Event::Send { .. });
        let sent = lines.iter().filter(|line| most(line)).count() as u64;
        let renumber = |packet: &mut u64| *packet += u64::from(*packet >= 3) * sent;
        lines[at..]
            .iter_mut()
            .for_each(|line| match &mut line.event {
                Event::Send { packet, .. }
                | Event::Arrive { packet, .. }
                | Event::Transmit { packet, .. }
                | Event::Drop { packet, .. }
                | Event::Lose { packet, .. }
                | Event::Deliver { packet }
                | Event::EdgeDrop { packet } => renumber(packet),
                Event::Open { .. }
                | Event::Rest { .. }
                | Event::Finish { .. }
                | Event::Close { .. }
                | Event::End { .. } => (),
            });
        true
    }),
    ("a flow's number skips", |lines| {
        let last = |line: &Line| matches!(line.event, Event::Open { .. });
        let Some(at) = lines.iter().rposition(last) else {
            return false;
        };
        let Event::Open { flow: old, .. } = lines[at].event else {
            return false;
        };
        lines.iter_mut().for_each(|line| match &mut line.event {
            Event::Open { flow, .. }
            | Event::Send { flow, .. }
            | Event::Finish { flow }
            | Event::Close { flow, .. }
                if *flow == old =>
            {
                *flow += 7
            }
            _ => (),
        });
        true
    }),
    ("a flow is not closed", |lines| {
        let Some(at) = first(lines, |event| matches!(event, Event::Close { .. })) else {
            return false;
        };
        lines.remove(at);
        true
    }),
    (
        "a link picks before an arrival of the same instant",
        |lines| {
            let picks = |at: &usize| {
                let (
                    Event::Arrive { link, packet },
                    Event::Transmit {
                        link: other,
                        packet: picked,
                        ..
                    },
                ) = (&lines[*at].event, &lines[*at + 1].event)
                else {
                    return false;
                };
                link == other && packet != picked && lines[*at].time == lines[*at + 1].time
            };
            let Some(at) = (0..lines.len() - 1).find(picks) else {
                return false;
            };
            lines.swap(at, at + 1);
            true
        },
    ),
    ("the log goes on after its end", |lines| {
        let Some(last) = lines.last().cloned() else {
            return false;
        };
        lines.push(last);
        true
    }),
];

fn change_transmission(lines: &mut [Line], change: fn(u64) -> u64) -> bool {
    let Some(at) = first(lines, |event| matches!(event, Event::Transmit { .. })) else {
        return false;
    };
    if let Event::Transmit { end, .. } = &mut lines[at].event {
        *end = change(*end);
    }
    true
}

fn swap_reason(lines: &mut [Line], from: &str, to: &str) -> bool {
    let Some(at) = first(
        lines,
        |event| matches!(event, Event::Drop { reason, .. } if reason == from),
    ) else {
        return false;
    };
    if let Event::Drop { reason, .. } = &mut lines[at].event {
        to.clone_into(reason);
    }
    true
}

/// Lies in the header: another limit, another discipline, jitter that would allow anything.
#[test]
fn lies_in_the_header_are_found() {
    type Lie = fn(&mut LinkRecord) -> bool;
    let lies: [(&str, Lie); 6] = [
        ("a fair queue is called an AQM with one queue", |link| {
            let was = std::mem::replace(&mut link.queue, "red limit 20".to_owned());
            link.order = Order::PerFlow;
            ["random", "wf2q_plus"]
                .iter()
                .any(|name| was.starts_with(name))
        }),
        ("a fair queue is called a lifo", |link| {
            let was = std::mem::replace(&mut link.queue, "lifo limit 20".to_owned());
            link.order = Order::Any;
            ["random", "wf2q_plus"]
                .iter()
                .any(|name| was.starts_with(name))
        }),
        ("a fair queue is called a fifo", |link| {
            let was = std::mem::replace(&mut link.queue, "fifo limit 20".to_owned());
            link.order = Order::Fifo;
            ["random", "wf2q_plus"]
                .iter()
                .any(|name| was.starts_with(name))
        }),
        ("a wire loses what it delivers", |link| {
            std::mem::replace(&mut link.loss, 900_000_000) < 100_000_000
        }),
        ("decisions cost time", |link| {
            link.decision = 1_000;
            !link.preempts
        }),
        ("jitter allows anything", |link| {
            link.jitter = 1_000_000_000_000;
            true
        }),
    ];
    for (name, lie) in lies {
        let mut told = 0;
        for seed in 0..60 {
            let log = simulate_all(seed);
            let (header, rest) = log.split_once('\n').unwrap();
            let mut header: Header = serde_json::from_str(header).unwrap();
            let busy =
                |link: &usize| rest.matches(&format!("\"link\":{link},\"end\"")).count() > 200;
            let Some(link) = (0..header.links.len())
                .filter(busy)
                .find(|link| lie(&mut header.links[*link].clone()))
            else {
                continue;
            };
            lie(&mut header.links[link]);
            let found = check(&format!(
                "{}\n{rest}",
                serde_json::to_string(&header).unwrap()
            ));
            assert!(found.is_err(), "{name}, seed {seed}: not found");
            told += 1;
        }
        assert!(told > 3, "{name}: told only {told} times");
    }
}

/// Names of nodes are as many as the nodes, and different; numbers stand for nodes without names.
#[test]
fn names_are_those_of_the_nodes() {
    let named = |nodes, names: &[&str]| {
        let names = names.iter().copied().map(str::to_owned).collect();
        let header = Header {
            format: FORMAT,
            nodes,
            names,
            links: Vec::new(),
        };
        check(&format!(
            "{}\n{{\"time\":0,\"event\":\"end\",\"open\":0}}\n",
            serde_json::to_string(&header).unwrap()
        ))
    };
    for (nodes, names) in [(2, &[] as &[&str]), (2, &["a", "b"]), (3, &["a", "1", "1"])] {
        assert_eq!(named(nodes, names).unwrap().events, 1);
    }
    assert_refused(named(3, &["a", "b"]), "line 1: 3 nodes, and 2 names");
    assert_refused(named(2, &["a", "a"]), "line 1: two nodes have the name a");
}

/// Forty packets, each lost or not: the header's share of losses must allow it.
#[test]
fn a_wire_loses_the_share_in_the_header() {
    let losing = |loss, lost: u64| {
        let link = LinkRecord {
            loss,
            ..record("fifo", Order::Fifo, false)
        };
        let goes = |packet: u64| match packet < lost {
            true => [
                goes(packet, [packet, packet + 1])[0].clone(),
                (packet, Event::Lose { packet, link: 0 }),
            ],
            false => goes(packet, [packet, packet + 1]),
        };
        let events = (0..40).flat_map(|packet| [comes(packet, packet), goes(packet)].concat());
        let mut events: Vec<_> = events.chain(ends(40)).collect();
        events.sort_by_key(|(time, event)| (*time, !matches!(event, Event::Deliver { .. })));
        check(&story(link, &events))
    };
    for (loss, lost) in [
        (0, 0),
        (500_000_000, 0),
        (500_000_000, 20),
        (10_000_000, 5),
        (1_000_000_000, 40),
    ] {
        assert_eq!(
            losing(loss, lost)
                .unwrap_or_else(|error| panic!("{lost} at {loss}: {error}"))
                .lost,
            lost
        );
    }
    assert_refused(losing(0, 1), "this link loses nothing");
    assert_refused(
        losing(10_000_000, 40),
        "40 of 40 packets are lost on the wire, and the header says a share of 0.01",
    );
    assert_refused(
        losing(950_000_000, 0),
        "0 of 40 packets are lost on the wire, and the header says a share of 0.95",
    );
    assert_refused(
        losing(1_000_000_000, 39),
        "39 of 40 packets are lost on the wire",
    );
    assert_refused(
        losing(1_000_000_001, 40),
        "loss 1000000001: legal range 0 to 1000000000",
    );
}

/// An early drop needs a queue: one that has waited (codel), one that waits (pie, aifo), or an
/// average (red, choke), which idle time brings down again.
#[test]
fn an_empty_queue_drops_nothing_early() {
    let early = |at, packet| {
        [(
            at,
            Event::Drop {
                packet,
                link: 0,
                reason: "early".to_owned(),
            },
        )]
    };
    let short = "red min 2kb max 8kb burst 5 probability 0.5 avpkt 1000b";
    for (queue, message) in [
        ("codel", "has waited 0 ps only"),
        ("fq_codel", "has waited 0 ps only"),
        ("pie", "when 0 bytes wait"),
        ("aifo", "when 0 bytes wait"),
        (
            "choke",
            "the average queue is 0 packets at most, and min is",
        ),
        (
            "red",
            "the average queue is 0 bytes at most, and min is 30000",
        ),
        (
            short,
            "the average queue is 0 bytes at most, and min is 2048",
        ),
    ] {
        let log = story(
            record(queue, Order::PerFlow, false),
            &[&comes(0, 0)[..], &early(0, 0), &ends(0)].concat(),
        );
        assert_refused(check(&log), message);
    }
    // Nine packets at once, then one more, which finds the queue as long as it gets.
    let after = |at: u64| {
        let come = (0..9)
            .flat_map(|packet| comes(0, packet))
            .collect::<Vec<_>>();
        let rest = (0..9).flat_map(|packet| goes(packet, [packet, packet + 1]));
        let mut events: Vec<_> = come
            .into_iter()
            .chain(rest)
            .chain(comes(at, 9))
            .chain(early(at, 9))
            .chain(ends(at.max(9)))
            .collect();
        events.sort_by_key(|(time, event)| {
            (
                *time,
                matches!(event, Event::Transmit { .. }),
                matches!(event, Event::End { .. }),
            )
        });
        check(&story(record(short, Order::PerFlow, false), &events))
    };
    assert_eq!(after(1).unwrap().dropped, 1);
    assert_refused(
        after(500),
        "the average queue is 0 bytes at most, and min is 2048",
    );
}

/// A packet is refused for its length or its flow's number, or at bounds of the discipline (sfq).
#[test]
fn a_queue_refuses_what_it_cannot_take() {
    let refused = |queue: &str, len, longest, others: u64| {
        let come = (0..others).flat_map(|packet| comes(0, packet));
        let packet = others;
        let own = [
            (
                0,
                Event::Send {
                    packet,
                    flow: 1,
                    len,
                    back: false,
                },
            ),
            (0, Event::Arrive { packet, link: 0 }),
            (
                0,
                Event::Drop {
                    packet,
                    link: 0,
                    reason: "refused".to_owned(),
                },
            ),
        ];
        let open = (
            0,
            Event::Open {
                flow: 1,
                from: 0,
                to: 1,
                edge: false,
                longest,
            },
        );
        let rest = (0..others).flat_map(|packet| goes(packet, [packet, packet + 1]));
        let end = [(others, Event::End { open: 2 })];
        check(&story(
            record(queue, Order::PerFlow, false),
            &std::iter::once(open)
                .chain(come)
                .chain(own)
                .chain(rest)
                .chain(end)
                .collect::<Vec<_>>(),
        ))
    };
    for (queue, len, longest, others) in [
        ("wf2q_plus", 65_537, None, 0),
        ("qfq", 2049, None, 0),
        ("qfq", 1515, Some(1514), 0),
        ("sfq flows 1", 1000, None, 1),
    ] {
        assert_eq!(
            refused(queue, len, longest, others)
                .unwrap_or_else(|error| panic!("{queue}: {error}"))
                .dropped,
            1
        );
    }
    for (queue, len, longest, others) in [
        ("wf2q_plus", 65_536, None, 0),
        ("wf2q_plus", 1000, None, 1),
        ("drr", 1000, None, 1),
        ("qfq", 2048, None, 0),
        ("qfq", 1514, Some(1514), 0),
        ("sfq flows 1", 1000, None, 0),
    ] {
        assert_refused(refused(queue, len, longest, others), "refuses no packet of");
    }
    assert_refused(
        refused("red", 1000, None, 0),
        "red drops no packet as refused",
    );
}

/// An empty fifo without a limit drops nothing, for whatever reason.
#[test]
fn an_unlimited_fifo_drops_nothing() {
    let plain = LinkRecord {
        limit: Limits {
            packets: None,
            bytes: None,
        },
        ..record("fifo", Order::Fifo, false)
    };
    for (reason, message) in [
        ("early", "fifo drops no packet as early"),
        ("refused", "fifo drops no packet as refused"),
        ("full", "the queue has room for it"),
        ("pushed_out", "fifo drops no packet as pushed_out"),
    ] {
        let drop = [(
            0,
            Event::Drop {
                packet: 0,
                link: 0,
                reason: reason.to_owned(),
            },
        )];
        let log = story(plain.clone(), &[&comes(0, 0)[..], &drop, &ends(0)].concat());
        assert_refused(check(&log), message);
    }
}

#[test]
fn lies_are_found() {
    for (name, lie) in LIES {
        let mut told = 0;
        for seed in 0..60 {
            let log = simulate_all(seed);
            let (header, rest) = log.split_once('\n').unwrap();
            let mut lines: Vec<Line> = rest
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            if !lie(&mut lines) {
                continue;
            }
            let text: String = lines
                .iter()
                .map(|line| serde_json::to_string(line).unwrap() + "\n")
                .collect();
            assert!(
                check(&format!("{header}\n{text}")).is_err(),
                "{name}, seed {seed}: not found"
            );
            told += 1;
        }
        assert!(told > 5, "{name}: told only {told} times");
    }
}

/// Several faults are reported once each, with line numbers; lines after a fault are still checked.
#[test]
fn each_fault_is_told_once() {
    let mut told = 0;
    for seed in 0..60 {
        let log = simulate_all(seed);
        let mut lines: Vec<_> = log.lines().map(str::to_owned).collect();
        // Two packets delivered twice.
        let places: Vec<_> = (1..lines.len())
            .filter(|at| lines[*at].contains(r#""event":"deliver""#))
            .collect();
        let [first, .., last] = places[..] else {
            continue;
        };
        let twice = lines[last].clone();
        lines.insert(last, twice);
        let twice = lines[first].clone();
        lines.insert(first, twice);
        let faults = inspect((lines.join("\n") + "\n").as_bytes(), 10)
            .unwrap()
            .faults;
        let found: Vec<_> = faults.iter().map(|fault| fault.line).collect();
        assert_eq!(
            found,
            [first as u64 + 2, last as u64 + 3],
            "seed {seed}: {faults:?}"
        );
        told += 1;
    }
    assert!(told > 30, "told only {told} times");
}

/// Two packets in the wrong order are a fault in a FIFO queue, and no fault in a queue without a
/// promise. A log may not promise less than the discipline does.
#[test]
fn order_is_checked_where_it_is_promised() {
    let log = |queue: &str, order: &str| {
        let link = format!(
            r#"{{"from":0,"to":1,"rate":8000000,"delay":0,"jitter":0,"overhead":0,"loss":0,"queue":"{queue}","limit":{{"packets":9,"bytes":null}},"order":"{order}","preempts":false}}"#
        );
        let events = [
            r#"{"time":0,"event":"open","flow":0,"from":0,"to":1}"#,
            r#"{"time":0,"event":"send","packet":0,"flow":0,"len":1000,"back":false}"#,
            r#"{"time":0,"event":"arrive","packet":0,"link":0}"#,
            r#"{"time":0,"event":"send","packet":1,"flow":0,"len":1000,"back":false}"#,
            r#"{"time":0,"event":"arrive","packet":1,"link":0}"#,
            r#"{"time":0,"event":"transmit","packet":1,"link":0,"end":1000000000}"#,
            r#"{"time":1000000000,"event":"deliver","packet":1}"#,
            r#"{"time":1000000000,"event":"transmit","packet":0,"link":0,"end":2000000000}"#,
            r#"{"time":2000000000,"event":"deliver","packet":0}"#,
            r#"{"time":2000000000,"event":"end","open":1}"#,
        ];
        format!(
            "{{\"format\":4,\"nodes\":2,\"links\":[{link}]}}\n{}\n",
            events.join("\n")
        )
    };
    assert!(
        check(&log("fifo", "fifo"))
            .unwrap_err()
            .to_string()
            .starts_with("line 7: the packet overtakes")
    );
    assert_refused(
        check(&log("drr quantum 500", "per_flow")),
        "line 7: the packet overtakes",
    );
    assert_eq!(check(&log("random", "any")).unwrap().delivered, 2);
    assert_refused(
        check(&log("fifo", "any")),
        "line 1: link 0: the order of fifo is fifo, not any",
    );
    assert_refused(
        check(&log("drr", "any")),
        "line 1: link 0: the order of drr is per_flow, not any",
    );
    assert_refused(
        check(&log("lstf preempt", "any")),
        "line 1: link 0: lstf preempt interrupts packets",
    );
    assert_refused(check(&log("fifa", "any")), "line 1: link 0: its queue: ");
}

/// The verifier reads every discipline that a log can name.
#[test]
fn each_discipline_is_read_from_its_log() {
    for discipline in AnyDiscipline::all() {
        let mut network = Network::default();
        let [from, to] = [0; 2].map(|_| network.add_node());
        let queue = discipline.to_string().parse().unwrap();
        network
            .add_link(LinkConfig::new(
                from,
                to,
                Rate::from_bits_per_second(1000).unwrap(),
                Duration::ZERO,
                queue,
            ))
            .unwrap();
        let mut bytes = Vec::new();
        Log::new(&mut bytes, &network)
            .finish(Instant::ZERO)
            .unwrap();
        assert_eq!(
            verify(&bytes[..])
                .unwrap_or_else(|error| panic!("{discipline}: {error}"))
                .events,
            1
        );
    }
}

const MILLISECOND: u64 = 1_000_000_000;

/// A link where 1000 bytes take a millisecond and arrive with the last bit (no delay).
fn record(queue: &str, order: Order, preempts: bool) -> LinkRecord {
    let (queue, wire, limit) = (
        queue.to_owned(),
        0,
        Limits {
            packets: Some(9),
            bytes: None,
        },
    );
    LinkRecord {
        from: 0,
        to: 1,
        rate: 8_000_000,
        trace: None,
        delay: wire,
        jitter: 0,
        overhead: 0,
        mpu: 0,
        framing: String::new(),
        loss: 500_000_000,
        queue,
        limit,
        order,
        preempts,
        decision: 0,
        shaper: None,
    }
}

/// The log of this link, with one flow. Times are in milliseconds.
fn story(link: LinkRecord, events: &[(u64, Event)]) -> String {
    let header = Header {
        format: FORMAT,
        nodes: 2,
        names: Vec::new(),
        links: vec![link],
    };
    let line = |(time, event): &(u64, Event)| Line {
        time: time * MILLISECOND,
        event: event.clone(),
    };
    let open = (
        0,
        Event::Open {
            flow: 0,
            from: 0,
            to: 1,
            edge: false,
            longest: None,
        },
    );
    let lines = std::iter::once(&open)
        .chain(events)
        .map(|event| serde_json::to_string(&line(event)).unwrap() + "\n");
    serde_json::to_string(&header).unwrap() + "\n" + &lines.collect::<String>()
}

/// A packet of 1000 bytes is sent and arrives at the link.
fn comes(at: u64, packet: u64) -> [(u64, Event); 2] {
    [
        (
            at,
            Event::Send {
                packet,
                flow: 0,
                len: 1000,
                back: false,
            },
        ),
        (at, Event::Arrive { packet, link: 0 }),
    ]
}

/// The packet has the link from one millisecond to another and is delivered; on a preemptive link
/// the transmission is logged at the end.
fn goes(packet: u64, [start, end]: [u64; 2]) -> [(u64, Event); 2] {
    [
        (
            start,
            Event::Transmit {
                packet,
                link: 0,
                end: end * MILLISECOND,
            },
        ),
        (end, Event::Deliver { packet }),
    ]
}

fn ends(at: u64) -> [(u64, Event); 1] {
    [(at, Event::End { open: 1 })]
}

/// Checks the log of a preemptive link.
fn preempting(events: &[&[(u64, Event)]]) -> Result<Verified, VerifyError> {
    check(&story(
        record("lstf preempt", Order::Any, true),
        &events.concat(),
    ))
}

fn assert_refused(result: Result<Verified, VerifyError>, message: &str) {
    let error = result.expect_err(message).to_string();
    assert!(error.contains(message), "{error}");
}

/// Five packets that arrive at a link at 100 ms need five milliseconds, however long the link was
/// idle before.
#[test]
fn a_link_that_interrupts_packets_does_not_save_up_time() {
    let come: Vec<_> = (0..5).flat_map(|packet| comes(100, packet)).collect();
    let told = |last: fn(u64) -> u64| -> Vec<_> {
        (0..5)
            .flat_map(|packet| goes(packet, [last(packet); 2]))
            .collect()
    };
    assert_eq!(
        preempting(&[&come, &told(|packet| 101 + packet), &ends(105)])
            .unwrap()
            .delivered,
        5
    );
    assert_refused(
        preempting(&[&come, &told(|_| 101), &ends(101)]),
        "more than the link had since the arrival",
    );
}

/// A preemptive link must send everything within the sum of all transmission times, in any order; a
/// dropped packet needs no link time.
#[test]
fn a_link_that_interrupts_packets_does_not_rest() {
    let (come, pushed_out) = (
        [comes(0, 0), comes(0, 1)].concat(),
        [(
            0,
            Event::Drop {
                packet: 1,
                link: 0,
                reason: "pushed_out".to_owned(),
            },
        )],
    );
    let (first, second) = (|at| goes(0, [at; 2]), |at| goes(1, [at; 2]));
    assert_eq!(
        preempting(&[&come, &second(1), &first(2), &ends(9)])
            .unwrap()
            .delivered,
        2
    );
    assert_eq!(
        preempting(&[&come, &second(2), &first(2), &ends(9)])
            .map(|all| all.delivered)
            .ok(),
        Some(2),
        "both were interrupted"
    );
    let message = "the link should have sent all that waits by";
    assert_refused(
        preempting(&[&come, &second(1), &first(3), &ends(9)]),
        message,
    );
    assert_refused(preempting(&[&come, &second(1), &ends(9)]), message);
    assert_refused(
        preempting(&[&come, &second(1), &comes(5, 2), &ends(5)]),
        message,
    );
    let limit = Limits {
        packets: Some(1),
        bytes: None,
    };
    let full = |events: &[&[(u64, Event)]]| {
        check(&story(
            LinkRecord {
                limit,
                ..record("lstf preempt", Order::Any, true)
            },
            &events.concat(),
        ))
    };
    assert_eq!(
        full(&[&come, &pushed_out, &first(1), &ends(9)])
            .unwrap()
            .dropped,
        1
    );
    assert_refused(full(&[&come, &pushed_out, &first(2), &ends(9)]), message);
}

/// A link with a decision cost of 2 ms may be idle for 2 ms before a packet, and no longer; a link
/// without may not be idle.
#[test]
fn a_link_that_decides_stands_still_for_its_decisions() {
    let deciding = |decision, starts: u64| {
        let link = LinkRecord {
            decision,
            ..record("fifo", Order::Fifo, false)
        };
        let events = [
            comes(0, 0).to_vec(),
            goes(0, [starts, starts + 1]).to_vec(),
            ends(20).to_vec(),
        ];
        check(&story(link, &events.concat()))
    };
    for (decision, starts) in [(0, 0), (2 * MILLISECOND, 2)] {
        deciding(decision, starts).unwrap_or_else(|error| panic!("{starts} ms: {error}"));
    }
    assert_refused(
        deciding(2 * MILLISECOND, 0),
        "the link's first decision lasts until 2000000000",
    );
    assert_refused(
        deciding(0, 2),
        "the link rests from 0 on while packet 0 waits",
    );
    assert_refused(
        deciding(2 * MILLISECOND, 3),
        "the link rests from 2000000000 on while packet 0 waits",
    );
    let link = LinkRecord {
        decision: 1,
        ..record("lstf preempt", Order::Any, true)
    };
    assert!(matches!(
        check(&story(link, &ends(0))),
        Err(VerifyError::Format { .. })
    ));
}

/// A queue never exceeds its limit, and drops a packet as full or pushed out only at an arrival
/// beyond the limit.
#[test]
fn a_full_queue_is_full() {
    let told = |packets, bytes, events: &[&[(u64, Event)]]| {
        let limit = Limits { packets, bytes };
        check(&story(
            LinkRecord {
                limit,
                ..record("drr", Order::PerFlow, false)
            },
            &events.concat(),
        ))
    };
    let dropped = |at, packet, reason: &str| {
        [(
            at,
            Event::Drop {
                packet,
                link: 0,
                reason: reason.to_owned(),
            },
        )]
    };
    let come: Vec<_> = (0..3).flat_map(|packet| comes(0, packet)).collect();
    let (first, second) = (goes(0, [0, 1]), goes(1, [1, 2]));
    for (packets, bytes) in [(Some(2), None), (None, Some(2999))] {
        assert_eq!(
            told(
                packets,
                bytes,
                &[&come, &dropped(0, 2, "full"), &first, &second, &ends(2)]
            )
            .unwrap()
            .dropped,
            1
        );
        // Of packets 1, 2 and 3 the first waits already when the others arrive.
        let later = [&come[..4], &first, &comes(1, 2), &comes(1, 3)].concat();
        let full = |victim, reason| {
            let [third, fourth] = if victim == 1 { [2, 3] } else { [1, 2] };
            told(
                packets,
                bytes,
                &[
                    &later,
                    &dropped(1, victim, reason),
                    &goes(third, [1, 2]),
                    &goes(fourth, [2, 3]),
                    &ends(3),
                ],
            )
        };
        assert_eq!(full(1, "pushed_out").unwrap().dropped, 1);
        assert_eq!(full(3, "full").unwrap().dropped, 1);
        assert_refused(full(1, "full"), "the packet waits already");
        assert_refused(
            full(3, "pushed_out"),
            "the packet arrives: the queue is full for it",
        );
        let all = [&come[..], &first, &second, &goes(2, [2, 3]), &ends(3)];
        assert_refused(
            told(packets, bytes, &all),
            "3 packets of 3000 bytes wait, and the queue holds",
        );
        assert_eq!(
            told(
                packets.map(|most| most + 1),
                bytes.map(|most| most + 1),
                &all
            )
            .unwrap()
            .delivered,
            3
        );
        assert_refused(
            told(
                packets,
                bytes,
                &[&come[..4], &dropped(0, 1, "full"), &first, &ends(1)],
            ),
            "has room for it",
        );
        let late = [
            &come[..4],
            &first[..1],
            &dropped(1, 1, "full"),
            &first[1..],
            &ends(1),
        ];
        assert_refused(
            told(packets, bytes, &late),
            "no packet arrives at the queue",
        );
    }
    let alone = |reason| {
        told(
            Some(2),
            None,
            &[&comes(0, 0), &dropped(0, 0, reason), &ends(1)],
        )
    };
    assert_refused(alone("full"), "has room for it");
    assert_refused(alone("pushed_out"), "no other packet to push it out");
    assert_eq!(
        told(
            Some(0),
            None,
            &[&comes(0, 0), &dropped(0, 0, "full"), &ends(1)]
        )
        .unwrap()
        .dropped,
        1
    );
}

/// The largest number is reserved: two packets could otherwise both have this number.
#[test]
fn a_number_is_given_once() {
    let fifo = |events: &[&[(u64, Event)]]| {
        check(&story(record("fifo", Order::Fifo, false), &events.concat()))
    };
    let (most, open) = (
        u64::MAX,
        [(
            0,
            Event::Open {
                flow: u64::MAX,
                from: 0,
                to: 1,
                edge: false,
                longest: None,
            },
        )],
    );
    assert_refused(
        fifo(&[&comes(0, most), &ends(1)]),
        "is too large: legal range 0 to",
    );
    assert_refused(fifo(&[&open, &ends(1)]), "is too large: legal range 0 to");
    assert_refused(
        fifo(&[&comes(0, most - 1), &goes(most - 1, [0, 1]), &ends(1)]),
        "the next packet is 0: numbers do not skip",
    );
    assert_refused(
        fifo(&[&comes(0, 0), &goes(0, [0, 1]), &comes(1, 0), &ends(1)]),
        "there has been a packet 0 before",
    );
}

/// A packet is lost when it goes on the wire (on a preemptive link, when it has left), not at the
/// expected arrival.
#[test]
fn a_packet_is_lost_in_its_time() {
    let lost = |at| [(at, Event::Lose { packet: 0, link: 0 })];
    let (fifo, lstf) = (
        record("fifo", Order::Fifo, false),
        record("lstf preempt", Order::Any, true),
    );
    for (link, told, end) in [(fifo, 0, 1), (lstf, 1, 1)] {
        let link = LinkRecord {
            delay: 5 * MILLISECOND,
            ..link
        };
        let told_at = |at| {
            check(&story(
                link.clone(),
                &[
                    &comes(0, 0)[..],
                    &goes(0, [told, end])[..1],
                    &lost(at),
                    &ends(9),
                ]
                .concat(),
            ))
        };
        assert_eq!(told_at(told).unwrap().lost, 1);
        assert_refused(told_at(told + 1), "is lost then or not at all");
        assert_refused(told_at(9), "is lost then or not at all");
    }
}

#[test]
fn what_is_no_log_is_refused_with_its_line() {
    let (log, _) = simulate(1);
    let cases = [
        ("", "line 1: the log is empty"),
        (
            "{}",
            "line 1: not a simulation log: the first line is not a log's (missing field `format`",
        ),
        (
            "duration = \"1s\"",
            "line 1: not a simulation log: the first line is not a log's (expected value",
        ),
        (
            "\u{a}\u{d}",
            "line 1: not a simulation log: the first line is not a log's (EOF while",
        ),
        (
            &log[..log.find('\n').unwrap() / 2],
            "line 1: not a simulation log: it is cut off (EOF while",
        ),
        (
            &log.replacen("\"format\":4", "\"format\":3", 1),
            "line 1: format 3, and this version reads 4: write the log anew with `roundelay simulate",
        ),
        (
            &log.replacen("\"format\":4", "\"new\":{},\"format\":5", 1),
            "line 1: format 5, and this version reads 4: ",
        ),
        (
            &log.replacen("\"rate\":", "\"rats\":", 1),
            "line 1: unknown field",
        ),
    ];
    for (text, message) in cases {
        let error = check(text).expect_err("no log").to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

/// A truncated log has no end, and earlier faults are reported too.
#[test]
fn a_log_that_is_cut_off_stops_without_an_end() {
    let (log, _) = simulate(1);
    let lines = log.lines().count() as u64;
    let cut = inspect(&log.as_bytes()[..log.len() - 20], 10).unwrap();
    assert_eq!(cut.faults.len(), 1, "{:?}", cut.faults);
    assert_eq!(
        (
            cut.faults[0].line,
            cut.faults[0]
                .what
                .starts_with("the log stops in the middle of this line without an end")
        ),
        (lines, true)
    );
    let whole_lines = &log[..log.trim_end().rfind('\n').unwrap() + 1];
    let cut = inspect(whole_lines.as_bytes(), 10).unwrap();
    assert_eq!(
        (
            cut.faults[0].line,
            cut.faults[0]
                .what
                .starts_with("the log stops without an end")
        ),
        (lines - 1, true)
    );
}

/// A link slower than logged is reported once; later faults of this link are counted.
#[test]
fn one_fault_does_not_bury_itself_in_its_wake() {
    let mut told = 0;
    for seed in 0..60 {
        let log = simulate_all(seed);
        let (header, rest) = log.split_once('\n').unwrap();
        let mut header: Header = serde_json::from_str(header).unwrap();
        // The busiest link without preemption.
        let sent = |link: u32| rest.matches(&format!("\"link\":{link},\"end\"")).count();
        let Some(link) = (0..header.links.len() as u32)
            .filter(|link| !header.links[*link as usize].preempts)
            .max_by_key(|link| sent(*link))
        else {
            continue;
        };
        if sent(link) < 20 {
            continue;
        }
        header.links[link as usize].rate *= 2;
        let text = serde_json::to_string(&header).unwrap() + "\n" + rest;
        let faults = inspect(text.as_bytes(), 10).unwrap().faults;
        assert!(
            faults.len() == 1 && faults[0].link == Some(link),
            "seed {seed}: {faults:?}"
        );
        assert!(
            faults[0].wake + 1 >= sent(link) as u64 / 2,
            "seed {seed}: {faults:?} of {}",
            sent(link)
        );
        told += 1;
    }
    assert!(told > 20, "told only {told} times");
}
