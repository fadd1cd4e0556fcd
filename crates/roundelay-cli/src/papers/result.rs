//! An item's results, for its outputs.

use roundelay_papers::catalogue::Paper;
#[cfg(feature = "parquet")]
use roundelay_papers::figures::Samples;
use roundelay_papers::judged::Judged;
use roundelay_papers::page::alone;
use roundelay_papers::runner::Ran;
#[cfg(feature = "parquet")]
use roundelay_report::Measurement;
use roundelay_report::{ItemPage, item_html, provenance};

/// An item's results, for its outputs.
pub(crate) struct ItemResult<'a> {
    pub(super) paper: &'a Paper,
    pub(crate) judged: &'a Judged<'a>,
    /// All figures that the run found.
    pub(super) ran: &'a Ran,
}

impl ItemResult<'_> {
    /// The page of `--html`.
    pub(crate) fn html(&self) -> String {
        let title = format!("{}, {}", self.paper.about.short, self.judged.item.label);
        let charts = self.judged.charts();
        let answer = format!("{}: **{}**.", self.judged.plan.title, self.judged.summary());
        item_html(&ItemPage {
            title: &title,
            answer: &answer,
            markdown: &self.markdown(),
            charts: &charts,
            version: env!("CARGO_PKG_VERSION"),
            ..ItemPage::default()
        })
    }

    /// The item with its verdicts and all that decides them.
    pub(crate) fn markdown(&self) -> String {
        alone(self.paper, self.judged)
    }

    /// Goes into the Parquet file's footer.
    pub(crate) fn metadata(&self) -> Vec<(String, String)> {
        provenance(env!("CARGO_PKG_VERSION"), 1, &self.judged.record.plan)
    }

    /// One row per value and seed.
    #[cfg(feature = "parquet")]
    pub(crate) fn measurements(&self) -> Vec<Measurement<'_>> {
        let mut rows = Vec::new();
        for (variation, figures) in &self.ran.variations {
            for figure in figures.names() {
                let mut add = |x, samples: &Samples| {
                    let row = |(seed, value): (&u64, &f64)| Measurement {
                        variation: &variation.name,
                        figure,
                        x,
                        seed: *seed,
                        value: *value,
                    };
                    rows.extend(samples.0.iter().map(row));
                };
                figures
                    .at(figure, None)
                    .into_iter()
                    .for_each(|samples| add(None, samples));
                figures
                    .curve(figure)
                    .into_iter()
                    .flatten()
                    .for_each(|(x, samples)| add(Some(x), samples));
            }
        }
        rows
    }
}
