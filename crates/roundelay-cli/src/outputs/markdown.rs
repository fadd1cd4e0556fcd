//! Output `--markdown`: the tables and verdicts, for a report or the issue of a forge.

use roundelay_report::markdown;

use super::{One, Output, Use};

const HELP: &str = "Write the tables as Markdown, with all columns: for a report or an issue";

pub(super) static OUTPUT: Output = Output {
    compare: Some(Use::text(HELP, |compared| Ok(markdown(&compared.comparison)))),
    simulate: Some(Use::text(HELP, |ran| Ok(ran.simulated.markdown()))),
    replay: Some(Use::text(HELP, |replays| Ok(replays.replayed.markdown()))),
    objective: Some(Use::text(HELP, |result| Ok(result.markdown()))),
    papers: Some(Use { only: Some(&One::ITEM), ..Use::text("Write one item as Markdown", |result| Ok(result.markdown())) }),
    ..Output::new("markdown")
};
