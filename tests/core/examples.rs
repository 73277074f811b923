//! The examples run.

#[path = "../../examples/timeline.rs"]
mod timeline;

#[test]
fn a_task_outlives_an_outage_in_virtual_time() {
    // It panics if the task ends in any way but delivered.
    timeline::main();
}
