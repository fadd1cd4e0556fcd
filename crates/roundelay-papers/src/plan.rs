//! Plans: a table, figure or theorem of a paper as data in TOML: the experiment, the published
//! numbers, the claims.

mod claim;
mod fault;
mod planted;
pub(crate) mod published;
mod variation;

use std::borrow::Cow;
use std::collections::BTreeMap;

use roundelay_files::Reader;
use serde::Deserialize;
use toml::{Table, Value};

use crate::figures::Reference;
use crate::kind::Kind;
use crate::locations::{PlanError, Wrong, is_at_or_below, located, read};
use crate::table::set;

pub use claim::Claim;
pub use fault::{CannotTell, Fault};
pub use published::{Published, published_at};
pub use variation::Variation;

/// A plan as in its file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Name in the paper: `Figure 4`.
    pub item: String,
    /// Title.
    pub title: String,
    /// Page or section in the paper.
    pub page: String,
    /// How the experiment is done.
    pub method: String,
    /// Differences from the paper's method.
    #[serde(default)]
    pub differs: Vec<String>,
    /// Ways for a reader to refute the verdicts.
    #[serde(default)]
    pub refute: String,
    /// Another item with the same runs: `run`, `quick`, `medium`, `open` and `fewer_seeds` default to
    /// its plan's.
    pub like: Option<String>,
    /// The experiment: `kind`, `seeds`, and the kind's keys.
    pub run: Table,
    /// Values for the quick setting, by dotted path in `run`.
    #[serde(default)]
    pub quick: Table,
    /// Values for the medium setting, by dotted path in `run`. Its `seeds` are 1 unless they are
    /// here.
    #[serde(default)]
    pub medium: Table,
    /// Columns that run with fewer seeds than the others, because a run takes long, with how many
    /// seeds they get.
    #[serde(default)]
    pub fewer_seeds: BTreeMap<String, u64>,
    /// Numbers printed in the paper.
    #[serde(default)]
    pub published: Vec<Published>,
    /// The paper's claims.
    #[serde(rename = "claim")]
    pub claims: Vec<Claim>,
    /// Parameters left open by the paper.
    #[serde(default, rename = "open")]
    pub open: Vec<Open>,
    /// Charts.
    #[serde(default, rename = "chart")]
    pub charts: Vec<ChartSpec>,
    /// Planted faults, and the claims that notice them.
    #[serde(default, rename = "fault")]
    pub faults: Vec<Fault>,
    /// Why no fault would change any of the paper's claims.
    pub cannot_tell: Option<CannotTell>,
}

/// A parameter left open by the paper, and the values to try.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// Dotted path in `run`.
    pub parameter: String,
    /// Values to try.
    pub values: Vec<Value>,
    /// Other values that are set together with each of these, by dotted path in `run`: a verdict may
    /// depend on a pair.
    #[serde(default)]
    pub with: Table,
    /// Name in verdicts. By default, the path.
    pub name: Option<String>,
    /// What the parameter means, in words.
    pub says: String,
}

impl Open {
    /// Name in verdicts.
    pub fn name(&self) -> &str {
        self.name.as_ref().unwrap_or(&self.parameter)
    }

    /// A choice's name: `weight = 10`.
    fn choice(&self, value: &Value) -> String {
        format!("{} = {}", self.name(), Self::text(value))
    }

    /// A value as text, without quotes.
    pub(crate) fn text(value: &Value) -> String {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    }
}

/// A chart: curves of figures.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChartSpec {
    /// Title.
    pub title: String,
    /// Label of the horizontal axis.
    pub x: String,
    /// Label of the vertical axis.
    pub y: String,
    /// Figures with an x, as `RUN: FIGURE`, or `published RUN: FIGURE` for the paper's curve.
    pub curves: Vec<String>,
    /// Logarithmic axes: `x`, `y`, `xy` or none.
    #[serde(default)]
    pub log: String,
}

/// How much to run, from little to all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    /// With the values in the plan's `[quick]`.
    #[default]
    Quick,
    /// One seed of the runs that claims name, with the values in the plan's `[medium]`: long enough
    /// to judge every claim, if not to decide it.
    Medium,
    /// As in the paper.
    Full,
}

impl Setting {
    /// All settings.
    pub const ALL: [Self; 3] = [Self::Quick, Self::Medium, Self::Full];

    /// The setting's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Medium => "medium",
            Self::Full => "full",
        }
    }
}

impl Plan {
    /// Reads a plan and checks that each variation can run and each claim can be judged.
    ///
    /// # Errors
    /// The fault, with its line.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        Self::parse_beside(text, |_| None)
    }

    /// Parses a plan that may have `like`. `find` returns the text of a plan by item name.
    ///
    /// # Errors
    /// As above.
    pub fn parse_beside<'a>(
        text: &str,
        find: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<Self, PlanError> {
        let plan = Self::read(text, find)?;
        plan.check().map_err(|wrong| located(text, wrong))?;
        Ok(plan)
    }

    /// Reads a plan without checking its experiment.
    ///
    /// # Errors
    /// The text is not a plan. The message has the line.
    pub(crate) fn read<'a>(
        text: &str,
        find: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<Self, PlanError> {
        let (reader, mut table) = Reader::read::<Table>("", text)?;
        steers_nothing(&reader, "", &Value::Table(table.clone()))?;
        let Some(Value::String(like)) = table.get("like").cloned() else {
            return Ok(Reader::read("", text)?.1);
        };
        let Some(other) = find(&like) else {
            let message = format!("like: there is no item '{like}' beside it");
            return Err(reader.at("like", message));
        };
        let (_, mut other) =
            Reader::read::<Table>(&like, other).map_err(|error| reader.at("like", error))?;
        for key in ["run", "quick", "medium", "open", "fewer_seeds"] {
            if let (None, Some(value)) = (table.get(key), other.remove(key)) {
                table.insert(key.to_owned(), value);
            }
        }
        read(&table).map_err(|wrong| located(text, wrong))
    }

    /// Checks that each variation can run and each claim can be judged.
    pub(crate) fn check(&self) -> Result<(), Wrong> {
        for setting in Setting::ALL {
            for variation in self.variations(setting)? {
                variation
                    .experiment()
                    .map_err(|wrong| self.written(setting, &variation, wrong))?;
            }
        }
        for (number, claim) in self.claims.iter().enumerate() {
            let path = format!("claim.{number}");
            let checked = claim.check();
            checked.map_err(|message| Wrong::new(&path, message))?;
            let is_conditional =
                matches!(claim.expect, Kind::HoldsButNotIf | Kind::FailsButHoldsIf);
            if is_conditional && self.open.is_empty() {
                let says = &claim.says;
                let expected = claim.expect.name();
                return Err(Wrong::new(
                    path,
                    format!("claim '{says}': expect '{expected}' needs an [[open]] parameter"),
                ));
            }
        }
        self.check_claim_ids()?;
        self.check_faults()?;
        self.check_fewer_seeds()?;
        for (number, published) in self.published.iter().enumerate() {
            let path = format!("published.{number}.figure");
            Reference::parse(&published.figure)
                .map_err(|message| Wrong::new(path, format!("[[published]] {message}")))?;
        }
        Ok(())
    }

    /// Checks that columns with fewer seeds exist, and that they have fewer.
    fn check_fewer_seeds(&self) -> Result<(), Wrong> {
        if self.fewer_seeds.is_empty() {
            return Ok(());
        }
        let stands = self.variations(Setting::Full)?.swap_remove(0);
        let parts = stands.experiment()?.parts();
        for (column, seeds) in &self.fewer_seeds {
            let wrong = |message: String| {
                let path = format!("fewer_seeds.{column}");
                Wrong::new(&path, format!("[fewer_seeds] {column}{message}"))
            };
            if !parts.iter().any(|part| is_of_column(part, column)) {
                let parts = parts.join("', '");
                return Err(wrong(format!(" is no column: the runs are '{parts}'")));
            }
            if !(1..stands.seeds).contains(seeds) {
                let most = stands.seeds - 1;
                return Err(wrong(format!(
                    " = {seeds}: legal range 1 to {most}, below the seeds of [run]"
                )));
            }
        }
        Ok(())
    }

    /// True if a part of the experiment runs with this seed.
    pub(crate) fn runs(&self, part: &str, seed: u64) -> bool {
        for (column, seeds) in &self.fewer_seeds {
            if seed > *seeds && is_of_column(part, column) {
                return false;
            }
        }
        true
    }

    /// Moves an error about a variation to the plan's key that is responsible: in `[[open]]`,
    /// `[quick]` or `[run]`.
    fn written(&self, setting: Setting, variation: &Variation, wrong: Wrong) -> Wrong {
        if let Some(number) = variation.open {
            for path in self.open[number].with.keys() {
                if is_at_or_below(&wrong.path, path) {
                    let fault = wrong.fault.behind("[[open]] with: ");
                    return Wrong::new(format!("open.{number}.with.{path}"), fault);
                }
            }
        }
        if let Some(number) = variation.open
            && is_at_or_below(&wrong.path, &self.open[number].parameter)
        {
            return Wrong::new(
                format!("open.{number}.values"),
                wrong
                    .fault
                    .behind(format_args!("[[open]] with {}: ", variation.name)),
            );
        }
        for path in self.values_of(setting).keys() {
            if is_at_or_below(&wrong.path, path) {
                let name = setting.name();
                let fault = wrong.fault.behind(format_args!("[{name}] "));
                return Wrong::new(format!("{name}.{path}"), fault);
            }
        }
        let Wrong { path, fault } = wrong.below("run");
        Wrong::new(path, fault.behind("[run] "))
    }

    /// The variations: the plan as it stands, then each value of each open parameter.
    ///
    /// # Errors
    /// A path does not exist.
    pub fn variations(&self, setting: Setting) -> Result<Vec<Variation>, Wrong> {
        let mut run = self.run.clone();
        if setting == Setting::Medium {
            run.insert("seeds".to_owned(), Value::Integer(1));
        }
        for (path, value) in self.values_of(setting).as_ref() {
            set(&mut run, path, value.clone()).map_err(|message| {
                let name = setting.name();
                Wrong::new(format!("{name}.{path}"), format!("[{name}] {message}"))
            })?;
        }
        let mut variations = vec![Variation::new(String::new(), None, run.clone())?];
        for (number, open) in self.open.iter().enumerate() {
            for value in &open.values {
                let mut run = run.clone();
                set(&mut run, &open.parameter, value.clone()).map_err(|message| {
                    Wrong::new(
                        format!("open.{number}.parameter"),
                        format!("[[open]] {message}"),
                    )
                })?;
                for (path, value) in &open.with {
                    set(&mut run, path, value.clone()).map_err(|message| {
                        Wrong::new(
                            format!("open.{number}.with.{path}"),
                            format!("[[open]] {message}"),
                        )
                    })?;
                }
                variations.push(Variation::new(open.choice(value), Some(number), run)?);
            }
        }
        Ok(variations)
    }

    /// The values that a setting changes in `run`, by dotted path.
    fn values_of(&self, setting: Setting) -> Cow<'_, Table> {
        match setting {
            Setting::Quick => Cow::Borrowed(&self.quick),
            Setting::Medium => Cow::Borrowed(&self.medium),
            Setting::Full => Cow::Owned(Table::new()),
        }
    }

    /// True if a claim names a figure of this part.
    pub(crate) fn names_part(&self, part: &str) -> bool {
        self.claims.iter().any(|claim| claim.names_part(part))
    }

    /// How many seeds a setting has.
    ///
    /// # Errors
    /// A path does not exist.
    pub fn seeds(&self, setting: Setting) -> Result<u64, Wrong> {
        let stands = self.variations(setting)?.swap_remove(0);
        Ok(stands.seeds)
    }

    /// The plan without the reasons for its verdicts, which do not apply to a replaced discipline.
    pub fn without_reasons(&self) -> Self {
        let mut plan = self.clone();
        for claim in &mut plan.claims {
            claim.because = String::new();
        }
        plan
    }
}

/// True for the column's part, and for its parts by scheme: `I2/10 by FIFO`.
fn is_of_column(part: &str, column: &str) -> bool {
    match part.strip_prefix(column) {
        Some(rest) => rest.is_empty() || rest.starts_with(" by "),
        None => false,
    }
}

/// # Errors
/// A text has a character that controls a terminal: pages and tables have the plan's texts as they are.
fn steers_nothing(reader: &Reader<'_>, path: &str, value: &Value) -> Result<(), PlanError> {
    let steers =
        |text: &str| text.contains(|letter: char| letter.is_control() && !"\n\t".contains(letter));
    const WRONG: &str = "a character that controls a terminal; expected text";
    match value {
        Value::String(text) if steers(text) => Err(reader.at(path, WRONG)),
        Value::Array(values) => {
            for (number, value) in values.iter().enumerate() {
                steers_nothing(reader, &format!("{path}.{number}"), value)?;
            }
            Ok(())
        }
        Value::Table(table) => {
            for (key, value) in table {
                if steers(key) {
                    return Err(reader.at(path, WRONG));
                }
                let below = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                steers_nothing(reader, &below, value)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Found: a stranger's plan sent escape codes to the terminal, and into pages.
    #[test]
    fn a_plan_steers_no_terminal() {
        for (old, new) in [
            ("Ten constant", "\\u001b[31m"),
            ("A dumbbell", "\\u009b"),
            ("DRR =", "\"\\u0007\" ="),
        ] {
            let told = Plan::parse(&PLAN.replace(old, new)).map(|_| ());
            let told = told.expect_err("a control character").to_string();
            assert!(told.contains("controls a terminal"), "{told}");
        }
    }

    pub(crate) const PLAN: &str = r#"
item = "Figure 1"
title = "Ten constant rates"
page = "section 1"
method = "A dumbbell."
[run]
kind = "simulate"
seeds = 3
columns = { DRR = "drr", FIFO = "fifo limit 50" }
[run.scenario]
duration = "4s"
topology = { template = "dumbbell", pairs = 10 }
source = [{ kind = "cbr", name = "all of them", from = "s*", to = "r*", rate = "1mbit", start_jitter = "20ms" }]
[quick]
seeds = 2
"scenario.duration" = "2s"
[[published]]
figure = "DRR: least, kbit/s"
value = 500.0
[[claim]]
says = "Round robin shares evenly."
needs = [{ is = "published", of = "DRR: least, kbit/s", within = 0.1 }]
expect = "holds"
[[claim]]
says = "The longer queue does not matter."
left_out = "what longer means"
expect = "left out"
[[open]]
parameter = "scenario.source.0.rate"
values = ["600kbit", "2mbit"]
name = "rate"
says = "What each flow sends."
"#;

    #[test]
    fn a_plan_has_the_variations_of_what_is_open() {
        let plan = Plan::parse(PLAN).unwrap();
        let [quick, full] =
            [Setting::Quick, Setting::Full].map(|setting| plan.variations(setting).unwrap());
        assert_eq!((quick.len(), quick[0].seeds, full[0].seeds), (3, 2, 3));
        assert_eq!(quick[2].name, "rate = 2mbit");
        assert!(quick[2].identity().contains("2mbit") && quick[0].identity() != full[0].identity());
        assert_eq!(quick[0].experiment().unwrap().parts(), ["DRR", "FIFO"]);
        assert_eq!(
            published_at(&plan.published, "DRR: least, kbit/s", None),
            Some(500.0)
        );
    }

    /// Formerly open values varied one at a time, so what needs two of them could not hold.
    #[test]
    fn open_values_may_vary_in_pairs() {
        let pair = "says = \"What each flow sends.\"\nwith = { \"scenario.duration\" = \"7s\" }";
        let text = PLAN.replace("says = \"What each flow sends.\"", pair);
        let variations = Plan::parse(&text)
            .unwrap()
            .variations(Setting::Full)
            .unwrap();
        assert!(!variations[0].identity().contains("7s"));
        for variation in &variations[1..] {
            assert!(variation.identity().contains("7s"), "{}", variation.name);
        }
        let wrong = text.replace("\"7s\" }", "\"7\" }");
        let error = Plan::parse(&wrong).unwrap_err().to_string();
        let line = 1 + wrong
            .lines()
            .position(|line| line.contains("\"7\""))
            .unwrap();
        assert!(error.contains("'7' has no unit"), "{error}");
        assert!(
            error.contains(&format!("line {line}")) || error.contains(&format!(":{line}")),
            "{error}"
        );
    }

    #[test]
    fn a_plan_may_have_the_runs_of_another() {
        let own = "item = 'Figure 2'\ntitle = 'a'\npage = 'b'\nmethod = 'c'\nlike = 'figure-1'
[[claim]]\nsays = 'd'\nneeds = [{ is = 'interval', of = 'DRR: most, kbit/s', from = 1 }]\n\
expect = 'holds'\n";
        let parse =
            |own: &str| Plan::parse_beside(own, |name| (name == "figure-1").then_some(PLAN));
        let plan = parse(own).unwrap();
        let other = Plan::parse(PLAN).unwrap();
        assert_eq!(
            plan.variations(Setting::Quick),
            other.variations(Setting::Quick)
        );
        assert_eq!(
            (plan.claims.len(), plan.published.len()),
            (1, 0),
            "claims are its own"
        );
        assert!(
            parse(&own.replace("figure-1", "figure-3"))
                .unwrap_err()
                .message()
                .contains("no item 'figure-3'")
        );
        assert!(
            parse(&format!("{own}[quick]\nseeds = 1"))
                .unwrap()
                .variations(Setting::Quick)
                .unwrap()[0]
                .seeds
                == 1
        );
    }

    /// An error in a plan's scenario once appeared only after the run had started, without the
    /// plan's line.
    #[test]
    fn what_is_wrong_with_a_plan_has_the_line_of_the_plan() {
        let line = |part: &str| 1 + PLAN.lines().position(|line| line.contains(part)).unwrap();
        for (from, to, at, expected) in [
            (
                "duration = \"4s\"",
                "duration = \"4\"",
                "duration",
                "[run] scenario.duration: '4' has no unit",
            ),
            ("pairs = 10", "pairs = 0", "topology =", "pairs"),
            (
                "from = \"s*\"",
                "form = \"s*\"",
                "source =",
                "unknown field `form`",
            ),
            ("\"drr\"", "\"drrr\"", "columns =", "[run] columns.DRR: "),
            (
                "\"2s\"",
                "\"2\"",
                "\"2s\"",
                "[quick] scenario.duration: '2' has no unit",
            ),
            ("\"2mbit\"", "\"2\"", "values =", "[[open]] with rate = 2: "),
            (
                "kind = \"simulate\"",
                "kind = \"simulate\"\nother = 1",
                "seeds = 3",
                "unknown field `other`",
            ),
            (
                "expect = \"holds\"",
                "expect = \"hold\"",
                "expect =",
                "no verdict is called 'hold': 'holds', ",
            ),
            (
                "is = \"published\", of = \"DRR: ",
                "is = \"published\", of = \"",
                "[[claim]]",
                "expected RUN: FIGURE",
            ),
        ] {
            let error = Plan::parse(&PLAN.replacen(from, to, 1)).unwrap_err();
            assert!(error.message().contains(expected), "{error:?}");
            assert_eq!(
                error.line(),
                Some(line(at)).filter(|line| *line > 0),
                "{error:?}"
            );
        }
    }

    #[test]
    fn a_condition_needs_something_open() {
        let claim = "because = \"a\"\nexpect = \"holds, but not if\"";
        let conditional = PLAN.replacen("expect = \"holds\"", claim, 1);
        assert!(Plan::parse(&conditional).is_ok());
        let (closed, _) = conditional.split_once("[[open]]").unwrap();
        let error = Plan::parse(closed).unwrap_err();
        assert!(error.message().contains("needs an [[open]]"), "{error:?}");
    }

    #[test]
    fn what_is_wrong_with_a_plan_is_said() {
        for (from, to, expected) in [
            (
                "kind = \"simulate\"",
                "kind = \"stimulate\"",
                "[run] kind 'stimulate': one of ",
            ),
            (
                "seeds = 3",
                "seeds = 0",
                "[run] seeds: legal range 1 to 10000",
            ),
            ("columns =", "colums =", "colums"),
            (
                "source.0.rate",
                "source.7.rate",
                "[[open]] scenario.source.7.rate: no '7' there",
            ),
            ("is = \"published\"", "is = \"public\"", "public"),
            (
                "left_out = \"what longer means\"",
                "",
                "either needs, or left_out",
            ),
            (
                "expect = \"holds\"",
                "expect = \"does not hold\"",
                "because is needed",
            ),
            (
                "expect = \"holds\"",
                "because = \"a\"\nexpect = \"differs here\"",
                "expect 'differs here' needs the key differs",
            ),
            (
                "expect = \"holds\"",
                "differs = \"a\"\nexpect = \"does not hold\"",
                "expected as 'differs here'",
            ),
            (
                "expect = \"left out\"",
                "expect = \"cannot be\"",
                "expect 'cannot be' needs the key cannot",
            ),
        ] {
            let error = Plan::parse(&PLAN.replace(from, to)).unwrap_err();
            assert!(error.message().contains(expected), "{error:?}");
        }
    }

    #[test]
    fn a_column_may_have_fewer_seeds() {
        let with = |fewer: &str| {
            let fewer = format!("[fewer_seeds]\n{fewer}\n[quick]");
            Plan::parse(&PLAN.replace("[quick]", &fewer))
        };
        let plan = with("FIFO = 2").unwrap();
        assert!(plan.runs("FIFO", 2) && !plan.runs("FIFO", 3) && plan.runs("DRR", 3));
        assert!(!plan.runs("FIFO by scheme", 3) && plan.runs("FIFO+", 3));
        for (fewer, expected) in [
            (
                "SFQ = 2",
                "[fewer_seeds] SFQ is no column: the runs are 'DRR', 'FIFO'",
            ),
            ("FIFO = 3", "[fewer_seeds] FIFO = 3: legal range 1 to 2"),
            ("FIFO = 0", "[fewer_seeds] FIFO = 0: legal range 1 to 2"),
        ] {
            let error = with(fewer).unwrap_err().with_file("plan.toml").to_string();
            assert!(
                error.starts_with("plan.toml:15: ") && error.contains(expected),
                "{error}"
            );
        }
    }
}
