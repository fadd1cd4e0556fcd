//! Flow sizes: distributions given by points. Three well-known measurements are built in.

use rand_pcg::Pcg64Mcg;

use crate::sources::{Check, LARGEST_FLOW, SourceError, draw};

/// Sizes of flows in bytes. A point is a size, and the fraction of all flows that are this size or
/// smaller.
#[derive(Debug, Clone, PartialEq)]
pub struct Sizes {
    points: Vec<(u64, f64)>,
    is_interpolated: bool,
}

/// Bytes in a packet, in the distributions below.
const PACKET: u64 = 1460;

/// The sizes in UPS and in RC3 ("heavy-tailed") in packets, from the scripts of the authors' public
/// simulator.
const UPS: &[(u64, f64)] = &[
    (1, 0.5),
    (2, 0.6),
    (3, 0.7),
    (5, 0.75),
    (7, 0.8),
    (40, 0.8125),
    (72, 0.825),
    (137, 0.85),
    (267, 0.9),
    (1187, 0.95),
    (2107, 1.0),
];

/// A cluster for data mining: A. Greenberg et al., "VL2", SIGCOMM 2009, with points from the same
/// simulator.
const DATA_MINING: &[(u64, f64)] = &[
    (1, 0.5),
    (2, 0.6),
    (3, 0.7),
    (7, 0.8),
    (267, 0.9),
    (2107, 0.95),
    (66_667, 0.99),
    (666_667, 1.0),
];

/// A cluster for web search: M. Alizadeh et al., "Data Center TCP", SIGCOMM 2010, with the points
/// from the same simulator.
const WEB_SEARCH: &[(u64, f64)] = &[
    (1, 0.0),
    (6, 0.15),
    (13, 0.2),
    (19, 0.3),
    (33, 0.4),
    (53, 0.53),
    (133, 0.6),
    (667, 0.7),
    (1333, 0.8),
    (3333, 0.9),
    (6667, 0.97),
    (20_000, 1.0),
];

impl Sizes {
    /// The names that [`Sizes::named`] knows.
    pub const NAMES: [&'static str; 3] = ["ups", "data_mining", "web_search"];

    /// Sizes only at the points.
    ///
    /// # Errors
    /// There are no points, sizes do not grow from 1 up to 2^40, or fractions do not grow from 0 up
    /// to 1.
    pub fn discrete(points: Vec<(u64, f64)>) -> Result<Self, SourceError> {
        let check = Check("sizes");
        check.range("points", points.len(), 1..=100_000)?;
        let mut least = 1;
        let mut part = 0.0;
        for (size, until) in &points {
            check.range("size", *size, least..=LARGEST_FLOW)?;
            check.range("part", *until, part..=1.0)?;
            (least, part) = (size + 1, *until);
        }
        check.range("last part", part, 1.0..=1.0)?;
        Ok(Self {
            points,
            is_interpolated: false,
        })
    }

    /// Adds the sizes between points, by linear interpolation. The first point keeps its fraction
    /// at its own size.
    #[must_use]
    pub fn interpolated(self) -> Self {
        Self {
            is_interpolated: true,
            ..self
        }
    }

    /// A built-in distribution, in its usual form: `ups` and `data_mining` discrete, `web_search`
    /// interpolated.
    pub fn named(name: &str) -> Option<Self> {
        let (points, is_interpolated) = match name {
            "ups" => (UPS, false),
            "data_mining" => (DATA_MINING, false),
            "web_search" => (WEB_SEARCH, true),
            _ => return None,
        };
        let points = points
            .iter()
            .map(|(packets, part)| (packets * PACKET, *part))
            .collect();
        Some(Self {
            points,
            is_interpolated,
        })
    }

    /// The mean of a function of the size in bytes. If sizes are interpolated, each counts as the
    /// next larger point.
    pub(crate) fn mean_of(&self, of: impl Fn(f64) -> f64) -> f64 {
        let mut before = 0.0;
        let parts = self.points.iter().map(|&(size, until)| {
            let part = until - before;
            before = until;
            part * of(size as f64)
        });
        parts.sum()
    }

    /// The mean, in bytes.
    pub fn mean(&self) -> f64 {
        let mut mean = 0.0;
        let mut before = (self.points[0].0, 0.0);
        for &(size, until) in &self.points {
            let middle = if self.is_interpolated {
                (before.0 + size) as f64 / 2.0
            } else {
                size as f64
            };
            mean += (until - before.1) * middle;
            before = (size, until);
        }
        mean
    }

    #[inline]
    pub(crate) fn draw(&self, random: &mut Pcg64Mcg) -> u64 {
        let part = draw::unit(random);
        let index = self
            .points
            .partition_point(|(_, until)| *until <= part)
            .min(self.points.len() - 1);
        let (size, until) = self.points[index];
        if !self.is_interpolated || index == 0 {
            return size;
        }
        let (smaller, from) = self.points[index - 1];
        smaller + ((part - from) / (until - from) * (size - smaller) as f64 + 0.5) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng as _;

    fn packets(sizes: &Sizes) -> f64 {
        sizes.mean() / PACKET as f64
    }

    #[test]
    fn means_of_what_is_built_in() {
        let named = |name| Sizes::named(name).unwrap();
        assert!((packets(&named("ups")) - 184.475).abs() < 1e-9);
        assert!(
            (packets(&named("data_mining")) - 9467.1).abs() < 1e-6,
            "1 x .5 + 2 x .1 + .. + 666667 x .01"
        );
        assert!(
            (packets(&named("web_search")) - 1140.6).abs() < 0.01,
            "{}",
            packets(&named("web_search"))
        );
        assert_eq!(Sizes::named("none"), None);
        assert!(Sizes::NAMES.iter().all(|name| Sizes::named(name).is_some()));
    }

    /// UPS's closed form uses the size-biased mean: E[S^2] / E[S] = 1607.5 packets.
    #[test]
    fn size_biased_mean_of_ups() {
        let sizes = Sizes::named("ups").unwrap();
        let mut squares = 0.0;
        let mut before = 0.0;
        for (size, until) in &sizes.points {
            squares += (until - before) * (*size as f64 / PACKET as f64).powi(2);
            before = *until;
        }
        assert!(
            (squares / packets(&sizes) - 1607.5).abs() < 0.05,
            "{}",
            squares / packets(&sizes)
        );
    }

    #[test]
    fn draws_have_the_points_parts_and_the_mean() {
        const DRAWS: usize = 400_000;
        for name in ["ups", "web_search"] {
            let sizes = Sizes::named(name).unwrap();
            let mut random = Pcg64Mcg::seed_from_u64(11);
            let drawn: Vec<_> = (0..DRAWS).map(|_| sizes.draw(&mut random)).collect();
            for (size, part) in &sizes.points {
                let smaller =
                    drawn.iter().filter(|drawn| *drawn <= size).count() as f64 / DRAWS as f64;
                let sigma = (part * (1.0 - part) / DRAWS as f64).sqrt();
                assert!(
                    (smaller - part).abs() <= 5.0 * sigma + 2e-5,
                    "half a byte is rounded off: {name} {size}: {smaller} for {part}"
                );
            }
            let mean = drawn.iter().sum::<u64>() as f64 / DRAWS as f64;
            assert!(
                (mean / sizes.mean() - 1.0).abs() < 5.0 * 2.9 / (DRAWS as f64).sqrt(),
                "{name}: {mean} for {}",
                sizes.mean()
            );
        }
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let message =
            |points: &[(u64, f64)]| Sizes::discrete(points.to_vec()).unwrap_err().to_string();
        assert_eq!(message(&[]), "sizes: points 0: legal range 1 to 100000");
        assert_eq!(
            message(&[(0, 1.0)]),
            "sizes: size 0: legal range 1 to 1099511627776"
        );
        assert_eq!(
            message(&[(5, 0.5), (5, 1.0)]),
            "sizes: size 5: legal range 6 to 1099511627776"
        );
        assert_eq!(
            message(&[(5, 0.5), (6, 0.4)]),
            "sizes: part 0.4: legal range 0.5 to 1"
        );
        assert_eq!(
            message(&[(5, f64::NAN)]),
            "sizes: part NaN: legal range 0 to 1"
        );
        assert_eq!(
            message(&[(5, 0.5)]),
            "sizes: last part 0.5: legal range 1 to 1"
        );
    }
}
