//! The boundary to JavaScript: the only place that knows wasm-bindgen, js-sys, getrandom,
//! gloo-timers and serde-wasm-bindgen.
//!
//! Numbers in, numbers out: a task is a u32, a time an f64 of epoch milliseconds, a policy a row
//! of f64. Objects go outward only, for people. wasm-bindgen coerces without a word (-1 becomes
//! 4294967295), so the TypeScript side checks every number before it crosses. Everything here
//! converts and delegates; a decision taken here would be one that native tests cannot see.
//!
//! Two modules are made of it, a feature each: the one that every queue runs on, and one for
//! content keys, canonical JSON and what only `redrive/core` asks, which most pages never load (docs/adr/0011).

/// 3 KB less than the default allocator after gzip, and as fast per attempt: docs/adr/0002.
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

#[cfg(feature = "queue-module")]
mod errors;
#[cfg(feature = "queue-module")]
mod functions;
#[cfg(feature = "queue-module")]
mod headers;
#[cfg(feature = "keys-module")]
mod keys;
#[cfg(feature = "keys-module")]
mod pure;
#[cfg(feature = "queue-module")]
mod queue;
mod text;
#[cfg(feature = "queue-module")]
mod timer;
