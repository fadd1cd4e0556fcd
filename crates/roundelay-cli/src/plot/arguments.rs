//! Command-line arguments of `roundelay plot`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use roundelay_report::PlotFigure;

use super::outputs::Plotting;
use crate::outputs::Outputs;

#[derive(Debug, Args)]
pub(crate) struct Plot {
    /// Results: what compare, simulate (also with several --queue) or live prints with --json
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Draw this alone [default: both]
    #[arg(long, value_name = "NAME",
          value_parser = PossibleValuesParser::new(PlotFigure::ALL.map(PlotFigure::name)))]
    pub(crate) figure: Option<String>,

    /// Draw only kinds of packets (sources, kinds of flows) whose names contain this text; may
    /// stand several times
    #[arg(long = "kind", value_name = "TEXT")]
    pub(crate) kinds: Vec<String>,

    #[command(flatten)]
    pub(crate) outputs: Outputs<Plotting>,
}

impl Plot {
    /// What to draw.
    pub(super) fn figures(&self) -> Vec<PlotFigure> {
        figures_named(self.figure.as_deref())
    }
}

/// The figure with this name, or all.
pub(crate) fn figures_named(name: Option<&str>) -> Vec<PlotFigure> {
    let mut figures = PlotFigure::ALL.to_vec();
    if let Some(name) = name {
        figures.retain(|figure| figure.name() == name);
    }
    figures
}
