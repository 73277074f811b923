/** The same, where the wasm is a static import. */

export { instantiate } from './core/static.ts'
export { Desk } from './desk.ts'
export { Runner } from './runner.ts'
