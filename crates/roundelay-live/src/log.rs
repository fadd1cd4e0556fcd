//! The log of a recorded run, in the format that `roundelay verify` checks without knowing the
//! queues' code. Both directions are links in a network with two nodes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use roundelay::{FlowConfig, Instant, LinkLayer, QueueSpec, Rate};
use roundelay_trace::{Classifier, FlowBy, Frame, LinkTrace, LinkType, Queue, Tap, parse};
use roundelay_verify::log::{
    Event, FORMAT, Header, Limits, Line, LinkRecord, Order, ShaperRecord, TraceRecord,
};

use crate::journal::{Fate, Journal};
use crate::recording::{RecordError, Recording};
use crate::replay::{Replayed, replay_with};
use crate::settings::{Change, Settings, SettingsError, Way, wrong};

/// The log of a run, and the replay that wrote it.
pub struct RunLog {
    /// The lines, as `simulate --log` writes them.
    pub text: String,
    /// The replay.
    pub replayed: Replayed,
    /// Changes during the run. The log ends before the first, because a link in a log has only one
    /// rate and one queue.
    pub changes: u64,
}

/// The log of a recorded run, up to the first change.
///
/// # Errors
/// The record is damaged, or its settings are impossible.
pub fn log(recording: Recording) -> Result<RunLog, RecordError> {
    let settings = recording.start().settings.clone();
    let wrong = |error: SettingsError| RecordError::Settings {
        name: recording.name().to_owned(),
        error: error.0.to_string().replace(char::is_control, "\u{fffd}"),
    };
    let links = Way::BOTH.map(|way| link(&settings, way));
    let [up, down] = links;
    let header = Header {
        format: FORMAT,
        nodes: 2,
        names: vec!["near".to_owned(), "far".to_owned()],
        links: vec![up.map_err(wrong)?, down.map_err(wrong)?],
    };
    let writer = Writer::new(&settings).map_err(wrong)?;
    let shared = Arc::new(Mutex::new(writer));
    let replayed = replay_with(recording, Some(Box::new(Shared(Arc::clone(&shared)))))?;
    let mut writer = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let changes = replayed.ways.iter().map(|way| way.changes).sum();
    // Each direction is decided up to some time. The log ends at the earlier of the two, because
    // after it that direction's link would seem idle.
    let decided = match &replayed.end {
        Some(end) => end.until,
        None => writer.last_arrival.map(Instant::as_picos),
    };
    let until = decided[0].min(decided[1]).min(writer.until.as_picos());
    let mut text = to_json(&header);
    for line in cut(std::mem::take(&mut writer.lines), until) {
        text.push_str(&to_json(&line));
    }
    Ok(RunLog {
        text,
        replayed,
        changes,
    })
}

/// The lines before `until`, in the order of time, with the line that ends a log.
fn cut(mut lines: Vec<Line>, until: u64) -> Vec<Line> {
    // Each direction's lines are in the order of events. The sort is stable, so they stay so within
    // an instant.
    lines.sort_by_key(|line| line.time);
    lines.retain(|line| line.time < until);
    number(&mut lines);
    let open = lines
        .iter()
        .filter(|line| matches!(line.event, Event::Open { .. }))
        .count() as u64;
    let last = lines.last().map_or(0, |line| line.time);
    lines.push(Line {
        time: last,
        event: Event::End { open },
    });
    lines
}

/// Numbers packets and flows in the order of their start, as a log does.
fn number(lines: &mut [Line]) {
    let mut packets = HashMap::new();
    let mut flows = HashMap::new();
    for line in lines {
        match &mut line.event {
            Event::Open { flow, .. } => renumber(&mut flows, flow),
            Event::Send { packet, flow, .. } => {
                renumber(&mut packets, packet);
                renumber(&mut flows, flow);
            }
            Event::Arrive { packet, .. }
            | Event::Transmit { packet, .. }
            | Event::Drop { packet, .. }
            | Event::Lose { packet, .. }
            | Event::Deliver { packet } => renumber(&mut packets, packet),
            _ => (),
        }
    }
}

fn renumber(numbers: &mut HashMap<u64, u64>, number: &mut u64) {
    let next = numbers.len() as u64;
    *number = *numbers.entry(*number).or_insert(next);
}

fn to_json(value: &impl serde::Serialize) -> String {
    // This cannot fail, because all keys of maps are texts.
    let mut text = serde_json::to_string(value).unwrap_or_default();
    text.push('\n');
    text
}

fn link(settings: &Settings, way: Way) -> Result<LinkRecord, SettingsError> {
    let own = settings.way(way);
    let queue = own.queue.queue()?;
    let layer = settings.link.layer()?;
    let limit = queue.limit();
    let trace = match &own.trace {
        Some((name, text)) => Some(TraceRecord {
            times: LinkTrace::parse(name, text)
                .map_err(wrong)?
                .times()
                .to_vec(),
            bytes: LinkTrace::bytes(layer),
        }),
        None => None,
    };
    let bound = |limit: u64| (limit < u64::MAX).then_some(limit);
    let (name, order) = match &queue {
        Queue::Discipline(spec) => (own.queue.to_string(), Order::of(spec)),
        Queue::Tree(tree) => {
            let spec = QueueSpec::from(queue.discipline());
            (format!("tree {}", tree.name()), Order::of(&spec))
        }
    };
    let shaper = match Rate::from_bits_per_second(own.rate) {
        Some(rate) => ShaperRecord::of(&queue.discipline(), rate),
        None => None,
    };
    Ok(LinkRecord {
        from: way.index() as u32,
        to: 1 - way.index() as u32,
        rate: own.rate,
        trace,
        delay: own.delay.max(settings.guard),
        jitter: own.jitter,
        overhead: layer.overhead,
        mpu: layer.mpu,
        framing: match layer.framing {
            roundelay::Framing::None => String::new(),
            framing => framing.to_string(),
        },
        loss: own.loss,
        queue: name,
        limit: Limits {
            packets: bound(limit.packets),
            bytes: bound(limit.bytes),
        },
        order,
        preempts: queue.discipline().preempts(),
        decision: 0,
        shaper,
    })
}

/// Writes a run as lines.
struct Writer {
    layer: LinkLayer,
    classifiers: [Classifier; 2],
    /// Numbers of flows in the log, by direction and by number in that direction.
    flows: HashMap<(Way, u32), u64>,
    /// Numbers of packets in the log, by direction.
    packets: [Vec<u64>; 2],
    sent: u64,
    lines: Vec<Line>,
    /// When the first change happens.
    until: Instant,
    /// The last arrival in each direction. The end of time if there is none.
    last_arrival: [Instant; 2],
}

struct Shared(Arc<Mutex<Writer>>);

impl Journal for Shared {
    fn arrived(&mut self, way: Way, at: Instant, frame: &[u8], len: u32) {
        self.lock().arrived(way, at, frame, len);
    }

    fn fate(&mut self, way: Way, number: u64, flow: u32, fate: Fate) {
        self.lock().fate(way, number, flow, fate);
    }

    fn changed(&mut self, _: Way, at: Instant, _: &Change) {
        let mut writer = self.lock();
        writer.until = writer.until.min(at);
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Writer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Writer {
    fn new(settings: &Settings) -> Result<Self, SettingsError> {
        let by: FlowBy = settings.flow_by()?;
        let classifier = Classifier::with_max_flows(by, settings.max_flows as usize);
        Ok(Self {
            layer: settings.link.layer()?,
            classifiers: [classifier.clone(), classifier],
            flows: HashMap::new(),
            packets: [Vec::new(), Vec::new()],
            sent: 0,
            lines: Vec::new(),
            until: Instant::MAX,
            last_arrival: [Instant::MAX; 2],
        })
    }

    fn push(&mut self, at: Instant, event: Event) {
        let time = at.as_picos();
        self.lines.push(Line { time, event });
    }

    /// Logs an arrival: opens the frame's flow if it is new, sends the packet, and lets it arrive.
    fn arrived(&mut self, way: Way, at: Instant, bytes: &[u8], frame_len: u32) {
        let frame = Frame {
            // Neither the flow nor the length depends on it.
            time_nanos: 0,
            original_len: frame_len,
            link: LinkType::ETHERNET,
            bytes,
            tap: Tap::default(),
        };
        self.last_arrival[way.index()] = at;
        let flow = self.flow_of(way, at, &frame);
        let packet = self.sent;
        self.sent += 1;
        self.packets[way.index()].push(packet);
        // The lengths in a log are those from which the link counts.
        let logged_len = if self.layer.raw {
            frame_len
        } else {
            frame.network_len()
        };
        let send = Event::Send {
            packet,
            flow,
            len: logged_len.min(FlowConfig::MAX_PACKET_LEN),
            back: false,
        };
        self.push(at, send);
        let link = way.index() as u32;
        self.push(at, Event::Arrive { packet, link });
    }

    /// The number in the log of a frame's flow. Opens the flow if it is new.
    fn flow_of(&mut self, way: Way, at: Instant, frame: &Frame<'_>) -> u64 {
        let headers = parse(frame.link, frame.bytes);
        let headers = headers.as_ref().map_err(|reason| *reason);
        let number_in_direction = self.classifiers[way.index()].classify(headers).0;
        let new_flow = self.flows.len() as u64;
        match self.flows.entry((way, number_in_direction)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(slot) => {
                slot.insert(new_flow);
                let link = way.index() as u32;
                let open = Event::Open {
                    flow: new_flow,
                    from: link,
                    to: 1 - link,
                    edge: false,
                    longest: None,
                };
                self.push(at, open);
                new_flow
            }
        }
    }

    fn fate(&mut self, way: Way, number: u64, _: u32, fate: Fate) {
        let link = way.index() as u32;
        let Some(packet) = self.packets[way.index()].get(number as usize).copied() else {
            return;
        };
        match fate {
            Fate::Dropped { at, reason } => {
                let reason = reason.name().to_owned();
                let drop = Event::Drop {
                    packet,
                    link,
                    reason,
                };
                self.push(at, drop);
            }
            Fate::Sent {
                start,
                end,
                due,
                lost,
                ..
            } => {
                let end = end.as_picos();
                self.push(start, Event::Transmit { packet, link, end });
                if lost {
                    self.push(start, Event::Lose { packet, link });
                } else {
                    self.push(due, Event::Deliver { packet });
                }
            }
        }
    }
}
