//! Output `--csv`: the tables of `--parquet` as text, for spreadsheets, R and gnuplot.

use std::path::{Path, PathBuf};

use roundelay_report::{
    Cells, Column, Table, flows_table, simulated_flows_table, simulated_links_table, simulated_rates_table, simulated_transfers_table,
};

use super::{OfComparison, OfSimulation, OpenFile, Output, Part, Target, Use};
use crate::call::{Compared, Ran};
use crate::failure::Failure;

const FLOWS: &str = "flows.csv";
const LINKS: &str = "links.csv";
const TRANSFERS: &str = "transfers.csv";
const RATES: &str = "rates.csv";

pub(super) static OUTPUT: Output = Output {
    option: "csv",
    target: Target::Folder,
    compare: Some(Use {
        help: "Write CSV files into this folder: flows.csv (a row per discipline and flow)",
        files: &[Part::named(FLOWS)],
        only: None,
        open: Some(|folder, _| Ok(Box::new(Texts(folder.to_owned())))),
    }),
    simulate: Some(Use {
        help: "Write CSV files into this folder: flows.csv (a row per flow and replica) and links.csv (a row per link and replica); keeps all flows in memory",
        files: &[
            Part::named(FLOWS),
            Part::named(LINKS),
            Part { name: TRANSFERS, needs: Some(("[meter] transfers", |measures| measures.transfers)) },
            Part { name: RATES, needs: Some(("[meter] rates", |measures| measures.rates.is_some())) },
        ],
        only: None,
        open: Some(|folder, _| Ok(Box::new(Texts(folder.to_owned())))),
    }),
    replay: None,
};

/// The folder of the files, which are written after the run.
struct Texts(PathBuf);

impl OfComparison for Texts {
    fn finish(self: Box<Self>, compared: &Compared) -> Result<(), Failure> {
        write(&self.0.join(FLOWS), &flows_table(&compared.comparison))
    }
}

impl OfSimulation for Texts {
    fn finish(self: Box<Self>, ran: &Ran) -> Result<(), Failure> {
        let (folder, simulated) = (self.0, &ran.simulated);
        write(&folder.join(FLOWS), &simulated_flows_table(simulated))?;
        write(&folder.join(LINKS), &simulated_links_table(simulated))?;
        if simulated.measures.transfers {
            write(&folder.join(TRANSFERS), &simulated_transfers_table(simulated))?;
        }
        if simulated.measures.rates.is_some() {
            write(&folder.join(RATES), &simulated_rates_table(simulated))?;
        }
        Ok(())
    }
}

/// Writes a table: a line of names, then a line for each row, each ended by a line feed. Texts with
/// commas or quotes are quoted as in RFC 4180; an empty field is null.
fn write(path: &Path, table: &Table) -> Result<(), Failure> {
    let file = OpenFile::create(path)?;
    let mut writer = csv::Writer::from_writer(file.clone());
    let mut all = || -> csv::Result<()> {
        writer.write_record(table.header.iter().map(Column::name))?;
        for batch in &table.batches {
            let columns: Vec<Vec<String>> = batch.iter().map(texts).collect();
            for row in 0..columns.first().map_or(0, Vec::len) {
                writer.write_record(columns.iter().map(|column| &column[row]))?;
            }
        }
        Ok(writer.flush()?)
    };
    let written = all().map_err(std::io::Error::other);
    drop(writer);
    file.finish(written)
}

/// The values of a column as text: numbers with all their digits, `true` or `false`.
fn texts(column: &Column) -> Vec<String> {
    fn all<T: ToString>(values: &[T]) -> Vec<String> {
        values.iter().map(T::to_string).collect()
    }
    fn known<T: ToString>(values: &[Option<T>]) -> Vec<String> {
        values.iter().map(|value| value.as_ref().map_or_else(String::new, T::to_string)).collect()
    }
    match column.cells() {
        Cells::Signed(values) => all(values),
        Cells::OptionalSigned(values) => known(values),
        Cells::Small(values) => all(values),
        Cells::Unsigned(values) => all(values),
        Cells::OptionalUnsigned(values) => known(values),
        Cells::Numbers(values) => all(values),
        Cells::OptionalNumbers(values) => known(values),
        Cells::Flags(values) => all(values),
        Cells::Texts(values) => all(&values),
    }
}
