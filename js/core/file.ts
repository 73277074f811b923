/** The core where its module is a file beside the code, and text where that is not there: a bundler took the code elsewhere. */

import { readBeside } from './beside.ts'
import type { Engine } from './engine.ts'
import packed from './generated/queue/packed.js'
import { instantiate as instantiateInline } from './inline.ts'

/** Its name in the package, from the build. */
declare const QUEUE_FILE: string
const FILE = typeof QUEUE_FILE === 'string' ? QUEUE_FILE : 'generated/queue/queue.wasm'

const find = () => readBeside(FILE, import.meta.url, packed[1])

export const instantiate = (given?: unknown): Promise<Engine> => instantiateInline(given, find)
