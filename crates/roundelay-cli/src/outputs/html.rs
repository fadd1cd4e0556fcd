//! Output `--html`: a self-contained page with all results and charts.

use super::{One, Output, Use};

const HELP: &str = "Write a self-contained HTML page";

pub(super) static OUTPUT: Output = Output {
    compare: Some(Use::text(HELP, |compared| Ok(compared.html()))),
    simulate: Some(Use::text(HELP, |ran| Ok(ran.html()))),
    replay: Some(Use::text(HELP, |replays| Ok(replays.replayed.html()))),
    objective: Some(Use::text(HELP, |result| Ok(result.html()))),
    papers: Some(Use {
        only: Some(&One::ITEM),
        ..Use::text(
            "Write one item as a self-contained HTML page with charts",
            |result| Ok(result.html()),
        )
    }),
    ..Output::new("html")
};
