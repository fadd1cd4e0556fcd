//! Report output: a comparison or simulation as a terminal table, JSON, Parquet or one
//! self-contained HTML page.
//!
//! | output | for | call |
//! |---|---|---|
//! | terminal table | a person, now | [`table`], [`Document::text`] |
//! | JSON | a script | [`json`] |
//! | Markdown | a report, or the issue of a forge | [`Document::markdown`] |
//! | HTML page | a person, later, or to be shared | [`html`], [`simulation_html`], [`Swept::html`], [`item_html`] |
//! | drawing | a document | [`Chart::svg`] |
//! | table in memory | CSV, Arrow | [`TableOf`] |
//! | Parquet | pandas, polars, DuckDB | `PacketFile`, `TableOf::write` (feature `parquet`, on by default) |
//!
//! A comparison is rendered from [`Advised`], a simulation from [`Simulated`], and other results
//! from types of their own such as [`Swept`] and [`Replayed`]. Rows for packets are written during
//! the run. This crate computes no results. It only chooses units, order and emphasis. Names of
//! captures and flows come from untrusted files, so terminal control characters are replaced, and
//! HTML is escaped.
//!
//! Files are written next to their final path and renamed when complete and on disk
//! ([`write_text`]), so a full disk or an interrupted run never leaves a partial report under the
//! final name.

mod advised;
mod anonymous;
mod chart;
mod digest;
mod document;
mod error;
mod evaluated;
mod figures;
mod file;
mod grid;
mod html;
mod json;
mod lives;
mod markdown;
#[cfg(not(feature = "parquet"))]
mod no_parquet;
mod objective;
#[cfg(feature = "parquet")]
mod parquet;
mod plotted;
mod provenance;
mod recommendation;
mod replayed;
#[cfg(feature = "schema")]
mod schema;
pub mod sentences;
mod side_by_side;
mod simulation;
mod spread;
mod summary;
mod swept;
mod table;
mod tables;
mod text;
use roundelay_metrics::units;
pub use roundelay_metrics::units::counted;
mod verified;

pub use advised::Advised;
pub use anonymous::Anonymiser;
pub use chart::{Axis, Band, Chart, Curve, Drawn, Mark, Point, Scaling, panels};
pub use digest::{Digest, sealed, unsealed};
pub use document::Document;
pub use error::ReportError;
pub use evaluated::Evaluated;
pub use figures::{Means, figure_text};
pub use file::{
    PartialFile, abandon_files, open_to_append, refuse_special, replace_file, try_abandon_files,
    write_text,
};
pub use grid::{TableStyle, aligned};
pub use html::{Folded, ItemPage, Page, Picture, html, item_html, simulation_html};
pub use json::{Printed, json, json_line};
#[cfg(not(feature = "parquet"))]
pub use no_parquet::read_schedule;
pub use objective::{
    Answer, Cost, DisciplineCost, DisciplineResult, ObjectiveResult, ObjectiveRun, SourceResult,
    SourceRun, Verdict,
};
#[cfg(feature = "parquet")]
pub use parquet::{
    DECODER, Fate, Measurement, PacketFile, PacketRow, SimulatedHops, SimulatedPackets,
    read_schedule, write_measurements, write_replays, write_schedule,
};
pub use plotted::{DelayCurves, PlotFigure, Plotted, PlottedResult};
pub use provenance::provenance;
pub use recommendation::{Recommendation, Warning};
pub use replayed::{CandidateResult, Recorded, ReplayResult, Replayed};
#[cfg(feature = "schema")]
pub use schema::schema;
pub use sentences::doubts;
pub use side_by_side::{SideBySide, UnderQueue, Verdict as GroupVerdict};
pub use simulation::Simulated;
pub use summary::{ClassSummary, GroupSummary, LivesSummary, Summary};
pub use swept::{KeyValues, Swept, SweptKey, SweptPoint};
pub use table::{SCREEN, document, table, table_within};
pub use tables::{
    COMPARED, Cells, Column, FLOWS, LINKS, LINKS_OVER_TIME, PointRuns, RATES, SIMULATED,
    SIMULATED_FLOWS, SOURCES_OVER_TIME, SWEEP_FIGURES, Setting, SweepFile, SweepRow, SweepRuns,
    TRANSFERS, Table, TableOf, sweep_rows, sweep_table,
};
pub use text::{clean, width, wrap};
pub use verified::{faults_in_words, verified};
