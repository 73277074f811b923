// Refuses code that reads or prints floating-point numbers in the modules: it costs up to 15 KB of gzip each way, and a `{}`
// in a message is enough to link it. Function names tell; they are in the linked module, before the optimiser drops them.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { linkedWasm } from '../build-wasm.mjs'
import { wasmModules, wasmTarget } from '../lib/paths.mjs'
import { run, StepError } from '../lib/steps.mjs'
import { wasmCargo } from '../setup.mjs'

const unwanted = /dec2flt|flt2dec/

/** Function names from the custom section `name` (subsection 1), see "Name Section" of the wasm specification. */
export function functionNames(bytes) {
  const [section] = WebAssembly.Module.customSections(new WebAssembly.Module(bytes), 'name')
  if (!section)
    throw new StepError(
      'the linked module has no name section, so this check would see nothing: strip must be "debuginfo"',
    )
  const data = new Uint8Array(section)
  const text = new TextDecoder()
  let at = 0
  const number = () => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = data[at++]
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value >>> 0
    }
  }
  while (at < data.length) {
    const kind = data[at++]
    const size = number()
    if (kind !== 1) {
      at += size
      continue
    }
    return Array.from({ length: number() }, () => {
      number() // the function's index
      const length = number()
      at += length
      return text.decode(data.subarray(at - length, at))
    })
  }
  throw new StepError('the name section lists no functions')
}

const floatFunctions = (bytes) => functionNames(bytes).filter((name) => unwanted.test(name))

/** Compiles a module that does both, to show that the check can fail. */
async function control() {
  const folder = mkdtempSync(join(tmpdir(), 'redrive-floats-'))
  try {
    const source = join(folder, 'control.rs')
    const output = join(folder, 'control.wasm')
    const body =
      'let n: f64 = unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(p, n)) }.parse().unwrap_or(0.0);\n' +
      '    format!("{n}").len()'
    writeFileSync(
      source,
      `#[unsafe(no_mangle)]\npub extern "C" fn control(p: *const u8, n: usize) -> usize {\n    ${body}\n}\n`,
    )
    const rustc = (await wasmCargo()).map((word) => word.replace(/cargo$/, 'rustc'))
    const flags = [
      '--edition',
      '2024',
      '--crate-type',
      'cdylib',
      '--target',
      wasmTarget,
      '-O',
      '-Cstrip=debuginfo',
      '-Cpanic=abort',
    ]
    await run(rustc[0], [...rustc.slice(1), ...flags, '-o', output, source])
    const names = floatFunctions(readFileSync(output)).join(' ')
    if (!names.includes('dec2flt') || !names.includes('flt2dec')) {
      throw new StepError(
        'a module that parses and prints a float passed this check: it no longer sees what it looks for',
      )
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

export async function checkFloats() {
  await control()
  const found = wasmModules.flatMap((name) => floatFunctions(readFileSync(linkedWasm(name))))
  if (found.length > 0) throw new StepError(`the module reads or prints floats:\n${found.join('\n')}`)
}
