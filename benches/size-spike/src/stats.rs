//! What `stats()` shows to people.

use serde::Serialize;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LaneStats {
    pub lane: u32,
    pub depth: u32,
    pub in_flight: u32,
    pub held_until_at: Option<f64>,
    pub circuit: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    pub depth: u32,
    pub in_flight: u32,
    pub next_attempt_at: Option<f64>,
    pub lanes: Vec<LaneStats>,
}
