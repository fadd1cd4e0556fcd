//! Phases: the parts of a run with the same queue, rate and weights. Each figure belongs to one of
//! them, because a delay over two queues says nothing about either.

use roundelay::{DropReason, Instant, Rate};
use roundelay_metrics::Delays;
use roundelay_metrics::units::{count, rate, seconds};
use roundelay_trace::Flow;
use serde::Serialize;

use crate::books::Books;
use crate::flows::{FlowBooks, FlowFigures, largest_flows};
use crate::kinds::{KindFigures, Kinds};
use crate::quantiles::quantiles;
use crate::settings::WeightTexts;

/// The most phases that we keep apart. With more, the oldest two become one.
const MOST: usize = 32;

/// What the packets of a phase meet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Conditions {
    /// The queue.
    pub queue: String,
    /// The rate, bits per second; with a trace, the mean.
    pub rate: u64,
    /// The file of the link's trace, if the link follows one.
    pub trace: Option<String>,
    /// The rules for weights, in the order in which they are tried.
    pub weights: Vec<String>,
}

impl Conditions {
    /// The link in words: its rate or its trace.
    pub fn link(&self) -> String {
        match &self.trace {
            Some(trace) => {
                let mean = rate(self.rate as f64);
                format!("trace {trace}, {mean} on average,")
            }
            None => match Rate::from_bits_per_second(self.rate) {
                Some(rate) => rate.to_string(),
                None => String::new(),
            },
        }
    }

    /// The same in a sentence.
    fn at_link(&self) -> String {
        match &self.trace {
            Some(trace) => format!("on trace {trace}"),
            None => format!("at {}", self.link()),
        }
    }

    /// All in a sentence: `at 200kbit under fq_codel`.
    pub fn at(&self) -> String {
        format!("{} under {}", self.at_link(), self.queue)
    }

    /// All in words: `200kbit under fq_codel`.
    pub fn text(&self) -> String {
        let mut text = format!("{} under {}", self.link(), self.queue);
        if !self.weights.is_empty() {
            text += &format!(", weights {}", self.weights.join("; "));
        }
        text
    }

    /// What sets these apart from the others, in words: the queue alone, if nothing else changes.
    pub fn apart_from(&self, others: &[&Self]) -> String {
        let mut has_one_link = true;
        let mut has_one_queue = true;
        for other in others {
            if self.weights != other.weights {
                return self.text();
            }
            has_one_link &= (self.rate, &self.trace) == (other.rate, &other.trace);
            has_one_queue &= self.queue == other.queue;
        }
        match (has_one_link, has_one_queue) {
            (true, _) => format!("under {}", self.queue),
            (false, true) => self.at_link(),
            (false, false) => self.at(),
        }
    }
}

/// The weight rules in words.
pub(crate) fn weights_in_words(texts: &WeightTexts) -> Vec<String> {
    let mut words = texts.rules.clone();
    if let Some((name, _)) = &texts.file {
        words.push(format!("those of {name}"));
    }
    words
}

/// What became of a phase's frames. A frame that waits while the queue changes counts as arrived in
/// the phase before, and as sent or dropped in the phase after.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseBooks {
    /// Frames that arrived at the queue.
    pub arrived: u64,
    /// Frames that got the link.
    pub sent: u64,
    /// Their bytes, as frames.
    pub sent_bytes: u64,
    /// Frames that got CE here.
    pub marked: u64,
    /// Frames dropped by the queue, by reason, in the order of `DropReason::ALL`.
    pub dropped: [u64; DropReason::ALL.len()],
}

impl PhaseBooks {
    pub(crate) const fn of(books: &Books) -> Self {
        Self {
            arrived: books.arrived,
            sent: books.sent,
            sent_bytes: books.sent_bytes,
            marked: books.marked,
            dropped: books.dropped,
        }
    }

    /// Frames dropped by the queue.
    pub fn all_dropped(&self) -> u64 {
        self.dropped.iter().sum()
    }

    fn since(mut self, before: Self) -> Self {
        self.arrived -= before.arrived;
        self.sent -= before.sent;
        self.sent_bytes -= before.sent_bytes;
        self.marked -= before.marked;
        for (count, before) in self.dropped.iter_mut().zip(before.dropped) {
            *count -= before;
        }
        self
    }

    fn add(&mut self, other: Self) {
        self.arrived += other.arrived;
        self.sent += other.sent;
        self.sent_bytes += other.sent_bytes;
        self.marked += other.marked;
        for (count, other) in self.dropped.iter_mut().zip(other.dropped) {
            *count += other;
        }
    }
}

/// A phase of a direction in figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseFigures {
    /// Number of the phase, from 1; of several in one, the first.
    pub number: u64,
    /// How many phases these figures cover: one, or all that are too old to be kept apart.
    pub phases: u64,
    /// The beginning, seconds after that of the run.
    pub from: f64,
    /// The end.
    pub to: f64,
    /// The change that began the phase, as `live set` takes it. None at the start of the run.
    pub change: Option<String>,
    /// What the packets met. None where the figures cover several phases.
    pub conditions: Option<Conditions>,
    /// The books.
    pub books: PhaseBooks,
    /// From arrival to the end of transmission, seconds: p50 and p99. None without frames.
    pub delay: Option<[f64; 2]>,
    /// The packets of each kind.
    pub kinds: Vec<KindFigures>,
    /// Number of flows that sent or lost packets.
    pub all_flows: usize,
    /// The flows that have sent most, up to 20, the largest first.
    pub flows: Vec<FlowFigures>,
}

impl PhaseFigures {
    /// Seconds from the beginning to the end.
    pub fn seconds(&self) -> f64 {
        (self.to - self.from).max(1e-9)
    }

    /// What the packets met, in words.
    pub fn conditions_in_words(&self) -> String {
        match &self.conditions {
            Some(conditions) => conditions.text(),
            None => format!("{} phases", self.phases),
        }
    }

    /// When it was, in words.
    pub fn span(&self) -> String {
        let decimals = if self.to - self.from < 1.0 { 2 } else { 1 };
        format!("{:.decimals$} to {:.decimals$} s", self.from, self.to)
    }

    /// The rows as text. Of a run with one phase, the lines before say what all packets got.
    pub fn table(&self, is_whole_run: bool) -> String {
        let rows = self.rows();
        let shown = if is_whole_run { &rows[1..] } else { &rows };
        let mut text = String::new();
        if !is_whole_run {
            text += &format!("  {}, {}\n", self.span(), self.conditions_in_words());
        }
        if !shown.is_empty() {
            text += &line("", PhaseRow::HEADS.map(str::to_owned));
        }
        for row in shown {
            text += &line(row.name, row.cells());
        }
        text
    }

    /// Rows of a table: all packets, and each kind. If there is one kind, its row alone.
    pub fn rows(&self) -> Vec<PhaseRow> {
        let mut rows = Vec::new();
        if self.kinds.len() != 1 {
            rows.push(PhaseRow {
                name: "all packets",
                packets: self.books.sent,
                rate: self.books.sent_bytes as f64 * 8.0 / self.seconds(),
                dropped: self.books.all_dropped(),
                marked: self.books.marked,
                delay: self.delay,
            });
        }
        for kind in &self.kinds {
            rows.push(PhaseRow {
                name: kind.kind.name(),
                packets: kind.packets,
                rate: kind.bytes as f64 * 8.0 / self.seconds(),
                dropped: kind.dropped,
                marked: kind.marked,
                delay: kind.delay,
            });
        }
        rows
    }
}

fn line(name: &str, cells: [String; 6]) -> String {
    let [packets, rate, dropped, marked, p50, p99] = cells;
    format!("    {name:22}{packets:>9}{rate:>13}{dropped:>9}{marked:>8}{p50:>11}{p99:>10}\n")
}

/// A row of a phase's table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PhaseRow {
    /// Which packets.
    pub name: &'static str,
    /// Those that got the link.
    pub packets: u64,
    /// Their bits, a second.
    pub rate: f64,
    /// Packets dropped by the queue.
    pub dropped: u64,
    /// Packets that got CE here.
    pub marked: u64,
    /// From arrival to the end of transmission, seconds: p50 and p99. None without packets.
    pub delay: Option<[f64; 2]>,
}

impl PhaseRow {
    /// Heads of the columns after the name.
    pub const HEADS: [&str; 6] = ["packets", "rate", "dropped", "marked", "delay p50", "p99"];

    /// What stands in the columns.
    pub fn cells(&self) -> [String; 6] {
        let [p50, p99] = match self.delay {
            Some(both) => both.map(seconds),
            None => ["–", "–"].map(str::to_owned),
        };
        let [packets, dropped, marked] = [self.packets, self.dropped, self.marked].map(count);
        [packets, rate(self.rate), dropped, marked, p50, p99]
    }
}

/// A phase while it is measured.
#[derive(Debug)]
pub(crate) struct Phase {
    from: Instant,
    number: u64,
    phases: u64,
    change: Option<String>,
    pub(crate) conditions: Option<Conditions>,
    /// The direction's books when the phase began.
    before: PhaseBooks,
    flows_before: Vec<FlowBooks>,
    pub(crate) kinds: Kinds,
    closed: Option<Closed>,
}

/// What is known of a phase when it is over.
#[derive(Debug)]
struct Closed {
    to: Instant,
    books: PhaseBooks,
    delays: Delays,
    flows: Flows,
}

/// The largest flows, and the number of all.
#[derive(Debug, Clone, Default)]
struct Flows {
    largest: Vec<FlowFigures>,
    all: usize,
}

/// A phase as the metrics show it.
pub(crate) struct PhaseMetrics {
    /// `3`, or `1-2` for several.
    pub(crate) label: String,
    pub(crate) conditions: Option<Conditions>,
    pub(crate) books: PhaseBooks,
    pub(crate) delays: Delays,
}

/// The direction whose phases these are, as it is now.
#[derive(Clone, Copy)]
pub(crate) struct Present<'a> {
    pub(crate) books: &'a Books,
    pub(crate) flows: &'a [Flow],
    pub(crate) flow_books: &'a [FlowBooks],
}

/// All phases of a direction. The last is the present one.
#[derive(Debug)]
pub(crate) struct Phases(Vec<Phase>);

impl Phase {
    fn new(from: Instant, number: u64, conditions: Conditions) -> Self {
        Self {
            from,
            number,
            phases: 1,
            change: None,
            conditions: Some(conditions),
            before: PhaseBooks::default(),
            flows_before: Vec::new(),
            kinds: Kinds::default(),
            closed: None,
        }
    }

    fn books(&self, present: Present<'_>) -> PhaseBooks {
        match &self.closed {
            Some(closed) => closed.books,
            None => PhaseBooks::of(present.books).since(self.before),
        }
    }

    fn delays(&self) -> Delays {
        match &self.closed {
            Some(closed) => closed.delays.clone(),
            None => self.kinds.delays(),
        }
    }

    fn flows(&self, present: Present<'_>) -> Flows {
        if let Some(closed) = &self.closed {
            return closed.flows.clone();
        }
        let mut since = Vec::with_capacity(present.flow_books.len());
        let mut all = 0;
        for (number, books) in present.flow_books.iter().enumerate() {
            let before = self.flows_before.get(number).copied().unwrap_or_default();
            let books = books.since(before);
            all += usize::from(books.packets + books.dropped > 0);
            since.push(books);
        }
        Flows {
            largest: largest_flows(present.flows, &since),
            all,
        }
    }

    fn close(&mut self, to: Instant, present: Present<'_>) {
        self.closed = Some(Closed {
            to,
            books: self.books(present),
            delays: self.delays(),
            flows: self.flows(present),
        });
        self.flows_before = Vec::new();
    }

    /// Takes up the figures of the phase after it. Both are over.
    fn take_up(&mut self, next: Self) {
        self.phases += next.phases;
        self.conditions = None;
        self.change = None;
        self.kinds.merge(&next.kinds);
        if let Some(closed) = &mut self.closed
            && let Some(later) = next.closed
        {
            closed.to = later.to;
            closed.books.add(later.books);
            closed.delays.merge(&later.delays);
            closed.flows = Flows::default();
        }
    }

    fn figures(&self, until: Instant, present: Present<'_>) -> PhaseFigures {
        let to = self.closed.as_ref().map_or(until, |closed| closed.to);
        let flows = self.flows(present);
        PhaseFigures {
            number: self.number,
            phases: self.phases,
            from: seconds_at(self.from),
            to: seconds_at(to.max(self.from)),
            change: self.change.clone(),
            conditions: self.conditions.clone(),
            books: self.books(present),
            delay: quantiles(&self.delays(), [0.5, 0.99]),
            kinds: self.kinds.figures(),
            all_flows: flows.all,
            flows: flows.largest,
        }
    }
}

fn seconds_at(at: Instant) -> f64 {
    at.since(Instant::ZERO).as_secs_f64()
}

impl Phases {
    pub(crate) fn new(conditions: Conditions) -> Self {
        Self(vec![Phase::new(Instant::ZERO, 1, conditions)])
    }

    /// Counts a frame that got the link.
    pub(crate) fn kinds(&mut self) -> &mut Kinds {
        let last = self.0.len() - 1;
        &mut self.0[last].kinds
    }

    /// Begins a phase at `at` with other conditions. `change` says what changed.
    pub(crate) fn begin(
        &mut self,
        at: Instant,
        conditions: Conditions,
        change: String,
        present: Present<'_>,
    ) {
        let last = self.0.len() - 1;
        let now = &mut self.0[last];
        if now.conditions.as_ref() == Some(&conditions) {
            return;
        }
        if now.from == at {
            // Several changes at one instant begin one phase, and those at zero none.
            now.conditions = Some(conditions);
            if let Some(before) = &mut now.change {
                *before += &format!(", {change}");
            }
            return;
        }
        now.close(at, present);
        let mut next = Phase::new(at, now.number + 1, conditions);
        next.change = Some(change);
        next.before = PhaseBooks::of(present.books);
        next.flows_before = present.flow_books.to_vec();
        self.0.push(next);
        if self.0.len() > MOST {
            let second = self.0.remove(1);
            self.0[0].take_up(second);
        }
    }

    /// The kinds of packets over the whole run.
    pub(crate) fn all_kinds(&self) -> Kinds {
        let mut all = Kinds::default();
        for phase in &self.0 {
            all.merge(&phase.kinds);
        }
        all
    }

    /// Figures of each phase. The present one ends at `until`.
    pub(crate) fn figures(&self, until: Instant, present: Present<'_>) -> Vec<PhaseFigures> {
        let mut figures = Vec::new();
        for phase in &self.0 {
            figures.push(phase.figures(until, present));
        }
        figures
    }

    pub(crate) fn metrics(&self, present: Present<'_>) -> Vec<PhaseMetrics> {
        let mut metrics = Vec::new();
        for phase in &self.0 {
            let label = match phase.phases {
                1 => phase.number.to_string(),
                several => format!("{}-{}", phase.number, phase.number + several - 1),
            };
            metrics.push(PhaseMetrics {
                label,
                conditions: phase.conditions.clone(),
                books: phase.books(present),
                delays: phase.delays(),
            });
        }
        metrics
    }
}

#[cfg(test)]
mod tests {
    use roundelay::Duration;

    use super::*;
    use crate::kinds::PacketKind;

    fn conditions(queue: &str, rate: u64) -> Conditions {
        Conditions {
            queue: queue.to_owned(),
            rate,
            trace: None,
            weights: Vec::new(),
        }
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// A direction that sent so many packets.
    fn books(sent: u64) -> Books {
        Books {
            arrived: sent,
            sent,
            sent_bytes: 1000 * sent,
            ..Books::default()
        }
    }

    const fn present(books: &Books) -> Present<'_> {
        Present {
            books,
            flows: &[],
            flow_books: &[],
        }
    }

    #[test]
    fn a_packet_counts_in_the_phase_in_which_it_gets_the_link() {
        let mut phases = Phases::new(conditions("fifo", 8000));
        let kind = PacketKind::TcpData;
        phases
            .kinds()
            .sent(kind, 1000, Duration::from_millis(400), false);
        let (one, three) = (books(1), books(3));
        phases.begin(
            at(1000),
            conditions("drr", 8000),
            "queue drr".to_owned(),
            present(&one),
        );
        for _ in 0..2 {
            phases
                .kinds()
                .sent(kind, 1000, Duration::from_millis(20), false);
        }
        let figures = phases.figures(at(3000), present(&three));
        let [fifo, drr] = &figures[..] else {
            panic!("{figures:?}");
        };
        assert_eq!((fifo.from, fifo.to, drr.from, drr.to), (0.0, 1.0, 1.0, 3.0));
        assert_eq!((fifo.delay, drr.delay), (Some([0.4; 2]), Some([0.02; 2])));
        assert_eq!((fifo.books.sent, drr.books.sent), (1, 2));
        let rows = [fifo.rows(), drr.rows()].map(|rows| rows[0].cells().join(" "));
        assert_eq!(rows[0], "1 8.00 kbit/s 0 0 400 ms 400 ms");
        assert_eq!(rows[1], "2 8.00 kbit/s 0 0 20.0 ms 20.0 ms");
        assert_eq!(
            (&fifo.change, drr.change.as_deref()),
            (&None, Some("queue drr"))
        );
        assert_eq!(phases.all_kinds().figures()[0].packets, 3);
    }

    #[test]
    fn changes_at_one_instant_begin_one_phase_and_no_change_begins_none() {
        let mut phases = Phases::new(conditions("fifo", 8000));
        let none = books(0);
        let mut begin = |millis, queue, rate, change: &str| {
            let conditions = conditions(queue, rate);
            phases.begin(at(millis), conditions, change.to_owned(), present(&none));
        };
        begin(0, "sfq", 8000, "queue sfq");
        begin(500, "sfq", 8000, "queue sfq");
        begin(1000, "drr", 8000, "queue drr");
        begin(1000, "drr", 9000, "rate 9kbit");
        let figures = phases.figures(at(2000), present(&none));
        let [sfq, drr] = &figures[..] else {
            panic!("{figures:?}");
        };
        assert_eq!(sfq.conditions, Some(conditions("sfq", 8000)));
        assert_eq!(drr.conditions, Some(conditions("drr", 9000)));
        assert_eq!(drr.change.as_deref(), Some("queue drr, rate 9kbit"));
    }

    #[test]
    fn of_very_many_phases_the_oldest_are_one() {
        let mut phases = Phases::new(conditions("fifo", 8000));
        for number in 1..=3 * MOST as u64 {
            phases.kinds().sent(
                PacketKind::Other,
                1000,
                Duration::from_millis(number),
                false,
            );
            let conditions = conditions("fifo", 8000 + number);
            let books = books(number);
            phases.begin(
                at(1000 * number),
                conditions,
                "rate".to_owned(),
                present(&books),
            );
        }
        let books = books(3 * MOST as u64);
        let figures = phases.figures(at(1_000_000), present(&books));
        assert_eq!(figures.len(), MOST);
        assert_eq!(
            (figures[0].phases, &figures[0].conditions),
            (2 * MOST as u64 + 2, &None)
        );
        assert_eq!(figures[0].books.sent, figures[0].phases);
        let sent: u64 = figures.iter().map(|phase| phase.books.sent).sum();
        assert_eq!(sent, books.sent);
        assert_eq!(figures[1].number, figures[0].phases + 1);
        let metrics = phases.metrics(present(&books));
        assert_eq!(metrics[0].label, format!("1-{}", figures[0].phases));
        assert_eq!(metrics[0].delays.count(), figures[0].phases);
    }

    #[test]
    fn words_name_what_sets_phases_apart() {
        let [one, other, slow] = [("fifo", 8000), ("drr", 8000), ("fifo", 4000)]
            .map(|(queue, rate)| conditions(queue, rate));
        assert_eq!(one.apart_from(&[&other]), "under fifo");
        assert_eq!(one.apart_from(&[&slow]), "at 8kbit");
        assert_eq!(slow.apart_from(&[&one, &other]), "at 4kbit under fifo");
        let weighted = Conditions {
            weights: vec!["dscp 46 = 4".to_owned()],
            ..one.clone()
        };
        assert_eq!(
            weighted.apart_from(&[&one]),
            "8kbit under fifo, weights dscp 46 = 4"
        );
    }
}
