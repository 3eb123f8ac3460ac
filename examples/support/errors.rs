//! The check of an example's results.

/// Prints the largest absolute value of `errors`, and returns an error if it exceeds `allowed`. NaN counts as larger than any number.
pub(crate) fn check(case: &str, errors: impl IntoIterator<Item = f64>, allowed: f64) -> Result<(), String> {
    let largest =
        errors.into_iter().map(f64::abs).max_by(f64::total_cmp).ok_or("expected results, found none")?;
    println!("{case}: errors of at most {largest:.1e}, {allowed:.1e} allowed");
    if largest <= allowed {
        Ok(())
    } else {
        Err(format!("expected errors of at most {allowed:.1e}, found {largest:.1e}"))
    }
}
