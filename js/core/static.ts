/** The core where modules are compiled ahead: Workers forbid compiling bytes, and import a `.wasm` as a Module. */

import { bind, compileGiven, type Engine } from './engine.ts'
import * as glue from './generated/glue.js'
import module from './generated/redrive.wasm'

let engine: Promise<Engine> | undefined

export function instantiate(given?: unknown): Promise<Engine> {
  engine ??= start(given).catch((error) => {
    engine = undefined
    throw error
  })
  return engine
}

async function start(given: unknown): Promise<Engine> {
  return bind(glue, given === undefined ? module : await compileGiven(given))
}
