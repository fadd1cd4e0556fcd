//! Numbers printed in a paper.

use serde::Deserialize;

/// A number or a curve printed in the paper.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// `RUN: FIGURE`, the name of our rows.
    pub figure: String,
    /// The number, for a scalar.
    pub value: Option<f64>,
    /// The curve: pairs of x and value.
    #[serde(default)]
    pub points: Vec<(f64, f64)>,
    /// The standard deviation printed with the number.
    pub deviation: Option<f64>,
    /// Where it is in the paper, if not at the item.
    #[serde(rename = "where")]
    pub place: Option<String>,
}

/// The published number for a figure, or its point at `x`.
pub fn published_at(published: &[Published], figure: &str, x: Option<f64>) -> Option<f64> {
    let mut known = published.iter();
    let published = known.find(|published| published.figure == figure)?;
    let Some(x) = x else {
        return published.value;
    };
    let (_, value) = published.points.iter().find(|(at, _)| *at == x)?;
    Some(*value)
}
