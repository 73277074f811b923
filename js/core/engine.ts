/** A running core: the generated glue bound to one instance. One instance serves every queue of the page. */

import type * as Glue from './generated/queue/glue.js'
import { bindGlue } from './instance.ts'
import { Scratch } from './scratch.ts'

export interface Engine {
  readonly glue: typeof Glue
  readonly memory: WebAssembly.Memory
  readonly scratch: Scratch
}

/** Instantiates `module` and binds the glue to it. */
export async function bind(glue: typeof Glue, module: WebAssembly.Module): Promise<Engine> {
  if (!WebAssembly.Module.exports(module).some(({ name }) => name === 'corequeue_new')) {
    throw new TypeError('expected the redrive.wasm of this version')
  }
  const { memory } = (await bindGlue(glue, module, 'queue')) as { readonly memory: WebAssembly.Memory }
  return { glue, memory, scratch: new Scratch(memory, glue.scratch) }
}

/** The caller's own module: a Module, its bytes, a Response with them, or a promise or function giving one of these. */
export async function compileGiven(given: unknown): Promise<WebAssembly.Module> {
  const value = await (typeof given === 'function' ? given() : given)
  if (value instanceof WebAssembly.Module) return value
  // by what it can do: not every host of Axios has a Response
  const bytes = value?.arrayBuffer ? await value.arrayBuffer() : value
  if (bytes instanceof ArrayBuffer || ArrayBuffer.isView(bytes)) return WebAssembly.compile(bytes as BufferSource)
  throw new TypeError(`expected a WebAssembly.Module, its bytes or a Response with them, got ${typeof value}`)
}
