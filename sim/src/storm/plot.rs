//! The grid as a picture: how long the backlog took to drain, and what was asked of the server for it.

use crate::storm::course::STYLE;
use crate::storm::grid::{Field, Several};
use crate::storm::model::{Backlog, IDEAL_S};

const WIDTH: f64 = 760.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 128.0;
const ROW: f64 = 26.0;
const HEAD: f64 = 58.0;
/// The axis, in seconds, by logarithm.
const AXIS: (f64, f64) = (100.0, 1200.0);

fn x(seconds: f64) -> f64 {
    let share = (seconds / AXIS.0).ln() / (AXIS.1 / AXIS.0).ln();
    LEFT + share.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
}

/// The picture: a block for each situation, a row for each set of gates. Outages that refuse are drawn as rings.
pub fn svg(grid: &[Field]) -> String {
    let mut blocks: Vec<Vec<&Field>> = Vec::new();
    for field in grid {
        match blocks.last_mut() {
            Some(block) if block[0].clients == field.clients && block[0].backlog == field.backlog => {
                block.push(field);
            }
            _ => blocks.push(vec![field]),
        }
    }
    let height = 40.0 + blocks.iter().map(|block| HEAD + ROW * block.len() as f64).sum::<f64>() + 8.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"t\" \
         font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif\" font-size=\"13\">\n\
         <title id=\"t\">How long until the backlog of an outage is gone, and how much was asked for it</title>\n\
         {STYLE}<rect class=\"back\" width=\"{WIDTH}\" height=\"{height}\"/>\n\
         <circle class=\"tgood\" cx=\"{:.0}\" cy=\"20\" r=\"5\"/><text class=\"soft\" x=\"{:.0}\" y=\"24\">the outage was silence</text>\n\
         <circle class=\"line good\" cx=\"{:.0}\" cy=\"20\" r=\"5\"/><text class=\"soft\" x=\"{:.0}\" y=\"24\">refusals</text><text class=\"soft\" x=\"{:.0}\" y=\"24\">at the right: requests per call</text>\n",
        LEFT + 5.0,
        LEFT + 16.0,
        LEFT + 175.0,
        LEFT + 186.0,
        LEFT + 260.0,
    );
    let mut top = 40.0;
    for block in blocks {
        draw(&mut text, &block, top);
        top += HEAD + ROW * block.len() as f64;
    }
    text.push_str("</svg>\n");
    text
}

fn draw(text: &mut String, block: &[&Field], top: f64) {
    let clients = if block[0].clients == 20_000 { "20,000 tabs" } else { "200 servers" };
    let queue = match block[0].backlog {
        Backlog::Deep => "a queue longer than their patience",
        Backlog::Short => "a short queue",
    };
    let head = top + HEAD - 6.0;
    let foot = head + ROW * block.len() as f64;
    text.push_str(&format!(
        "<text class=\"name\" x=\"14\" y=\"{:.0}\">{clients}, {queue}</text>\n<text class=\"soft\" x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">per call</text>\n",
        top + 22.0,
        WIDTH - 14.0,
        head - 8.0
    ));
    for (seconds, word) in [(140.0, "ideal 140 s"), (300.0, "5 min"), (600.0, "10 min"), (1200.0, "20 min")] {
        let class = if seconds == IDEAL_S { "limit" } else { "axis" };
        text.push_str(&format!(
            "<path class=\"{class}\" d=\"M{x:.1} {head:.0}V{foot:.0}\"/><text class=\"soft\" x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{word}</text>\n",
            head - 8.0,
            x = x(seconds)
        ));
    }
    for (at, field) in block.iter().enumerate() {
        let y = head + ROW * (at as f64 + 0.5);
        text.push_str(&format!(
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{}</text>\n",
            LEFT - 26.0,
            y + 4.0,
            field.gates.replace("**", "")
        ));
        for (several, filled) in field.outages.iter().zip([true, false]) {
            mark(text, several, y, filled);
        }
        let asked = field.outages[0].middle(|figures| figures.amplification);
        text.push_str(&format!(
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{asked:.2}</text>\n",
            WIDTH - 14.0,
            y + 4.0
        ));
    }
}

fn mark(text: &mut String, several: &Several, y: f64, filled: bool) {
    let drained = several.middle(|figures| figures.drained.unwrap_or(f64::INFINITY));
    if several.collapsed() == 0 && drained.is_finite() {
        let class = if filled { "tgood" } else { "line good" };
        text.push_str(&format!(
            "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"5\"/>\n",
            x(drained)
        ));
    } else if filled {
        let word = if several.collapsed() > 0 { "stays down" } else { "not in 20 min" };
        text.push_str(&format!(
            "<path class=\"line load\" d=\"M{x:.1} {y:.1}m-5 -5l10 10m0 -10l-10 10\"/><text class=\"tload\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{word}</text>\n",
            x(AXIS.1) - 12.0,
            y + 4.0,
            x = x(AXIS.1)
        ));
    }
}
