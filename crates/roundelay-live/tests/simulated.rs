//! Worlds agree: a bottleneck at a fake clock and a simulated link give equal departures, drops, marks,
//! losses and arrivals at the far end, at a rate and on a trace, for every registered discipline.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use roundelay::schedulers::Priority;
use roundelay::{
    Billionths, DropReason, Duration, Ecn, FlowConfig, FlowId, Instant, Packet, QueueSpec, Rate,
    Seed,
};
use roundelay_live::{Fate, NoJournal, QueueText, Settings, Way};
use roundelay_sim::{
    Agent, Content, Context, FlowSpec, LinkConfig, LinkId, Network, NodeId, Outgoing, PacketState,
    Probe, Simulation, Tag,
};
use roundelay_trace::LinkTrace;

use crate::fake::{Entry, Run, frames, random, run};
use crate::traces::trace;
use crate::worlds::{WEIGHTS, disciplines, settings, weight};

/// A frame that arrives at a port: the time, the port, the length, the type of service.
type Coming = (Instant, u16, u32, u8);

/// Sends the frames of a run.
struct Player {
    coming: Vec<Coming>,
    next: usize,
    flows: BTreeMap<u16, FlowId>,
    priority: Priority,
}

impl Agent for Player {
    fn wake(&mut self, context: &mut Context<'_>) {
        while let Some((at, port, len, tos)) = self.coming.get(self.next).copied() {
            if at > context.now() {
                return context.wake_at(at);
            }
            let flow = *self.flows.entry(port).or_insert_with(|| {
                let config = FlowConfig {
                    weight: weight(&WEIGHTS.map(str::to_owned), port),
                    max_packet_len: 1514,
                };
                context.open(FlowSpec {
                    from: NodeId(0),
                    to: NodeId(1),
                    config: Some(config),
                })
            });
            let mut packet = Outgoing::new(flow, len);
            packet.content = Content::Number(self.next as u64);
            packet.ecn = match tos & 3 {
                0 => Ecn::NotCapable,
                3 => Ecn::Marked,
                _ => Ecn::Capable,
            };
            match self.priority {
                Priority::Class => packet.priority = 7 - u32::from(tos >> 5),
                Priority::CodePoint => packet.priority = u32::from(tos >> 2),
                _ => {}
            }
            context.send(packet);
            self.next += 1;
        }
    }
}

/// Fates by number, as a run of the bottleneck tells them.
struct Fates {
    came_marked: Vec<bool>,
    all: BTreeMap<u64, Fate>,
}

fn number(state: &PacketState) -> u64 {
    let Content::Number(number) = state.content else {
        panic!("a packet with a number")
    };
    number
}

impl Probe for Fates {
    fn transmitted(
        &mut self,
        _: LinkId,
        packet: &Packet<Tag>,
        state: &PacketState,
        [start, end]: [Instant; 2],
    ) {
        let number = number(state);
        let fate = Fate::Sent {
            start,
            end,
            due: Instant::ZERO,
            marked: packet.ecn == Ecn::Marked && !self.came_marked[number as usize],
            lost: false,
        };
        self.all.insert(number, fate);
    }

    fn dropped(
        &mut self,
        at: Instant,
        _: LinkId,
        _: &Packet<Tag>,
        state: &PacketState,
        reason: DropReason,
    ) {
        self.all.insert(number(state), Fate::Dropped { at, reason });
    }

    fn lost(&mut self, _: Instant, _: LinkId, _: &Packet<Tag>, state: &PacketState) {
        if let Some(Fate::Sent { lost, .. }) = self.all.get_mut(&number(state)) {
            *lost = true;
        }
    }

    fn delivered(&mut self, now: Instant, _: &Packet<Tag>, state: &PacketState) {
        if let Some(Fate::Sent { due, .. }) = self.all.get_mut(&number(state)) {
            *due = now;
        }
    }
}

/// What a simulated link makes of the frames that went up.
fn simulated(run: &Run, queue: &str, settings: &Settings) -> BTreeMap<u64, Fate> {
    let mut coming: Vec<Coming> = Vec::new();
    for entry in &run.entries {
        if let Entry::Arrived {
            way: Way::Up,
            at,
            frame,
            len,
        } = entry
        {
            let port = u16::from_be_bytes([frame[34], frame[35]]);
            coming.push((*at, port, *len, frame[15]));
        }
    }
    let spec: QueueSpec = queue.parse().expect("a discipline");
    let priority = spec.discipline.info().priority;
    let mut network = Network::default();
    let [near, far] = [0; 2].map(|_| network.add_node());
    let own = &settings.up;
    for (from, to) in [(near, far), (far, near)] {
        let rate = Rate::from_bits_per_second(own.rate).expect("a rate");
        let delay = Duration::from_picos(own.delay);
        let mut link = LinkConfig::new(from, to, rate, delay, spec.clone());
        link.jitter = Duration::from_picos(own.jitter);
        link.loss = Billionths(own.loss);
        if let Some((name, text)) = &own.trace {
            let trace = LinkTrace::parse(name, text).expect("a trace");
            let layer = link.layer;
            link.set_trace(Some(trace), layer);
        }
        network.add_link(link).expect("both ends are there");
    }
    let came_marked = coming.iter().map(|(.., tos)| tos & 3 == 3).collect();
    let mut fates = Fates {
        came_marked,
        all: BTreeMap::new(),
    };
    let player = Player {
        coming,
        next: 0,
        flows: BTreeMap::new(),
        priority,
    };
    let probe: &mut dyn Probe = &mut fates;
    let mut simulation =
        Simulation::with_probe(network, Seed::new(settings.seed), probe).expect("legal parameters");
    simulation.spawn(Box::new(player), Instant::ZERO);
    simulation.run(Instant::MAX).expect("a route");
    fates.all
}

/// The fates of the frames that went up; a lost frame is due nowhere.
fn live(run: &Run) -> BTreeMap<u64, Fate> {
    let mut all = BTreeMap::new();
    for entry in &run.entries {
        if let Entry::Fate {
            way: Way::Up,
            number,
            fate,
            ..
        } = entry
        {
            let mut fate = *fate;
            if let Fate::Sent {
                due, lost: true, ..
            } = &mut fate
            {
                *due = Instant::ZERO;
            }
            all.insert(*number, fate);
        }
    }
    all
}

#[test]
fn a_simulated_link_does_to_every_frame_what_a_live_one_does_at_a_rate_and_on_a_trace() {
    let mut counts = [0_u64; 4];
    for (seed, queue) in disciplines().iter().enumerate() {
        for has_trace in [false, true] {
            let mut random = random(seed as u64);
            let mut settings = settings(QueueText::Discipline(queue.clone()), &WEIGHTS);
            settings.up.jitter = Duration::from_millis(2).as_picos();
            settings.up.loss = 20_000_000;
            if has_trace {
                let lines: Vec<_> = trace(&mut random).iter().map(u64::to_string).collect();
                let text = lines.join("\n");
                settings.follow(Way::Up, "x", &text).expect("a trace");
            }
            let frames = frames(4_000, &mut random);
            let no_journal = Arc::new(Mutex::new(NoJournal));
            let late = Duration::from_millis(4);
            let run = run(&settings, &frames, &[], late, &mut random, no_journal);
            let (found, expected) = (live(&run), simulated(&run, queue, &settings));
            assert_eq!(found.len(), expected.len(), "{queue}, trace {has_trace}");
            for (number, fate) in &found {
                assert_eq!(
                    Some(fate),
                    expected.get(number),
                    "{queue}, trace {has_trace}, frame {number}"
                );
            }
            let books = run.bottleneck.books(Way::Up);
            counts[0] += books.arrived;
            counts[1] += books.all_dropped();
            counts[2] += books.marked;
            counts[3] += books.lost;
        }
    }
    let [arrived, dropped, marked, lost] = counts;
    assert!(arrived > 100_000, "{arrived}");
    assert!(
        dropped > 10_000 && marked > 0 && lost > 500,
        "{dropped} dropped, {marked} marked, {lost} lost"
    );
}
