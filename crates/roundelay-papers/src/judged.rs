//! An item with its results and a verdict for each claim: what these add up to, the comparison with
//! the published values, and the charts.

use roundelay_report::{Axis, Chart, Curve, Drawn, Point, Scaling};

use crate::catalogue::Item;
use crate::compared;
use crate::counts::Counts;
use crate::figures::{Figures, Reference, deviation, modes};
use crate::finding::{measured, rounded};
use crate::kind::Kind;
use crate::noise;
use crate::plan::{ChartSpec, Claim, Plan, Setting};
use crate::record::{self, Record};
use crate::runner::{Ran, Versions};
use crate::verdict::{Verdict, judge};

/// An item with its results and verdicts.
#[derive(Debug)]
pub struct Judged<'a> {
    /// The item.
    pub item: &'a Item,
    /// Its plan.
    pub plan: &'a Plan,
    /// The plan's text, for links to lines.
    pub text: &'a str,
    /// The record used for the verdicts.
    pub record: Record,
    /// The run's figures.
    pub ran: Ran,
    /// A verdict for each claim.
    pub verdicts: Vec<Verdict>,
    /// True if the item measures time: its verdicts then depend on the machine.
    pub is_timed: bool,
    /// Number of seeds in the plan. The record may have fewer.
    pub planned: u64,
    /// True if the record is older than the code.
    pub is_stale: bool,
    /// True if the record may be older, because it is from before versions of its experiment.
    pub is_unversioned: bool,
}

impl<'a> Judged<'a> {
    /// Judges all of a plan's claims.
    ///
    /// # Errors
    /// The record belongs to another plan, or a claim needs a figure that was not measured.
    pub fn new(
        item: &'a Item,
        plan: &'a Plan,
        text: &'a str,
        record: Record,
    ) -> Result<Self, String> {
        let ran = record.ran(plan)?;
        let (stands, figures) = &ran.variations[0];
        let planned = stands.seeds;
        let experiment = stands.experiment().map_err(|wrong| wrong.to_string())?;
        let is_timed = experiment.runs_alone();
        let mut verdicts = Vec::new();
        for claim in &plan.claims {
            let mut verdict = judge(plan, claim, &ran.variations, record.setting());
            if is_timed {
                verdict.unless_noisy(noise::of_claim(claim, figures));
            }
            for finding in verdict.findings() {
                if finding.is_missing {
                    return Err(format!(
                        "a claim compares a figure that the experiment does not measure: {}",
                        finding.words
                    ));
                }
            }
            verdicts.push(verdict);
        }
        Ok(Self {
            item,
            plan,
            text,
            record,
            ran,
            verdicts,
            is_timed,
            planned,
            is_stale: false,
            is_unversioned: false,
        })
    }

    /// Finds out whether the record is older than the code.
    ///
    /// # Errors
    /// A fault in the plan.
    pub fn compare_with_code(&mut self, versions: &Versions) -> Result<(), String> {
        let code = record::code(self.plan, self.record.setting(), versions)?;
        self.is_stale = self.record.code.is_older_than(&code);
        self.is_unversioned = self.record.code.is_unknown(&code);
        Ok(())
    }

    /// The claims with their verdicts.
    pub(crate) fn claims(&self) -> impl Iterator<Item = (&Claim, &Verdict)> {
        self.plan.claims.iter().zip(&self.verdicts)
    }

    /// Figures for the plan as it stands.
    fn figures(&self) -> &Figures {
        &self.ran.variations[0].1
    }

    /// Claims with a verdict other than expected by the plan. Claims with too few runs or noisy times
    /// do not count, and in a shorter setting than the full one neither claims with an undecided
    /// verdict, nor with an undecided one expected.
    pub fn changed(&self) -> Vec<String> {
        let is_shorter = self.record.setting() != Setting::Full;
        let mut changed = Vec::new();
        for (claim, verdict) in self.claims() {
            let may_be_undecided = is_shorter || verdict.is_noisy || verdict.too_few().is_some();
            let is_undecided = [claim.expect, verdict.kind].contains(&Kind::Undecided);
            if claim.expect == verdict.kind || (may_be_undecided && is_undecided) {
                continue;
            }
            changed.push(format!(
                "'{}': expected '{}', now {}",
                claim.says,
                claim.expect.name(),
                verdict.words
            ));
        }
        changed
    }

    /// How many claims are undecided although the plan expects a decided verdict.
    pub fn undecided(&self) -> usize {
        let mut count = 0;
        for (claim, verdict) in self.claims() {
            let is_undecided = verdict.kind == Kind::Undecided && claim.expect != Kind::Undecided;
            count += usize::from(is_undecided);
        }
        count
    }

    /// The paper's claims that hold. With one discipline in place of all others these say nothing
    /// about disciplines.
    pub fn holding(&self) -> Vec<&str> {
        let mut holding = Vec::new();
        for (claim, verdict) in self.claims() {
            let holds = matches!(verdict.kind, Kind::Holds | Kind::HoldsButNotIf);
            if holds && !claim.ours {
                holding.push(claim.says.as_str());
            }
        }
        holding
    }

    /// How many claims got each kind of verdict.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for (claim, verdict) in self.claims() {
            counts.add(claim, verdict.kind);
        }
        counts
    }

    /// All verdicts in a line: `3 hold, 1 does not hold; ours: 2 hold`.
    pub fn summary(&self) -> String {
        self.counts().words()
    }

    /// True if the record has fewer seeds than the plan.
    pub fn lacks_seeds(&self) -> bool {
        (self.record.seeds.len() as u64) < self.planned
    }

    /// How many runs are recorded: `4 of 20 runs recorded`, or `20 seeds`.
    pub(crate) fn recorded(&self) -> String {
        match (self.record.seeds.len(), self.lacks_seeds()) {
            (recorded, true) => format!("{recorded} of {} runs recorded", self.planned),
            (1, false) => "1 run".to_owned(),
            (recorded, false) => format!("{recorded} seeds"),
        }
    }

    /// True if the record's setting can show a figure: if a claim names it that is judged there, or
    /// if all claims are judged.
    fn is_shown(&self, figure: &str) -> bool {
        if self.record.setting() != Setting::Quick {
            return true;
        }
        let mut all_are_judged = true;
        for claim in &self.plan.claims {
            let is_judged = claim.only_full.is_none();
            all_are_judged &= is_judged;
            if is_judged && claim.names(figure) {
                return true;
            }
        }
        all_are_judged
    }

    /// Published values beside our own: figure, published, ours, ratio.
    pub fn comparison(&self) -> Vec<[String; 4]> {
        let mut rows = Vec::new();
        for published in &self.plan.published {
            let figure = &published.figure;
            if let Some(value) = published.value {
                rows.push(self.compared(figure, None, value, published.deviation));
            }
            for (x, value) in &published.points {
                rows.push(self.compared(figure, Some(*x), *value, None));
            }
        }
        rows
    }

    fn compared(
        &self,
        figure: &str,
        x: Option<f64>,
        value: f64,
        deviation: Option<f64>,
    ) -> [String; 4] {
        let label = match x {
            Some(x) => format!("{figure} @ {}", rounded(x)),
            None => figure.to_owned(),
        };
        let published = match deviation {
            Some(deviation) => format!("{} (deviation {})", rounded(value), rounded(deviation)),
            None => rounded(value),
        };
        let mut ours = "not measured".to_owned();
        let mut ratio = "–".to_owned();
        if !self.is_shown(figure) {
            ours = "not judged in the quick setting".to_owned();
        } else if let Some(samples) = self.figures().at(figure, x)
            && let Some(interval) = samples.interval()
        {
            ours = measured(interval, self.figures().runs(samples));
            if value != 0.0 {
                ratio = rounded(interval.mean / value);
            }
        }
        [label, published, ours, ratio]
    }

    /// Notes on scalar figures with two modes.
    pub(crate) fn modes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for name in self.figures().names() {
            let Some(samples) = self.figures().at(name, None) else {
                continue;
            };
            let values = samples.values();
            let Some(modes) = modes(&values) else {
                continue;
            };
            let [low, high] = modes.map(|(mean, share)| {
                let runs = (share * values.len() as f64).round();
                format!("{} in {runs} of {} runs", rounded(mean), values.len())
            });
            notes.push(format!(
                "{name} has two modes: {low} and {high}; its mean describes no run."
            ));
        }
        notes
    }

    /// The plan's charts, then one for each table of published scalars.
    pub fn charts(&self) -> Vec<Chart> {
        let mut charts = Vec::new();
        for spec in &self.plan.charts {
            charts.push(self.chart(spec));
        }
        let mut published = Vec::new();
        for of_paper in &self.plan.published {
            if self.is_shown(&of_paper.figure) {
                published.push(of_paper);
            }
        }
        charts.extend(compared::charts(&published, self.figures()));
        for chart in &mut charts {
            let mark = match self.record.setting() {
                Setting::Full => "",
                Setting::Medium => " (medium setting: 1 run)",
                Setting::Quick => " (quick setting)",
            };
            chart.title = format!("{}: {}{mark}", self.item.label, chart.title);
        }
        charts
    }

    /// The first chart as a small SVG document, if it has points.
    pub fn picture(&self) -> Option<String> {
        let chart = self.charts().into_iter().next()?;
        chart.has_points().then(|| chart.small_svg())
    }

    fn chart(&self, spec: &ChartSpec) -> Chart {
        let mut curves = Vec::new();
        for text in &spec.curves {
            curves.extend(self.curve(text));
            let is_named = spec.curves.contains(&format!("published {text}"));
            if !is_named && self.is_shown(text) {
                curves.extend(self.published(text));
            }
        }
        let mut runs = Vec::new();
        for curve in &curves {
            runs.push(run_of(&curve.name).to_owned());
        }
        for (curve, run) in curves.iter_mut().zip(&runs) {
            // A run with only one curve does not need the figure's name.
            if curve.drawn != Drawn::Published
                && runs.iter().filter(|other| *other == run).count() == 1
            {
                curve.name.clone_from(run);
            }
        }
        Chart {
            title: spec.title.clone(),
            x: axis(&spec.x, spec.log.contains('x')),
            y: axis(&spec.y, spec.log.contains('y')),
            curves,
            ..Chart::default()
        }
    }

    /// The paper's points for a figure, hollow.
    fn published(&self, figure: &str) -> Option<Curve> {
        let mut known = self.plan.published.iter();
        let published = known.find(|published| published.figure == figure)?;
        let mut points = Vec::new();
        for &(x, y) in &published.points {
            points.push(Point {
                x,
                y,
                half_width: 0.0,
            });
        }
        (!points.is_empty()).then(|| Curve {
            name: format!("published {figure}"),
            points,
            drawn: Drawn::Published,
        })
    }

    fn curve(&self, text: &str) -> Option<Curve> {
        let reference = Reference::parse(text).ok()?;
        let mut points = Vec::new();
        if reference.is_published {
            let mut known = self.plan.published.iter();
            let published = known.find(|published| published.figure == reference.figure)?;
            for &(x, y) in &published.points {
                points.push(Point {
                    x,
                    y,
                    half_width: 0.0,
                });
            }
            return Some(Curve {
                name: format!("published {}", reference.figure),
                points,
                drawn: Drawn::Dashes,
            });
        }
        for (x, samples) in self.figures().curve(&reference.figure)? {
            let Some(interval) = samples.interval() else {
                continue;
            };
            let has_several = samples.0.len() > 1;
            points.push(Point {
                x,
                y: interval.mean,
                half_width: if has_several {
                    deviation(&samples.values())
                } else {
                    0.0
                },
            });
        }
        Some(Curve {
            name: reference.figure,
            points,
            drawn: Drawn::Line,
        })
    }
}

/// The run in a figure's name, `RUN: FIGURE`.
fn run_of(figure: &str) -> &str {
    match figure.split_once(": ") {
        Some((run, _)) => run,
        None => figure,
    }
}

fn axis(label: &str, is_logarithmic: bool) -> Axis {
    Axis {
        label: label.to_owned(),
        scaling: if is_logarithmic {
            Scaling::Logarithmic
        } else {
            Scaling::Linear
        },
        ..Axis::default()
    }
}
