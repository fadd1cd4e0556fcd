//! Fidelity: what a run says about itself, and whether you may use its figures.

use std::fmt::Write as _;

use roundelay::{DropReason, Duration, Rate};
use roundelay_metrics::Delays;
use roundelay_metrics::units::{counted, rate, seconds};
use serde::Serialize;

use crate::books::{Books, LostOutside};
use crate::flows::FlowFigures;
use crate::kinds::KindFigures;
use crate::meter::Punctuality;
use crate::phases::PhaseFigures;
use crate::quantiles::quantiles;
use crate::settings::Way;

/// If more than this share of frames comes or leaves late, the run is not valid.
const FEW: f64 = 0.01;

/// The text shows this many flows for each direction.
const SHOWN: usize = 5;
/// With fewer frames there is no p99.
const ENOUGH: u64 = 100;

/// What a run says about itself.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fidelity {
    /// Length of the run, seconds.
    pub seconds: f64,
    /// Both directions, up and down.
    pub ways: [WayFidelity; 2],
    /// Whether the driver ran at real-time priority.
    pub real_time: bool,
    /// How often the clock of the stamps was set.
    pub clock_steps: u64,
    /// Turns without a free slot.
    pub full_turns: u64,
    /// Frames whose checksum the sender left to hardware, near and far.
    pub unfinished: [u64; 2],
    /// How often an interface went down, near and far.
    pub went_down: [u64; 2],
    /// Whether an interface vanished, near and far.
    pub gone: [bool; 2],
    /// Whether losses at an interface cannot be counted, near and far.
    pub blind: [bool; 2],
    /// The congestion control of TCP at the ends, if they are ours.
    pub congestion_control: Option<String>,
    /// The verdict.
    pub verdict: Verdict,
}

/// A direction.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WayFidelity {
    /// `up` or `down`.
    pub way: &'static str,
    /// The queue at the end of the run. `phases` say which figures are under which queue.
    pub queue: String,
    /// The rate at the end of the run; with a trace, the mean.
    pub rate: u64,
    /// The file of the link's trace, if the link follows one at the end of the run.
    pub trace: Option<String>,
    /// The books.
    pub books: Books,
    /// Lost where no queue saw it, at the interface where frames come in.
    #[serde(rename = "outside")]
    pub lost_outside: LostOutside,
    /// From arrival to the end of transmission, seconds: p50, p99. None without frames.
    pub delay: Option<[f64; 2]>,
    /// The packets of each kind.
    pub kinds: Vec<KindFigures>,
    /// The parts of the run with the same queue, rate and weights, each with its figures. All other
    /// figures here are of the whole run.
    pub phases: Vec<PhaseFigures>,
    /// Number of flows.
    pub all_flows: usize,
    /// The flows that have sent most, up to 20, the largest first.
    pub flows: Vec<FlowFigures>,
    /// How late frames left beyond the time due, seconds: p50, p99, p99.9. None without frames.
    pub late: Option<[f64; 3]>,
    /// Frames that have left, or should have.
    pub due: u64,
    /// Those that left late by the time of a full packet or more, at the link's rate when they
    /// were sent, or at the rate to which the queue shapes.
    pub late_frames: u64,
    /// Those that were due for long when the run ended, and that the interface had not taken.
    pub stuck: u64,
    /// Arrivals moved by the time of a full packet or more, at the link's rate of that time.
    pub moved_far: u64,
    /// Frames without a stamp.
    pub unstamped: u64,
    /// Those that may have come earlier by the time of a full packet or more, and by a millisecond.
    pub unseen: u64,
    /// The longest such time, seconds.
    pub unseen_most: f64,
    /// Time of a full packet at the end of the run, seconds: on the link, or at the rate to which
    /// the queue shapes all packets.
    pub full_packet: f64,
}

/// Whether the figures may be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// They may.
    pub is_valid: bool,
    /// Why not, and what would mend it, in sentences; empty if they may.
    pub reasons: Vec<String>,
}

/// A direction's figures before they are judged.
pub(crate) struct Measured<'a> {
    pub(crate) way: Way,
    pub(crate) queue: String,
    pub(crate) rate: Rate,
    pub(crate) full_packet: Duration,
    pub(crate) trace: Option<String>,
    pub(crate) books: &'a Books,
    pub(crate) lost_outside: LostOutside,
    pub(crate) punctuality: Punctuality,
    pub(crate) delays: &'a Delays,
    pub(crate) kinds: Vec<KindFigures>,
    pub(crate) phases: Vec<PhaseFigures>,
    pub(crate) all_flows: usize,
    pub(crate) flows: Vec<FlowFigures>,
}

impl WayFidelity {
    pub(crate) fn of(measured: Measured<'_>) -> Self {
        Self {
            way: measured.way.name(),
            queue: measured.queue,
            rate: measured.rate.bits_per_second(),
            trace: measured.trace,
            books: measured.books.clone(),
            lost_outside: measured.lost_outside,
            delay: quantiles(measured.delays, [0.5, 0.99]),
            kinds: measured.kinds,
            phases: measured.phases,
            all_flows: measured.all_flows,
            flows: measured.flows,
            late: quantiles(&measured.punctuality.lateness, [0.5, 0.99, 0.999]),
            due: measured.punctuality.lateness.count(),
            late_frames: measured.punctuality.late,
            stuck: measured.punctuality.stuck,
            moved_far: measured.punctuality.moved,
            unstamped: measured.punctuality.unstamped,
            unseen: measured.punctuality.unseen,
            unseen_most: measured.punctuality.unseen_most.as_secs_f64(),
            full_packet: measured.full_packet.as_secs_f64(),
        }
    }

    /// Whether too many frames left late: more than 1%. If there are too few for a p99, at least
    /// half.
    fn is_late(&self) -> bool {
        if self.books.arrived >= ENOUGH {
            self.late_frames as f64 > FEW * self.due as f64
        } else {
            self.late_frames > 0 && 2 * self.late_frames >= self.due
        }
    }

    /// Why you may not use this direction's figures.
    pub(crate) fn reasons(&self, real_time: bool) -> Vec<String> {
        let mut reasons = Vec::new();
        let Self { way, books, .. } = self;
        if self.is_late() {
            let mend = if real_time {
                "use a lower rate, or a machine with less other work"
            } else {
                "run with real-time priority (as root), a lower rate, or a machine with less other \
                 work"
            };
            reasons.push(format!(
                "{way}: {} of {} frames left late by the time of a full packet or more: {mend}.",
                self.late_frames, self.due
            ));
        }
        if self.stuck > 0 {
            let stuck = counted(self.stuck, "frame");
            reasons.push(format!(
                "{way}: {stuck} due, and the interface at the other end did not take them: did it \
                 have a link?"
            ));
        }
        if self.lost_outside.ring > 0 {
            let lost = counted(self.lost_outside.ring, "frame");
            reasons.push(format!(
                "{way}: {lost} lost in the kernel before the queue saw them: send less, or use a \
                 faster machine."
            ));
        }
        if self.lost_outside.too_long > 0 {
            let lost = counted(self.lost_outside.too_long, "frame");
            reasons.push(format!(
                "{way}: {lost} longer than the interface's packets, lost: turn offloads off at the \
                 sender (ethtool -K DEV tso off gso off gro off), and here if this interface joins \
                 frames itself (lro off, rx-gro-hw off)."
            ));
        }
        if self.lost_outside.unsent > 0 {
            let lost = counted(self.lost_outside.unsent, "frame");
            reasons.push(format!(
                "{way}: {lost} thrown away by the interface at the other end after it had taken \
                 them: did it have a link?"
            ));
        }
        if books.refused > 0 {
            let lost = counted(books.refused, "frame");
            reasons.push(format!(
                "{way}: {lost} refused by the interface at the other end: was it up, and is its \
                 MTU as large?"
            ));
        }
        // If there are few frames, a single one is no share.
        if self.moved_far as f64 > FEW * books.arrived.max(ENOUGH) as f64 {
            reasons.push(format!(
                "{way}: the driver woke up too late for {} of {} arrivals, by up to {}: they count \
                 as later than they were.",
                self.moved_far,
                books.arrived,
                seconds(books.moved_most as f64 / 1e9)
            ));
        }
        if self.unseen as f64 > FEW * books.arrived.max(ENOUGH) as f64 {
            reasons.push(format!(
                "{way}: {} of {} arrivals may be late, by up to {}: these frames carry no stamp, \
                 and the program did not look for them in time.",
                self.unseen,
                books.arrived,
                seconds(self.unseen_most)
            ));
        }
        if !books.balance() {
            reasons.push(format!(
                "{way}: the books do not balance, which is an error of this program."
            ));
        }
        reasons
    }
}

impl Fidelity {
    /// Judges the figures.
    pub(crate) fn judge(&mut self) {
        let mut reasons = Vec::new();
        for way in &self.ways {
            reasons.extend(way.reasons(self.real_time));
        }
        if self.clock_steps > 0 {
            reasons.push(format!(
                "The clock was set {} during the run, and arrivals around that time count as later \
                 than they were: stop the time service for the run.",
                counted(self.clock_steps, "time")
            ));
        }
        for (end, count) in ["near", "far"].iter().zip(self.unfinished) {
            if count > 0 {
                reasons.push(format!(
                    "{} came from the {end} side without a checksum, which receivers refuse: turn \
                     the offload off at the sender (ethtool -K DEV tx off).",
                    counted(count, "frame")
                ));
            }
        }
        for (end, count) in ["near", "far"].iter().zip(self.went_down) {
            if count > 0 {
                reasons.push(format!(
                    "The {end} interface went down {}.",
                    counted(count, "time")
                ));
            }
        }
        for (end, is_gone) in ["near", "far"].iter().zip(self.gone) {
            if is_gone {
                reasons.push(format!(
                    "The {end} interface does not exist any more: the run ended."
                ));
            }
        }
        for (end, is_blind) in ["near", "far"].iter().zip(self.blind) {
            if is_blind {
                reasons.push(format!(
                    "The {end} interface is in another namespace now, so frames lost there cannot \
                     be counted."
                ));
            }
        }
        if self.full_turns > 0 {
            reasons.push(format!(
                "All slots for frames were taken {}, and frames had to wait in the kernel: use a \
                 shorter delay, or a smaller limit of the queue.",
                counted(self.full_turns, "time")
            ));
        }
        if self.ways.iter().all(|way| way.books.arrived == 0) {
            reasons.push("No frame came from either side.".to_owned());
        } else if self.ways.iter().all(|way| way.books.arrived < ENOUGH) {
            let most = self.ways.iter().map(|way| way.books.arrived).max();
            reasons.push(format!(
                "Only {} came from one side, and no more from the other: too few to say how late \
                 1% of them are. Let at least {ENOUGH} pass.",
                counted(most.unwrap_or_default(), "frame")
            ));
        }
        self.verdict = Verdict {
            is_valid: reasons.is_empty(),
            reasons,
        };
    }

    /// A direction's lines in the report that ends a run.
    fn way_text(&self, way: &WayFidelity) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let books = &way.books;
        let is_one = way.phases.len() == 1;
        match &way.phases[..] {
            [only] => _ = writeln!(text, "{}: {}", way.way, only.conditions_in_words()),
            phases => _ = writeln!(text, "{}: {} phases", way.way, phases.len()),
        }
        _ = write!(
            text,
            "  {} in, {} out ({}), {} dropped",
            books.arrived,
            books.delivered,
            rate(books.delivered_bytes as f64 * 8.0 / self.seconds.max(1e-9)),
            books.all_dropped()
        );
        for (reason, count) in DropReason::ALL.iter().zip(books.dropped) {
            if count > 0 {
                _ = write!(text, " {}: {count}", reason.name());
            }
        }
        _ = write!(text, ", {} marked", books.marked);
        if books.lost > 0 {
            _ = write!(text, ", {} lost on the wire", books.lost);
        }
        _ = writeln!(text, ", {} still inside", books.waiting + books.on_the_way);
        if let Some([p50, p99]) = way.delay
            && is_one
        {
            let [p50, p99] = [p50, p99].map(seconds);
            _ = writeln!(text, "  delay in queue and link: p50 {p50}, p99 {p99}");
        }
        for phase in &way.phases {
            text += &phase.table(is_one);
            text += &flows_text(phase, if is_one { "  " } else { "    " });
        }
        if let Some([p50, p99, p999]) = way.late {
            _ = writeln!(
                text,
                "  late: p50 {}, p99 {}, p99.9 {}; a full packet takes {}",
                seconds(p50),
                seconds(p99),
                seconds(p999),
                seconds(way.full_packet)
            );
        }
        // Refused frames are lost at the other end.
        let lost_outside = way.lost_outside.total() + books.refused;
        _ = write!(
            text,
            "  lost outside the queue: {lost_outside}; arrivals counted as later than stamped: {}",
            books.moved
        );
        if way.unstamped > 0 {
            _ = write!(
                text,
                "; {} without a stamp, so lateness below 1 ms is not seen",
                way.unstamped
            );
        }
        _ = writeln!(text);
        text
    }

    /// The report that ends a run.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        for way in &self.ways {
            text += &self.way_text(way);
        }
        if let Some(control) = &self.congestion_control {
            _ = writeln!(
                text,
                "TCP's default congestion control at both ends: {control}"
            );
        }
        let priority = if self.real_time {
            "real-time"
        } else {
            "ordinary"
        };
        _ = writeln!(text, "{:.1} s at {priority} priority", self.seconds);
        text.push_str(&self.verdict.text());
        text
    }
}

/// The largest flows of a phase, a line each.
fn flows_text(phase: &PhaseFigures, indent: &str) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for flow in phase.flows.iter().take(SHOWN) {
        _ = writeln!(text, "{indent}{}", flow_text(flow, phase.seconds()));
    }
    if phase.all_flows > SHOWN {
        let rest = counted((phase.all_flows - SHOWN) as u64, "smaller flow");
        _ = writeln!(text, "{indent}and {rest}");
    }
    text
}

fn flow_text(flow: &FlowFigures, length: f64) -> String {
    let bits = flow.bytes as f64 * 8.0 / length;
    let mut text = format!("{}: {}", flow.flow, rate(bits));
    if let Some(delay) = flow.mean_delay {
        text += &format!(", mean delay {}", seconds(delay));
    }
    if flow.dropped > 0 {
        text += &format!(", {} dropped", flow.dropped);
    }
    if flow.marked > 0 {
        text += &format!(", {} marked", flow.marked);
    }
    text
}

impl Verdict {
    /// A sentence with the verdict, and a line for each reason.
    pub fn text(&self) -> String {
        if self.is_valid {
            return "valid: frames left on time, and none was lost outside the queue\n".to_owned();
        }
        let mut text = "do not use these figures:\n".to_owned();
        for reason in &self.reasons {
            text.push_str("  ");
            text.push_str(reason);
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::FULL_PACKET;

    fn way(way: Way, late: Duration) -> WayFidelity {
        let rate: Rate = "1mbit".parse().unwrap();
        let mut punctuality = Punctuality::default();
        for _ in 0..100 {
            punctuality.left(late, rate.time_of(FULL_PACKET));
        }
        let delays = punctuality.lateness.clone();
        let books = Books {
            arrived: 100,
            sent: 100,
            delivered: 100,
            ..Books::default()
        };
        WayFidelity::of(Measured {
            way,
            queue: "fifo".to_owned(),
            rate,
            full_packet: rate.time_of(FULL_PACKET),
            trace: None,
            books: &books,
            lost_outside: LostOutside::default(),
            punctuality,
            delays: &delays,
            kinds: Vec::new(),
            phases: Vec::new(),
            all_flows: 0,
            flows: Vec::new(),
        })
    }

    fn judged(change: impl FnOnce(&mut Fidelity)) -> Verdict {
        let mut fidelity = Fidelity {
            seconds: 1.0,
            ways: Way::BOTH.map(|each| way(each, Duration::from_micros(50))),
            real_time: true,
            clock_steps: 0,
            full_turns: 0,
            unfinished: [0; 2],
            went_down: [0; 2],
            gone: [false; 2],
            blind: [false; 2],
            congestion_control: None,
            verdict: Verdict {
                is_valid: false,
                reasons: Vec::new(),
            },
        };
        change(&mut fidelity);
        fidelity.judge();
        fidelity.verdict
    }

    #[test]
    fn a_run_on_time_without_losses_is_valid() {
        let verdict = judged(|_| ());
        assert_eq!((verdict.is_valid, verdict.reasons.len()), (true, 0));
        assert!(verdict.text().starts_with("valid"));
    }

    /// Puts a fault into a run.
    type Fault = fn(&mut Fidelity);

    #[test]
    fn each_fault_makes_a_run_invalid_with_a_reason() {
        // A full packet takes 12 ms at 1 Mbit/s.
        let faults: [(&str, Fault); 14] = [
            ("100 of 100 frames left late", |run| {
                run.ways[0] = way(Way::Up, Duration::from_millis(13))
            }),
            ("1 frame due, and the interface", |run| {
                run.ways[0].stuck = 1
            }),
            ("lost in the kernel", |run| {
                run.ways[1].lost_outside.ring = 1
            }),
            ("turn offloads off", |run| {
                run.ways[1].lost_outside.too_long = 1
            }),
            ("thrown away", |run| run.ways[1].lost_outside.unsent = 1),
            ("refused by the interface", |run| {
                (run.ways[0].books.refused, run.ways[0].books.delivered) = (1, 99);
            }),
            ("woke up too late", |run| {
                run.ways[0].moved_far = 2;
            }),
            ("do not balance", |run| run.ways[0].books.delivered = 99),
            ("The clock was set", |run| run.clock_steps = 1),
            ("without a checksum", |run| run.unfinished[1] = 1),
            ("far interface went down", |run| run.went_down[1] = 1),
            ("near interface does not exist", |run| run.gone[0] = true),
            ("in another namespace", |run| run.blind[1] = true),
            ("All slots for frames were taken", |run| run.full_turns = 3),
        ];
        for (part, fault) in faults {
            let verdict = judged(fault);
            assert!(
                !verdict.is_valid && verdict.reasons.len() == 1,
                "{part}: {verdict:?}"
            );
            assert!(verdict.text().contains(part), "{part}: {verdict:?}");
        }
        let rare = judged(|run| {
            let books = &mut run.ways[1].books;
            (books.arrived, books.sent, books.delivered) = (9, 9, 9);
            (run.ways[1].due, run.ways[1].late_frames) = (9, 4);
        });
        assert!(rare.is_valid, "nine frames have no p99: {rare:?}");
        let one = judged(|run| {
            let books = &mut run.ways[1].books;
            (books.arrived, books.sent, books.delivered) = (9, 9, 9);
            run.ways[1].moved_far = 1;
        });
        assert!(one.is_valid, "{one:?}");
        let late = judged(|run| {
            let books = &mut run.ways[1].books;
            (books.arrived, books.sent, books.delivered) = (9, 9, 9);
            (run.ways[1].due, run.ways[1].late_frames) = (9, 5);
        });
        assert!(
            late.text().contains("down: 5 of 9 frames left late"),
            "{late:?}"
        );
        let few = judged(|run| {
            for way in &mut run.ways {
                let books = &mut way.books;
                (books.arrived, books.sent, books.delivered) = (99, 99, 99);
            }
        });
        assert!(few.text().contains("Only 99 frames came"), "{few:?}");
        let idle = judged(|run| {
            for way in &mut run.ways {
                (way.books, way.late) = (Books::default(), None);
            }
        });
        assert_eq!(idle.reasons, ["No frame came from either side."]);
        let moved = judged(|run| (run.ways[0].books.moved, run.ways[0].books.moved_most) = (9, 99));
        assert!(moved.is_valid, "moved by less than a packet");
    }
}
