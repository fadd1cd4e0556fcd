//! Command-line arguments of `roundelay evaluate`.

use clap::Args;
use clap::builder::PossibleValuesParser;
use roundelay_sim::scenario::DisciplineText;
use roundelay_trace::arguments::read;

use super::outputs::Evaluating;
use crate::outputs::{GROUP, Outputs};
use crate::runs::Runs;

#[derive(Debug, Args)]
#[command(mut_arg("replicas", |replicas| replicas.default_value("5")))]
pub(crate) struct Evaluate {
    /// What to evaluate by: rfc7928
    #[arg(value_name = "STANDARD", value_parser = PossibleValuesParser::new(["rfc7928"]))]
    pub(crate) standard: String,

    /// Queues to evaluate, as tc writes them: fq_codel, "pie target 20ms". Each stands beside fifo
    /// with the same buffer, unless you give it a limit of its own
    #[arg(value_name = "QUEUE", value_parser = read::<DisciplineText>,
          required_unless_present = "scenario")]
    pub(crate) queues: Vec<DisciplineText>,

    /// Evaluate these sections of the RFC only, as in 5,6.2,8.2.6-20s [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) sections: Vec<String>,

    /// Print the scenario of a section, as in 8.2.2, for roundelay simulate
    #[arg(long, value_name = "SECTION",
          conflicts_with_all = ["queues", "sections", "quick", "seed", "replicas", GROUP])]
    pub(crate) scenario: Option<String>,

    /// Runs of 10 s, for tests: senders are still in slow start
    #[arg(long)]
    pub(crate) quick: bool,

    #[command(flatten)]
    pub(crate) runs: Runs,

    #[command(flatten)]
    pub(crate) outputs: Outputs<Evaluating>,
}
