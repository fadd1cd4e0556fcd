//! Simulates a scenario beside a live run of its bottleneck: gets the same figures from both, and
//! tells where they part.

use std::collections::HashSet;
use std::sync::Arc;

use roundelay::{Billionths, DropReason, Duration, Ecn, Instant, Packet, Rate};
use roundelay_live::{
    Fidelity, KindFigures, Kinds, PacketKind, PhaseFigures, Recent, Sample, Settings,
    SettingsError, Way, WayFidelity, WaySample, quantiles,
};
use roundelay_metrics::Delays;
use roundelay_metrics::units::{count, counted, percent, rate, seconds};
use roundelay_sim::scenario::{Estimate, Measures, Scenario};
use roundelay_sim::{FlowNumber, LinkId, LinkSettings, Opening, PacketState, Probe, Tag};
use roundelay_trace::{LinkTrace, Queue, Stop};
use serde::Serialize;

use super::home::Home;
use super::signals::Signals;

/// Two rates part if they differ by more than this part of the larger one.
const RATES: f64 = 0.1;
/// Two delays part if they differ by more than this part of the longer one, and by more than a
/// millisecond.
const DELAYS: f64 = 0.2;
const SHORTEST: f64 = 0.001;
/// Shares of drops and marks part if they differ by more than this.
const SHARES: f64 = 0.01;
/// Bytes of Ethernet's header, because a live run counts frames.
const ETHERNET: u64 = 14;
/// Fewest packets for which a p99 says anything.
const ENOUGH: u64 = 100;
/// Most events that a simulation may have, so that nobody waits in vain. They take some ten
/// seconds.
const MOST_EVENTS: f64 = 2e8;
/// The time between two looks for a signal, while the simulation runs.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(5);

/// The thresholds in words.
pub(super) const THRESHOLDS: &str = "Two figures part if rates differ by more than 10%, delays by \
    more than 20% and a millisecond, or the shares of drops or marks by more than one in a hundred \
    packets. Kinds with fewer than 100 packets in both are left out.";

/// The simulated half.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Beside {
    /// Seed of the simulation.
    seed: u64,
    /// Up and down.
    ways: [SimulatedWay; 2],
    /// What the live run left to reality, a line each.
    pub(super) left_to_reality: Vec<String>,
    /// What the simulation has otherwise than the live run, a sentence each.
    pub(super) simplified: Vec<String>,
    /// All figures of both.
    pub(super) figures: Vec<Figure>,
    /// Where they part, a sentence each.
    pub(super) parts: Vec<String>,
    /// The simulation at the times of the live run's samples.
    #[serde(skip)]
    pub(super) samples: Vec<Sample>,
}

/// A direction of the bottleneck in the simulation.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct SimulatedWay {
    /// `up` or `down`.
    way: &'static str,
    /// Packets that arrived at the queue.
    arrived: u64,
    /// Packets that got the link.
    packets: u64,
    /// Their bytes.
    bytes: u64,
    /// Packets dropped by the queue.
    dropped: u64,
    /// Packets that got CE here.
    marked: u64,
    /// Packets lost on the wire.
    lost: u64,
    /// From arrival to the end of transmission, seconds: p50 and p99.
    delay: Option<[f64; 2]>,
    /// The packets of each kind.
    kinds: Vec<KindFigures>,
}

/// A figure in both worlds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Figure {
    /// `up` or `down`.
    pub(super) way: &'static str,
    /// All packets, or a kind.
    pub(super) packets: &'static str,
    /// What it is.
    pub(super) figure: What,
    /// In the live run; none without packets.
    pub(super) live: Option<f64>,
    /// In the simulation.
    pub(super) simulated: Option<f64>,
    /// Whether the two part.
    pub(super) parts: bool,
}

/// What a figure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(super) enum What {
    /// Bits per second.
    Rate,
    /// Seconds.
    DelayP50,
    /// Seconds.
    DelayP99,
    /// Share of the packets, 0 to 1.
    Dropped,
    /// Share of the packets sent, 0 to 1.
    Marked,
}

impl What {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::DelayP50 => "p50 delay",
            Self::DelayP99 => "p99 delay",
            Self::Dropped => "dropped",
            Self::Marked => "marked",
        }
    }

    /// A value in words.
    pub(super) fn words(self, value: Option<f64>) -> String {
        let Some(value) = value else {
            return "none".to_owned();
        };
        match self {
            Self::Rate => rate(value),
            Self::DelayP50 | Self::DelayP99 => seconds(value),
            Self::Dropped | Self::Marked => percent(value),
        }
    }

    /// Whether two values part.
    fn parts(self, live: Option<f64>, simulated: Option<f64>) -> bool {
        let (Some(live), Some(simulated)) = (live, simulated) else {
            return live.is_some() != simulated.is_some();
        };
        let apart = (live - simulated).abs();
        let larger = live.max(simulated);
        match self {
            Self::Rate => apart > RATES * larger,
            Self::DelayP50 | Self::DelayP99 => apart > DELAYS * larger && apart > SHORTEST,
            Self::Dropped | Self::Marked => apart > SHARES,
        }
    }
}

/// A direction's packets, all or of one kind, in the live run or in the simulation.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    packets: u64,
    bytes: u64,
    dropped: u64,
    marked: u64,
    delay: Option<[f64; 2]>,
}

impl Counts {
    fn of_live(phase: &PhaseFigures) -> Self {
        Self {
            packets: phase.books.sent,
            bytes: phase.books.sent_bytes,
            dropped: phase.books.all_dropped(),
            marked: phase.books.marked,
            delay: phase.delay,
        }
    }

    const fn of_simulated(way: &SimulatedWay) -> Self {
        Self {
            packets: way.packets,
            bytes: way.bytes,
            dropped: way.dropped,
            marked: way.marked,
            delay: way.delay,
        }
    }

    fn of_kind(kinds: &[KindFigures], kind: PacketKind) -> Self {
        let Some(found) = kinds.iter().find(|figures| figures.kind == kind) else {
            return Self::default();
        };
        Self {
            packets: found.packets,
            bytes: found.bytes,
            dropped: found.dropped,
            marked: found.marked,
            delay: found.delay,
        }
    }

    const fn all(self) -> u64 {
        self.packets + self.dropped
    }

    fn value(self, what: What, length: f64) -> Option<f64> {
        let share = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
        match what {
            What::Rate => Some(self.bytes as f64 * 8.0 / length),
            What::DelayP50 => self.delay.map(|[p50, _]| p50),
            What::DelayP99 => self.delay.map(|[_, p99]| p99),
            What::Dropped => share(self.dropped, self.all()),
            What::Marked => share(self.marked, self.packets),
        }
    }
}

/// Compares a direction's packets in both, and says a sentence about each figure that parts.
fn compare(
    way: Way,
    packets: &'static str,
    [live, simulated]: [Counts; 2],
    length: f64,
    beside: &mut Beside,
) {
    if live.all().max(simulated.all()) < ENOUGH {
        return;
    }
    if live.all() == 0 || simulated.all() == 0 {
        let (world, all) = if live.all() > 0 {
            ("live run", live.all())
        } else {
            ("simulation", simulated.all())
        };
        beside.parts.push(format!(
            "{way}, {packets}: {} in the {world}, none in the other.",
            counted(all, "packet")
        ));
    }
    for figure in [
        What::Rate,
        What::DelayP50,
        What::DelayP99,
        What::Dropped,
        What::Marked,
    ] {
        let [in_live, in_simulation] = [live, simulated].map(|own| own.value(figure, length));
        let is_in_both = live.all() > 0 && simulated.all() > 0;
        let parts = figure.parts(in_live, in_simulation);
        if parts && is_in_both {
            beside.parts.push(format!(
                "{way}, {packets}: {} {} live, {} simulated.",
                figure.name(),
                figure.words(in_live),
                figure.words(in_simulation)
            ));
        }
        beside.figures.push(Figure {
            way: way.name(),
            packets,
            figure,
            live: in_live,
            simulated: in_simulation,
            parts,
        });
    }
}

/// Measures one direction in the simulation.
#[derive(Default)]
struct Meter {
    arrived: u64,
    packets: u64,
    bytes: u64,
    dropped: u64,
    marked: u64,
    lost: u64,
    waiting: u64,
    delays: Delays,
    recent: Recent,
    kinds: Kinds,
}

impl Meter {
    fn way(&self, way: Way) -> SimulatedWay {
        SimulatedWay {
            way: way.name(),
            arrived: self.arrived,
            packets: self.packets,
            bytes: self.bytes,
            dropped: self.dropped,
            marked: self.marked,
            lost: self.lost,
            delay: quantiles(&self.delays, [0.5, 0.99]),
            kinds: self.kinds.figures(),
        }
    }
}

/// Hears what happens at a simulation's bottleneck.
struct Observer {
    links: [LinkId; 2],
    /// The protocol of each group's flows.
    protocols: Vec<u8>,
    /// Each flow's group, by the flow's number.
    groups: Vec<u32>,
    /// Packets that came with CE, by number.
    came_marked: HashSet<u64>,
    meters: [Meter; 2],
    /// Each direction's first change in the live run, after which nothing is measured.
    until: [Instant; 2],
    /// The times at which samples are wanted, in seconds and in order. These are the live run's
    /// times, so that both have samples at the same times in a chart.
    times: Vec<f64>,
    samples: Vec<Sample>,
}

impl Observer {
    /// The direction of a link at a time at which it is measured.
    fn way(&self, link: LinkId, now: Instant) -> Option<usize> {
        let way = self.links.iter().position(|own| *own == link)?;
        (now < self.until[way]).then_some(way)
    }

    fn kind(&self, state: &PacketState) -> PacketKind {
        let group = self.groups.get(state.flow.0 as usize);
        let protocol = group.and_then(|group| self.protocols.get(*group as usize));
        PacketKind::of(protocol.copied(), state.len)
    }

    /// Takes the samples that are due by `now`.
    fn look(&mut self, now: Instant) {
        let now = now.as_secs_f64();
        while let Some(seconds) = self.times.get(self.samples.len()).copied() {
            if seconds > now {
                return;
            }
            let ways = self.meters.each_mut().map(|meter| {
                let (delay, kinds) = meter.recent.take();
                WaySample {
                    delivered_bytes: meter.bytes,
                    dropped: meter.dropped,
                    marked: meter.marked,
                    waiting: meter.waiting,
                    delay,
                    kinds,
                }
            });
            self.samples.push(Sample { seconds, ways });
        }
    }
}

impl Probe for Observer {
    fn opened(&mut self, _: Instant, _: FlowNumber, opening: Opening) {
        self.groups.push(opening.group);
    }

    fn arrived(&mut self, now: Instant, link: LinkId, packet: &Packet<Tag>, state: &PacketState) {
        let Some(way) = self.way(link, now) else {
            return;
        };
        self.look(now);
        if packet.ecn == Ecn::Marked {
            self.came_marked.insert(state.number);
        }
        self.meters[way].arrived += 1;
        self.meters[way].waiting += 1;
    }

    fn transmitted(
        &mut self,
        link: LinkId,
        packet: &Packet<Tag>,
        state: &PacketState,
        [start, end]: [Instant; 2],
    ) {
        let Some(way) = self.way(link, start) else {
            return;
        };
        self.look(start);
        let came_marked = self.came_marked.remove(&state.number);
        let marked = packet.ecn == Ecn::Marked && !came_marked;
        let delay = end.since(packet.arrival);
        let bytes = u64::from(state.len) + ETHERNET;
        let kind = self.kind(state);
        let meter = &mut self.meters[way];
        meter.waiting -= 1;
        meter.packets += 1;
        meter.bytes += bytes;
        meter.marked += u64::from(marked);
        meter.delays.record(delay);
        meter.recent.record(kind, delay);
        meter.kinds.sent(kind, bytes, delay, marked);
    }

    fn dropped(
        &mut self,
        now: Instant,
        link: LinkId,
        _: &Packet<Tag>,
        state: &PacketState,
        _: DropReason,
    ) {
        let Some(way) = self.way(link, now) else {
            return;
        };
        self.look(now);
        self.came_marked.remove(&state.number);
        let kind = self.kind(state);
        let meter = &mut self.meters[way];
        meter.waiting -= 1;
        meter.dropped += 1;
        meter.kinds.dropped(kind);
    }

    fn lost(&mut self, now: Instant, link: LinkId, _: &Packet<Tag>, _: &PacketState) {
        if let Some(way) = self.way(link, now) {
            self.meters[way].lost += 1;
        }
    }
}

/// Gives a link of the scenario what options gave the live one.
fn set_link(
    link: &mut LinkSettings,
    way: Way,
    settings: &Settings,
    taken: &Settings,
) -> Result<(), SettingsError> {
    let own = settings.way(way);
    if own.queue != taken.way(way).queue {
        match own.queue.queue()? {
            Queue::Discipline(spec) => link.set_queue(spec),
            queue @ Queue::Tree(_) => {
                let limit = queue.limit();
                if let Queue::Tree(tree) = queue {
                    link.set_tree(Arc::new(*tree), Some(limit));
                }
            }
        }
    }
    link.rate = Rate::from_bits_per_second(own.rate).unwrap_or(link.rate);
    let mut trace = None;
    if let Some((name, text)) = &own.trace {
        let read = LinkTrace::parse(name, text).map_err(SettingsError)?;
        trace = Some(read);
    }
    let mut layer = link.layer;
    if settings.link != taken.link {
        layer = settings.link.layer()?;
    }
    link.set_trace(trace, layer);
    link.delay = Duration::from_picos(own.delay.max(settings.guard));
    link.jitter = Duration::from_picos(own.jitter);
    link.loss = Billionths(own.loss);
    link.decision_cost()
        .map(drop)
        .map_err(|error| SettingsError(error.into()))
}

/// The scenario as the live run had it, with the bottleneck's settings, the seed and the length.
fn as_live(
    home: &Home,
    settings: &Settings,
    length: f64,
) -> Result<(Scenario, Vec<String>), SettingsError> {
    let mut scenario = home.scenario.clone();
    let mut simplified = Vec::new();
    let taken = &home.settings;
    for (way, link) in Way::BOTH.into_iter().zip(home.links) {
        let mut outcome = Ok(());
        let network = &mut scenario.topology.network;
        network.change_link(link, |link| {
            outcome = set_link(link, way, settings, taken);
        });
        outcome?;
    }
    if settings.weights != taken.weights {
        simplified.push(
            "Weights of options count in the live run alone: the simulation has those of its \
             sources."
                .to_owned(),
        );
    }
    if settings.seed != taken.seed {
        scenario.seed = settings.seed;
        scenario.hash_seed = None;
    }
    scenario.duration = Duration::from_nanos((length * 1e9) as u64).max(Duration::from_nanos(1));
    scenario.warmup = Duration::ZERO;
    scenario.measures = Measures::default();
    scenario.objective = None;
    Ok((scenario, simplified))
}

/// Each direction's phase before its first change: a simulation keeps its settings.
fn first_phases(fidelity: &Fidelity) -> Option<[&PhaseFigures; 2]> {
    let [up, down] = &fidelity.ways;
    Some([up.phases.first()?, down.phases.first()?])
}

/// Says that figures end at the first change, if there are changes.
fn up_to_the_change(fidelity: &Fidelity, live: [&PhaseFigures; 2]) -> Option<String> {
    let mut ends = Vec::new();
    for (way, phase) in fidelity.ways.iter().zip(live) {
        if way.phases.len() > 1 {
            ends.push(format!("{} for {:.1} s", way.way, phase.to));
        }
    }
    (!ends.is_empty()).then(|| {
        format!(
            "The simulation keeps the settings of the start, so a direction is compared up to its \
             first change: {}.",
            ends.join(", ")
        )
    })
}

/// Simulates the scenario for as long as the live run kept its settings, and compares. A signal that
/// comes meanwhile ends the simulation.
///
/// # Errors
/// The reason, in a sentence, why there is no simulation.
pub(super) fn beside(
    home: &Home,
    settings: &Settings,
    fidelity: &Fidelity,
    live: &[Sample],
    signals: &Signals,
) -> Result<Beside, String> {
    if home.scenario.groups.is_empty() {
        return Err("Not simulated: the scenario has no sources.".to_owned());
    }
    let Some(first) = first_phases(fidelity) else {
        return Err("Not simulated: the run has no figures.".to_owned());
    };
    let length = first[0].to.max(first[1].to);
    let (mut scenario, mut simplified) =
        as_live(home, settings, length).map_err(|error| format!("Not simulated: {error}"))?;
    simplified.extend(up_to_the_change(fidelity, first));
    let mut times = Vec::new();
    for sample in live {
        if sample.seconds <= length {
            times.push(sample.seconds);
        }
    }
    let events = Estimate::of(&scenario).events;
    if events > MOST_EVENTS {
        return Err(format!(
            "Not simulated: that may take {events:.1e} events; run roundelay simulate by itself."
        ));
    }
    let stop = Stop::default();
    scenario.topology.network.set_stop(stop.clone());
    let mut observer = Observer {
        links: home.links,
        protocols: scenario
            .groups
            .iter()
            .map(|group| group.marks().protocol)
            .collect(),
        groups: Vec::new(),
        came_marked: HashSet::new(),
        meters: Default::default(),
        until: [0, 1].map(|way| ends_at(&fidelity.ways[way])),
        times,
        samples: Vec::new(),
    };
    // The live run has real-time priority, but a new thread does not.
    let outcome = std::thread::scope(|scope| {
        let run = scope.spawn(|| scenario.run_with(scenario.seed, &mut observer, |_| ()));
        while !run.is_finished() {
            if signals.came() {
                stop.request();
            }
            std::thread::sleep(PAUSE);
        }
        run.join()
    });
    match outcome {
        Ok(Ok(_)) => {}
        Ok(Err(_)) if stop.is_requested() => {
            return Err("Not simulated: a signal ended the simulation.".to_owned());
        }
        Ok(Err(error)) => return Err(format!("Not simulated: {error}")),
        Err(_) => return Err("Not simulated: the simulation failed.".to_owned()),
    }
    observer.look(Instant::MAX);
    let Observer {
        meters, samples, ..
    } = observer;
    let [up, down] = meters;
    let mut beside = Beside {
        seed: scenario.seed,
        ways: [up.way(Way::Up), down.way(Way::Down)],
        left_to_reality: home.left.clone(),
        simplified,
        figures: Vec::new(),
        parts: Vec::new(),
        samples,
    };
    compare_all(first, &mut beside);
    Ok(beside)
}

/// When a direction is measured no more: at its first change, or never.
fn ends_at(way: &WayFidelity) -> Instant {
    match &way.phases[..] {
        [first, _, ..] => Instant::from_nanos((first.to * 1e9) as u64),
        _ => Instant::MAX,
    }
}

fn compare_all(first: [&PhaseFigures; 2], beside: &mut Beside) {
    for (way, live) in Way::BOTH.into_iter().zip(first) {
        let length = live.seconds();
        let simulated = &beside.ways[way.index()];
        let kinds = simulated.kinds.clone();
        let both = [Counts::of_live(live), Counts::of_simulated(simulated)];
        compare(way, "all packets", both, length, beside);
        for kind in PacketKind::ALL {
            let both = [&live.kinds, &kinds].map(|kinds| Counts::of_kind(kinds, kind));
            compare(way, kind.name(), both, length, beside);
        }
    }
}

impl Beside {
    /// The comparison in a sentence.
    pub(super) fn summary(&self) -> String {
        let apart = self.figures.iter().filter(|figure| figure.parts).count() as u64;
        let all = counted(self.figures.len() as u64, "figure");
        match (self.figures.is_empty(), apart) {
            (true, _) => "Too few packets to hold the simulation against the live run.".to_owned(),
            (_, 0) => format!("Live run and simulation agree in all of {all}."),
            _ => format!("Live run and simulation part in {} of {all}.", count(apart)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(packets: u64, dropped: u64, p99: f64) -> Counts {
        Counts {
            packets,
            bytes: packets * 1500,
            dropped,
            marked: 0,
            delay: (packets > 0).then_some([p99 / 2.0, p99]),
        }
    }

    fn compared(live: Counts, simulated: Counts) -> Beside {
        let mut beside = Beside {
            seed: 1,
            ways: Default::default(),
            left_to_reality: Vec::new(),
            simplified: Vec::new(),
            figures: Vec::new(),
            parts: Vec::new(),
            samples: Vec::new(),
        };
        compare(Way::Up, "TCP data", [live, simulated], 1.0, &mut beside);
        beside
    }

    #[test]
    fn what_differs_by_more_than_the_threshold_parts() {
        let near = compared(counts(1000, 10, 0.050), counts(950, 15, 0.045));
        assert!(near.parts.is_empty(), "{:?}", near.parts);
        assert_eq!(near.figures.len(), 5);
        assert_eq!(
            near.summary(),
            "Live run and simulation agree in all of 5 figures."
        );
        let far = compared(counts(1000, 10, 0.050), counts(800, 40, 0.020));
        assert_eq!(
            far.parts,
            [
                "up, TCP data: rate 12.0 Mbit/s live, 9.60 Mbit/s simulated.",
                "up, TCP data: p50 delay 25.0 ms live, 10.0 ms simulated.",
                "up, TCP data: p99 delay 50.0 ms live, 20.0 ms simulated.",
                "up, TCP data: dropped 0.99% live, 4.8% simulated.",
            ]
        );
        assert_eq!(
            far.summary(),
            "Live run and simulation part in 4 of 5 figures."
        );
        // Less than a millisecond is no difference.
        let short = compared(counts(1000, 0, 0.0010), counts(1000, 0, 0.0005));
        assert!(short.parts.is_empty(), "{:?}", short.parts);
    }

    /// A chart has one list of times, so curves with times of their own would be points without a
    /// line.
    #[test]
    fn samples_are_taken_at_the_times_of_the_live_ones() {
        let mut observer = Observer {
            links: [LinkId(0), LinkId(1)],
            protocols: Vec::new(),
            groups: Vec::new(),
            came_marked: HashSet::new(),
            meters: Default::default(),
            until: [Instant::MAX; 2],
            times: vec![0.1, 0.25, 0.3, 0.5],
            samples: Vec::new(),
        };
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        observer.look(at(99));
        assert!(observer.samples.is_empty());
        observer.meters[0].bytes = 1;
        observer.look(at(290));
        observer.meters[0].bytes = 2;
        observer.look(Instant::MAX);
        let taken = observer.samples.iter();
        let taken: Vec<_> = taken
            .map(|sample| (sample.seconds, sample.ways[0].delivered_bytes))
            .collect();
        assert_eq!(taken, [(0.1, 1), (0.25, 1), (0.3, 2), (0.5, 2)]);
    }

    #[test]
    fn a_kind_of_one_world_alone_is_told_and_a_rare_one_is_not() {
        let only = compared(counts(200, 0, 0.01), counts(0, 0, 0.0));
        assert_eq!(
            only.parts,
            ["up, TCP data: 200 packets in the live run, none in the other."]
        );
        let rare = compared(counts(99, 0, 0.01), counts(0, 0, 0.0));
        assert!(rare.parts.is_empty() && rare.figures.is_empty());
        assert!(rare.summary().starts_with("Too few packets"));
    }
}
