//! Axis scales: where a value lies, and which values get a labelled tick.

use super::{Axis, Scaling};

/// Unit on a doubling axis, for bytes and flows: 1k is 1024.
const KIBI: f64 = 1024.0;

/// Maps an axis's values to positions.
pub(super) struct Scale {
    /// Values at both ends. A logarithmic axis has their logarithms.
    from: f64,
    to: f64,
    scaling: Scaling,
    /// How many names stand at 0, 1, 2.., in place of numbers.
    names: usize,
    /// Where both ends are drawn.
    ends: [f64; 2],
}

impl Scale {
    pub(super) fn over(values: &[f64], axis: &Axis, ends: [f64; 2]) -> Self {
        let scaling = axis.scaling;
        let names = axis.names.len();
        if names > 0 {
            return Self {
                from: -0.5,
                to: names as f64 - 0.5,
                scaling: Scaling::Linear,
                names,
                ends,
            };
        }
        let is_logarithmic = scaling.is_logarithmic();
        let mut least = f64::MAX;
        let mut most = f64::MIN;
        for &value in values {
            if axis.can_show(value) {
                let value = if is_logarithmic { value.log10() } else { value };
                least = least.min(value);
                most = most.max(value);
            }
        }
        if least > most {
            least = 0.0;
            most = 1.0;
        }
        // A linear axis starts at zero, unless zero would compress the curves.
        if !is_logarithmic && least > 0.0 && least < most * 0.6 {
            least = 0.0;
        }
        let room = ((most - least) * 0.04).max(if most == least {
            most.abs().max(1.0) * 0.1
        } else {
            0.0
        });
        let from = if least == 0.0 && !is_logarithmic {
            0.0
        } else {
            least - room
        };
        Self {
            from,
            to: most + room,
            scaling,
            names,
            ends,
        }
    }

    /// Where a value is drawn.
    pub(super) fn position(&self, value: f64) -> f64 {
        let value = if self.scaling.is_logarithmic() {
            value.max(f64::MIN_POSITIVE).log10()
        } else {
            value
        };
        // An interval may reach beyond the axis, for instance to zero on a logarithmic one. It is drawn
        // just beyond the axis's end.
        let part = ((value - self.from) / (self.to - self.from)).clamp(-0.02, 1.02);
        self.ends[0] + part * (self.ends[1] - self.ends[0])
    }

    /// Values with a grid line: about eight, at most eleven powers of two, or one for each name.
    pub(super) fn ticks(&self) -> Vec<f64> {
        match self.scaling {
            _ if self.names > 0 => (0..self.names).map(|name| name as f64).collect(),
            Scaling::Linear => linear_ticks(self.from, self.to),
            Scaling::Doubling => {
                let mut powers = Vec::new();
                for power in -64..64 {
                    powers.push(2_f64.powi(power));
                }
                powers.retain(|value| self.has_power(*value));
                let every = powers.len().div_ceil(11).max(1);
                powers.into_iter().step_by(every).collect()
            }
            Scaling::Logarithmic => {
                let powers = (self.from.floor() as i32)..=(self.to.ceil() as i32);
                let steps: &[f64] = match self.to - self.from {
                    ..1.0 => &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
                    1.0..=4.0 => &[1.0, 2.0, 5.0],
                    _ => &[1.0],
                };
                let mut within = Vec::new();
                for power in powers {
                    for step in steps {
                        within.push(step * 10_f64.powi(power));
                    }
                }
                within.retain(|value| self.has_power(*value));
                if within.len() < 2 {
                    linear_ticks(10_f64.powf(self.from), 10_f64.powf(self.to))
                } else {
                    within
                }
            }
        }
    }

    /// Whether a logarithmic axis reaches as far as a value.
    fn has_power(&self, value: f64) -> bool {
        (self.from..=self.to).contains(&value.log10())
    }

    /// A tick's label, without superfluous digits.
    pub(super) fn number(&self, value: f64) -> String {
        match self.scaling {
            Scaling::Doubling if value >= KIBI * KIBI => format!("{}m", value / KIBI / KIBI),
            Scaling::Doubling if value >= KIBI => format!("{}k", value / KIBI),
            _ => number(value),
        }
    }
}

fn linear_ticks(from: f64, to: f64) -> Vec<f64> {
    let rough = (to - from) / 7.0;
    let power = 10_f64.powf(rough.log10().floor());
    let mut step = rough;
    for factor in [1.0, 2.0, 5.0, 10.0] {
        if factor * power >= rough {
            step = factor * power;
            break;
        }
    }
    if !step.is_finite() || step <= 0.0 {
        return Vec::new();
    }
    let first = (from / step).ceil() as i64;
    let mut ticks = Vec::new();
    for tick in (first..).take(20) {
        let value = tick as f64 * step;
        if value > to {
            break;
        }
        ticks.push(value);
    }
    ticks
}

fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        1e4..1e6 if value % 1000.0 == 0.0 => format!("{}k", value / 1e3),
        size if !(1e-3..1e6).contains(&size) => format!("{value:.0e}"),
        _ => format!("{:.4}", value)
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(linear_ticks(0.0, 160.0), [0.0, 50.0, 100.0, 150.0]);
        assert_eq!(
            [0.0, 0.25, 150.0, 32_000.0, 2e9].map(number),
            ["0", "0.25", "150", "32k", "2e9"]
        );
    }

    #[test]
    fn a_logarithmic_axis_has_about_eight_ticks() {
        let axis = Axis {
            scaling: Scaling::Logarithmic,
            ..Axis::default()
        };
        let ticks = |values: [f64; 2]| Scale::over(&values, &axis, [0.0, 100.0]).ticks();
        assert_eq!(ticks([10.0, 45.0]), [10.0, 20.0, 30.0, 40.0]);
        assert_eq!(
            ticks([10.0, 900.0]),
            [10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]
        );
        assert_eq!(ticks([1.0, 1e6]).len(), 7);
    }

    #[test]
    fn an_axis_that_doubles_has_powers_of_two() {
        let axis = Axis {
            scaling: Scaling::Doubling,
            ..Axis::default()
        };
        let scale = Scale::over(&[1.0, 32768.0], &axis, [0.0, 100.0]);
        assert_eq!(
            scale.ticks(),
            [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0]
        );
        assert_eq!(
            [64.0, 1024.0, 16384.0, 1_048_576.0].map(|value| scale.number(value)),
            ["64", "1k", "16k", "1m"]
        );
    }
}
