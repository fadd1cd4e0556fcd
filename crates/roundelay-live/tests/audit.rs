//! A sparse flow's delay, held against the discipline's proven bound at each of its departures, while
//! the session runs: arrivals and departures are those that the queue goes by, so the bound holds on
//! a busy machine too.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration as Span;

use roundelay::{Duration, Guarantees, Instant, QueueSpec, Share};
use roundelay_live::world::{FAR, MIDDLE, Node, World};
use roundelay_live::{Change, Fate, Journal, QueueText, Session, Way};

use crate::namespaces::{settings, world};

const QFQ: &str = "qfq limit 300";
/// The port of the sparse flow, and those of the floods with their weights.
const SPARSE: u16 = 6103;
const FLOODS: [(u16, u64); 3] = [(6100, 1), (6101, 2), (6102, 4)];
/// Flows beside those: neighbours look for each other. They have a weight of 1.
const OTHERS: u64 = 12;
const RATE: f64 = 5e6;

/// What an audit has found up to now.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    /// Packets of the sparse flow that have left.
    left: u64,
    /// Those later than the bound.
    late: u64,
    worst: Duration,
    bound: Duration,
}

/// An audit of the way up.
struct Audit {
    share: Share,
    guarantees: Guarantees,
    /// A token bucket at the sparse flow's share of the link: its level and its highest one.
    level: f64,
    most: f64,
    last: Instant,
    /// Numbers and arrivals of packets of the sparse flow that wait.
    waiting: BTreeMap<u64, Instant>,
    arrived: u64,
    found: Arc<Mutex<Found>>,
}

impl Audit {
    fn new(found: &Arc<Mutex<Found>>) -> Self {
        let floods: u64 = FLOODS.iter().map(|(_, weight)| weight).sum();
        let share = Share {
            weight: 1,
            total_weight: floods + 1 + OTHERS,
            least_weight: 1,
            flows: FLOODS.len() as u64 + 1 + OTHERS,
            max_packet_len: 1514,
            link_max_packet_len: 1514,
            rate: "5mbit".parse().expect("a rate"),
        };
        let spec: QueueSpec = QFQ.parse().expect("a discipline");
        Self {
            guarantees: spec.discipline.guarantees(&share),
            share,
            level: 0.0,
            most: 0.0,
            last: Instant::ZERO,
            waiting: BTreeMap::new(),
            arrived: 0,
            found: Arc::clone(found),
        }
    }
}

impl Journal for Audit {
    fn arrived(&mut self, way: Way, at: Instant, frame: &[u8], len: u32) {
        if way != Way::Up {
            return;
        }
        let number = self.arrived;
        self.arrived += 1;
        let is_udp = frame.len() > 38 && frame[12..14] == [8, 0] && frame[23] == 17;
        if !is_udp || frame[36..38] != SPARSE.to_be_bytes() {
            return;
        }
        let own_rate = RATE / self.share.total_weight as f64 / 8.0;
        let since = at.since(self.last).as_secs_f64();
        self.level = (self.level - since * own_rate).max(0.0) + f64::from(len);
        self.most = self.most.max(self.level);
        self.last = at;
        self.waiting.insert(number, at);
    }

    fn fate(&mut self, way: Way, number: u64, _: u32, fate: Fate) {
        if way != Way::Up {
            return;
        }
        let Some(at) = self.waiting.remove(&number) else {
            return;
        };
        let Fate::Sent { end, .. } = fate else {
            return;
        };
        let burst = self.most.ceil() as u64;
        let bound = self.guarantees.delay(&self.share, burst);
        let bound = bound.expect("a theorem").value;
        let delay = end.since(at);
        let mut found = self.found.lock().expect("no panic");
        found.left += 1;
        found.late += u64::from(delay > bound);
        found.worst = found.worst.max(delay);
        found.bound = bound;
    }
}

fn datagrams(world: &Arc<World>, port: u16, len: usize, every: Span) {
    let world = Arc::clone(world);
    thread::spawn(move || {
        world.enter(Node::Near).expect("a node");
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        loop {
            _ = socket.send_to(&vec![0; len], (FAR, port));
            thread::sleep(every);
        }
    });
}

#[test]
fn a_sparse_flow_keeps_its_delay_bound_under_qfq_while_the_session_runs_and_not_under_fifo() {
    let Some(world) = world() else { return };
    let mut settings = settings("5mbit", QFQ);
    for (port, weight) in FLOODS {
        let rule = format!("dst port {port} = {weight}");
        settings.weights.rules.push(rule);
    }
    let mut session = Session::open(&settings, MIDDLE).expect("two interfaces");
    for (port, _) in FLOODS {
        datagrams(&world, port, 1200, Span::from_millis(1));
    }
    datagrams(&world, SPARSE, 100, Span::from_millis(40));
    session.use_real_time();
    let found = Arc::new(Mutex::new(Found::default()));
    let mut audit = Some(Box::new(Audit::new(&found)));
    let mut under_qfq = None;
    let run = session.run(|running| {
        if let Some(mut audit) = audit.take() {
            // Frames may have come before.
            audit.arrived = running.bottleneck().books(Way::Up).arrived;
            running.bottleneck().set_journal(audit);
        }
        let now = *found.lock().expect("no panic");
        if under_qfq.is_none() {
            assert_eq!(now.late, 0, "{now:?}");
            if running.seconds() >= 2.0 && now.left >= 20 {
                under_qfq = Some(now);
                let fifo = Change::Queue(QueueText::Discipline("fifo limit 300".to_owned()));
                running
                    .bottleneck()
                    .change(Way::Up, &fifo)
                    .expect("a queue");
            }
        }
        let flows = running.bottleneck().flows(Way::Up).len() as u64;
        assert!(flows <= FLOODS.len() as u64 + 1 + OTHERS, "{flows} flows");
        Ok(now.late < 5 && running.seconds() < 60.0)
    });
    run.expect("a run");
    let after = *found.lock().expect("no panic");
    println!("under qfq {under_qfq:?}, with fifo {after:?}");
    assert!(
        under_qfq.is_some() && after.late >= 5,
        "fifo keeps no bound: {after:?}"
    );
}
