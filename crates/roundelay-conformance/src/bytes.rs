//! Fuzzer input: decodes any bytes into a discipline and a sequence of calls.

use roundelay::schedulers::AnyDiscipline;
use roundelay::{Control, Seed};
use roundelay::{Duration, Ecn, FlowConfig, QueueSpec};

use crate::audit::{Audited, Operation, Violation};

/// Settings besides the defaults, so that limits, collisions and small quanta occur.
const SPECS: &[&str] = &[
    "afq quantum 1b",
    "afq quantum 3kb",
    "drr quantum 1b",
    "drr quantum 1mb",
    "srr quantum 1b",
    "srr quantum 300b",
    "srr quantum 1mb",
    "qfq_plus aggregate 1",
    "qfq_plus aggregate 3",
    "qfq_plus aggregate 64",
    "sfq divisor 4 flows 3 depth 2",
    "sfq divisor 4 flows 2 depth 1 headdrop quantum 1b",
    "sfq divisor 16 perturb 1ms",
    "fq_codel flows 4 target 1ms interval 5ms quantum 256b",
    "fq_codel flows 2 target 1us interval 1us noecn drop_batch 1",
    "fq_codel flows 64 ce_threshold 1ms drop_batch 3",
    "mqfq queues 4 buffer 12 ns2",
    "mqfq queues 3 hashes 3 quantum 1b buffer 0",
    "mqfq queues 4 resequence buffer 0",
    "mqfq queues 5 hashes 16 cells 700b buffer 0",
    "mqfq queues 3 resequence cells 1kb buffer 20",
    "codel target 1us interval 1us",
    "codel target 1ms interval 5ms ecn ce_threshold 1ms",
    "red min 2kb max 5kb avpkt 500b probability 0.5 ecn gentle adaptive",
    "red min 500b max 1kb burst 1 probability 1",
    "red min 1kb burst 1048576 nodrop harddrop ecn",
    "choke min 2 max 6 burst 1 probability 0.5 ecn",
    "choke min 1 burst 1 probability 0",
    "afd target 1kb shadow 4 sample 1 interval 1us",
    "afd target 1b shadow 64 sample 2 alpha 1000 beta 1000",
    "sfb levels 2 bins 2 target 1 max 3 increment 0.5 decrement 0.1 rehash 5ms db 2ms \
     penalty_rate 1000 penalty_burst 2",
    "sfb levels 5 bins 3 max 1 increment 1 rehash 1ms db 0",
    "sfb levels 16 bins 1 rehash 1ms db 1ms penalty_burst 0",
    "packet_fq flows 1",
    "packet_fq flows 3",
    "lstf preempt",
    "lstf_levels queues 1",
    "lstf_levels queues 3 step 10ms map exponential",
    "lstf_levels queues 4 step 5ms map rotating",
    "lstf_levels queues 4096 step 1ns map rotating",
    "sp_pifo queues 2",
    "sp_pifo queues 70 rank priority",
    "sp_pifo queues 3 rank deadline",
    "aifo rank slack window 5 headroom 0",
    "aifo rank deadline window 1 sample 3 headroom 0.99",
    "qfq_plus linux",
    "qfq_plus aggregate 1 linux",
    "qfq_plus aggregate 3 linux",
    "sfq divisor 4 flows 3 depth 2 linux",
    "sfq divisor 4 flows 2 depth 1 headdrop quantum 1b linux",
    "sfq divisor 16 perturb 1ms linux",
    "fq_codel flows 4 target 1ms interval 5ms quantum 256b linux",
    "ets strict 2 quanta 1b 700b 1514b",
    "ets bands 3 strict 1 quanta 1b priomap 2 1 0",
    "ets strict 8",
    "fq flow_limit 3 quantum 256b initial_quantum 256b refill_delay 0",
    "pie target 1us tupdate 1us alpha 32 beta 32 burst 0 ecn bytemode",
    "fq_pie flows 2 target 1us tupdate 1us alpha 32 beta 32 quantum 256b ecn bytemode",
    "fq_pie flows 4 target 1ms tupdate 500us ecn ecn_prob 100 dq_rate_estimator",
    "pie target 1ms tupdate 500us burst 5ms dq_rate_estimator",
    "cake diffserv4 rtt 1ms ingress",
    "cake flowblind besteffort rtt 10us",
];

/// Settings that make a discipline wait for a later time although it holds packets.
const IDLING: &[&str] = &[
    "tbf rate 100mbit burst 2kb",
    "tbf rate 100mbit burst 64kb peakrate 1gbit mtu 9000",
    "fq maxrate 50mbit quantum 600b initial_quantum 2kb",
    "fq maxrate 200mbit low_rate_threshold unlimited flow_limit 5",
];

/// The disciplines that shape, with settings that make them wait
/// ([`Scheduler::ready_at`](roundelay::Scheduler::ready_at)). No other discipline in [`subjects`]
/// waits.
pub fn idling() -> Vec<AnyDiscipline> {
    let mut idling = Vec::new();
    for text in IDLING {
        idling.push(discipline(text));
    }
    idling
}

fn discipline(text: &str) -> AnyDiscipline {
    let spec: QueueSpec = text.parse().expect("a legal spec");
    spec.discipline
}

/// All disciplines in the registry: first with their defaults, then with settings that bring
/// limits, collisions and small quanta.
pub fn subjects() -> Vec<AnyDiscipline> {
    let mut subjects = AnyDiscipline::all();
    for text in SPECS {
        subjects.push(discipline(text));
    }
    subjects
}

/// Decodes a discipline and its operations. The first line is the discipline's text. Seeds name
/// their discipline this way, so a new discipline changes no seed. But most of what a fuzzer makes
/// from a seed has no such line, and then the first byte selects the discipline. The next byte sets
/// the number of flows, 1 to 16.
fn decode(data: &[u8]) -> (AnyDiscipline, Vec<Operation>) {
    let mut subjects = subjects();
    subjects.extend(idling());
    let (subject, rest) = match (named(&subjects, data), data) {
        (Some(found), _) => found,
        (None, [first, rest @ ..]) => (usize::from(*first) % subjects.len(), rest),
        (None, []) => (0, data),
    };
    let subject = subjects.swap_remove(subject);
    let mut bytes = rest.iter().copied();
    let flows = u32::from(bytes.next().unwrap_or(0)) % 16 + 1;
    (
        subject,
        std::iter::from_fn(|| operation(&mut bytes, flows)).collect(),
    )
}

/// The index of the discipline that the first line names, and the bytes after the line.
fn named<'a>(subjects: &[AnyDiscipline], data: &'a [u8]) -> Option<(usize, &'a [u8])> {
    for (index, subject) in subjects.iter().enumerate() {
        let line = format!("{subject}\n");
        if let Some(rest) = data.strip_prefix(line.as_bytes()) {
            return Some((index, rest));
        }
    }
    None
}

/// Decodes one operation. Half of all operations are arrivals, a quarter departures.
fn operation(bytes: &mut impl Iterator<Item = u8>, flows: u32) -> Option<Operation> {
    let kind = bytes.next()?;
    let mut next = || bytes.next().unwrap_or(0);
    Some(match kind % 16 {
        0..=7 => {
            let first = next();
            let second = next();
            let urgency = first.wrapping_mul(29) ^ second;
            Operation::Enqueue {
                flow: u32::from(first) % flows,
                len: len(kind >> 4, second),
                ecn: ecn(kind),
                urgency,
            }
        }
        8..=11 => Operation::Dequeue,
        12 => Operation::Evict,
        13 => Operation::Wait(Duration::from_micros(u64::from(next()).pow(2))),
        14 => Operation::SetFlow {
            flow: u32::from(next()) % flows,
            config: config(next(), next()),
        },
        _ => Operation::RemoveFlow {
            flow: u32::from(next()) % flows,
        },
    })
}

/// A packet's length. There are 16 classes, so that edges are frequent.
fn len(class: u8, byte: u8) -> u32 {
    let byte = u32::from(byte);
    match class {
        0 => 0,
        1 => 1,
        // Usual frames: 64 to 1514 bytes.
        2..=8 => 64 + byte * 1450 / 255,
        // Multiples of 257, up to 65,535 bytes.
        9..=11 => byte * 257,
        12 => FlowConfig::MAX_PACKET_LEN,
        // Too long, either by at most 255 bytes or by so much that sums overflow.
        13 => FlowConfig::MAX_PACKET_LEN + byte,
        14 => u32::MAX - byte,
        // Short packets.
        _ => byte,
    }
}

fn ecn(kind: u8) -> Ecn {
    [Ecn::NotCapable, Ecn::Capable, Ecn::Capable, Ecn::Marked][usize::from(kind % 4)]
}

fn config(weight: u8, len: u8) -> FlowConfig {
    let weight = 1 + u32::from(weight) * (FlowConfig::MAX_WEIGHT - 1) / 255;
    let span = FlowConfig::MAX_PACKET_LEN - FlowConfig::MIN_MAX_PACKET_LEN;
    FlowConfig {
        weight,
        max_packet_len: FlowConfig::MIN_MAX_PACKET_LEN + span * u32::from(len) / 255,
    }
}

/// Runs the calls and checks the contract. Debug builds and the fuzzer's builds also check the
/// invariants during the calls, and all builds check them once before the drain. A violation comes
/// with the number of its operation.
fn run(discipline: &AnyDiscipline, operations: &[Operation]) -> Result<(), (usize, Violation)> {
    let mut audited = Audited::new(
        discipline.build(Seed::new(1)).expect("legal parameters"),
        discipline.info().reorders,
    );
    for (number, operation) in operations.iter().enumerate() {
        audited
            .apply(*operation)
            .map_err(|violation| (number, violation))?;
    }
    audited.scheduler().check_invariants();
    audited
        .drain()
        .map_err(|violation| (operations.len(), violation))
}

/// Decodes the bytes, runs the calls and checks the contract.
///
/// # Panics
/// The discipline breaks its contract or its invariants.
pub fn check_bytes(data: &[u8]) {
    let (discipline, operations) = decode(data);
    if let Err((number, violation)) = run(&discipline, &operations) {
        panic!("{discipline}: {violation:?} at operation {number} of {operations:?}");
    }
}
