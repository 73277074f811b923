//! A crowd: jobs that fail at the same moment and go on failing, each strategy's retries of them.
//!
//! The question is that of an article on backoff: a hundred jobs fail together; when do they come back? Waits come from
//! the core ([`redrive::backoff`]), but for spread on Sidekiq's curve, which no policy has: there the formula stands here.
//! A crowd may have a million jobs, so it is drawn and measured in slices: the page that shows it stays free for its user.

pub mod chart;
pub mod draws;
pub mod lags;
pub mod load;
mod median;
pub mod raster;
mod strategies;

pub use strategies::{Strategy, strategies};
