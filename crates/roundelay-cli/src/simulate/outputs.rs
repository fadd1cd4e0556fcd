//! Outputs of `roundelay simulate`.

mod log;
#[cfg(feature = "parquet")]
mod packets;
mod pcapng;

use roundelay_report::{SIMULATED, json};
use roundelay_sim::Network;
use roundelay_sim::scenario::Scenario;
use roundelay_trace::Stop;

use super::result::Ran;
#[cfg(feature = "parquet")]
use crate::failure::Failure;
use crate::outputs::{One, Output, Part, Target, Write, Writes, csv, parts, table_file};

/// The outputs of this command.
#[derive(Debug)]
pub(crate) struct Simulating;

/// The run for which an output of events is opened.
pub(crate) struct Run<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) network: &'a Network,
    /// Version, seed and hash of the scenario.
    pub(crate) metadata: &'a [(String, String)],
    /// Ends the run. Requested at the first failed write.
    pub(crate) stop: &'a Stop,
}

static TABLES: [Part; SIMULATED.len()] = parts(SIMULATED);
#[cfg(feature = "parquet")]
const PACKETS: &str = "packets";
#[cfg(feature = "parquet")]
const HOPS: &str = "hops";

impl Writes for Simulating {
    type Results<'a> = Ran;
    type Start<'a> = Run<'a>;

    const OUTPUTS: &'static [Output<Self>] = &[
        Output::json(|ran| Ok(json(&ran.simulated))),
        Output::html(|ran| Ok(ran.html())),
        Output::markdown(|ran| Ok(ran.simulated.document().markdown())),
        Output {
            option: "csv",
            help: "Write CSV files into this folder: flows.csv (a row per flow and replica) and \
                links.csv (a row per link and replica); keeps all flows in memory",
            target: Target::Folder(&TABLES),
            only: None,
            write: Write::After(|folder, Ran { simulated, .. }| {
                for table in SIMULATED {
                    if table.is_wanted(&simulated.measures) {
                        let path = table_file(folder, table.name, "csv");
                        csv::write(&path, &table.rows(simulated))?;
                    }
                }
                Ok(())
            }),
        },
        #[cfg(feature = "parquet")]
        Output {
            option: "parquet",
            help: "Write Parquet files into this folder: flows.parquet (a row per flow and \
                replica) and links.parquet (a row per link and replica); keeps all flows in memory",
            target: Target::Folder(&TABLES),
            only: None,
            write: Write::After(|folder, ran| {
                for table in SIMULATED {
                    if table.is_wanted(&ran.simulated.measures) {
                        let path = table_file(folder, table.name, "parquet");
                        table
                            .write(&path, &ran.simulated, &ran.metadata)
                            .map_err(Failure::run)?;
                    }
                }
                Ok(())
            }),
        },
        #[cfg(feature = "parquet")]
        Output {
            option: "packets",
            help: "With --parquet: also packets.parquet (a row per packet) and hops.parquet (a row \
                per packet and link); one run only",
            target: Target::FolderOf("parquet", &[Part::named(PACKETS), Part::named(HOPS)]),
            only: Some(&One::RUN),
            write: Write::During(|path, run| packets::open(path, run)),
        },
        Output {
            option: "log",
            help: "Write a log of all events, for `roundelay verify`; one run only",
            target: Target::File,
            only: Some(&One::RUN),
            write: Write::During(|path, run| log::open(path, run)),
        },
        Output {
            option: "pcapng",
            help: "Write the packets on all links as a pcapng capture, for Wireshark, one \
                interface per link; one run only",
            target: Target::File,
            only: Some(&One::RUN),
            write: Write::During(|path, run| pcapng::open(path, run)),
        },
    ];
}
