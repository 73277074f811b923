//! Whether the longest wait of `spread` keeps step with a load that has a rhythm of its own, as loads that come by the
//! minute have.

use crate::storm::grid::{Progress, Several, variants};
use crate::storm::model::{Arrivals, Backlog, Outage, Setup, patient};

const CAPS_S: [f64; 4] = [30.0, 47.0, 60.0, 120.0];

/// Caps beside each other, under an even and a minutely load, without gates and with those of a server.
pub fn table(seeds: u64) -> String {
    let mut text = String::from(
        "| cap | gates | drained, even load | amplification | busiest second | drained, minutely load \
         | amplification | busiest second |\n|---|---|---|---|---|---|---|---|\n",
    );
    let all = variants();
    let shown = [all[0], all[4]];
    let mut progress = Progress::of(CAPS_S.len() * shown.len());
    for (name, gates) in shown {
        for cap in CAPS_S {
            text.push_str(&format!("| {cap} s | {name}"));
            for arrivals in [Arrivals::Even, Arrivals::Minutely] {
                let setup = Setup::new(200, Backlog::Short, Outage::Hanging).with(gates);
                let several = Several::of(&Setup { arrivals, policy: patient(cap * 1000.0), ..setup }, seeds);
                text.push_str(&format!(
                    " | {} | {:.2} | {:.0}",
                    several.drained(),
                    several.middle(|figures| figures.amplification),
                    several.middle(|figures| f64::from(figures.busiest))
                ));
            }
            text.push_str(" |\n");
            progress.step(&format!("a cap of {cap} s, {name}"));
        }
    }
    text
}
