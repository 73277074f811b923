/** From a module to something that can be called: how each of the core's, and the lab's, comes to life. */

/** Who uses each glue: it has one instance at a time, and another would answer in its place. */
const users = new WeakMap<object, object>()

/**
 * Instantiates `module` and binds its generated glue to it. `name`: what the glue was generated as. `user`: who may bind it again, once
 * an instance has trapped. Throws a TypeError where the glue is another's.
 */
export async function bindGlue(
  glue: object,
  module: WebAssembly.Module,
  name: 'queue' | 'keys' | 'lab',
  user: object = {},
): Promise<WebAssembly.Exports> {
  const imports = { [`./${name}_bg.js`]: glue as WebAssembly.ModuleImports }
  const { exports } = await WebAssembly.instantiate(module, imports)
  if ((users.get(glue) ?? user) !== user) throw new TypeError('this glue is in use: import it anew')
  users.set(glue, user)
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
