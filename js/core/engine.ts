/** A running core: the generated glue bound to one instance. One instance serves every queue of the page. */

import type * as Glue from './generated/glue.js'

export interface Engine {
  readonly glue: typeof Glue
  readonly memory: WebAssembly.Memory
}

/** Instantiates `module` and binds the glue to it. */
export async function bind(glue: typeof Glue, module: WebAssembly.Module): Promise<Engine> {
  const instance = await WebAssembly.instantiate(module, {
    './redrive_bg.js': glue as unknown as WebAssembly.ModuleImports,
  })
  const exports = instance.exports as WebAssembly.Exports & {
    readonly memory: WebAssembly.Memory
    readonly __wbindgen_start?: () => void
  }
  if (!('corequeue_new' in exports)) {
    throw new TypeError('options.wasm: expected the redrive.wasm of this version, got a module without its exports')
  }
  ;(glue as unknown as { __wbg_set_wasm(exports: WebAssembly.Exports): void }).__wbg_set_wasm(exports)
  exports.__wbindgen_start?.()
  return { glue, memory: exports.memory }
}

/** The caller's own module: a Module, its bytes, a Response with them, or a promise or function giving one of these. */
export async function compileGiven(given: unknown): Promise<WebAssembly.Module> {
  const value = await (typeof given === 'function' ? given() : given)
  if (value instanceof WebAssembly.Module) return value
  const bytes = value instanceof Response ? await value.arrayBuffer() : value
  if (bytes instanceof ArrayBuffer || ArrayBuffer.isView(bytes)) return WebAssembly.compile(bytes as BufferSource)
  throw new TypeError(
    `options.wasm: expected a WebAssembly.Module, its bytes or a Response with them, got ${typeof value}`,
  )
}
