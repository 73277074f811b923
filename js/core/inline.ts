/**
 * The core as a chunk of its own: glue, and the wasm inline as base64 of its gzip. No second request, no bundler
 * configuration, no path to get wrong; after transfer compression it costs about half a percent more than the bare file.
 */

import { bind, compileGiven, type Engine } from './engine.ts'
import base64 from './generated/queue/base64.js'
import * as glue from './generated/queue/glue.js'
import { once, unpack } from './instance.ts'

export const instantiate: (given?: unknown) => Promise<Engine> = once(async (given?: unknown) =>
  bind(glue, await (given === undefined ? unpack(base64) : compileGiven(given))),
)
