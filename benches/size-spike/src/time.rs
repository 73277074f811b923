//! Instants and durations as whole milliseconds; floats exist only at the boundary.

/// The largest instant a float carries exactly.
pub const LATEST: u64 = 1 << 53;

/// NaN and the past become zero, the far future becomes the largest exact instant.
pub fn millis(x: f64) -> u64 {
    if x.is_nan() || x <= 0.0 {
        0
    } else if x >= LATEST as f64 {
        LATEST
    } else {
        x as u64
    }
}

pub fn add(a: u64, b: u64) -> u64 {
    a.saturating_add(b).min(LATEST)
}

/// Scales a span by a uniform draw; integer arithmetic, so it can never reach the span itself.
pub fn scale(span: u64, r32: u32) -> u64 {
    ((u128::from(span) * u128::from(r32)) >> 32) as u64
}
