//! One discipline at work on the events of a capture, with every yardstick on it.

use std::error::Error;
use std::mem;

use roundelay::schedulers::{Discipline, Spec, Visitor};
use roundelay::{
    Bytes, ConfigError, DropReason, Duration, Ecn, FlowConfig, FlowId, Instant, Limit, Observer, Packet, Port, Rate, Scheduler, Share,
};
use roundelay_metrics::{BitWfi, Delays, JainWhileBacklogged, LevelSeries, Reordering, Stamp, SumSeries, TimeWfi};
use roundelay_reference::GpsServer;

use crate::comparison::{Curves, Delay, DisciplineResult, Drops, FlowResult, Jain, Outcome};
use crate::offered::{Event, EventKind, OfferedFlow};

/// Curves are kept for this many flows, the first ones seen.
pub(crate) const FLOWS_WITH_CURVES: usize = 128;
const CURVE_BINS: usize = 512;
const CURVE_BIN: Duration = Duration::from_millis(1);
const CDF_POINTS: usize = 100;

/// What became of a packet, for those who keep them all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketRecord {
    /// When it arrived, from the start of the capture.
    pub arrival: Instant,
    /// Its flow: an index into [`crate::Comparison::flows`].
    pub flow: FlowId,
    /// Bytes.
    pub len: u32,
    /// Whether it was sent or why not.
    pub fate: PacketFate,
}

/// Whether a packet was sent or why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketFate {
    /// It was sent.
    Sent {
        /// When its transmission began.
        start: Instant,
        /// When its transmission ended.
        end: Instant,
        /// It was marked with ECN's CE on the way.
        marked: bool,
    },
    /// It was dropped.
    Dropped(DropReason),
}

/// Takes every packet of one discipline as its fate is known.
pub trait PacketSink: Send {
    /// Takes one.
    ///
    /// # Errors
    /// It could not be kept, by a full disk say; the comparison ends.
    fn record(&mut self, packet: &PacketRecord) -> Result<(), Box<dyn Error + Send + Sync>>;

    /// No more will come.
    ///
    /// # Errors
    /// What was taken could not be kept.
    fn finish(self: Box<Self>) -> Result<(), Box<dyn Error + Send + Sync>>;
}

/// A lane without the type of its scheduler: called once a block of events.
pub(crate) trait Lane: Send {
    fn run(&mut self, events: &[Event]) -> Result<(), Box<dyn Error + Send + Sync>>;
    fn finish(
        self: Box<Self>,
        flows: &[OfferedFlow],
        light: &[bool],
        charted: &[usize],
    ) -> Result<DisciplineResult, Box<dyn Error + Send + Sync>>;
}

/// Builds the lane of a discipline.
pub(crate) struct LaneBuilder<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) limit: Limit,
    pub(crate) rate: Rate,
    pub(crate) seed: u64,
    pub(crate) sink: Option<Box<dyn PacketSink>>,
}

impl Visitor for LaneBuilder<'_> {
    type Output = Result<Box<dyn Lane>, ConfigError>;

    fn visit<D: Discipline>(self, discipline: &D) -> Self::Output {
        let port = Port::new(discipline.build(self.seed)?, self.limit, self.rate);
        Ok(Box::new(LaneOf {
            discipline: discipline.clone(),
            spec: as_written(self.spec),
            limit: self.limit,
            port,
            meters: Meters::new(self.rate, self.sink),
        }))
    }
}

/// The discipline with the limit that it was given, so that two that differ in nothing else can be told apart.
fn as_written(spec: &Spec) -> String {
    let (mut text, unset) = (spec.discipline.to_string(), spec.discipline.default_limit());
    let Some(limit) = spec.limit else { return text };
    match limit {
        Limit { packets: u64::MAX, bytes } => text += &format!(" limit {}", Bytes(bytes)),
        Limit { packets, .. } => text += &format!(" limit {packets}"),
    }
    if limit.packets < u64::MAX && limit.bytes != unset.bytes {
        text += &format!(" memory_limit {}", Bytes(limit.bytes));
    }
    text
}

struct LaneOf<D: Discipline> {
    discipline: D,
    spec: String,
    limit: Limit,
    port: Port<D::Scheduler<Note>>,
    meters: Meters,
}

/// What a packet carries through the scheduler.
#[derive(Debug, Clone, Copy)]
struct Note {
    stamp: Stamp,
    /// Place in the order of arrival within its flow.
    sequence: u64,
    marked_on_arrival: bool,
}

impl<D: Discipline> Lane for LaneOf<D> {
    fn run(&mut self, events: &[Event]) -> Result<(), Box<dyn Error + Send + Sync>> {
        for event in events {
            self.port.advance(event.at, &mut self.meters);
            match event.kind {
                EventKind::Arrival { len, ecn } => {
                    let payload = self.meters.offer(event.at, event.flow, len, ecn);
                    let packet = Packet { flow: event.flow, len, arrival: event.at, ecn, payload };
                    self.port.arrive(event.at, packet, &mut self.meters);
                }
                EventKind::Join(config) => {
                    self.port.scheduler_mut().set_flow(event.flow, config)?;
                    self.meters.join(event.at, event.flow, config);
                }
                EventKind::Leave => {
                    self.port.scheduler_mut().remove_flow(event.flow);
                    self.meters.leave(event.at, event.flow);
                }
            }
        }
        self.check_clock()?;
        self.meters.sink_error.take().map_or(Ok(()), Err)
    }

    fn finish(
        mut self: Box<Self>,
        flows: &[OfferedFlow],
        light: &[bool],
        charted: &[usize],
    ) -> Result<DisciplineResult, Box<dyn Error + Send + Sync>> {
        self.port.drain(&mut self.meters);
        self.check_clock()?;
        self.meters.close()?;
        let everyone: Vec<_> = (0..flows.len()).collect();
        let light: Vec<_> = everyone.iter().copied().filter(|flow| light[*flow]).collect();
        let results: Vec<_> = everyone.iter().map(|flow| self.flow_result(*flow, charted.contains(flow))).collect();
        let footprint = self.port.scheduler().footprint();
        Ok(DisciplineResult {
            spec: self.spec.clone(),
            name: D::NAME,
            about: D::ABOUT,
            limit: self.limit.to_string(),
            weighted: D::WEIGHTED,
            total: self.meters.outcome(&everyone),
            light: self.meters.outcome(&light),
            jain: self.meters.jain(),
            worst_lag: results.iter().map(|flow| flow.lag).fold(0.0, f64::max),
            cost: None,
            bytes_per_flow: footprint.bytes_per_flow,
            fixed_bytes: footprint.fixed_bytes,
            kept_bounds: kept_bounds(&results),
            curves: self.meters.curves.to_curves(self.meters.end, &self.meters.delays(&everyone)),
            light_curves: self.meters.joint_curves(&light),
            flows: results,
        })
    }
}

impl<D: Discipline> LaneOf<D> {
    /// At the end of time packets would neither leave nor be dropped, and no delay would be true.
    fn check_clock(&self) -> Result<(), String> {
        if self.meters.end < Instant::MAX {
            return Ok(());
        }
        let (spec, rate) = (&self.spec, self.meters.rate);
        Err(format!(
            "{spec}: time can be told for 213 days from the first packet on: the capture is longer, or its packets wait longer at {rate}"
        ))
    }

    fn flow_result(&self, number: usize, charted: bool) -> FlowResult {
        let flow = FlowId(number as u32);
        let meter = &self.meters.flows[number];
        let Most { weight: largest, smallest_weight: smallest, .. } = self.meters.most;
        let [crowded, alone] = [largest, smallest].map(|total| self.discipline.guarantees(&self.meters.share(meter, total)));
        let slack = self.meters.rounding_slack();
        let b_wfi = crowded.b_wfi.zip(alone.b_wfi).map(|(crowded, alone)| crowded.value.max(alone.value));
        FlowResult {
            outcome: self.meters.outcome(&[number]),
            lag: meter.lag,
            b_wfi: self.meters.bit_wfi.worst(flow),
            b_wfi_bound: b_wfi.map(|bound| bound as f64 + slack),
            t_wfi: self.meters.time_wfi.worst(flow).unwrap_or(0.0),
            t_wfi_bound: crowded.t_wfi.map(|bound| bound.value.as_secs_f64() + self.meters.seconds_of(slack)),
            curves: meter.curves.as_ref().filter(|_| charted).map(|curves| curves.to_curves(self.meters.end, &meter.delays)),
        }
    }
}

fn kept_bounds(flows: &[FlowResult]) -> Option<bool> {
    let kept = |measured: f64, bound: Option<f64>| bound.is_none_or(|bound| measured <= bound);
    let proven = flows.iter().any(|flow| flow.b_wfi_bound.is_some() || flow.t_wfi_bound.is_some());
    proven.then(|| flows.iter().all(|flow| kept(flow.b_wfi, flow.b_wfi_bound) && kept(flow.t_wfi, flow.t_wfi_bound)))
}

/// Every yardstick, told of everything that the port does.
struct Meters {
    rate: Rate,
    flows: Vec<FlowMeter>,
    gps: GpsServer<f64>,
    bit_wfi: BitWfi,
    time_wfi: TimeWfi,
    jain: JainWhileBacklogged,
    reordering: Reordering,
    curves: CurveMeter,
    backlog: u64,
    sent_bytes: u64,
    /// The packet on the link: it is complete when time has reached its end.
    on_link: Option<(FlowId, Stamp, Instant)>,
    end: Instant,
    /// Flows that have joined and not left.
    present: u64,
    most: Most,
    sink: Option<Box<dyn PacketSink>>,
    sink_error: Option<Box<dyn Error + Send + Sync>>,
}

/// What bounds depend on, at its extremes over the run: flows come and go, so that a flow's share changes, and a bound is stated for the
/// worst of its values.
#[derive(Debug, Default)]
struct Most {
    /// Flows present at once.
    flows: u64,
    /// Longest packet of any flow.
    packet_len: u32,
    /// Sums of the weights of the flows present.
    weight: u64,
    smallest_weight: u64,
}

#[derive(Default)]
struct FlowMeter {
    arrived: u64,
    sent: u64,
    sent_bytes: u64,
    drops: Drops,
    marked: u64,
    delays: Delays,
    backlog: u64,
    lag: f64,
    /// Bytes dropped after the fluid server had served them.
    forgiven: f64,
    config: FlowConfig,
    present: bool,
    curves: Option<CurveMeter>,
}

impl Meters {
    fn new(rate: Rate, sink: Option<Box<dyn PacketSink>>) -> Self {
        Self {
            rate,
            flows: Vec::new(),
            gps: GpsServer::new(rate),
            bit_wfi: BitWfi::default(),
            time_wfi: TimeWfi::new(rate),
            jain: JainWhileBacklogged::new(jain_window(rate)),
            reordering: Reordering::default(),
            curves: CurveMeter::default(),
            backlog: 0,
            sent_bytes: 0,
            on_link: None,
            end: Instant::ZERO,
            present: 0,
            most: Most::default(),
            sink,
            sink_error: None,
        }
    }

    fn join(&mut self, now: Instant, flow: FlowId, config: FlowConfig) {
        if flow.index() == self.flows.len() {
            let curves = (flow.index() < FLOWS_WITH_CURVES).then(CurveMeter::default);
            self.flows.push(FlowMeter { curves, ..FlowMeter::default() });
        }
        self.complete_until(now);
        self.flows[flow.index()].config = config;
        self.gps.set_weight(flow, config.weight);
        self.bit_wfi.set_weight(flow, config.weight);
        self.time_wfi.set_weight(now, flow, config.weight);
        self.jain.set_weight(flow, config.weight);
        self.present += u64::from(!mem::replace(&mut self.flows[flow.index()].present, true));
        self.watch_weights();
    }

    fn leave(&mut self, now: Instant, flow: FlowId) {
        self.complete_until(now);
        if self.flows[flow.index()].backlog == 0 {
            self.bit_wfi.remove(flow);
            self.time_wfi.remove(now, flow);
            self.present -= u64::from(mem::take(&mut self.flows[flow.index()].present));
            self.watch_weights();
        }
    }

    fn watch_weights(&mut self) {
        let (total, most) = (self.bit_wfi.total_weight(), &mut self.most);
        most.flows = most.flows.max(self.present);
        most.weight = most.weight.max(total);
        if total > 0 && (most.smallest_weight == 0 || total < most.smallest_weight) {
            most.smallest_weight = total;
        }
    }

    fn offer(&mut self, now: Instant, flow: FlowId, len: u32, ecn: Ecn) -> Note {
        self.complete_until(now);
        self.end = self.end.max(now);
        self.most.packet_len = self.most.packet_len.max(len);
        self.gps.arrive(now, flow, len.into());
        self.bit_wfi.arrive(flow, len);
        let stamp = self.time_wfi.arrive(now, flow, len);
        self.jain.arrive(now, flow, len);
        let meter = &mut self.flows[flow.index()];
        let sequence = meter.arrived;
        meter.arrived += 1;
        self.change_backlog(now, flow, i64::from(len));
        Note { stamp, sequence, marked_on_arrival: ecn == Ecn::Marked }
    }

    fn change_backlog(&mut self, now: Instant, flow: FlowId, bytes: i64) {
        self.backlog = self.backlog.saturating_add_signed(bytes);
        self.curves.backlog.level(now, self.backlog);
        let meter = &mut self.flows[flow.index()];
        meter.backlog = meter.backlog.saturating_add_signed(bytes);
        if let Some(curves) = &mut meter.curves {
            curves.backlog.level(now, meter.backlog);
        }
    }

    /// The packet on the link has left it if that was at or before `now`.
    fn complete_until(&mut self, now: Instant) {
        if let Some((flow, stamp, end)) = self.on_link.filter(|(_, _, end)| *end <= now) {
            self.time_wfi.complete(end, flow, stamp);
            self.on_link = None;
        }
    }

    /// How far the flow is behind the fluid server as one of its packets gets the link, when it is furthest behind.
    fn measure_lag(&mut self, now: Instant, flow: FlowId) {
        self.gps.advance(now);
        let ideal = self.gps.served(flow);
        let meter = &mut self.flows[flow.index()];
        meter.lag = meter.lag.max(ideal - meter.sent_bytes as f64 - meter.forgiven);
    }

    fn record(&mut self, record: PacketRecord) {
        if let Some(sink) = &mut self.sink
            && self.sink_error.is_none()
        {
            self.sink_error = sink.record(&record).err();
        }
    }

    fn close(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.complete_until(Instant::MAX);
        self.jain.advance(self.end);
        if let Some(error) = self.sink_error.take() {
            return Err(error);
        }
        self.sink.take().map_or(Ok(()), PacketSink::finish)
    }

    fn share(&self, meter: &FlowMeter, total_weight: u64) -> Share {
        Share {
            weight: meter.config.weight,
            total_weight: total_weight.max(meter.config.weight.into()),
            flows: self.most.flows,
            max_packet_len: meter.config.max_packet_len,
            link_max_packet_len: self.most.packet_len,
            rate: self.rate,
        }
    }

    /// Shares are kept to one part in 2^20, so a bound may be passed by that part of what was sent.
    fn rounding_slack(&self) -> f64 {
        self.sent_bytes as f64 / f64::from(1 << 20) + 1.0
    }

    fn seconds_of(&self, bytes: f64) -> f64 {
        bytes * 8.0 / self.rate.bits_per_second() as f64
    }

    fn delays(&self, flows: &[usize]) -> Delays {
        let mut all = Delays::default();
        flows.iter().for_each(|flow| all.merge(&self.flows[*flow].delays));
        all
    }

    fn outcome(&self, flows: &[usize]) -> Outcome {
        let mut outcome = Outcome::default();
        let mut arrived = 0;
        for &flow in flows {
            let meter = &self.flows[flow];
            arrived += meter.arrived;
            outcome.packets += meter.sent;
            outcome.bytes += meter.sent_bytes;
            outcome.drops.add(&meter.drops);
            outcome.marked += meter.marked;
            outcome.reordered += self.reordering.reordered(FlowId(flow as u32));
        }
        let seconds = self.end.as_secs_f64();
        outcome.throughput = if seconds > 0.0 { outcome.bytes as f64 * 8.0 / seconds } else { 0.0 };
        outcome.loss = if arrived > 0 { outcome.drops.total() as f64 / arrived as f64 } else { 0.0 };
        outcome.delay = summary(&self.delays(flows));
        outcome
    }

    /// The curves of several flows together; over time only if each of them has curves.
    fn joint_curves(&self, flows: &[usize]) -> Curves {
        let each: Option<Vec<_>> = flows.iter().map(|flow| self.flows[*flow].curves.as_ref()).collect();
        let mut sum = Curves { delay_cdf: cdf(&self.delays(flows)), ..Curves::default() };
        for curves in each.unwrap_or_default() {
            let one = curves.to_curves(self.end, &Delays::default());
            sum.bin = one.bin;
            add_up(&mut sum.throughput, &one.throughput);
            add_up(&mut sum.backlog, &one.backlog);
        }
        sum
    }

    fn jain(&self) -> Option<Jain> {
        let (mean, min) = (self.jain.mean()?, self.jain.minimum()?);
        Some(Jain { mean, min, windows: self.jain.windows(), window: jain_window(self.rate).as_secs_f64() })
    }
}

impl Observer<Note> for Meters {
    fn sent(&mut self, packet: Packet<Note>, start: Instant, end: Instant) {
        let (flow, len) = (packet.flow, packet.len);
        self.complete_until(start);
        self.measure_lag(start, flow);
        self.on_link = Some((flow, packet.payload.stamp, end));
        self.end = self.end.max(end);
        self.sent_bytes += u64::from(len);
        self.bit_wfi.serve(flow, len);
        self.jain.serve(start, flow, len);
        self.reordering.depart(flow, packet.payload.sequence);
        self.change_backlog(start, flow, -i64::from(len));
        self.curves.sent.add(end, len.into());
        let marked = packet.ecn == Ecn::Marked && !packet.payload.marked_on_arrival;
        let meter = &mut self.flows[flow.index()];
        meter.sent += 1;
        meter.sent_bytes += u64::from(len);
        meter.marked += u64::from(marked);
        meter.delays.record(end.since(packet.arrival));
        if let Some(curves) = &mut meter.curves {
            curves.sent.add(end, len.into());
        }
        self.record(PacketRecord { arrival: packet.arrival, flow, len, fate: PacketFate::Sent { start, end, marked } });
    }

    fn dropped(&mut self, packet: Packet<Note>, now: Instant, reason: DropReason) {
        let (flow, len) = (packet.flow, packet.len);
        let taken_back = self.gps.withdraw(now, flow, len.into());
        self.bit_wfi.withdraw(flow, len);
        self.time_wfi.withdraw(flow, packet.payload.stamp);
        self.jain.withdraw(now, flow, len);
        self.change_backlog(now, flow, -i64::from(len));
        let meter = &mut self.flows[flow.index()];
        meter.forgiven += f64::from(len) - taken_back;
        meter.drops.count(reason);
        self.record(PacketRecord { arrival: packet.arrival, flow, len, fate: PacketFate::Dropped(reason) });
    }
}

/// Long enough for over a hundred full packets: with fewer, whole packets make the index of the fairest queue look bad.
fn jain_window(rate: Rate) -> Duration {
    Duration::from_millis(100).max(rate.time_of(128 * 1514))
}

struct CurveMeter {
    sent: SumSeries,
    backlog: LevelSeries,
}

impl Default for CurveMeter {
    fn default() -> Self {
        Self { sent: SumSeries::new(Instant::ZERO, CURVE_BIN, CURVE_BINS), backlog: LevelSeries::new(Instant::ZERO, CURVE_BIN, CURVE_BINS) }
    }
}

impl CurveMeter {
    fn to_curves(&self, end: Instant, delays: &Delays) -> Curves {
        let (mut sent, mut backlog) = (self.sent.clone(), self.backlog.clone());
        sent.add(end, 0);
        backlog.advance(end);
        Curves {
            bin: sent.width().as_secs_f64(),
            throughput: sent.per_second().map(|bytes| bytes * 8.0).collect(),
            backlog: backlog.levels().map(|level| level.mean).collect(),
            delay_cdf: cdf(delays),
        }
    }
}

fn add_up(sum: &mut Vec<f64>, values: &[f64]) {
    sum.resize(sum.len().max(values.len()), 0.0);
    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}

fn cdf(delays: &Delays) -> Vec<(f64, f64)> {
    delays.cdf(CDF_POINTS).into_iter().map(|(delay, fraction)| (delay.as_secs_f64(), fraction)).collect()
}

fn summary(delays: &Delays) -> Option<Delay> {
    let quantile = |q| delays.quantile(q).map(Duration::as_secs_f64);
    Some(Delay {
        mean: delays.mean()?.as_secs_f64(),
        p50: quantile(0.5)?,
        p99: quantile(0.99)?,
        p999: quantile(0.999)?,
        max: delays.maximum()?.as_secs_f64(),
    })
}

impl Drops {
    fn count(&mut self, reason: DropReason) {
        match reason {
            DropReason::Full => self.full += 1,
            DropReason::PushedOut => self.pushed_out += 1,
            DropReason::Early => self.early += 1,
            DropReason::Refused => self.refused += 1,
        }
    }

    fn add(&mut self, other: &Self) {
        self.full += other.full;
        self.pushed_out += other.pushed_out;
        self.early += other.early;
        self.refused += other.refused;
    }
}

#[cfg(test)]
mod tests {
    use roundelay::Guarantees;
    use roundelay::schedulers::{fifo, wf2q_plus};

    use super::*;

    /// A FIFO that promises what WF2Q+ keeps.
    #[derive(Debug, Clone, Default)]
    struct Liar;

    impl Discipline for Liar {
        const NAME: &'static str = "liar";
        const ABOUT: &'static str = "";
        const SOURCE: &'static str = "";
        const PARAMETERS: &'static [roundelay::Parameter<Self>] = &[];
        const WEIGHTED: bool = true;
        const DEFAULT_LIMIT: Limit = Limit::UNBOUNDED;
        type Scheduler<T: Send> = fifo::Fifo<T>;

        fn build<T: Send>(&self, _seed: u64) -> Result<fifo::Fifo<T>, ConfigError> {
            Ok(fifo::Fifo::default())
        }

        fn guarantees(&self, share: &Share) -> Guarantees {
            wf2q_plus::Config.guarantees(share)
        }
    }

    /// One flow's burst, and right after it a packet of another.
    fn kept_bounds_of(discipline: &impl Discipline, burst: u32) -> Option<bool> {
        let config = FlowConfig { weight: 1, max_packet_len: 1514 };
        let event = |flow, kind| Event { at: Instant::ZERO, flow: FlowId(flow), kind };
        let packet = |flow| event(flow, EventKind::Arrival { len: 1500, ecn: Ecn::NotCapable });
        let mut events: Vec<_> = (0..2).map(|flow| event(flow, EventKind::Join(config))).collect();
        events.extend((0..burst).map(|_| packet(0)));
        events.push(packet(1));
        // The audit asks nothing of what is known from the packets alone but how many flows there are.
        let flow = OfferedFlow::idle(config);
        let (spec, rate) = ("fifo".parse().unwrap(), "8mbit".parse().unwrap());
        let mut lane = LaneBuilder { spec: &spec, limit: Limit::UNBOUNDED, rate, seed: 1, sink: None }.visit(discipline).unwrap();
        lane.run(&events).unwrap();
        lane.finish(&[flow; 2], &[false; 2], &[]).unwrap().kept_bounds
    }

    #[test]
    fn the_audit_catches_a_discipline_that_promises_what_it_does_not_keep() {
        assert_eq!(kept_bounds_of(&Liar, 2), Some(true), "two packets are within the bound");
        assert_eq!(kept_bounds_of(&Liar, 20), Some(false));
        assert_eq!(kept_bounds_of(&wf2q_plus::Config, 20), Some(true));
        assert_eq!(kept_bounds_of(&fifo::Config, 20), None, "nothing promised, nothing broken");
    }

    #[test]
    fn either_index_beyond_its_bound_is_a_bound_broken() {
        let flow = |b_wfi, t_wfi| FlowResult {
            outcome: Outcome::default(),
            lag: 0.0,
            b_wfi,
            b_wfi_bound: Some(1500.0),
            t_wfi,
            t_wfi_bound: Some(0.5),
            curves: None,
        };
        assert_eq!(kept_bounds(&[flow(1500.0, 0.5), flow(0.0, -1.0)]), Some(true));
        assert_eq!(kept_bounds(&[flow(1500.1, 0.5), flow(0.0, 0.0)]), Some(false));
        assert_eq!(kept_bounds(&[flow(0.0, 0.0), flow(0.0, 0.6)]), Some(false));
        assert_eq!(kept_bounds(&[FlowResult { b_wfi_bound: None, t_wfi_bound: None, ..flow(9e9, 9e9) }]), None);
        assert_eq!(kept_bounds(&[]), None);
    }

    #[test]
    fn a_discipline_is_named_with_the_limit_that_it_was_given() {
        for text in ["fifo", "fifo limit 128000b", "drr quantum 300b limit 20", "fq_codel limit 100 memory_limit 1mb", "fq_codel limit 1mb"]
        {
            let written = as_written(&text.parse().unwrap());
            let again: Spec = written.parse().unwrap();
            assert_eq!(again.limit, text.parse::<Spec>().unwrap().limit, "{text}: {written}");
        }
        assert_eq!(as_written(&"fq_codel limit 100".parse().unwrap()), "fq_codel limit 100");
        assert_eq!(as_written(&"fifo limit 128000b".parse().unwrap()), "fifo limit 125kb");
    }
}
