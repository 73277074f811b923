/**
 * The core as a chunk of its own: glue, and the module as text. No second request, no bundler configuration, no path to get wrong.
 */

import { bind, compileGiven, type Engine } from './engine.ts'
import * as glue from './generated/queue/glue.js'
import packed from './generated/queue/packed.js'
import { once } from './instance.ts'
import { unpack } from './unpack.ts'

/** One instance serves all, so an entry that knows another place for the module than the text gives `find`. */
export const instantiate: (given?: unknown, find?: () => WebAssembly.Module | undefined) => Promise<Engine> = once(
  async (given, find) => bind(glue, await compileGiven(given === undefined ? (find?.() ?? unpack(packed)) : given)),
)
