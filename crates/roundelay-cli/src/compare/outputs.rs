//! Outputs of `roundelay compare`.

#[cfg(feature = "parquet")]
mod parquet;

use roundelay_report::{COMPARED, document, json};

use super::result::Compared;
use crate::outputs::{Output, Part, Target, Write, Writes, csv, parts, table_file};

/// The outputs of this command.
#[derive(Debug)]
pub(crate) struct Comparing;

static TABLES: [Part; COMPARED.len()] = parts(COMPARED);

impl Writes for Comparing {
    type Results<'a> = Compared;
    /// Version, seed and hash of the configuration.
    type Start<'a> = [(String, String)];

    const OUTPUTS: &'static [Output<Self>] = &[
        Output::json(|compared| Ok(json(&compared.advised))),
        Output::html(|compared| Ok(compared.html())),
        Output::markdown(|compared| Ok(document(&compared.advised).markdown())),
        Output {
            option: "csv",
            help: "Write CSV files into this folder: flows.csv (a row per discipline and flow)",
            target: Target::Folder(&TABLES),
            only: None,
            write: Write::After(|folder, compared| {
                for table in COMPARED {
                    let path = table_file(folder, table.name, "csv");
                    csv::write(&path, &table.rows(&compared.advised.comparison))?;
                }
                Ok(())
            }),
        },
        #[cfg(feature = "parquet")]
        Output {
            option: "parquet",
            help: "Write Parquet files into this folder: flows.parquet and the packets of each \
                discipline",
            target: Target::Folder(&TABLES),
            only: None,
            write: Write::During(|folder, metadata| {
                Ok(Box::new(parquet::Columns {
                    folder: folder.to_owned(),
                    metadata: metadata.to_vec(),
                }))
            }),
        },
    ];
}
