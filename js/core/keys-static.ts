/** The module of keys where modules are compiled ahead. */

import * as glue from './generated/keys/glue.js'
import module from './generated/keys/keys.wasm'
import { once } from './instance.ts'
import { bindKeys, type Keys } from './keys.ts'

export const instantiateKeys: () => Promise<Keys> = once(() => bindKeys(glue, module))
