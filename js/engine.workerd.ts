/** The same, where the wasm is a static import. */

export { instantiate } from './core/static.ts'
export { Intake } from './intake.ts'
export { Runner } from './runner.ts'
