//! Writes the JavaScript glue of the wasm core.
//!
//! The generator is a dependency and not a program from the PATH, so that Cargo.lock
//! pins it to the `wasm-bindgen` the core was compiled with: the two talk a private
//! format that changes with every release. Prints nothing unless it fails.

use std::{env, path::PathBuf};

use anyhow::{Context, Result};
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<()> {
    let mut args = env::args_os().skip(1).map(PathBuf::from);
    let usage = "usage: xtask <input.wasm> <output directory> <name>";
    let input = args.next().context(usage)?;
    let output = args.next().context(usage)?;
    let name = args.next().context(usage)?;

    // `bundler` writes the glue and the module apart, without a loader: ours is in js/core/.
    Bindgen::new()
        .input_path(&input)
        .out_name(&name.to_string_lossy())
        .bundler(true)?
        .typescript(true)
        .generate(&output)
        .with_context(|| format!("no glue for {}", input.display()))
}
