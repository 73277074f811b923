#!/usr/bin/env bash
# A Rust toolchain for wasm32-unknown-unknown from Debian's own packages, for machines where
# `rustup target add` reaches no server. Idempotent; needs root and apt.
#
#   1. Debian's rustc-web, its cargo, the source of std, and the linker of the same LLVM
#   2. std built from that source, once (Debian ships none for this target)
#   3. where rustup is: the lot linked as toolchain `debian-wasm`, beside the usual one
#   4. a probe crate built with it and run in Node
#
# Says what it does on stderr. scripts/setup/rust.mjs calls this after rustup has failed, and finds
# the result by itself.
set -euo pipefail

target=wasm32-unknown-unknown
say() { printf 'wasm-toolchain: %s\n' "$*" >&2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

std_folder() { /usr/bin/rustc --print target-libdir --target "$target"; }
std_is_there() { compgen -G "$(std_folder)/libstd-*.rlib" >/dev/null; }

# $1 = name, $2 = further lines of the manifest, $3 = source
make_crate() {
  mkdir -p "$work/$1/src"
  printf '[package]\nname = "%s"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n%b' "$1" "$2" >"$work/$1/Cargo.toml"
  printf '%s\n' "$3" >"$work/$1/src/lib.rs"
}

install_packages() {
  [ -x /usr/bin/rustc ] && [ -x /usr/bin/cargo ] && [ -x /usr/bin/rust-lld ] &&
    [ -e /usr/lib/rustlib/src/rust/library/std/Cargo.toml ] && return
  if ! command -v apt-get >/dev/null; then say "no apt-get here: this way is for Debian only"; exit 1; fi
  if [ "$(id -u)" != 0 ]; then say "apt-get needs root: run this with sudo"; exit 1; fi
  say "installing Debian's rustc-web"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  local llvm # the linker must be of the LLVM that this rustc was built with
  llvm=$(apt-cache depends rust-web-llvm | sed -n 's/.*Depends: llvm-\([0-9]*\)$/\1/p' | head -n 1)
  apt-get install -y -qq --no-install-recommends rustc-web cargo-web rust-web-src rust-web-llvm "lld-$llvm" >&2
}

build_std() {
  std_is_there && return
  say "building std for $target, once"
  make_crate std-seed '[profile.release]\nopt-level = 3\ncodegen-units = 1\n' '#![no_std]'
  # A clean environment: rustup's proxies and flags for the project must not reach this build. The
  # remapping keeps this machine's folders out of std, and so out of every module linked with it.
  local cargo_home=${CARGO_HOME:-$HOME/.cargo}
  (cd "$work/std-seed" && env -i HOME="$HOME" PATH=/usr/bin:/bin RUSTC_BOOTSTRAP=1 CARGO_HOME="$cargo_home" \
    RUSTFLAGS="--remap-path-prefix=$cargo_home/registry/src=/rust/deps --remap-path-prefix=$work=/build" \
    /usr/bin/cargo build --quiet --release --target "$target" -Zbuild-std=std,panic_abort,proc_macro,test >&2)
  local library
  mkdir -p "$(std_folder)"
  for library in "$work/std-seed/target/$target/release/deps"/lib*.rlib; do
    case $library in */libstd_seed-*) ;; *) install -m 644 "$library" "$(std_folder)/" ;; esac
  done
}

link_toolchain() {
  if ! command -v rustup >/dev/null; then echo /usr/bin/cargo; return; fi
  rustup toolchain link debian-wasm /usr >&2
  echo "cargo +debian-wasm"
}

# $@ = the cargo command. A toolchain that compiles but cannot link, or links what no engine loads, is none.
probe() {
  make_crate probe '[lib]\ncrate-type = ["cdylib"]\n' \
    '#[no_mangle] pub extern "C" fn probe(n: u32) -> u32 { (0..n).collect::<Vec<u32>>().iter().sum() }'
  (cd "$work/probe" && env -u RUSTFLAGS -u CARGO_BUILD_TARGET CARGO_TARGET_DIR="$work/probe/target" \
    "$@" build --quiet --offline --release --target "$target" >&2)
  node -e '
    const module = new WebAssembly.Module(require("node:fs").readFileSync(process.argv[1]))
    process.exit(new WebAssembly.Instance(module).exports.probe(5) === 10 ? 0 : 1)
  ' "$work/probe/target/$target/release/probe.wasm"
}

install_packages
build_std
cargo=$(link_toolchain)
# shellcheck disable=SC2086 # two words on purpose
probe $cargo || { say "the probe crate failed with: $cargo"; exit 1; }
say "ready: $cargo"
