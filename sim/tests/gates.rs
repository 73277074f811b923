//! The bars of the gates, as `npm run sim:gates` has them.

use sim::bars::table::table;

#[test]
fn l6_every_bar_of_the_gates_is_kept() {
    let (text, missed) = table(20);
    assert_eq!(missed, 0, "\n{text}");
}
