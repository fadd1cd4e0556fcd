//! Output `--markdown`: the tables and verdicts, for a report or the issue of a forge.

use roundelay_report::document;

use super::{One, Output, Use};

const HELP: &str = "Write the tables as Markdown, with all columns: for a report or an issue";

pub(super) static OUTPUT: Output = Output {
    compare: Some(Use::text(HELP, |compared| {
        Ok(document(&compared.comparison).markdown())
    })),
    simulate: Some(Use::text(HELP, |ran| {
        Ok(ran.simulated.document().markdown())
    })),
    replay: Some(Use::text(HELP, |replays| {
        Ok(replays.replayed.document().markdown())
    })),
    objective: Some(Use::text(HELP, |result| Ok(result.document().markdown()))),
    papers: Some(Use {
        only: Some(&One::ITEM),
        ..Use::text("Write one item as Markdown", |result| Ok(result.markdown()))
    }),
    ..Output::new("markdown")
};
