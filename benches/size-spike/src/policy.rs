//! A policy out of a flat list of numbers, checked once.

#[derive(Clone)]
pub struct Policy {
    pub strategy: u8,
    pub jitter: u8,
    pub retry_network: bool,
    pub max_attempts: u32,
    pub initial_ms: u64,
    pub multiplier_milli: u64,
    pub cap_ms: u64,
    pub total_budget_ms: u64,
    pub ratio_milli: u64,
    pub fresh_milli: u64,
    pub step_ms: u64,
    pub base_ms: u64,
    pub exponent: f64,
    pub jitter_ms: u64,
    pub attempt_timeout_ms: u64,
    pub estimate_ms: u64,
    pub max_server_ms: u64,
    pub key_ttl_ms: u64,
    pub delays: Vec<u64>,
    pub statuses: Vec<u16>,
}

#[cfg(feature = "policy")]
mod parse {
    use super::Policy;
    use crate::time::millis;

    const DAY: u32 = 86_400_000;
    const YEAR: u32 = u32::MAX;

    /// Option, lowest, highest, default; in thousandths where the option may have a fraction.
    const RULES: [(&str, u32, u32, u32); 18] = [
        ("strategy", 0, 8, 0),
        ("maxAttempts", 1, 100, 5),
        ("initialDelayMs", 0, YEAR, 500),
        ("multiplier", 1_000, 100_000, 2_000),
        ("maxDelayMs", 0, YEAR, YEAR),
        ("totalBudgetMs", 1, YEAR, DAY),
        ("jitterType", 0, 6, 1),
        ("jitterRatio", 0, 1_000, 200),
        ("freshJitter", 0, 500, 100),
        ("stepMs", 0, YEAR, 500),
        ("baseMs", 0, YEAR, 15_000),
        ("exponent", 0, 8_000, 4_000),
        ("jitterMs", 0, YEAR, 30_000),
        ("retryNetworkErrors", 0, 1, 1),
        ("attemptTimeoutMs", 0, YEAR, 30_000),
        ("estimatedCallMs", 0, YEAR, 0),
        ("maxServerDelayMs", 0, YEAR, DAY),
        ("keyTtlMs", 1, YEAR, DAY),
    ];
    const FRACTIONS: [usize; 4] = [3, 7, 8, 11];

    /// `option|expected|got`, put into words by the caller.
    #[inline(never)]
    #[cfg(not(feature = "fmt"))]
    fn refuse(option: &str, low: u32, high: u32, got: f64) -> Vec<u8> {
        let mut out = Vec::from(option.as_bytes());
        out.push(b'|');
        crate::text::push_int(&mut out, u64::from(low));
        out.extend_from_slice(b"..=");
        crate::text::push_int(&mut out, u64::from(high));
        out.push(b'|');
        if got < 0.0 {
            out.push(b'-');
        }
        crate::text::push_int(&mut out, millis(got.abs()));
        out
    }

    #[cfg(feature = "fmt")]
    fn refuse(option: &str, low: u32, high: u32, got: f64) -> Vec<u8> {
        format!("{option}|{low}..={high}|{}", got as i64).into_bytes()
    }

    fn whole(got: f64, option: &str, low: u32, high: u32) -> Result<u64, Vec<u8>> {
        let value = millis(got);
        if value as f64 != got || value < u64::from(low) || value > u64::from(high) {
            Err(refuse(option, low, high, got))
        } else {
            Ok(value)
        }
    }

    pub fn policy(fields: &[f64]) -> Result<Policy, Vec<u8>> {
        let mut got = [0_u64; 18];
        let given = |at: usize| fields.get(at).copied().filter(|value| !value.is_nan());
        for (at, (cell, (option, low, high, default))) in got.iter_mut().zip(RULES).enumerate() {
            *cell = match given(at) {
                None => u64::from(default),
                Some(value) if FRACTIONS.contains(&at) => {
                    whole(millis(value * 1_000.0) as f64, option, low, high)?
                }
                Some(value) => whole(value, option, low, high)?,
            };
        }
        let [
            strategy,
            max_attempts,
            initial_ms,
            multiplier_milli,
            mut cap_ms,
            total_budget_ms,
            jitter,
            ratio_milli,
            fresh_milli,
            mut step_ms,
            base_ms,
            exponent,
            jitter_ms,
            network,
            attempt_timeout_ms,
            estimate_ms,
            max_server_ms,
            key_ttl_ms,
        ] = got;
        if multiplier_milli > 1_000 && multiplier_milli < 1_010 {
            return Err(refuse("multiplier", 1_010, 100_000, multiplier_milli as f64));
        }
        if !matches!([10, 11, 12].into_iter().filter(|at| given(*at).is_some()).count(), 0 | 3) {
            return Err(refuse("exponent", 3, 3, 0.0));
        }
        if given(4).is_none() {
            cap_ms = match strategy {
                0 | 1 => 30_000,
                7 => 47_000,
                _ => cap_ms,
            };
        }
        if given(9).is_none() {
            step_ms = initial_ms;
        }
        let (count, statuses) = (
            whole(given(18).unwrap_or(0.0), "delaysMs", 0, 100)?,
            whole(given(19).unwrap_or(0.0), "retryableStatusCodes", 0, 500)?,
        );
        if strategy == 8 && count == 0 {
            return Err(refuse("delaysMs", 1, 100, 0.0));
        }
        let mut lists = fields.iter().skip(20).copied();
        let mut delays = Vec::new();
        for value in lists.by_ref().take(count as usize) {
            delays.push(whole(value, "delaysMs", 0, YEAR)?);
        }
        let mut codes = Vec::new();
        for value in lists.take(statuses as usize) {
            codes.push(whole(value, "retryableStatusCodes", 100, 599)? as u16);
        }
        if statuses == 0 {
            codes.extend([429, 502, 503, 504]);
        }
        Ok(Policy {
            strategy: strategy as u8,
            jitter: jitter as u8,
            retry_network: network == 1,
            max_attempts: max_attempts as u32,
            initial_ms,
            multiplier_milli,
            cap_ms,
            total_budget_ms,
            ratio_milli,
            fresh_milli,
            step_ms,
            base_ms,
            exponent: exponent as f64 / 1_000.0,
            jitter_ms,
            attempt_timeout_ms,
            estimate_ms,
            max_server_ms,
            key_ttl_ms,
            delays,
            statuses: codes,
        })
    }
}

#[cfg(feature = "policy")]
pub use parse::policy;

#[cfg(not(feature = "policy"))]
pub fn policy(fields: &[f64]) -> Result<Policy, Vec<u8>> {
    let at = |at: usize| fields.get(at).map_or(0, |x| *x as u64);
    Ok(Policy {
        strategy: at(0) as u8,
        jitter: at(6) as u8,
        retry_network: true,
        max_attempts: at(1) as u32,
        initial_ms: at(2),
        multiplier_milli: at(3),
        cap_ms: at(4),
        total_budget_ms: at(5),
        ratio_milli: at(7),
        fresh_milli: at(8),
        step_ms: at(9),
        base_ms: at(10),
        exponent: fields.get(11).copied().unwrap_or(1.0),
        jitter_ms: at(12),
        attempt_timeout_ms: at(14),
        estimate_ms: at(15),
        max_server_ms: at(16),
        key_ttl_ms: at(17),
        delays: Vec::new(),
        statuses: Vec::new(),
    })
}
