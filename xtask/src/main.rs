//! Writes what hosts need of the core: the JavaScript glue of a wasm module, and the numbers that TypeScript, Go and Java share with it.
//!
//! The generator of the glue is a dependency and not a program from the PATH, so that Cargo.lock
//! pins it to the `wasm-bindgen` the core was compiled with: the two talk a private
//! format that changes with every release. Prints nothing unless it fails.

mod codes;

use std::{env, fs, path::Path, path::PathBuf};

use anyhow::{Context, Result, bail};
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<()> {
    let args: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    match args.as_slice() {
        [task, input, output, name] if task.as_os_str() == "glue" => {
            glue(input, output, &name.to_string_lossy())
        }
        [task, outputs @ ..] if task.as_os_str() == "codes" => outputs.iter().try_for_each(|output| {
            let extension = output.extension().unwrap_or_default().to_string_lossy();
            let codes = codes::module(&extension).with_context(|| format!("no language of .{extension}"))?;
            fs::write(output, codes).with_context(|| format!("cannot write {}", output.display()))
        }),
        _ => bail!(
            "usage: xtask glue <input.wasm> <output directory> <name> | xtask codes <output.ts, .go or .java>.."
        ),
    }
}

fn glue(input: &Path, output: &Path, name: &str) -> Result<()> {
    // `bundler` writes the glue and the module apart, without a loader: ours is in js/core/.
    Bindgen::new()
        .input_path(input)
        .out_name(name)
        .bundler(true)?
        .typescript(true)
        .generate(output)
        .with_context(|| format!("no glue for {}", input.display()))
}
