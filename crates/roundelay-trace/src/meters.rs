//! Meters: all measurements on one discipline, as an observer of its port.

use std::error::Error;
use std::mem;

use roundelay::author::prefetch;
use roundelay::{
    DropReason, Duration, Ecn, FlowConfig, FlowId, Guarantees, Instant, Observer, Packet, Rate,
    Share,
};
use roundelay_metrics::{
    BitWfi, Delays, DepartureSeries, Departures, JainWhileBacklogged, Lateness, LevelSeries,
    PairFairness, Reordering, Stamp, TimeWfi,
};
use roundelay_reference::GpsServer;

use crate::audit::{Crowd, Extremes, Promised};
use crate::comparison::{Curves, FlowResult, Jain};
use crate::outcome::{Delay, Drops, Outcome};
use crate::sink::{PacketFate, PacketRecord, PacketSink};
use crate::urgency::Offer;

/// How many flows have curves: the first that were seen.
pub(crate) const FLOWS_WITH_CURVES: usize = 128;
const CURVE_BINS: usize = 512;
const CURVE_BIN: Duration = Duration::from_millis(1);
const CDF_POINTS: usize = 100;

/// What a packet carries inside the scheduler.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Note {
    stamp: Stamp,
    /// The packet's number in its flow, in order of arrival.
    sequence: u64,
    marked_on_arrival: bool,
    is_bare: bool,
    /// Whether this packet's position in its flow counts as order.
    pub(crate) has_position: bool,
}

/// All measurements on one discipline.
pub(crate) struct Meters {
    rate: Rate,
    flows: Vec<FlowMeter>,
    gps: GpsServer<f64>,
    bit_wfi: BitWfi,
    time_wfi: TimeWfi,
    lateness: Lateness,
    pairs: PairFairness,
    jain: JainWhileBacklogged,
    reordering: Reordering,
    curves: CurveMeter,
    backlog: u64,
    sent_packets: u64,
    sent_bytes: u64,
    /// The packet on the link, which is complete at its end time.
    on_link: Option<(FlowId, Stamp, Instant)>,
    end: Instant,
    /// How many flows are present: they have joined and not left.
    present: u64,
    extremes: Extremes,
    sink: Option<Box<dyn PacketSink>>,
    sink_error: Option<Box<dyn Error + Send + Sync>>,
}

#[derive(Default)]
struct FlowMeter {
    arrived: u64,
    sent: u64,
    sent_bytes: u64,
    /// `sent_bytes` when the capture's last packet arrived.
    bytes_in_time: u64,
    drops: Drops,
    data: DataPackets,
    marked: u64,
    delays: Delays,
    backlog: u64,
    lag: f64,
    /// Bytes that were dropped after the fluid server had already served them.
    forgiven: f64,
    config: FlowConfig,
    present: bool,
    /// Boxed, because few flows have curves.
    curves: Option<Box<CurveMeter>>,
}

/// Packets that are not bare acknowledgements.
#[derive(Debug, Clone, Copy, Default)]
struct DataPackets {
    arrived: u64,
    dropped: u64,
}

impl DataPackets {
    fn loss(self) -> f64 {
        self.dropped as f64 / self.arrived.max(1) as f64
    }
}

/// How far a run may exceed a bound because of rounding, without violating it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tolerance {
    bytes: f64,
    /// How long `bytes` take on the link.
    seconds: f64,
    /// Each transmission ends on a whole picosecond, so it may end one picosecond late.
    clock: f64,
}

impl Meters {
    pub(crate) fn new(rate: Rate, sink: Option<Box<dyn PacketSink>>) -> Self {
        Self {
            rate,
            flows: Vec::new(),
            gps: GpsServer::new(rate),
            bit_wfi: BitWfi::default(),
            time_wfi: TimeWfi::new(rate),
            lateness: Lateness::new(rate),
            pairs: PairFairness::default(),
            jain: JainWhileBacklogged::new(jain_window(rate)),
            reordering: Reordering::default(),
            curves: CurveMeter::default(),
            backlog: 0,
            sent_packets: 0,
            sent_bytes: 0,
            on_link: None,
            end: Instant::ZERO,
            present: 0,
            extremes: Extremes::default(),
            sink,
            sink_error: None,
        }
    }

    /// Stores each packet in this sink.
    pub(crate) fn store_in(&mut self, sink: Option<Box<dyn PacketSink>>) {
        self.sink = sink;
    }

    pub(crate) fn join(&mut self, now: Instant, flow: FlowId, config: FlowConfig) {
        if flow.index() == self.flows.len() {
            let curves = (flow.index() < FLOWS_WITH_CURVES).then(Box::default);
            self.flows.push(FlowMeter {
                curves,
                ..FlowMeter::default()
            });
        }
        self.complete_until(now);
        let meter = &mut self.flows[flow.index()];
        if meter.present && meter.config != config {
            self.bit_wfi.restart(flow);
            self.time_wfi.restart(now, flow);
            self.lateness.restart(now, flow);
            self.pairs.restart(flow);
        }
        meter.config = config;
        self.gps.set_weight(flow, config.weight);
        self.bit_wfi.set_weight(flow, config.weight);
        self.time_wfi.set_weight(now, flow, config.weight);
        self.lateness.set_weight(now, flow, config.weight);
        self.pairs.set_weight(flow, config.weight);
        self.extremes.watch_flow(config);
        self.jain.set_weight(flow, config.weight);
        self.present += u64::from(!mem::replace(&mut self.flows[flow.index()].present, true));
        self.watch_weights();
    }

    pub(crate) fn leave(&mut self, now: Instant, flow: FlowId) {
        self.complete_until(now);
        if self.flows[flow.index()].backlog == 0 {
            self.bit_wfi.remove(flow);
            self.time_wfi.remove(now, flow);
            self.lateness.remove(now, flow);
            self.present -= u64::from(mem::take(&mut self.flows[flow.index()].present));
            self.watch_weights();
        }
    }

    /// From now on, the discipline divides weights by this sum.
    #[inline]
    pub(crate) fn watch_total_weight(&mut self, now: Instant, total: u64) {
        if total != self.bit_wfi.total_weight() {
            self.complete_until(now);
            self.bit_wfi.set_total_weight(total);
            self.time_wfi.set_total_weight(now, total);
            self.lateness.set_total_weight(now, total);
            self.watch_weights();
        }
    }

    /// Notes that the flows have changed, for a discipline whose bounds assume that they stay.
    pub(crate) const fn measure_anew(&mut self, now: Instant) {
        self.bit_wfi.restart_all();
        self.lateness.restart_all(now);
    }

    fn watch_weights(&mut self) {
        self.extremes.watch_crowd(Crowd {
            flows: self.present,
            weight: self.bit_wfi.total_weight(),
        });
    }

    /// Asks for the memory of a flow whose packet arrives soon.
    #[inline]
    pub(crate) fn prefetch(&self, flow: FlowId) {
        prefetch(&self.flows, flow.index());
        self.gps.prefetch(flow);
        self.bit_wfi.prefetch(flow);
        self.time_wfi.prefetch(flow);
        self.pairs.prefetch(flow);
        self.jain.prefetch(flow);
    }

    pub(crate) fn offer(
        &mut self,
        now: Instant,
        flow: FlowId,
        Offer {
            len, ecn, is_bare, ..
        }: Offer,
    ) -> Note {
        self.complete_until(now);
        self.end = self.end.max(now);
        self.extremes.watch_packet(len);
        self.gps.arrive(now, flow, len.into());
        self.bit_wfi.arrive(flow, len);
        let stamp = self.time_wfi.arrive(now, flow, len);
        self.pairs.arrive(flow);
        self.jain.arrive(now, flow, len);
        let meter = &mut self.flows[flow.index()];
        let sequence = meter.arrived;
        meter.arrived += 1;
        meter.data.arrived += u64::from(!is_bare);
        self.change_backlog(now, flow, i64::from(len));
        Note {
            stamp,
            sequence,
            marked_on_arrival: ecn == Ecn::Marked,
            is_bare,
            has_position: true,
        }
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

    /// Completes the packet on the link, if its transmission ended by `now`.
    fn complete_until(&mut self, now: Instant) {
        let Some((_, _, end)) = &self.on_link else {
            return;
        };
        if *end > now {
            return;
        }
        if let Some((flow, stamp, end)) = self.on_link.take() {
            self.time_wfi.complete(end, flow, stamp);
            self.lateness.complete(end, flow, stamp);
        }
    }

    /// Measures a flow's lag behind the fluid server. The lag is largest when one of the flow's
    /// packets starts transmission, so we measure then.
    fn measure_lag(&mut self, now: Instant, flow: FlowId) {
        self.gps.advance(now);
        let ideal = self.gps.served(flow);
        let meter = &mut self.flows[flow.index()];
        meter.lag = meter
            .lag
            .max(ideal - meter.sent_bytes as f64 - meter.forgiven);
    }

    fn record(&mut self, record: PacketRecord) {
        if let Some(sink) = &mut self.sink
            && self.sink_error.is_none()
        {
            self.sink_error = sink.record(&record).err();
        }
    }

    /// How many of the flow's bytes an ideal server with an unlimited buffer holds.
    pub(crate) fn ideal_backlog(&self, flow: FlowId) -> f64 {
        self.gps.backlog(flow)
    }

    /// Notes that no further packet arrives.
    pub(crate) fn note_last_arrival(&mut self) {
        self.flows
            .iter_mut()
            .for_each(|meter| meter.bytes_in_time = meter.sent_bytes);
    }

    pub(crate) fn close(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.complete_until(Instant::MAX);
        self.jain.advance(self.end);
        self.curves.extend(self.end);
        for meter in &mut self.flows {
            if let Some(curves) = &mut meter.curves {
                curves.extend(self.end);
            }
        }
        self.check_sink()?;
        self.sink.take().map_or(Ok(()), PacketSink::finish)
    }

    /// How far bounds may be exceeded. Shares are rounded to one part in 2^20, by some disciplines
    /// in 2^19, so a bound may be exceeded by this part of the sent bytes. One value serves all
    /// flows, which keeps the work linear in their number.
    pub(crate) fn tolerance(&self) -> Tolerance {
        let bytes = self.sent_bytes as f64 / f64::from(1 << 19) + 1.0;
        let seconds = bytes * 8.0 / self.rate.bits_per_second() as f64;
        Tolerance {
            bytes,
            seconds,
            clock: self.sent_packets as f64 * 1e-12,
        }
    }

    /// Bounds promised to flows of this configuration.
    pub(crate) fn promised(
        &self,
        config: FlowConfig,
        guarantees: impl Fn(&Share) -> Guarantees,
    ) -> Promised {
        self.extremes.promised(config, self.rate, guarantees)
    }

    /// The flow's last configuration.
    pub(crate) fn config(&self, flow: FlowId) -> FlowConfig {
        self.flows[flow.index()].config
    }

    /// What we measured for the flow, next to its promised bounds.
    pub(crate) fn flow_result(
        &self,
        flow: FlowId,
        tolerance: Tolerance,
        promised: Promised,
        charted: bool,
    ) -> FlowResult {
        let meter = &self.flows[flow.index()];
        let Tolerance {
            bytes,
            seconds,
            clock,
        } = tolerance;
        FlowResult {
            outcome: self.outcome(&[flow.index()], &meter.delays),
            bytes_in_time: meter.bytes_in_time,
            data_loss: meter.data.loss(),
            lag: meter.lag,
            b_wfi: self.bit_wfi.worst(flow),
            b_wfi_bound: promised.b_wfi.map(|bound| bound + bytes),
            t_wfi: self.time_wfi.worst(flow).unwrap_or(0.0),
            t_wfi_bound: promised.t_wfi.map(|bound| bound + seconds + clock),
            latency: self.lateness.worst(flow).unwrap_or(0.0),
            latency_bound: promised.latency.map(|bound| bound + seconds + clock),
            fairness: self
                .extremes
                .seconds_of_lead(self.pairs.worst(flow), self.rate),
            fairness_bound: promised.fairness.map(|bound| bound + seconds),
            curves: meter
                .curves
                .as_ref()
                .filter(|_| charted)
                .map(|curves| curves.to_curves(&meter.delays)),
        }
    }

    /// Time of the last arrival or departure.
    pub(crate) const fn end(&self) -> Instant {
        self.end
    }

    /// The sink's error. It is reported once.
    pub(crate) fn check_sink(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.sink_error.take().map_or(Ok(()), Err)
    }

    /// Curves over all flows, from their [`delays`](Self::delays).
    pub(crate) fn curves(&self, delays: &Delays) -> Curves {
        self.curves.to_curves(delays)
    }

    /// Several flows' delays together.
    pub(crate) fn delays(&self, flows: &[usize]) -> Delays {
        let mut all = Delays::default();
        for flow in flows {
            all.merge(&self.flows[*flow].delays);
        }
        all
    }

    /// What became of several flows' packets, with their [`delays`](Self::delays).
    pub(crate) fn outcome(&self, flows: &[usize], delays: &Delays) -> Outcome {
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
        outcome.throughput = if seconds > 0.0 {
            outcome.bytes as f64 * 8.0 / seconds
        } else {
            0.0
        };
        outcome.loss = if arrived > 0 {
            outcome.drops.total() as f64 / arrived as f64
        } else {
            0.0
        };
        outcome.delay = summary(delays);
        outcome
    }

    /// Curves over several flows, with their [`delays`](Self::delays). Curves over time need curves
    /// for each of these flows.
    pub(crate) fn joint_curves(&self, flows: &[usize], delays: &Delays) -> Curves {
        let each: Option<Vec<_>> = flows
            .iter()
            .map(|flow| self.flows[*flow].curves.as_ref())
            .collect();
        let mut sum = Curves {
            delay_cdf: cdf(delays),
            ..Curves::default()
        };
        let each = each.unwrap_or_default();
        let mut sent: Option<DepartureSeries> = None;
        for curves in each {
            sum.bin = curves.bin();
            add_up(&mut sum.throughput, curves.throughput());
            add_up(&mut sum.backlog, curves.mean_backlog());
            match &mut sent {
                Some(sent) => sent.merge(&curves.sent),
                None => sent = Some(curves.sent.clone()),
            }
        }
        if let Some(sent) = &sent {
            sum.delay_mean = delays_over_time(sent, Departures::mean_delay);
            sum.delay_max = delays_over_time(sent, Departures::longest_delay);
        }
        sum
    }

    pub(crate) fn jain(&self) -> Option<Jain> {
        let mean = self.jain.mean()?;
        let min = self.jain.minimum()?;
        Some(Jain {
            mean,
            min,
            windows: self.jain.windows(),
            window: jain_window(self.rate).as_secs_f64(),
        })
    }
}

impl Observer<Note> for Meters {
    fn sent(&mut self, packet: Packet<Note>, start: Instant, end: Instant) {
        let flow = packet.flow;
        let len = packet.len;
        self.complete_until(start);
        self.measure_lag(start, flow);
        self.on_link = Some((flow, packet.payload.stamp, end));
        self.end = self.end.max(end);
        self.sent_packets += 1;
        self.sent_bytes += u64::from(len);
        self.bit_wfi.serve(flow, len);
        self.pairs.serve(flow, len);
        self.jain.serve(start, flow, len);
        if packet.payload.has_position {
            self.reordering.depart(flow, packet.payload.sequence);
        }
        self.change_backlog(start, flow, -i64::from(len));
        let delay = end.since(packet.arrival);
        self.curves.sent.depart(end, len.into(), delay);
        let marked = packet.ecn == Ecn::Marked && !packet.payload.marked_on_arrival;
        let meter = &mut self.flows[flow.index()];
        meter.sent += 1;
        meter.sent_bytes += u64::from(len);
        meter.marked += u64::from(marked);
        meter.delays.record(delay);
        if let Some(curves) = &mut meter.curves {
            curves.sent.depart(end, len.into(), delay);
        }
        self.record(PacketRecord {
            arrival: packet.arrival,
            flow,
            len,
            fate: PacketFate::Sent { start, end, marked },
        });
    }

    fn dropped(&mut self, packet: Packet<Note>, now: Instant, reason: DropReason) {
        let flow = packet.flow;
        let len = packet.len;
        let taken_back = self.gps.withdraw(now, flow, len.into());
        self.bit_wfi.withdraw(flow, len);
        self.pairs.withdraw(flow);
        self.time_wfi.withdraw(flow, packet.payload.stamp);
        match reason {
            DropReason::Early | DropReason::Filtered => self.jain.withdraw(now, flow, len),
            DropReason::Full | DropReason::PushedOut | DropReason::Refused => {
                self.jain.deny(now, flow, len)
            }
        }
        self.change_backlog(now, flow, -i64::from(len));
        let meter = &mut self.flows[flow.index()];
        meter.forgiven += f64::from(len) - taken_back;
        meter.drops.count(reason);
        meter.data.dropped += u64::from(!packet.payload.is_bare);
        self.record(PacketRecord {
            arrival: packet.arrival,
            flow,
            len,
            fate: PacketFate::Dropped(reason),
        });
    }
}

/// The window for Jain's index. It holds over a hundred full packets, because with fewer, whole
/// packets make the index look bad even for the fairest queue.
fn jain_window(rate: Rate) -> Duration {
    Duration::from_millis(100).max(rate.time_of(128 * 1514))
}

struct CurveMeter {
    sent: DepartureSeries,
    backlog: LevelSeries,
}

impl Default for CurveMeter {
    fn default() -> Self {
        Self {
            sent: DepartureSeries::new(Instant::ZERO, CURVE_BIN, CURVE_BINS).with_room(),
            backlog: LevelSeries::new(Instant::ZERO, CURVE_BIN, CURVE_BINS).with_room(),
        }
    }
}

impl CurveMeter {
    /// Extends both series to the end of the run.
    fn extend(&mut self, end: Instant) {
        self.sent.advance(end);
        self.backlog.advance(end);
    }

    fn to_curves(&self, delays: &Delays) -> Curves {
        Curves {
            bin: self.bin(),
            throughput: self.throughput().collect(),
            backlog: self.mean_backlog().collect(),
            delay_mean: delays_over_time(&self.sent, Departures::mean_delay),
            delay_max: delays_over_time(&self.sent, Departures::longest_delay),
            delay_cdf: cdf(delays),
        }
    }

    fn bin(&self) -> f64 {
        self.sent.width().as_secs_f64()
    }

    fn throughput(&self) -> impl ExactSizeIterator<Item = f64> {
        self.sent.per_second().map(|bytes| bytes * 8.0)
    }

    fn mean_backlog(&self) -> impl ExactSizeIterator<Item = f64> {
        self.backlog.levels().map(|level| level.mean)
    }
}

/// Some delay of each bin's packets, in seconds.
fn delays_over_time(
    sent: &DepartureSeries,
    of: fn(&Departures) -> Option<f64>,
) -> Vec<Option<f64>> {
    sent.departures().iter().map(of).collect()
}

fn add_up(sum: &mut Vec<f64>, values: impl ExactSizeIterator<Item = f64>) {
    sum.resize(sum.len().max(values.len()), 0.0);
    for (sum, value) in sum.iter_mut().zip(values) {
        *sum += value;
    }
}

fn cdf(delays: &Delays) -> Vec<(f64, f64)> {
    delays
        .cdf(CDF_POINTS)
        .into_iter()
        .map(|(delay, fraction)| (delay.as_secs_f64(), fraction))
        .collect()
}

fn summary(delays: &Delays) -> Option<Delay> {
    let quantiles = delays.quantiles(&[0.5, 0.99, 0.999]);
    let [p50, p99, p999] = quantiles.try_into().ok()?;
    Some(Delay {
        mean: delays.mean()?.as_secs_f64(),
        p50: p50.as_secs_f64(),
        p99: p99.as_secs_f64(),
        p999: p999.as_secs_f64(),
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
            DropReason::Filtered => self.filtered += 1,
        }
    }

    fn add(&mut self, other: &Self) {
        self.full += other.full;
        self.pushed_out += other.pushed_out;
        self.early += other.early;
        self.refused += other.refused;
        self.filtered += other.filtered;
    }
}
