/** From a module to something that can be called: how each of the core's, and the lab's, comes to life. */

/** Glue that has an instance: another one would answer in its place. */
const bound = new Set<object>()

/**
 * Instantiates `module` and binds its generated glue to it. `name`: what the glue was generated as. `again`: its instance has trapped, and
 * this one takes its place. Throws a TypeError where the glue has an instance.
 */
export async function bindGlue(
  glue: object,
  module: WebAssembly.Module,
  name: 'queue' | 'keys' | 'lab',
  again?: boolean,
): Promise<WebAssembly.Exports> {
  const imports = { [`./${name}_bg.js`]: glue as WebAssembly.ModuleImports }
  const { exports } = await WebAssembly.instantiate(module, imports)
  if (!again && bound.has(glue)) throw new TypeError('glue in use: import it again')
  bound.add(glue)
  ;(glue as { __wbg_set_wasm(exports: WebAssembly.Exports): void }).__wbg_set_wasm(exports)
  ;(exports as unknown as { __wbindgen_start(): void }).__wbindgen_start()
  return exports
}

/** Once per page; a failure is not remembered, so that it can be tried again. */
export function once<A extends readonly unknown[], T>(start: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
  let started: Promise<T> | undefined
  return (...args) => {
    started ??= start(...args).catch((error) => {
      started = undefined
      throw error
    })
    return started
  }
}
