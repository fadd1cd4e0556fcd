//! The delays of a live run to draw, phase by phase, as `roundelay plot` reads them.

use roundelay_live::{Fidelity, PacketKind, PhaseFigures, Sample, Way};
use roundelay_report::{DelayCurves, PlottedResult};

/// A result for each phase. Phases of both directions with the same conditions are one.
pub(super) fn drawn(fidelity: &Fidelity, samples: &[Sample]) -> Vec<PlottedResult> {
    let mut results: Vec<PlottedResult> = Vec::new();
    for (way, figures) in Way::BOTH.into_iter().zip(&fidelity.ways) {
        for phase in &figures.phases {
            let mut label = phase.conditions_in_words();
            if figures.phases.len() > 1 {
                label += &format!(", {}", phase.span());
            }
            let mut kinds = Vec::new();
            for kind in &phase.kinds {
                kinds.push(DelayCurves {
                    name: format!("{way}, {}", kind.kind.name()),
                    delay_cdf: kind.delay_cdf.clone(),
                    delay_over_time: over_time(way, kind.kind, phase, samples),
                });
            }
            match results.iter_mut().find(|known| known.label == label) {
                Some(known) => known.kinds.extend(kinds),
                None => results.push(PlottedResult { label, kinds }),
            }
        }
    }
    results
}

/// A kind's mean delays in a phase.
fn over_time(
    way: Way,
    kind: PacketKind,
    phase: &PhaseFigures,
    samples: &[Sample],
) -> Vec<(f64, f64)> {
    let mut pairs = Vec::new();
    for sample in samples {
        let is_within = sample.seconds > phase.from && sample.seconds <= phase.to;
        if let Some(delays) = sample.ways[way.index()].kinds[kind as usize]
            && is_within
        {
            pairs.push((sample.seconds, delays.mean));
        }
    }
    pairs
}
