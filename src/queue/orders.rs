//! Orders: tasks that run one after another, in the order of admission.
//!
//! Only the first task of an order, its head, has a due time; the others stand behind it and
//! cost nothing until it ends, however it ends. Priorities count among heads, not within an
//! order. A head that waits, is held or is parked keeps its place, and the others go on standing.
#![forbid(unsafe_code)]

use super::fifo::{Chain, Links};
use crate::slots::{NONE, Slots};

/// An order.
#[derive(Debug)]
struct Order {
    /// The task whose turn it is; [`NONE`] only if the order is empty.
    head: u32,
    /// The others. They are in no queue of a lane, so they share its table of links.
    behind: Chain,
}

/// All orders. Tasks and orders are named by their indices: an order lives as long as its tasks.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    slots: Slots<Order>,
}

impl Orders {
    /// Opens an order and gives its handle; [`NONE`] if there are four million.
    pub fn open(&mut self) -> u32 {
        self.slots.insert(Order { head: NONE, behind: Chain::default() }).unwrap_or(NONE)
    }

    /// Whether a handle is good.
    pub fn is_open(&self, handle: u32) -> bool {
        self.slots.get(handle).is_some()
    }

    /// Forgets an order, if no task is in it.
    pub fn close(&mut self, handle: u32) -> bool {
        let empty = self.slots.get(handle).is_some_and(|order| order.head == NONE);
        empty && self.slots.remove(handle).is_some()
    }

    /// Makes `task` the head if the order has none, and says whether it is: one without an
    /// order always is. The others are to [`Orders::stand_behind`].
    pub fn lead(&mut self, order: u32, task: u32) -> bool {
        let Some(order) = self.slots.at_mut(order) else { return true };
        if order.head == NONE {
            order.head = task;
        }
        order.head == task
    }

    /// Puts `task` behind all others of its order.
    pub fn stand_behind(&mut self, order: u32, links: &mut Links, task: u32) {
        if let Some(order) = self.slots.at_mut(order) {
            order.behind.push(links, task);
        }
    }

    /// Takes `task`, which stands behind, out.
    pub fn step_out(&mut self, order: u32, links: &mut Links, task: u32) {
        if let Some(order) = self.slots.at_mut(order) {
            order.behind.remove(links, task);
        }
    }

    /// Hears that `task`, which stands behind no other any more, has ended. If it was the head,
    /// the next one is, and is given: it still stands behind, and has to step out.
    pub fn succeed(&mut self, order: u32, task: u32) -> Option<u32> {
        let order = self.slots.at_mut(order).filter(|order| order.head == task)?;
        order.head = order.behind.first();
        (order.head != NONE).then_some(order.head)
    }
}
