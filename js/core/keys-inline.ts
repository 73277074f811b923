/** The module of keys as a chunk of its own, fetched by queues that need it. */

import { hostDigest } from '../platform/host-digest.ts'
import * as glue from './generated/keys/glue.js'
import packed from './generated/keys/packed.js'
import { once } from './instance.ts'
import { bindKeys, type Keys } from './keys.ts'
import { unpack } from './unpack.ts'

/** One instance serves all, so an entry that knows another place for the module than the text gives `find`. */
export const instantiateKeys: (find?: () => WebAssembly.Module | undefined) => Promise<Keys> = once(async (find) =>
  bindKeys(glue, find?.() ?? (await WebAssembly.compile(await unpack(packed))), hostDigest()),
)
