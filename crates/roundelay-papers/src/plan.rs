//! Plans: one table, figure or theorem of a paper as data in TOML. What to run, what was published, what is claimed.

mod variation;

use serde::Deserialize;
use toml::{Table, Value};

use crate::figures::Reference;
use crate::places::{Places, PlanError, Wrong, located, read};
use crate::predicate::Predicate;
use crate::table::set;
use crate::verdict::Kind;

pub use variation::Variation;

/// A plan, as its file has it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// What the paper calls it: `Figure 4`.
    pub item: String,
    /// What it shows.
    pub title: String,
    /// Where in the paper it stands.
    pub page: String,
    /// What is run, and how.
    pub method: String,
    /// What is done differently from the paper.
    #[serde(default)]
    pub differs: Vec<String>,
    /// How a reader could show the verdicts wrong.
    #[serde(default)]
    pub refute: String,
    /// The item whose runs these are: `run`, `quick` and `open` are that plan's where they are left out here.
    pub like: Option<String>,
    /// What to run: `kind`, `seeds`, and the keys of that kind.
    pub run: Table,
    /// Keys of `run` by dotted path that the quick setting replaces.
    #[serde(default)]
    pub quick: Table,
    /// Numbers that the paper prints.
    #[serde(default)]
    pub published: Vec<Published>,
    /// What the paper claims.
    #[serde(rename = "claim")]
    pub claims: Vec<Claim>,
    /// What the paper leaves open.
    #[serde(default, rename = "open")]
    pub open: Vec<Open>,
    /// Drawings.
    #[serde(default, rename = "chart")]
    pub charts: Vec<ChartSpec>,
}

/// A number or a curve that the paper prints.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// `RUN: FIGURE`, as the rows of ours are called.
    pub figure: String,
    /// The number.
    pub value: Option<f64>,
    /// Or the curve: pairs of x and value.
    #[serde(default)]
    pub points: Vec<(f64, f64)>,
    /// The standard deviation that the paper gives with it.
    pub deviation: Option<f64>,
    /// Where in the paper, if not where the item is.
    #[serde(rename = "where")]
    pub place: Option<String>,
}

/// A claim of the paper, and when it holds.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// What the paper claims, in a sentence of ours.
    pub says: String,
    /// Where in the paper, if not where the item is.
    #[serde(rename = "where")]
    pub place: Option<String>,
    /// It holds where all of these do.
    #[serde(default)]
    pub needs: Vec<Predicate>,
    /// Where the numbers in `needs` come from.
    #[serde(default)]
    pub tolerance: String,
    /// Why it fails, or on what it depends.
    #[serde(default)]
    pub because: String,
    /// How the paper contradicts itself; `needs` are then over published numbers.
    pub cannot: Option<String>,
    /// What the paper leaves out, so that nothing can be judged.
    pub left_out: Option<String>,
    /// Why the quick setting cannot tell, so that the claim is undecided there.
    pub only_full: Option<String>,
    /// The verdict that is expected of the full setting, which `--check` compares with.
    pub expect: Kind,
    /// Tests that prove more.
    #[serde(default)]
    pub tests: Vec<String>,
}

/// A parameter that the paper leaves open, and the values that are tried.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// Its dotted path in `run`.
    pub parameter: String,
    /// What is tried.
    pub values: Vec<Value>,
    /// What verdicts call it; its path if left out.
    pub name: Option<String>,
    /// What it is, in words.
    pub says: String,
}

impl Open {
    /// What verdicts call it.
    pub fn name(&self) -> &str {
        self.name.as_ref().unwrap_or(&self.parameter)
    }

    /// What a choice is called: `weight = 10`.
    fn choice(&self, value: &Value) -> String {
        format!("{} = {}", self.name(), Self::text(value))
    }

    /// A value as text, without quotes.
    pub(crate) fn text(value: &Value) -> String {
        value.as_str().map_or_else(|| value.to_string(), str::to_owned)
    }
}

/// A drawing: curves of figures.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChartSpec {
    /// What it shows.
    pub title: String,
    /// What lies along.
    pub x: String,
    /// What stands upright.
    pub y: String,
    /// Figures with an x, as `RUN: FIGURE`; `published RUN: FIGURE` for the paper's.
    pub curves: Vec<String>,
    /// Axes that are logarithmic: `x`, `y`, `xy` or none.
    #[serde(default)]
    pub log: String,
}

/// How much to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// As the plan's `[quick]` has it.
    Quick,
    /// As the paper has it.
    Full,
}

impl Setting {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }
}

impl Plan {
    /// Reads a plan and checks that each variation can be run, and each claim be judged.
    ///
    /// # Errors
    /// What is wrong, with its line.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        Self::parse_beside(text, |_| None)
    }

    /// The same for a plan that may be `like` another one, whose text `find` gives by the name of its item.
    ///
    /// # Errors
    /// As above.
    pub fn parse_beside<'a>(text: &str, find: impl Fn(&str) -> Option<&'a str>) -> Result<Self, PlanError> {
        let plan = Self::read(text, find)?;
        plan.check().map_err(|wrong| Places::of(text).error(&wrong))?;
        Ok(plan)
    }

    /// Reads a plan and checks nothing that it runs.
    ///
    /// # Errors
    /// What is no plan, with its line.
    pub(crate) fn read<'a>(text: &str, find: impl Fn(&str) -> Option<&'a str>) -> Result<Self, PlanError> {
        let mut table: Table = text.parse().map_err(|error| located(text, &error))?;
        let Some(like) = table.get("like").and_then(Value::as_str).map(str::to_owned) else {
            return toml::from_str(text).map_err(|error| located(text, &error));
        };
        let wrong = |message: String| Places::of(text).error(&Wrong::new("like", message));
        let other = find(&like).ok_or_else(|| wrong(format!("like: there is no item '{like}' beside it")))?;
        let mut other: Table = other.parse().map_err(|error| wrong(located(other, &error).in_file(&like)))?;
        for key in ["run", "quick", "open"] {
            if let (None, Some(value)) = (table.get(key), other.remove(key)) {
                table.insert(key.to_owned(), value);
            }
        }
        read(&table).map_err(|wrong| Places::of(text).error(&wrong))
    }

    /// Whether each variation can be run, and each claim be judged.
    pub(crate) fn check(&self) -> Result<(), Wrong> {
        for setting in [Setting::Quick, Setting::Full] {
            for variation in self.variations(setting)? {
                variation.experiment().map_err(|wrong| self.written(setting, &variation, wrong))?;
            }
        }
        for (number, claim) in self.claims.iter().enumerate() {
            claim.check().map_err(|message| Wrong::new(format!("claim.{number}"), message))?;
        }
        for (number, published) in self.published.iter().enumerate() {
            let path = format!("published.{number}.figure");
            Reference::parse(&published.figure).map_err(|message| Wrong::new(path, format!("[[published]] {message}")))?;
        }
        Ok(())
    }

    /// What is wrong with a variation, at the key of the plan that says so: of `[[open]]`, `[quick]` or `[run]`.
    fn written(&self, setting: Setting, variation: &Variation, wrong: Wrong) -> Wrong {
        let is_below = |path: &str| wrong.path == path || wrong.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
        let varied = variation.open.filter(|number| is_below(&self.open[*number].parameter));
        let quick = self.quick.keys().find(|path| setting == Setting::Quick && is_below(path));
        match (varied, quick) {
            (Some(number), _) => {
                Wrong::new(format!("open.{number}.values"), format!("[[open]] with {}: {}", variation.name, wrong.message))
            }
            (None, Some(path)) => Wrong::new(format!("quick.{path}"), format!("[quick] {}", wrong.message)),
            (None, None) => Wrong { message: format!("[run] {}", wrong.message), ..wrong.below("run") },
        }
    }

    /// What is run: the plan as it stands, then each value of each open parameter.
    ///
    /// # Errors
    /// A path that leads nowhere.
    pub fn variations(&self, setting: Setting) -> Result<Vec<Variation>, Wrong> {
        let mut run = self.run.clone();
        if setting == Setting::Quick {
            for (path, value) in &self.quick {
                set(&mut run, path, value.clone()).map_err(|message| Wrong::new(format!("quick.{path}"), format!("[quick] {message}")))?;
            }
        }
        let mut variations = vec![Variation::new(String::new(), None, run.clone())?];
        for (number, open) in self.open.iter().enumerate() {
            for value in &open.values {
                let mut run = run.clone();
                let wrong = |message| Wrong::new(format!("open.{number}.parameter"), format!("[[open]] {message}"));
                set(&mut run, &open.parameter, value.clone()).map_err(wrong)?;
                variations.push(Variation::new(open.choice(value), Some(number), run)?);
            }
        }
        Ok(variations)
    }

    /// The plan with another discipline in the place of those examined: what it says of verdicts is then of none.
    pub fn without_reasons(&self) -> Self {
        let claims = self.claims.iter().map(|claim| Claim { because: String::new(), ..claim.clone() });
        Self { claims: claims.collect(), ..self.clone() }
    }

    /// What the paper prints for a figure: its number, or its point at `x`.
    pub fn published_at(&self, figure: &str, x: Option<f64>) -> Option<f64> {
        let published = self.published.iter().find(|published| published.figure == figure)?;
        match x {
            None => published.value,
            Some(x) => published.points.iter().find(|(at, _)| *at == x).map(|(_, value)| *value),
        }
    }
}

impl Claim {
    fn check(&self) -> Result<(), String> {
        for predicate in &self.needs {
            predicate.check().map_err(|message| format!("claim '{}': {message}", self.says))?;
        }
        if self.left_out.is_some() != self.needs.is_empty() {
            return Err(format!("claim '{}': either needs, or left_out says why there are none", self.says));
        }
        if self.expect != Kind::Holds && self.because.is_empty() && self.cannot.is_none() && self.left_out.is_none() {
            return Err(format!("claim '{}': because is needed unless expect is 'holds'", self.says));
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

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
        let [quick, full] = [Setting::Quick, Setting::Full].map(|setting| plan.variations(setting).unwrap());
        assert_eq!((quick.len(), quick[0].seeds, full[0].seeds), (3, 2, 3));
        assert_eq!(quick[2].name, "rate = 2mbit");
        assert!(quick[2].identity().contains("2mbit") && quick[0].identity() != full[0].identity());
        assert_eq!(quick[0].experiment().unwrap().parts(), ["DRR", "FIFO"]);
        assert_eq!(plan.published_at("DRR: least, kbit/s", None), Some(500.0));
    }

    #[test]
    fn a_plan_may_have_the_runs_of_another() {
        let own = "item = 'Figure 2'\ntitle = 'a'\npage = 'b'\nmethod = 'c'\nlike = 'figure-1'
[[claim]]\nsays = 'd'\nneeds = [{ is = 'interval', of = 'DRR: most, kbit/s', from = 1 }]\nexpect = 'holds'\n";
        let parse = |own: &str| Plan::parse_beside(own, |name| (name == "figure-1").then_some(PLAN));
        let (plan, other) = (parse(own).unwrap(), Plan::parse(PLAN).unwrap());
        assert_eq!(plan.variations(Setting::Quick), other.variations(Setting::Quick));
        assert_eq!((plan.claims.len(), plan.published.len()), (1, 0), "claims are its own");
        assert!(parse(&own.replace("figure-1", "figure-3")).unwrap_err().message.contains("no item 'figure-3'"));
        assert!(parse(&format!("{own}[quick]\nseeds = 1")).unwrap().variations(Setting::Quick).unwrap()[0].seeds == 1);
    }

    /// An error in a plan's scenario came after the run had begun, with the line of no file.
    #[test]
    fn what_is_wrong_with_a_plan_has_the_line_of_the_plan() {
        let line = |part: &str| 1 + PLAN.lines().position(|line| line.contains(part)).unwrap();
        for (from, to, at, expected) in [
            ("duration = \"4s\"", "duration = \"4\"", "duration", "[run] scenario.duration: '4' has no unit"),
            ("pairs = 10", "pairs = 0", "topology =", "pairs"),
            ("from = \"s*\"", "form = \"s*\"", "source =", "unknown field `form`"),
            ("\"drr\"", "\"drrr\"", "columns =", "[run] columns.DRR: "),
            ("\"2s\"", "\"2\"", "\"2s\"", "[quick] scenario.duration: '2' has no unit"),
            ("\"2mbit\"", "\"2\"", "values =", "[[open]] with rate = 2: "),
            ("kind = \"simulate\"", "kind = \"simulate\"\nother = 1", "seeds = 3", "unknown field `other`"),
            ("expect = \"holds\"", "expect = \"hold\"", "expect =", "unknown variant `hold`"),
            ("is = \"published\", of = \"DRR: ", "is = \"published\", of = \"", "[[claim]]", "expected RUN: FIGURE"),
        ] {
            let error = Plan::parse(&PLAN.replacen(from, to, 1)).unwrap_err();
            assert!(error.message.contains(expected), "{error:?}");
            assert_eq!(error.line, line(at), "{error:?}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_plan_is_said() {
        for (from, to, expected) in [
            ("kind = \"simulate\"", "kind = \"stimulate\"", "[run] kind 'stimulate': one of "),
            ("seeds = 3", "seeds = 0", "[run] seeds: legal range 1 to 10000"),
            ("columns =", "colums =", "colums"),
            ("source.0.rate", "source.7.rate", "[[open]] scenario.source.7.rate: no '7' there"),
            ("is = \"published\"", "is = \"public\"", "public"),
            ("left_out = \"what longer means\"", "", "either needs, or left_out"),
            ("expect = \"holds\"", "expect = \"does not hold\"", "because is needed"),
        ] {
            let error = Plan::parse(&PLAN.replace(from, to)).unwrap_err();
            assert!(error.message.contains(expected), "{error:?}");
        }
    }
}
