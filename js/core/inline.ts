/**
 * The core as a chunk of its own: glue, and the wasm inline as base64 of its gzip. No second request, no bundler
 * configuration, no path to get wrong; after transfer compression it costs about half a percent more than the bare file.
 */

import { bind, compileGiven, type Engine } from './engine.ts'
import * as glue from './generated/glue.js'
import base64 from './generated/wasm-base64.js'

let engine: Promise<Engine> | undefined

/** Once per page; a failure is not remembered, so that it can be tried again. */
export function instantiate(given?: unknown): Promise<Engine> {
  engine ??= start(given).catch((error) => {
    engine = undefined
    throw error
  })
  return engine
}

async function start(given: unknown): Promise<Engine> {
  return bind(glue, await (given === undefined ? WebAssembly.compile(await unpack(base64)) : compileGiven(given)))
}

function unpack(text: string): Promise<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer()
}
