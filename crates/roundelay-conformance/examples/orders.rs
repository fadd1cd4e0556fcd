//! Departure orders of disciplines, for the comparison with Linux qdiscs in `peers/linux`.
//!
//! `orders < CASES`: the cases of `peers/linux/orders.c`, read here with three more kinds of lines
//! instead of the commands (`$`): `ours DISCIPLINE`, as in `roundelay compare`; `class CLASS WEIGHT
//! MAXPKT`; and, before `ours`, `seed NUMBER` for its random numbers (1 without this line). Prints
//! a line for each case: its name, then the number of each departing packet in order, with `!`
//! behind if the discipline marked the packet.

use std::error::Error;
use std::fmt::Write as _;
use std::io::{self, BufRead as _};

use roundelay::schedulers::{AnyScheduler, Priority};
use roundelay::{Buffer, Ecn, FlowConfig, FlowId, Hosts, Instant, Packet, QueueSpec, Rate};
use roundelay::{Control, Seed};

/// Numbers of classes from here on are priorities, without a class.
const PRIORITY: u32 = 1000;

/// A packet: its number, and whether it was sent with CE.
type Sent = (u32, bool);

/// A scheduler, its buffer and a link that is released by hand.
struct Case {
    buffer: Buffer<AnyScheduler<Sent>>,
    /// The flow of each class: for a discipline with hashed flows one in the queue of this number.
    flows: Vec<FlowId>,
    reads_code_points: bool,
    now: Instant,
    arrived: u32,
    is_busy: bool,
    line: String,
}

impl Case {
    fn new(name: &str, discipline: &str, seed: u64) -> Result<Self, Box<dyn Error>> {
        let queue: QueueSpec = discipline.parse()?;
        let mut scheduler: AnyScheduler<Sent> = queue.discipline.build(Seed::new(seed))?;
        scheduler.set_link_rate("10mbit".parse::<Rate>()?);
        let buffer = Buffer::new(queue.limit_or_default(), scheduler);
        Ok(Self {
            buffer,
            flows: Vec::new(),
            reads_code_points: queue.discipline.info().priority == Priority::CodePoint,
            now: Instant::ZERO,
            arrived: 0,
            is_busy: false,
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

    fn arrive(&mut self, class: u32, flow: u32, len: u32, type_of_service: u32) {
        let ecn = type_of_service & 3;
        let flow = if class == 0 || class >= PRIORITY {
            FlowId(flow)
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
        }
    }

    fn finish(mut self) {
        while self.is_busy {
            self.choose();
        }
        println!("{}", self.line);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut name, mut case, mut seed) = (String::new(), None::<Case>, 1);
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
                seed = 1;
            }
            ("seed", [number]) => seed = u64::from(*number),
            ("ours", _) => case = Some(Case::new(&name, rest, seed)?),
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
                case.buffer
                    .scheduler_mut()
                    .set_hosts(FlowId(*flow), hosts)?;
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
            ("t", [micros]) => {
                case.as_mut().ok_or_else(error)?.now =
                    Instant::from_nanos(u64::from(*micros) * 1000)
            }
            _ => return Err(error().into()),
        }
    }
    if let Some(case) = case {
        case.finish();
    }
    Ok(())
}
