//! Where a node is on Earth, and how long light takes between two.

use roundelay::{Duration, Fault};

/// A position in degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Coordinates {
    latitude: f64,
    longitude: f64,
}

/// Mean radius of the Earth in metres (IUGG).
const RADIUS: f64 = 6_371_008.8;
/// How many metres light covers in a microsecond, in fibre with refractive index 1.5.
const FIBRE: f64 = 200.0;

impl Coordinates {
    /// # Errors
    /// The position is not on Earth.
    pub(super) fn new(latitude: f64, longitude: f64) -> Result<Self, Fault> {
        if latitude.abs() <= 90.0 && longitude.abs() <= 360.0 {
            return Ok(Self {
                latitude,
                longitude,
            });
        }
        let given = format!("latitude {latitude}, longitude {longitude}");
        let legal = "-90 to 90 and -360 to 360";
        let message = format!("{given}: legal ranges are {legal}");
        Err(Fault::new(message).with_given(given).with_legal(legal))
    }

    /// How long light takes in fibre along the great circle, by the haversine formula. The time is
    /// rounded to a microsecond and is at least one. We use a library's functions and not the
    /// machine's, so that the result is the same on all machines.
    pub(super) fn light_to(self, other: Self) -> Duration {
        let radians = |degrees: f64| degrees * core::f64::consts::PI / 180.0;
        let sine_of_half = |angle: f64| libm::sin(radians(angle) / 2.0);
        let north = sine_of_half(other.latitude - self.latitude);
        let east = sine_of_half(other.longitude - self.longitude);
        let cosines = libm::cos(radians(self.latitude)) * libm::cos(radians(other.latitude));
        let square = (north * north + cosines * east * east).clamp(0.0, 1.0);
        let metres = 2.0 * RADIUS * libm::asin(libm::sqrt(square));
        Duration::from_micros(libm::round(metres / FIBRE).max(1.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quarter of the equator is 10,007.557 km.
    #[test]
    fn light_takes_50_ms_for_a_quarter_of_the_equator() {
        let at = |latitude, longitude| Coordinates::new(latitude, longitude).unwrap();
        assert_eq!(
            at(0.0, 0.0).light_to(at(0.0, 90.0)),
            Duration::from_micros(50_038)
        );
        assert_eq!(
            at(90.0, 17.0).light_to(at(0.0, 5.0)),
            Duration::from_micros(50_038)
        );
        assert_eq!(
            at(10.0, 170.0).light_to(at(10.0, -190.0)),
            Duration::from_micros(1)
        );
        assert!(Coordinates::new(91.0, 0.0).is_err() && Coordinates::new(f64::NAN, 0.0).is_err());
    }
}
