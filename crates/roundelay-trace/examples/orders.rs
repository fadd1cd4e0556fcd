//! Departure orders of disciplines, for the comparison with Linux qdiscs in `peers/linux`.
//!
//! `orders < CASES`: the cases of `peers/linux/orders.c`, read here with three more kinds of lines
//! instead of the commands (`$`): `ours DISCIPLINE`, as in `roundelay compare`; `class CLASS WEIGHT
//! MAXPKT`; and, before `ours`, `seed NUMBER` for its random numbers (1 without this line). In the
//! place of `ours` may stand `node CLASS PARENT RATE CEIL BURST CBURST PRIO QUANTUM INNER` for each
//! class of an htb (parent 0: the root; inner 1: it has children), or `curves CLASS PARENT INNER` and
//! nine numbers for each of an hfsc: m1, d in microseconds and m2 of `rt`, `ls` and `ul`, with zeros
//! for none. `grown` stands behind the last one. Other trees begin with `root DISCIPLINE`, and have
//! `child CLASS PARENT PRIORITY INNER` for a class of something else; `of DISCIPLINE` before a class
//! says what is in it, if it has children and is none of the same htb or hfsc, or if it is a leaf
//! that is not first in, first out. `flow FLOW CLASS` sends another flow to a leaf than that of its
//! number, and `weight NUMBER` before a class is its weight. `file PATH`, in place of all these, is a
//! tree's file, whose rules find the leaf of a flow by its headers: `from FLOW PROTOCOL SOURCE
//! DESTINATION SOURCEPORT DESTINATIONPORT CODEPOINT`, with `ack` behind if the flow is all short
//! acknowledgements.
//!
//! `rate BITS`, before `ours`, gives the case a link of this rate, as `peers/linux/virtual/timed.c`
//! has it: the link takes the next packet when it has sent the one before, and `d` is no longer needed.
//! `late NANOSECONDS`, after `ours`, is how much later than that the scheduler is asked. `made
//! NANOSECONDS`, after `ours`, is how long before the case's begin its queue was made. `r BITS` is the
//! link's rate from this time on, and `x DISCIPLINE` has other settings from this time on.
//! `q FLOW QUEUE` gives a flow this queue of a discipline with hashed flows: another flow number, whose
//! hash it is, takes the flow's place. `s HEX` is the TCP header of the next packet, read as one of a
//! capture.
//!
//! Prints a line for each case: its name, then the number of each departing packet in order, with
//! `!` behind if the discipline marked the packet, and with a link `@` and the nanosecond at which
//! it begins to send the packet.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufRead as _};

use roundelay::schedulers::{AnyDiscipline, AnyScheduler, Priority};
use roundelay::tree::{Config, Node, Service, hfsc, htb, only_classes};
use roundelay::{Buffer, Duration, Ecn, FlowConfig, FlowId, Hosts, Instant, Limit, Packet};
use roundelay::{Control, QueueSpec, Rate, Scheduler as _, Seed};
use roundelay_trace::{Frame, Headers, LinkType, Ports, Tap, TreeFile};

/// Numbers of classes from here on are priorities, without a class.
const PRIORITY: u32 = 1000;

/// The time at which a case begins, so that its queue can be older: a multiple of the clocks' ticks of
/// Linux's qdiscs.
const BEGIN: Instant = Instant::from_nanos(1 << 34);

/// How long a case with a link goes on after its last arrival.
const TAIL: Duration = Duration::from_secs(20);

/// A packet: its number, and whether it was sent with CE.
type Sent = (u32, bool);

/// A scheduler, its buffer and a link that is released by hand, or that has a rate.
struct Case {
    buffer: Buffer<AnyScheduler<Sent>>,
    /// The flow of each class: for a discipline with hashed flows one in the queue of this number.
    flows: Vec<FlowId>,
    /// The flow that stands for one whose queue is given.
    placed: BTreeMap<u32, FlowId>,
    /// The TCP header of the next packet. Empty: it has none.
    segment: Vec<u8>,
    reads_code_points: bool,
    now: Instant,
    arrived: u32,
    is_busy: bool,
    /// The link's rate, if it has one, and when it has sent the packet on it.
    rate: Option<Rate>,
    free_at: Instant,
    /// How much later than that, or than a shaper's time, the next packet is chosen.
    late: Duration,
    line: String,
}

impl Case {
    fn new(
        name: &str,
        discipline: &str,
        seed: u64,
        rate: Option<Rate>,
    ) -> Result<Self, Box<dyn Error>> {
        Self::of(name, &discipline.parse()?, seed, rate)
    }

    fn of(
        name: &str,
        queue: &QueueSpec,
        seed: u64,
        rate: Option<Rate>,
    ) -> Result<Self, Box<dyn Error>> {
        let mut scheduler: AnyScheduler<Sent> = queue.discipline.build(Seed::new(seed))?;
        scheduler.set_link_rate("10mbit".parse::<Rate>()?);
        let buffer = Buffer::new(queue.limit_or_default(), scheduler);
        Ok(Self {
            buffer,
            flows: Vec::new(),
            placed: BTreeMap::new(),
            segment: Vec::new(),
            reads_code_points: queue.discipline.info().priority == Priority::CodePoint,
            now: BEGIN,
            arrived: 0,
            is_busy: false,
            rate,
            free_at: BEGIN,
            late: Duration::ZERO,
            line: name.to_owned(),
        })
    }

    fn flow(&mut self, class: usize) -> FlowId {
        while self.flows.len() <= class {
            let wanted = self.flows.len().saturating_sub(1);
            let scheduler = self.buffer.scheduler();
            let is_alone = |flow: &FlowId| {
                scheduler
                    .queues_of(*flow)
                    .first()
                    .is_none_or(|queue| *queue == wanted)
            };
            let flow = if scheduler.queues_of(FlowId(0)).len() == 1 {
                (0..).map(FlowId).find(is_alone)
            } else {
                None
            };
            self.flows
                .push(flow.unwrap_or(FlowId(self.flows.len() as u32)));
        }
        self.flows[class]
    }

    /// Finds a flow number with this queue, which none of the flows before has.
    fn place(&mut self, flow: u32, queue: usize) -> Result<(), Box<dyn Error>> {
        for number in (0..=FlowId::LARGEST_TABLED.0).map(FlowId) {
            let is_taken = self.placed.values().any(|taken| *taken == number);
            if !is_taken && self.buffer.scheduler().queues_of(number) == [queue] {
                self.placed.insert(flow, number);
                return Ok(());
            }
        }
        Err(format!("no flow has queue {queue}").into())
    }

    fn placed(&self, flow: u32) -> FlowId {
        self.placed.get(&flow).copied().unwrap_or(FlowId(flow))
    }

    /// Tells the scheduler what the segment acknowledges, from a frame as a capture has it.
    fn acknowledge(&mut self, flow: u32, len: u32) {
        let mut frame = vec![0x45, 0];
        frame.extend((len as u16).to_be_bytes());
        frame.extend([0, 1, 0, 0, 64, 6, 0, 0, 10]);
        frame.extend(&flow.to_be_bytes()[1..]);
        frame.extend([10, 255, 0, 1]);
        frame.append(&mut self.segment);
        let frame = Frame {
            time_nanos: 0,
            original_len: len,
            link: LinkType::RAW,
            bytes: &frame,
            tap: Tap::default(),
        };
        let ack = frame.acknowledgement();
        let flow = self.placed(flow);
        self.buffer
            .scheduler_mut()
            .set_acknowledgement(flow, ack.as_ref());
    }

    /// Lets the link send what it can before this time.
    fn advance(&mut self, until: Instant) {
        loop {
            let next = if self.is_busy {
                Some(self.free_at)
            } else {
                self.buffer.scheduler().ready_at()
            };
            match next {
                Some(at) if at + self.late < until => self.now = self.now.max(at + self.late),
                _ => break,
            }
            self.choose();
        }
        self.now = until;
    }

    fn arrive(&mut self, class: u32, flow: u32, len: u32, type_of_service: u32) {
        if !self.segment.is_empty() {
            self.acknowledge(flow, len);
        }
        let ecn = type_of_service & 3;
        let flow = if class == 0 || class >= PRIORITY {
            self.placed(flow)
        } else {
            self.flow(class as usize)
        };
        let mut packet = Packet::new(flow, len, (self.arrived, ecn == 3));
        packet.arrival = self.now;
        packet.priority = match class {
            _ if self.reads_code_points => type_of_service >> 2,
            0 => 0,
            1..PRIORITY => class - 1,
            _ => class - PRIORITY,
        };
        packet.ecn = [Ecn::NotCapable, Ecn::Capable, Ecn::Capable, Ecn::Marked][ecn as usize];
        self.arrived += 1;
        self.buffer.enqueue(self.now, packet, |_, _| {});
        if !self.is_busy {
            self.choose();
        }
    }

    fn choose(&mut self) {
        // A packet behind another one begins at its end, and not when it is chosen.
        let start = if self.is_busy { self.free_at } else { self.now };
        let packet = self.buffer.dequeue(self.now, |_, _| {});
        self.is_busy = packet.is_some();
        if let Some(packet) = packet {
            let (number, was_marked) = packet.payload;
            let mark = if packet.ecn == Ecn::Marked && !was_marked {
                "!"
            } else {
                ""
            };
            _ = write!(self.line, " {number}{mark}");
            if let Some(rate) = self.rate {
                _ = write!(self.line, "@{}", start.since(BEGIN).as_picos() / 1000);
                self.free_at = start + rate.time_of(packet.len.into());
            }
        }
    }

    /// Other settings at this time.
    fn change(&mut self, written: &str) -> Result<(), Box<dyn Error>> {
        let spec: QueueSpec = written.parse()?;
        spec.discipline.reconfigure(self.buffer.scheduler_mut())?;
        Ok(())
    }

    fn finish(mut self) {
        if self.rate.is_some() {
            self.advance(self.now + TAIL);
        } else {
            while self.is_busy {
                self.choose();
            }
        }
        println!("{}", self.line);
    }
}

/// The node of a class of this number, first in, first out if it has no children.
fn node(number: u32, service: Service) -> Result<Node, Box<dyn Error>> {
    Ok(Node {
        service,
        max_packet_len: FlowConfig::MAX_PACKET_LEN,
        ..Node::new(&number.to_string(), "fifo limit 100000".parse()?)
    })
}

/// The tree of a case as far as it is read, and the discipline of its next class, if one is written.
#[derive(Default)]
struct Growing {
    tree: Option<Config>,
    file: Option<TreeFile>,
    next: Option<QueueSpec>,
    weight: Option<u32>,
}

/// A discipline, those of classes included.
fn spec(text: &str) -> Result<QueueSpec, Box<dyn Error>> {
    Ok(QueueSpec::read(text, &only_classes())?)
}

/// Adds a class of this discipline. The first one makes the tree.
fn add_class(
    growing: &mut Growing,
    discipline: AnyDiscipline,
    node: Node,
    (parent, inner): (u32, u32),
) -> Result<(), Box<dyn Error>> {
    let mut spec = QueueSpec {
        discipline,
        limit: None,
    };
    if growing.tree.is_none() {
        growing.tree = Some(Config::new(Node::new("0", spec.clone()))?);
    }
    let tree = growing.tree.as_mut().ok_or("no tree")?;
    let parent = parent.to_string();
    let written = growing.next.take();
    let node = Node {
        weight: growing.weight.take().unwrap_or(1),
        ..node
    };
    if inner == 1 {
        spec = written.unwrap_or(spec);
        return Ok(tree.add_class(&parent, Node { spec, ..node })?);
    }
    let mut node = node;
    if let Some(written) = written {
        node.spec = written;
    }
    let name = node.name.clone();
    tree.add_leaf(&parent, node)?;
    tree.assign(FlowId(name.parse()?), &name)?;
    Ok(tree.set_default(&name)?)
}

/// Adds a class of an htb.
fn add_rates(growing: &mut Growing, numbers: [u32; 9]) -> Result<(), Box<dyn Error>> {
    let [
        number,
        parent,
        rate,
        ceil,
        burst,
        cburst,
        prio,
        quantum,
        inner,
    ] = numbers;
    let rate_of = |bits: u32| Rate::from_bits_per_second(bits.into()).ok_or("a rate of 0");
    let class = htb::Class {
        ceil: Some(rate_of(ceil)?),
        burst: Some(burst),
        cburst: Some(cburst),
        prio,
        quantum: Some(quantum),
        ..htb::Class::new(rate_of(rate)?)
    };
    let discipline = AnyDiscipline::Htb(htb::Config::default());
    let node = node(number, Service::Htb(class))?;
    add_class(growing, discipline, node, (parent, inner))
}

/// Adds a class of an hfsc.
fn add_curves(growing: &mut Growing, numbers: [u32; 12]) -> Result<(), Box<dyn Error>> {
    let [number, parent, inner, curves @ ..] = numbers;
    let curve = |at: usize| {
        let [m1, d, m2] = [curves[at], curves[at + 1], curves[at + 2]].map(u64::from);
        (m1 + m2 > 0).then_some(hfsc::Curve {
            m1: Rate::from_bits_per_second(m1),
            d: Duration::from_micros(d),
            m2: Rate::from_bits_per_second(m2),
        })
    };
    let class = hfsc::Class {
        rt: curve(0),
        ls: curve(3),
        ul: curve(6),
    };
    let node = node(number, Service::Hfsc(class))?;
    add_class(
        growing,
        AnyDiscipline::Hfsc(hfsc::Config),
        node,
        (parent, inner),
    )
}

/// Sends a flow to the leaf that the rules of the tree's file find.
fn assign_by_rules(growing: &mut Growing, written: &str) -> Result<(), Box<dyn Error>> {
    let file = growing.file.as_ref().ok_or("no file")?;
    let tree = growing.tree.as_mut().ok_or("no tree")?;
    let words = Vec::from_iter(written.split(' '));
    let [
        flow,
        protocol,
        source,
        destination,
        from,
        to,
        dscp,
        more @ ..,
    ] = &words[..]
    else {
        return Err(format!("from {written}").into());
    };
    let headers = Headers {
        source: source.parse()?,
        destination: destination.parse()?,
        protocol: protocol.parse()?,
        source_port: from.parse()?,
        destination_port: to.parse()?,
        ports: Ports::Present,
        dscp: dscp.parse()?,
        ecn: Ecn::NotCapable,
    };
    let leaf = match more {
        ["ack"] => file.leaf_of_acknowledgements(Some(&headers)),
        _ => Some(file.leaf(Some(&headers))),
    };
    let leaf = leaf.ok_or("no rule of acknowledgements")?;
    tree.assign(FlowId(flow.parse()?), leaf)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut name, mut case, mut seed) = (String::new(), None::<Case>, 1);
    let (mut growing, mut rate) = (Growing::default(), None);
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let numbers: Vec<u32> = rest
            .split(' ')
            .map_while(|number| number.parse().ok())
            .collect();
        let error = || format!("'{line}'");
        match (word, &numbers[..]) {
            ("case", _) => {
                if let Some(case) = case.take() {
                    case.finish();
                }
                rest.clone_into(&mut name);
                (seed, rate) = (1, None);
            }
            ("rate", _) => rate = Rate::from_bits_per_second(rest.parse()?),
            ("seed", [number]) => seed = u64::from(*number),
            ("root", _) => growing.tree = Some(Config::new(Node::new("0", spec(rest)?))?),
            ("file", _) => {
                let file = TreeFile::from_toml(rest, &fs::read_to_string(rest)?)?;
                growing.tree = Some(file.config().clone());
                growing.file = Some(file);
            }
            ("from", _) => assign_by_rules(&mut growing, rest)?,
            ("of", _) => growing.next = Some(spec(rest)?),
            ("child", [number, parent, priority, inner]) => {
                let node = Node {
                    priority: *priority,
                    ..node(*number, Service::Shared)?
                };
                let discipline = node.spec.discipline.clone();
                add_class(&mut growing, discipline, node, (*parent, *inner))?;
            }
            ("weight", [weight]) => growing.weight = Some(*weight),
            ("flow", [flow, class]) => {
                let tree = growing.tree.as_mut().ok_or_else(error)?;
                tree.assign(FlowId(*flow), &class.to_string())?;
            }
            ("ours", _) => case = Some(Case::new(&name, rest, seed, rate)?),
            ("node", _) => add_rates(&mut growing, numbers.try_into().map_err(|_| error())?)?,
            ("curves", _) => add_curves(&mut growing, numbers.try_into().map_err(|_| error())?)?,
            ("grown", _) => {
                let queue = QueueSpec {
                    discipline: AnyDiscipline::Tree(growing.tree.take().ok_or_else(error)?),
                    limit: Some(Limit::UNBOUNDED),
                };
                case = Some(Case::of(&name, &queue, seed, rate)?);
            }
            ("class", [class, weight, max_packet_len]) => {
                let case = case.as_mut().ok_or_else(error)?;
                let flow = case.flow(*class as usize);
                let config = FlowConfig {
                    weight: *weight,
                    max_packet_len: *max_packet_len,
                };
                case.buffer.scheduler_mut().set_flow(flow, config)?;
            }
            ("h", [flow, source, destination]) => {
                let hosts = Hosts {
                    source: *source,
                    destination: *destination,
                };
                let case = case.as_mut().ok_or_else(error)?;
                let flow = case.placed(*flow);
                case.buffer.scheduler_mut().set_hosts(flow, hosts)?;
            }
            ("q", [flow, queue]) => {
                let case = case.as_mut().ok_or_else(error)?;
                case.place(*flow, *queue as usize)?;
            }
            ("s", _) => {
                let bytes = rest.as_bytes().chunks(2).map(std::str::from_utf8);
                let case = case.as_mut().ok_or_else(error)?;
                for byte in bytes {
                    case.segment.push(u8::from_str_radix(byte?, 16)?);
                }
            }
            ("a", [class, flow, len, type_of_service @ 0..=255]) => case
                .as_mut()
                .ok_or_else(error)?
                .arrive(*class, *flow, *len, *type_of_service),
            ("d", _) => {
                let case = case.as_mut().ok_or_else(error)?;
                if case.is_busy {
                    case.choose();
                }
            }
            ("r", _) => {
                let case = case.as_mut().ok_or_else(error)?;
                case.rate = Rate::from_bits_per_second(rest.parse()?);
            }
            ("x", _) => case.as_mut().ok_or_else(error)?.change(rest)?,
            ("made", _) => {
                let before: i64 = rest.parse()?;
                let made = Instant::from_nanos((1_u64 << 34).wrapping_add_signed(-before));
                let case = case.as_mut().ok_or_else(error)?;
                case.buffer.dequeue(made, |_, _| {});
            }
            ("late", [nanos]) => {
                let case = case.as_mut().ok_or_else(error)?;
                case.late = Duration::from_nanos(u64::from(*nanos));
            }
            ("t", [micros]) => {
                let case = case.as_mut().ok_or_else(error)?;
                let now = BEGIN + Duration::from_micros(u64::from(*micros));
                if case.rate.is_some() {
                    case.advance(now);
                } else {
                    case.now = now;
                }
            }
            _ => return Err(error().into()),
        }
    }
    if let Some(case) = case {
        case.finish();
    }
    Ok(())
}
