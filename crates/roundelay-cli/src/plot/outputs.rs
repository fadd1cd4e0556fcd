//! Outputs of `roundelay plot`.

use roundelay_report::{PlotFigure, Plotted, json};

use crate::outputs::{Output, Writes};

/// The outputs of this command.
#[derive(Debug)]
pub(crate) struct Plotting;

/// Results, and what is drawn of them.
#[derive(Debug)]
pub struct Drawn {
    /// The results side by side.
    pub plotted: Plotted,
    /// What is drawn of each kind of packets.
    pub figures: Vec<PlotFigure>,
}

impl Writes for Plotting {
    type Results<'a> = Drawn;
    type Start<'a> = ();

    const OUTPUTS: &'static [Output<Self>] = &[
        Output::json(|drawn| Ok(json(&drawn.plotted))),
        Output::html(|drawn| Ok(drawn.plotted.html(&drawn.figures))),
        Output::markdown(|drawn| Ok(drawn.plotted.document().markdown())),
    ];
}
