/** The module of keys where it is a file beside the code, and text where that is not there. */

import { readBeside } from './beside.ts'
import packed from './generated/keys/packed.js'
import type { Keys } from './keys.ts'
import { instantiateKeys as instantiateInline } from './keys-inline.ts'

/** Its name in the package, from the build. */
declare const KEYS_FILE: string
const FILE = typeof KEYS_FILE === 'string' ? KEYS_FILE : 'generated/keys/keys.wasm'

const find = () => readBeside(FILE, import.meta.url, packed[1])

export const instantiateKeys = (): Promise<Keys> => instantiateInline(find)
