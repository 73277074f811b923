//! The gates of a world, as data.

use redrive::breaker::BreakerRules;
use redrive::budget::BudgetRules;
use redrive::gates::{Comeback, Gates, OnStorm};
use redrive::time::Millis;
use serde::{Deserialize, Serialize};

use crate::dice::Dice;

/// The numbers that cross the boundary. Without the ramp, which books that do not know the draws cannot follow: it is
/// watched in a storm, `sim storm`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GateSpec {
    /// As `CoreQueue.gates` takes them; a capacity of 0: there is no budget.
    pub breaker: [f64; 4],
    /// Capacity, per success, per second.
    pub budget: Option<[f64; 3]>,
    /// Whether a retry storm is told of.
    pub storm: u8,
}

impl GateSpec {
    /// Gates at random: short openings and small budgets, since worlds are short. Shares of a token are whole
    /// billionths, so the books can be exact.
    pub fn draw(dice: &mut Dice) -> GateSpec {
        let open = dice.pick(&[100.0, 1000.0, 5000.0]);
        GateSpec {
            breaker: [
                if dice.chance(60) { dice.pick(&[0.2, 0.2, 0.5, 0.9]) } else { 0.0 },
                dice.pick(&[0.0, 1000.0, 2500.0]),
                open,
                open * dice.pick(&[1.0, 4.0, 12.0]),
            ],
            budget: dice.chance(80).then(|| {
                [dice.pick(&[1.0, 3.0, 10.0]), dice.pick(&[0.25, 1.0]), dice.pick(&[0.25, 1.0, 5.0])]
            }),
            storm: dice.pick(&[0, 1]),
        }
    }

    /// The numbers in a row.
    pub fn row(&self) -> Vec<f64> {
        let [capacity, success, second] = self.budget.unwrap_or([0.0; 3]);
        [&self.breaker[..], &[f64::from(self.storm), capacity, success, second, 0.0]].concat()
    }

    /// As the core takes them.
    pub fn gates(&self) -> Gates {
        let [fair, after, open, max_open] = self.breaker;
        let breaker = BreakerRules {
            fair_per_million: (fair * 1e6) as u32,
            after: Millis::from_f64(after),
            open: Millis::from_f64(open),
            max_open: Millis::from_f64(max_open),
        };
        Gates {
            breaker: (fair > 0.0).then_some(breaker),
            ramp: Comeback::AtOnce,
            budget: self
                .budget
                .map(|[capacity, success, second]| BudgetRules::new(capacity, success, second)),
            on_storm: if self.storm == 0 { OnStorm::Nothing } else { OnStorm::Tell },
            exact_alone: false,
        }
    }
}
