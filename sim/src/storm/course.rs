//! Three storms second by second, as the picture that shows what gates are for.

use crate::storm::grid::variants;
use crate::storm::measure::Second;
use crate::storm::model::{BACK_MS, Backlog, Outage, Setup, WARM_UP_MS};
use crate::storm::run::{Outcome, run_until};

/// What is shown, in seconds since the beginning.
const SHOWN: usize = 600;
const WIDTH: f64 = 760.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 14.0;
const PANEL: f64 = 132.0;
const TITLE: f64 = 54.0;
const TOP: f64 = 34.0;
/// The most requests a second that the axis has room for.
const MOST: f64 = 2000.0;

/// Colours and sizes of all pictures of storms, on light and dark grounds.
pub const STYLE: &str = "<style>
:root { --ink: #1d2733; --soft: #5b6b7b; --line: #c9d2db; --band: #e9edf1; --load: #c2410c; --good: #0b6e4f; --back: #ffffff }
@media (prefers-color-scheme: dark) { :root { --ink: #e6ebf0; --soft: #9fb0c0; --line: #3c4854; --band: #222b34; --load: #fb923c; --good: #4cc79a; --back: #12181e } }
text { fill: var(--ink) } .soft { fill: var(--soft); font-size: 12px } .name { font-weight: 600; font-size: 15px }
.axis { stroke: var(--line) } .limit { stroke: var(--soft); stroke-dasharray: 5 4 } .band { fill: var(--band) } .back { fill: var(--back) }
.load { stroke: var(--load) } .good { stroke: var(--good) } .tload { fill: var(--load) } .tgood { fill: var(--good) }
.line { fill: none; stroke-width: 1.6; stroke-linejoin: round } .area { fill: var(--good); fill-opacity: .16 }
</style>
";

/// One storm and what to say of it.
#[derive(Debug)]
pub struct Course {
    title: &'static str,
    outcome: Outcome,
}

/// No gates and those of a server with 200 clients, those of a page with 20,000; a deep queue, a hanging outage, seed 1.
pub fn courses() -> Vec<Course> {
    let of = |title, clients, gates: usize| {
        let setup = Setup::new(clients, Backlog::Deep, Outage::Hanging).with(variants()[gates].1);
        Course { title, outcome: run_until(&setup, 1, SHOWN as u64 * 1000) }
    };
    vec![
        of("No gates, 200 servers as clients", 200, 0),
        of("The gates of a server, 200 of them", 200, 4),
        of("The gates of a page, 20,000 tabs", 20_000, 5),
    ]
}

fn end(course: &Course) -> String {
    let figures = &course.outcome.figures;
    match figures.drained {
        _ if figures.collapsed => "stays down for good".to_owned(),
        Some(drained) => {
            let amplification = figures.amplification;
            format!("backlog gone after {drained:.0} s, {amplification:.2} requests a call")
        }
        None => "not done yet".to_owned(),
    }
}

/// A line for each.
pub fn summary(courses: &[Course]) -> String {
    courses.iter().map(|course| format!("{}: {}\n", course.title, end(course))).collect()
}

fn x(second: usize) -> f64 {
    LEFT + second as f64 / SHOWN as f64 * (WIDTH - LEFT - RIGHT)
}

/// The picture.
pub fn svg(courses: &[Course]) -> String {
    let height = TOP + (TITLE + PANEL) * courses.len() as f64 + 34.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-labelledby=\"t d\" font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif\" \
         font-size=\"13\">\n<title id=\"t\">A server that was down for a minute, and its clients</title>\n<desc id=\"d\">{}</desc>\n\
         {STYLE}<rect class=\"back\" width=\"{WIDTH}\" height=\"{height}\"/>\n",
        summary(courses).trim().replace('\n', ". ")
    );
    text.push_str(&format!(
        "<path class=\"line load\" d=\"M{LEFT} 18h22\"/><text class=\"tload\" x=\"{:.0}\" y=\"22\">requests a second</text>\n\
         <path class=\"line good\" d=\"M{:.0} 18h22\"/><text class=\"tgood\" x=\"{:.0}\" y=\"22\">calls answered a second</text>\n",
        LEFT + 28.0,
        LEFT + 168.0,
        LEFT + 196.0
    ));
    for (at, course) in courses.iter().enumerate() {
        panel(&mut text, course, TOP + (TITLE + PANEL) * at as f64);
    }
    let foot = height - 20.0;
    for minute in 0..=8 {
        let at = x(BACK_MS as usize / 1000 + 60 * minute);
        let word = if minute == 0 { "back".to_owned() } else { format!("{minute} min") };
        text.push_str(&format!(
            "<text class=\"soft\" x=\"{at:.1}\" y=\"{foot:.0}\" text-anchor=\"middle\">{word}</text>\n"
        ));
    }
    text.push_str(&format!(
        "<text class=\"soft\" x=\"{:.1}\" y=\"{foot:.0}\" text-anchor=\"middle\">down</text>\n</svg>\n",
        x(WARM_UP_MS as usize / 1000)
    ));
    text
}

fn panel(text: &mut String, course: &Course, top: f64) {
    let head = top + TITLE - 14.0;
    let foot = head + PANEL;
    let y = |rate: f64| foot - rate.min(MOST) / MOST * PANEL;
    text.push_str(&format!(
        "<text class=\"name\" x=\"{LEFT}\" y=\"{:.0}\">{}</text>\n<text class=\"soft\" x=\"{LEFT}\" y=\"{:.0}\">{}</text>\n",
        top + 14.0,
        course.title,
        top + 31.0,
        end(course)
    ));
    let (down, back) = (x(WARM_UP_MS as usize / 1000), x(BACK_MS as usize / 1000));
    text.push_str(&format!(
        "<rect class=\"band\" x=\"{down:.1}\" y=\"{head:.0}\" width=\"{:.1}\" height=\"{PANEL}\"/>\n",
        back - down
    ));
    for rate in [0.0, 1000.0, 2000.0] {
        let class = if rate == 1000.0 { "limit" } else { "axis" };
        text.push_str(&format!(
            "<path class=\"{class}\" d=\"M{LEFT} {y:.1}H{:.1}\"/><text class=\"soft\" x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
            WIDTH - RIGHT,
            LEFT - 6.0,
            y(rate) + 4.0,
            grouped(rate as u32),
            y = y(rate)
        ));
    }
    if course.title.starts_with("No gates") {
        text.push_str(&format!(
            "<text class=\"soft\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">all the server can do</text>\n",
            WIDTH - RIGHT,
            y(1000.0) - 5.0
        ));
    }
    let seconds: Vec<&Second> = course.outcome.seconds.iter().take(SHOWN).collect();
    let line = |of: &dyn Fn(&Second) -> u32| {
        // Two seconds to a point: chance alone moves one second by a few per cent.
        seconds
            .chunks_exact(2)
            .enumerate()
            .map(|(at, pair)| {
                let rate = pair.iter().map(|second| f64::from(of(second))).sum::<f64>() / 2.0;
                format!("{:.1} {:.1}", x(2 * at + 1), y(rate))
            })
            .collect::<Vec<String>>()
            .join("L")
    };
    let good = line(&|second| second.answered);
    let last = x(seconds.len() / 2 * 2 - 1);
    text.push_str(&format!(
        "<path class=\"area\" d=\"M{first:.1} {foot:.1}L{good}L{last:.1} {foot:.1}Z\"/>\n\
         <path class=\"line load\" d=\"M{}\"/>\n<path class=\"line good\" d=\"M{good}\"/>\n",
        line(&|second| second.requests),
        first = x(1)
    ));
    let most = seconds.iter().map(|second| second.requests).max().unwrap_or(0);
    if f64::from(most) > 1.2 * MOST {
        text.push_str(&format!(
            "<text class=\"tload\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" font-size=\"12\">up to {} requests a second</text>\n",
            WIDTH - RIGHT,
            head - 6.0,
            grouped(most)
        ));
    }
}

/// With a comma before the last three digits.
fn grouped(number: u32) -> String {
    if number < 1000 { number.to_string() } else { format!("{},{:03}", number / 1000, number % 1000) }
}
