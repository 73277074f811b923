/** The core where modules are compiled ahead: Workers forbid compiling bytes, and import a `.wasm` as a Module. */

import { bind, compileGiven, type Engine } from './engine.ts'
import * as glue from './generated/queue/glue.js'
import module from './generated/queue/queue.wasm'
import { once } from './instance.ts'

export const instantiate: (given?: unknown) => Promise<Engine> = once(async (given?: unknown) =>
  bind(glue, given === undefined ? module : await compileGiven(given)),
)
