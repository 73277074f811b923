//! The article's chart: a dot for each retry of each job, a strip for each strategy.

use crate::crowd::{Strategy, strategies};
use crate::spread::{JOBS, RETRIES, figures, horizon};

/// The strips, by name: the ones that differ to the eye.
const SHOWN: [&str; 8] = [
    "fixed, 5 min",
    "zizq",
    "sidekiq",
    "buckets",
    "exponential, equal jitter",
    "exponential, full jitter",
    "spread on sidekiq's curve",
    "spread",
];
const WIDTH: f64 = 960.0;
const STRIP: f64 = 96.0;
const TITLE: f64 = 22.0;

/// The picture. Colours stand on light and dark grounds alike.
pub fn svg() -> String {
    let shown: Vec<Strategy> =
        strategies().into_iter().filter(|strategy| SHOWN.contains(&strategy.name)).collect();
    let height = (TITLE + STRIP + 14.0) * shown.len() as f64;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"13\">\n\
         <title>When 100 jobs that failed together come back</title>\n"
    );
    for (at, strategy) in shown.iter().enumerate() {
        strip(&mut text, strategy, (TITLE + STRIP + 14.0) * at as f64);
    }
    text.push_str("</svg>\n");
    text
}

fn strip(text: &mut String, strategy: &Strategy, top: f64) {
    let idle = figures(strategy, 50).idle * 100.0;
    let times = strategy.times(JOBS, RETRIES, 1);
    let end = horizon(&times) * 1.02;
    let foot = top + TITLE;
    text.push_str(&format!(
        "<text x=\"4\" y=\"{:.0}\" fill=\"#808080\">{}: {idle:.0} % of the time idle, first {:.1} h</text>\n\
         <rect x=\"2\" y=\"{foot:.0}\" width=\"{:.0}\" height=\"{STRIP}\" fill=\"none\" stroke=\"#808080\" \
         stroke-opacity=\".5\"/>\n",
        top + 15.0,
        strategy.name,
        end / 3_600_000.0,
        WIDTH - 4.0
    ));
    for n in 0..RETRIES as usize {
        // Neighbouring retries differ by a large step of the colour wheel.
        let hue = n * 137 % 360;
        let mut path = String::new();
        for (job, row) in times.iter().enumerate().filter(|(_, row)| row[n] <= end) {
            let x = 2.0 + row[n] / end * (WIDTH - 4.0);
            let y = foot + 3.0 + job as f64 / f64::from(JOBS) * (STRIP - 6.0);
            path.push_str(&format!("M{x:.1} {y:.1}h0"));
        }
        text.push_str(&format!(
            "<path d=\"{path}\" stroke=\"hsl({hue} 65% 54%)\" stroke-width=\"2.6\" stroke-linecap=\"round\"/>\n"
        ));
    }
}
