/** The module of keys as a chunk of its own, fetched by queues that need it. */

import base64 from './generated/keys/base64.js'
import * as glue from './generated/keys/glue.js'
import { once, unpack } from './instance.ts'
import { bindKeys, type Keys } from './keys.ts'

export const instantiateKeys: () => Promise<Keys> = once(async () => bindKeys(glue, await unpack(base64)))
