//! Command-line arguments of `roundelay papers`.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use roundelay::Fault;
use roundelay_papers::plan::Setting;
use roundelay_trace::arguments::{parse_spec, whole};

use super::outputs::Publishing;
use crate::outputs::Outputs;

#[derive(Debug, Args)]
pub(crate) struct Papers {
    /// A paper (qfq, qfq-plus, mqfq, afq, ups), all, or a plan file like those in papers/
    pub(crate) paper: Option<String>,

    /// Items of the paper, as in table-2, figure-4 or theorem-1; with all, the items of these names
    /// in every paper
    #[arg(num_args = 0..)]
    pub(crate) items: Vec<String>,

    /// Run as long and as often as published, not the quick setting
    #[arg(long)]
    pub(crate) full: bool,

    /// Run one seed of what claims name, long enough to judge every claim
    #[arg(long, conflicts_with = "full")]
    pub(crate) medium: bool,

    /// How many seeds each column and variation runs with, from seed 1 on, or which seeds, as in
    /// 5..8 [default: the plan's]. With --pages, seeds that are on record stay there
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse_seeds)]
    pub(crate) seeds: Option<RangeInclusive<u64>>,

    /// Time for the runs: 90s, 30min, 2h; begins no run after it. With --pages, the next command
    /// goes on from there, because finished runs stand beside the records until these are complete
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_budget)]
    pub(crate) budget: Option<Duration>,

    /// Run nothing and show what is on record in this folder [default: docs/papers]
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true,
          default_missing_value = "docs/papers",
          conflicts_with_all = ["full", "medium", "seeds", "budget", "instead", "faults",
                                "pages", "fresh", "cache"])]
    pub(crate) recorded: Option<PathBuf>,

    /// Exit with status 1 if a verdict differs from the expected verdict in the plan
    #[arg(long)]
    pub(crate) check: bool,

    /// Replace the examined disciplines by this one, to test that verdicts change
    #[arg(long, value_name = "DISCIPLINE", value_parser = parse_text_of_spec,
          conflicts_with = "pages")]
    pub(crate) instead: Option<String>,

    /// Run the planted faults of the items' plans, in the quick setting, with --medium those of the
    /// medium one, and exit with status 1 if a claim that should notice a fault keeps its verdict
    #[arg(long, conflicts_with_all = ["full", "seeds", "budget", "check", "instead"])]
    pub(crate) faults: bool,

    #[command(flatten)]
    pub(crate) outputs: Outputs<Publishing>,

    /// With --pages, without a paper: also a page for each item on record, with its charts
    #[arg(long, requires = "pages", conflicts_with = "paper")]
    pub(crate) details: bool,

    /// Folder of cached runs [default: roundelay/papers in the user's cache]
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,

    /// Do not read or write the cache
    #[arg(long)]
    pub(crate) fresh: bool,

    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = whole(1_u16..=1024))]
    pub(crate) threads: Option<u16>,

    /// No progress bar
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl Papers {
    /// How much to run.
    pub(crate) const fn setting(&self) -> Setting {
        if self.full {
            Setting::Full
        } else if self.medium {
            Setting::Medium
        } else {
            Setting::Quick
        }
    }

    /// Whether the paper is a plan file.
    pub(crate) fn names_a_file(&self) -> bool {
        self.paper
            .as_deref()
            .is_some_and(|name| name.ends_with(".toml"))
    }

    /// Whether an option asks for results.
    pub(crate) const fn runs_something(&self) -> bool {
        self.full
            || self.medium
            || self.recorded.is_some()
            || self.check
            || self.faults
            || self.instead.is_some()
            || self.seeds.is_some()
            || self.budget.is_some()
            || self.outputs.is_any()
    }
}

/// Reads `8` as the seeds 1 to 8, and `5..8` as 5 to 8.
fn parse_seeds(text: &str) -> Result<RangeInclusive<u64>, Fault> {
    let seed = |text: &str| {
        let number = text.trim().parse().ok();
        number.filter(|number| (1..=10_000).contains(number))
    };
    let (first, last) = match text.split_once("..") {
        Some((first, last)) => (seed(first), seed(last)),
        None => (Some(1), seed(text)),
    };
    match (first, last) {
        (Some(first), Some(last)) if first <= last => Ok(first..=last),
        _ => {
            let legal = "1 to 10000";
            let message = format!(
                "expected a number of seeds, or the first and the last of them as in 5..8, legal \
                 range {legal}"
            );
            Err(Fault::new(message).with_given(text).with_legal(legal))
        }
    }
}

/// Reads `90s`, `30min` or `2h`.
fn parse_budget(text: &str) -> Result<Duration, Fault> {
    let units = [("min", 60.0), ("h", 3600.0), ("s", 1.0)];
    for (unit, seconds) in units {
        let Some(number) = text.strip_suffix(unit) else {
            continue;
        };
        if let Ok(number) = number.trim().parse::<f64>()
            && (0.0..=10_000.0).contains(&number)
        {
            return Ok(Duration::from_secs_f64(number * seconds));
        }
    }
    let legal = "a time of up to 10000 s, min or h, as in 90s, 30min or 2h";
    Err(Fault::wanted(legal).with_given(text))
}

/// Returns the text unchanged if it parses as a discipline.
fn parse_text_of_spec(text: &str) -> Result<String, Fault> {
    parse_spec(text).map(|_| text.to_owned())
}
