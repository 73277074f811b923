// Finds Rust, and a toolchain with the std for WebAssembly.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { at, root, wasmTarget } from '../lib/paths.mjs'
import { run, StepError, step } from '../lib/steps.mjs'

const rustupLimitMs = 120_000

/** Toolchains that may have the target, best first; scripts/wasm-toolchain.sh makes the last two. */
const candidates = [['cargo'], ['cargo', '+debian-wasm'], ['/usr/bin/cargo']]

async function hasTarget(cargo) {
  const [rustc, ...rest] = cargo.map((word) => word.replace(/cargo$/, 'rustc'))
  const args = [...rest, '--print', 'target-libdir', '--target', wasmTarget]
  const answer = await run(rustc, args, { cwd: root, allowFailure: true }).catch(() => undefined)
  const folder = answer?.code === 0 ? answer.stdout.trim() : ''
  return folder !== '' && existsSync(folder) && readdirSync(folder).some((name) => /^libstd-.*\.rlib$/.test(name))
}

async function find() {
  for (const cargo of candidates) if (await hasTarget(cargo)) return cargo
  return undefined
}

let found
/** The words of the cargo command that can build for WebAssembly; `setup` has made sure that one exists. */
export async function wasmCargo() {
  found ??= await find()
  if (!found) throw new StepError(`no toolchain here builds for ${wasmTarget}; run npm run build`)
  return found
}

export const rustStep = () =>
  step('Rust', async () => {
    const ask = () => run('cargo', ['--version'], { cwd: root, allowFailure: true })
    let answer = await ask().catch((cause) => {
      throw new StepError('Rust is missing: install it with rustup (https://rustup.rs) and run this again.', { cause })
    })
    if (answer.code === 0) return answer.stdout.trim()
    // rustup is there, and not the toolchain that rust-toolchain.toml names
    const pinned = /^channel = "(.*)"/m.exec(readFileSync(at('rust-toolchain.toml'), 'utf8'))?.[1]
    const failure = answer.output.trim()
    let refusal = ''
    await run('rustup', ['toolchain', 'install'], { cwd: root, limitMs: rustupLimitMs }).catch((error) => {
      refusal = error.message
    })
    answer = await ask()
    if (answer.code === 0) return answer.stdout.trim()
    process.env.RUSTUP_TOOLCHAIN = 'stable'
    answer = await ask()
    if (answer.code === 0) return `${answer.stdout.trim()} instead of ${pinned}, which cannot be installed here`
    throw new StepError(
      `Rust ${pinned} is missing and could not be installed: rustup toolchain install ${pinned}.\n${failure}\n${refusal}`,
    )
  })

export const wasmTargetStep = () =>
  step('wasm target', async () => {
    found = await find()
    if (found) return found[0] === 'cargo' && found.length === 1 ? 'already there' : `with ${found.join(' ')}`
    const failures = []
    const tries = [
      ['rustup', ['target', 'add', wasmTarget], rustupLimitMs],
      ['bash', [at('scripts', 'wasm-toolchain.sh')], 15 * 60_000],
    ]
    for (const [program, args, limitMs] of tries) {
      await run(program, args, { cwd: root, limitMs }).catch((error) => failures.push(error.message))
      found = await find()
      if (found) return `with ${found.join(' ')}`
    }
    throw new StepError(
      `Rust's target ${wasmTarget} is missing and could not be installed.\n` +
        `With rustup: rustup target add ${wasmTarget}. On Debian, as root: scripts/wasm-toolchain.sh.\n${failures.join('\n')}`,
    )
  })
