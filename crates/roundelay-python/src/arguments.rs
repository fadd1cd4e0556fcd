//! Numbers as arguments: of any size in Python, checked against the legal range.

use std::fmt::Display;
use std::ops::RangeInclusive;

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;

use crate::errors;

/// A whole number in the legal range.
///
/// # Errors
/// `UsageError`: the number is out of range, or the value is no whole number.
pub(crate) fn whole<T: TryFrom<u64> + PartialOrd + Display>(
    name: &str,
    given: &Bound<'_, PyAny>,
    legal: RangeInclusive<T>,
) -> PyResult<T> {
    let number = of_any_size(name, given, "a whole number", given.extract::<u64>())?;
    if let Some(number) = number
        && let Ok(number) = T::try_from(number)
        && legal.contains(&number)
    {
        return Ok(number);
    }
    let legal = format!("{} to {}", legal.start(), legal.end());
    Err(errors::out_of_range(name, given, &legal))
}

/// A number. For an integer beyond the range of floats it is NaN, which is in no range.
///
/// # Errors
/// `UsageError`: the value is no number.
pub(crate) fn number(name: &str, given: &Bound<'_, PyAny>) -> PyResult<f64> {
    let number = of_any_size(name, given, "a number", given.extract())?;
    Ok(number.unwrap_or(f64::NAN))
}

/// None for an integer that the type cannot hold.
fn of_any_size<T>(
    name: &str,
    given: &Bound<'_, PyAny>,
    expected: &str,
    read: PyResult<T>,
) -> PyResult<Option<T>> {
    let py = given.py();
    match read {
        Ok(number) => Ok(Some(number)),
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => Ok(None),
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            Err(errors::wrong_type(name, expected, given))
        }
        Err(error) => Err(error),
    }
}
