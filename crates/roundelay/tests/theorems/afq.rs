//! AFQ: definition, turns and decisions, shares of flows with equal deadlines, the limits of
//! deadline guarantees, and the report's figures.

use std::collections::VecDeque;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::Seed;
use roundelay::schedulers::afq::{Afq, Config};
use roundelay::schedulers::{Discipline, drr, fifo, wf2q_plus};
use roundelay::{FlowConfig, FlowId, Instant, Packet, Scheduler};

const NOW: Instant = Instant::ZERO;
const NEVER: u64 = u64::MAX;

fn scheduler(quantum: u32) -> Afq<()> {
    Config { quantum }
        .build(Seed::new(0))
        .expect("a legal quantum")
}

fn push<S: Scheduler<()>>(scheduler: &mut S, flow: u32, len: u32, deadline: u64) {
    let packet = Packet {
        deadline: Instant::from_picos(deadline),
        ..Packet::new(FlowId(flow), len, ())
    };
    scheduler.enqueue(NOW, packet).expect("takes every packet");
}

fn set_weight<S: Scheduler<()>>(scheduler: &mut S, flow: u32, weight: u32) {
    scheduler
        .set_flow(
            FlowId(flow),
            FlowConfig {
                weight,
                ..FlowConfig::DEFAULT
            },
        )
        .expect("a legal weight");
}

/// The next packet's flow, length and deadline.
fn pull<S: Scheduler<()>>(scheduler: &mut S) -> Option<(u32, u32, u64)> {
    scheduler
        .dequeue(NOW)
        .map(|packet| (packet.flow.0, packet.len, packet.deadline.as_picos()))
}

/// The report's rule, with the gaps filled as in the module header, by a scan of all flows.
struct Model {
    quantum: u64,
    round: u64,
    in_turn: Option<usize>,
    flows: Vec<ModelFlow>,
}

#[derive(Clone, Default)]
struct ModelFlow {
    weight: u64,
    /// Length and deadline.
    queue: VecDeque<(u32, u64)>,
    deficit: u64,
    round: u64,
}

impl Model {
    fn new(quantum: u32, flows: usize) -> Self {
        Self {
            quantum: quantum.into(),
            round: 0,
            in_turn: None,
            flows: vec![
                ModelFlow {
                    weight: 1,
                    ..ModelFlow::default()
                };
                flows
            ],
        }
    }

    fn await_turn(&mut self, flow: usize) {
        let (round, quantum) = (self.round, self.quantum);
        let flow = &mut self.flows[flow];
        let Some(&(len, _)) = flow.queue.front() else {
            return;
        };
        flow.round = round;
        loop {
            flow.round += 1;
            flow.deficit += flow.weight * quantum;
            if flow.deficit >= u64::from(len) {
                return;
            }
        }
    }

    fn push(&mut self, flow: usize, len: u32, deadline: u64) {
        self.flows[flow].queue.push_back((len, deadline));
        if self.flows[flow].queue.len() == 1 {
            self.await_turn(flow);
        }
    }

    fn pull(&mut self) -> Option<(u32, u32, u64)> {
        let key = |flow: usize| {
            self.flows[flow]
                .queue
                .front()
                .map(|(_, deadline)| (*deadline, self.flows[flow].round, flow))
        };
        let chosen = match self.in_turn {
            Some(flow) => flow,
            None => (0..self.flows.len()).filter_map(key).min()?.2,
        };
        self.round = self.round.max(self.flows[chosen].round);
        self.in_turn = Some(chosen);
        let flow = &mut self.flows[chosen];
        let (len, deadline) = flow.queue.pop_front()?;
        flow.deficit -= u64::from(len);
        if flow
            .queue
            .front()
            .is_none_or(|(len, _)| u64::from(*len) > flow.deficit)
        {
            self.in_turn = None;
            self.await_turn(chosen);
            self.forfeit_if_empty(chosen);
        }
        Some((chosen as u32, len, deadline))
    }

    fn pop_tail(&mut self, flow: usize) -> Option<u32> {
        let (len, _) = self.flows[flow].queue.pop_back()?;
        self.forfeit_if_empty(flow);
        Some(len)
    }

    fn forfeit_if_empty(&mut self, flow: usize) {
        if self.flows[flow].queue.is_empty() {
            self.flows[flow].deficit = 0;
            self.in_turn = self.in_turn.filter(|in_turn| *in_turn != flow);
        }
    }
}

/// Deadlines that are often equal, and sometimes none.
fn deadline(random: &mut Pcg64Mcg) -> u64 {
    if random.random_bool(0.2) {
        NEVER
    } else {
        random.random_range(0..20)
    }
}

/// Random calls to both schedulers; returns the number of different packets dequeued.
fn disagreements<S: Scheduler<()>>(scheduler: &mut S, quantum: u32, seed: u64) -> u32 {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let flows = random.random_range(2..=9);
    let mut model = Model::new(quantum, flows as usize);
    let mut differ = 0;
    for call in 0..4_000 {
        let flow = random.random_range(0..flows);
        match random.random_range(0..100) {
            0..3 => {
                let victim = scheduler.evict();
                differ += u32::from(
                    victim.map(|packet| packet.len)
                        != victim.and_then(|packet| model.pop_tail(packet.flow.index())),
                );
            }
            3..6 => {
                let weight = random.random_range(1..=7);
                set_weight(scheduler, flow, weight);
                model.flows[flow as usize].weight = weight.into();
            }
            draw if draw < if call / 300 % 2 == 0 { 58 } else { 48 } => {
                let (len, deadline) = (random.random_range(0..=1514), deadline(&mut random));
                push(scheduler, flow, len, deadline);
                model.push(flow as usize, len, deadline);
            }
            _ => differ += u32::from(pull(scheduler) != model.pull()),
        }
        scheduler.check_invariants();
    }
    differ
}

#[test]
fn equals_its_definition() {
    for (seed, quantum) in
        (0..20).flat_map(|seed| [1, 100, 1514, 9_000].map(|quantum| (seed, quantum)))
    {
        assert_eq!(
            disagreements(&mut scheduler(quantum), quantum, seed),
            0,
            "quantum {quantum}, seed {seed}"
        );
    }
    let mut drr = drr::Config::default().build(Seed::new(0)).expect("legal");
    assert!(
        disagreements(&mut drr, 1514, 1) > 100,
        "another discipline must differ"
    );
}

/// The bytes sent in each turn of each flow while all flows stay backlogged; turns are identified
/// by the scheduler's counters.
fn turns(quantum: u32, weights: &[u32], random: &mut Pcg64Mcg) -> Vec<Vec<u64>> {
    let mut scheduler = scheduler(quantum);
    for (flow, weight) in (0..).zip(weights) {
        set_weight(&mut scheduler, flow, *weight);
        (0..3).for_each(|_| {
            push(
                &mut scheduler,
                flow,
                random.random_range(64..=1514),
                deadline(random),
            )
        });
    }
    let mut turns = vec![vec![]; weights.len()];
    for _ in 0..20_000 {
        let before = scheduler.decisions();
        let (flow, len, _) = pull(&mut scheduler).expect("backlogged");
        if scheduler.decisions() > before {
            turns[flow as usize].push(0);
        }
        *turns[flow as usize].last_mut().expect("in its turn") += u64::from(len);
        push(
            &mut scheduler,
            flow,
            random.random_range(64..=1514),
            deadline(random),
        );
    }
    turns
}

/// num_i = floor(c_i / p), with the remainder carried on: m turns send m credits, to within a
/// packet.
#[test]
fn turns_stay_within_their_credit() {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    for quantum in [1514, 4_000, 50_000] {
        let weights = [1, 3, 2, 7];
        for (turns, weight) in turns(quantum, &weights, &mut random).iter().zip(weights) {
            let credit = u64::from(quantum * weight);
            let mut sent = 0;
            for (number, bytes) in (1..).zip(&turns[..turns.len().saturating_sub(1)]) {
                sent += bytes;
                let carried = number * credit - sent;
                assert!(
                    carried < 1514,
                    "{carried} bytes carried after turn {number} of {credit}"
                );
                assert!(
                    *bytes < credit + 1514,
                    "turn {number}: {bytes} bytes of {credit}"
                );
            }
        }
    }
}

/// The paper's num_i = floor(c_i / p), in a first turn and for packets of one length.
#[test]
fn a_turn_is_as_many_packets_as_its_credit_holds() {
    for (quantum, packets) in [(100, 1), (250, 2), (399, 3), (800, 8), (99, 1), (1, 1)] {
        let mut scheduler = scheduler(quantum);
        (0..40).for_each(|number| push(&mut scheduler, number % 2, 100, 7));
        let first = std::iter::from_fn(|| pull(&mut scheduler))
            .take_while(|(flow, ..)| *flow == 0)
            .count();
        assert_eq!(first, packets, "quantum {quantum}");
    }
}

/// The number of changes from one flow to another in 10 000 packets of 100 bytes, with `flows`
/// backlogged flows.
fn switches<S: Scheduler<()>>(scheduler: &mut S, flows: u32) -> u32 {
    (0..flows * 40)
        .for_each(|number| push(scheduler, number % flows, 100, (number / flows).into()));
    let (mut switches, mut last) = (0, None);
    for number in 0..10_000 {
        let (flow, ..) = pull(scheduler).expect("backlogged");
        switches += u32::from(last.replace(flow) != Some(flow));
        push(scheduler, flow, 100, number + 40);
    }
    switches
}

/// The report's point: flows are sorted once a turn. WF2Q+ must sort for each packet: each is of
/// another flow.
#[test]
fn flows_are_sorted_once_a_turn() {
    for (quantum, packets) in [(50, 1), (100, 1), (400, 4), (1_600, 16)] {
        for flows in [2, 10, 100] {
            let mut afq = scheduler(quantum);
            let switches = switches(&mut afq, flows);
            let decisions = afq.decisions();
            assert!(
                u64::from(switches) <= decisions,
                "{switches} turns, {decisions} decisions"
            );
            assert_eq!(
                decisions,
                10_000 / packets,
                "quantum {quantum}, {flows} flows"
            );
        }
    }
    let of_wf2q = switches(&mut wf2q_plus::Wf2qPlus::default(), 10);
    println!(
        "decisions for 10 000 packets: afq with a quantum of 16 packets 625, wf2q_plus {of_wf2q}"
    );
    assert!(
        of_wf2q > 9_000,
        "the other discipline decides once a packet"
    );
}

/// Largest |W_i / w_i - W_j / w_j|, over all intervals, of always backlogged flows with all packets
/// due at `due`; over its bound.
fn unfairness<S: Scheduler<()>>(
    scheduler: &mut S,
    weights: &[u32],
    quantum: u32,
    due: u64,
    random: &mut Pcg64Mcg,
) -> f64 {
    let flows = weights.len();
    let normalised = |bytes: f64, flow: usize| bytes / f64::from(weights[flow]);
    for flow in (0..flows).rev() {
        set_weight(scheduler, flow as u32, weights[flow]);
        (0..if flow == 0 { 2_000 } else { 100 })
            .for_each(|_| push(scheduler, flow as u32, random.random_range(64..=1514), due));
    }
    let mut served = vec![0.0; flows];
    let mut extremes = vec![(0.0f64, 0.0f64); flows * flows];
    for _ in 0..5_000 {
        let (flow, len, _) = pull(scheduler).expect("backlogged");
        push(scheduler, flow, random.random_range(64..=1514), due);
        served[flow as usize] += normalised(len.into(), flow as usize);
        for (pair, (least, most)) in extremes.iter_mut().enumerate() {
            let ahead = served[pair / flows] - served[pair % flows];
            (*least, *most) = (least.min(ahead), most.max(ahead));
        }
    }
    let bound = |pair: usize| {
        2.0 * f64::from(quantum)
            + normalised(1514.0, pair / flows)
            + normalised(1514.0, pair % flows)
    };
    let ratios = extremes
        .iter()
        .enumerate()
        .map(|(pair, (least, most))| (most - least) / bound(pair));
    ratios.fold(0.0, f64::max)
}

/// A flow that has had its turn of round r has sent r credits, to within a packet; no flow is more
/// than a round ahead. Hence the bound: two credits, and a packet of each.
#[test]
fn flows_that_tie_share_by_weight() {
    let mut random = Pcg64Mcg::seed_from_u64(2);
    let mut largest = 0.0f64;
    for (quantum, due) in [1, 90, 700, 1514, 30_000]
        .into_iter()
        .flat_map(|quantum| [(quantum, NEVER), (quantum, 5)])
    {
        let weights: Vec<u32> = (0..8).map(|_| random.random_range(1..=10)).collect();
        let measured = unfairness(&mut scheduler(quantum), &weights, quantum, due, &mut random);
        assert!(
            measured <= 1.0,
            "{measured} of the bound at quantum {quantum}"
        );
        largest = largest.max(measured);
        let of_fifo = unfairness(
            &mut fifo::Fifo::default(),
            &weights,
            quantum,
            due,
            &mut random,
        );
        assert!(of_fifo > 1.0, "fifo must break it: {of_fifo}");
    }
    println!("unfairness / bound: {largest:.3}");
    assert!(largest > 0.3);
}

/// A waiting packet.
#[derive(Clone, Copy)]
struct Waits {
    deadline: u64,
    /// Bytes sent before the packet arrived.
    sent: u64,
    /// Turns that can begin earlier: one for each packet due no later and waiting at the arrival.
    rivals: u64,
}

/// Random flows, deadlines by `slack` after arrival. Counts turns that began although another
/// waiting flow was due earlier, and packets with too long a wait: longer than the turn in progress
/// at the arrival and the turns due no later at the arrival.
fn judge<S: Scheduler<()>>(
    scheduler: &mut S,
    credit: u64,
    seed: u64,
    slack: impl Fn(u32, &mut Pcg64Mcg) -> u64,
) -> (u32, u32) {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut queues: Vec<VecDeque<Waits>> = vec![VecDeque::new(); 6];
    let (mut sent, mut before) = (0u64, usize::MAX);
    let (mut unjust, mut late) = (0, 0);
    for call in 0..6_000u64 {
        let flow = random.random_range(0..queues.len());
        if random.random_bool(if call / 400 % 2 == 0 { 0.6 } else { 0.4 }) {
            let deadline = call + slack(flow as u32, &mut random);
            let rivals = queues
                .iter()
                .flatten()
                .filter(|waits| waits.deadline <= deadline)
                .count() as u64;
            push(
                scheduler,
                flow as u32,
                random.random_range(64..=1514),
                deadline,
            );
            queues[flow].push_back(Waits {
                deadline,
                sent,
                rivals,
            });
            continue;
        }
        let Some((served, len, deadline)) = pull(scheduler) else {
            continue;
        };
        let served = served as usize;
        let earliest = queues
            .iter()
            .filter_map(|queue| queue.front())
            .map(|head| head.deadline)
            .min();
        // The flow of the previous packet may continue its turn.
        unjust += u32::from(served != before && earliest < Some(deadline));
        before = served;
        let waits = queues[served].pop_front().expect("it came");
        late += u32::from(sent - waits.sent > (waits.rivals + 1) * (credit + 1514));
        sent += u64::from(len);
    }
    (unjust, late)
}

/// With the same slack for all, as in the report's evaluation, later packets are due later. A
/// packet waits only for turns headed by packets already present at its arrival, at most one each,
/// and for the turn in progress.
#[test]
fn a_packet_waits_for_turns_due_no_later() {
    let (mut of_drr, mut of_stampers) = ((0, 0), 0);
    for (seed, quantum) in (0..20).flat_map(|seed| [1_514, 6_000].map(|quantum| (seed, quantum))) {
        let same = |_, _: &mut Pcg64Mcg| 500;
        assert_eq!(
            judge(&mut scheduler(quantum), quantum.into(), seed, same),
            (0, 0),
            "seed {seed}, quantum {quantum}"
        );
        let any = |_, random: &mut Pcg64Mcg| random.random_range(0..5_000);
        assert_eq!(
            judge(&mut scheduler(quantum), quantum.into(), seed, any).0,
            0,
            "seed {seed}, quantum {quantum}"
        );
        let greedy = |flow, _: &mut Pcg64Mcg| if flow < 5 { 0 } else { 3_000 };
        of_stampers += judge(&mut scheduler(quantum), quantum.into(), seed, greedy).1;
        let (unjust, late) = judge(
            &mut drr::Config { quantum }.build(Seed::new(0)).expect("legal"),
            quantum.into(),
            seed,
            same,
        );
        of_drr = (of_drr.0 + unjust, of_drr.1 + late);
    }
    println!(
        "drr: {of_drr:?} turns and packets; with slack of their own choice: {of_stampers} packets"
    );
    assert!(of_drr.0 > 100, "drr looks at no deadlines");
    assert!(of_stampers > 0, "the bound on the wait needs equal slack");
}

/// The report wants shares that the misbehaviour of other flows does not touch. A flow with ever
/// earlier deadlines holds the link without limit, whatever its weight; DRR keeps the other flow's
/// share.
#[test]
fn earlier_deadlines_starve_everybody_else() {
    fn served_of_victim<S: Scheduler<()>>(scheduler: &mut S) -> u32 {
        set_weight(scheduler, 1, 1_000);
        push(scheduler, 1, 100, 50_000);
        let mut served = 0;
        for time in 0..20_000u64 {
            // Due as late as the previously sent packet: the flow is always backlogged, and would
            // be empty after two services in a row.
            push(scheduler, 0, 100, 40_000 - time);
            let (flow, ..) = pull(scheduler).expect("backlogged");
            served += flow;
            if flow == 1 {
                push(scheduler, 1, 100, 50_000);
            }
        }
        served
    }
    assert_eq!(
        served_of_victim(&mut scheduler(100)),
        0,
        "a flow of weight 1000 waits for one of weight 1"
    );
    let of_drr = served_of_victim(
        &mut drr::Config { quantum: 100 }
            .build(Seed::new(0))
            .expect("legal"),
    );
    assert!(of_drr > 9_000, "{of_drr}");
}

/// The guarantee of deadlines: a flow with packets due at once delays a packet due later by the
/// flow's arrivals until then, and not beyond.
#[test]
fn a_flow_that_is_always_urgent_is_so_until_others_are_due() {
    let mut scheduler = scheduler(100);
    push(&mut scheduler, 1, 100, 1_000);
    let mut served_at = None;
    for time in 0..2_000 {
        push(&mut scheduler, 0, 100, time);
        if pull(&mut scheduler).expect("backlogged").0 == 1 {
            served_at = Some(time);
            break;
        }
    }
    // At 1000 both are due, and flow 1 has waited longer.
    assert_eq!(served_at, Some(1_000));
}

/// Found by FPerf (NSDI 2023) in fair queues that forget a flow as soon as the flow is empty. Among
/// flows with equal deadlines, a returning flow gains nothing.
#[test]
fn an_on_off_flow_among_flows_that_tie_gets_its_share() {
    for (start, gap) in [(4, 2), (5, 1), (3, 3)] {
        let mut scheduler = scheduler(100);
        let (slots, flows) = (1_004, 5);
        let mut served = [0; 5];
        for slot in 0..slots {
            (0..4).for_each(|flow| push(&mut scheduler, flow, 100, NEVER));
            if slot >= start && (slot - start) % gap == 0 {
                push(&mut scheduler, 4, 100, NEVER);
            }
            served[pull(&mut scheduler).expect("backlogged").0 as usize] += 1;
        }
        assert!(
            served[4] <= slots / flows + 2,
            "start {start}, gap {gap}: {served:?}"
        );
        assert!(
            served[..4]
                .iter()
                .all(|packets| *packets >= slots / flows - 2),
            "start {start}, gap {gap}: {served:?}"
        );
    }
}

/// The same slack for all turns AFQ into first come, first served: under overload shares follow the
/// offered load and not the weights.
#[test]
fn overload_with_equal_slack_is_shared_by_arrivals_and_not_by_weight() {
    fn of_the_modest<S: Scheduler<()>>(scheduler: &mut S) -> u32 {
        let mut served = 0;
        for time in 0..4_000u64 {
            // Flow 0 offers three packets in two slots, flow 1 one; the link takes two.
            (0..1 + u32::from(time % 2 == 0)).for_each(|_| push(scheduler, 0, 100, time + 500));
            if time % 2 == 0 {
                push(scheduler, 1, 100, time + 500);
            }
            served += pull(scheduler).expect("backlogged").0;
        }
        served
    }
    let of_afq = of_the_modest(&mut scheduler(100));
    let of_wf2q = of_the_modest(&mut wf2q_plus::Wf2qPlus::default());
    assert!(
        (950..1_100).contains(&of_afq),
        "a quarter of the link, as of the arrivals: {of_afq}"
    );
    assert!(
        of_wf2q > 1_950,
        "what it asks for, which is its half of the link: {of_wf2q}"
    );
}

/// Section 3.3: three flows, packets of 1500, 500 and 500 bytes; the long packet is the most
/// urgent, and GPS ignores urgency.
#[test]
fn the_example_of_section_3_3() {
    fn order<S: Scheduler<()>>(mut scheduler: S) -> Vec<u32> {
        [(0, 1_500, 1), (1, 500, 100), (2, 500, 100)]
            .into_iter()
            .for_each(|(flow, len, due)| push(&mut scheduler, flow, len, due));
        std::iter::from_fn(|| pull(&mut scheduler))
            .map(|(flow, ..)| flow)
            .collect()
    }
    assert_eq!(order(scheduler(1_514)), [0, 1, 2]);
    assert_eq!(order(wf2q_plus::Wf2qPlus::default()), [1, 2, 0]);
}

#[test]
fn a_new_quantum_counts_from_the_next_credit_on() {
    let mut scheduler = scheduler(100);
    (0..40).for_each(|number| push(&mut scheduler, number % 2, 100, 7));
    let mut order = vec![pull(&mut scheduler).expect("backlogged").0];
    Config { quantum: 300 }
        .reconfigure(&mut scheduler)
        .expect("live");
    order.extend((0..8).map(|_| pull(&mut scheduler).expect("backlogged").0));
    assert_eq!(order, [0, 1, 0, 1, 1, 1, 0, 0, 0], "{order:?}");
}

#[test]
fn quanta_at_the_edges_are_refused_or_work() {
    for quantum in [0, (1 << 20) + 1, u32::MAX] {
        let error = Config { quantum }
            .build::<()>(Seed::new(0))
            .expect_err("out of range")
            .to_string();
        assert!(
            error.contains("afq: quantum") && error.contains("1b to 1mb"),
            "{error}"
        );
    }
    for quantum in [1, 1 << 20] {
        let mut scheduler = scheduler(quantum);
        set_weight(&mut scheduler, 1, FlowConfig::MAX_WEIGHT);
        (0..10).for_each(|number| push(&mut scheduler, number % 2, u32::MAX, NEVER));
        assert_eq!(
            std::iter::from_fn(|| pull(&mut scheduler)).count(),
            10,
            "quantum {quantum}"
        );
    }
}

/// A flow's place among flows with equal deadlines: in a node of a hierarchy, a flow refilled as
/// its last packet leaves keeps its remaining credit.
#[test]
fn a_refilled_flow_keeps_its_turn() {
    let mut scheduler = scheduler(250);
    let packet = |flow| Packet {
        deadline: Instant::from_picos(7),
        ..Packet::new(FlowId(flow), 100, ())
    };
    (0..2).for_each(|flow| push(&mut scheduler, flow, 100, 7));
    let order: Vec<_> = (0..9)
        .filter_map(|_| scheduler.dequeue_refilled(NOW, &mut |flow| Some(packet(flow.0))))
        .collect();
    assert_eq!(
        order.iter().map(|packet| packet.flow.0).collect::<Vec<_>>(),
        [0, 0, 1, 1, 0, 0, 0, 1, 1]
    );
    assert_eq!(
        scheduler.evict_flow(FlowId(1)).map(|packet| packet.flow),
        Some(FlowId(1))
    );
    assert_eq!(scheduler.evict_flow(FlowId(1)), None);
    assert_eq!(scheduler.evict_flow(FlowId(99)), None);
}

/// The rows of a Markdown file's tables, without headings and rules.
fn rows(markdown: &str) -> impl Iterator<Item = Vec<&str>> {
    let tables = markdown.lines().filter(|line| {
        line.starts_with("| ") && !line.starts_with("| flow") && !line.starts_with("| call")
    });
    tables.map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
}

#[test]
fn the_figures_of_the_report() {
    let flow = |name: &str| name.trim_start_matches('f').parse::<u32>().expect("a flow");
    let mut scheduler = scheduler(2);
    let mut read = 0;
    for (number, row) in rows(include_str!("../traces/afq-figures.md")).enumerate() {
        match row[0].split_whitespace().collect::<Vec<_>>()[..] {
            ["enqueue", name, "due", ref deadlines @ ..] => {
                deadlines.iter().for_each(|due| {
                    push(
                        &mut scheduler,
                        flow(name),
                        2,
                        due.parse().expect("a deadline"),
                    )
                });
            }
            ["dequeue"] => {
                let served = pull(&mut scheduler)
                    .map_or(("none".into(), String::new()), |(flow, _, due)| {
                        (format!("f{flow}"), due.to_string())
                    });
                assert_eq!(
                    (served.0.as_str(), served.1.as_str()),
                    (row[1], row[2]),
                    "row {number}: {row:?}"
                );
            }
            [name] => set_weight(
                &mut scheduler,
                flow(name),
                row[1].parse().expect("a weight"),
            ),
            _ => panic!("row {number} is not understood: {row:?}"),
        }
        read += 1;
    }
    assert_eq!(read, 4 + 34, "all rows were read");
}
