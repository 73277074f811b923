/** The lazy chunk of the default entry: what only a failed or enqueued call needs. */

export { instantiate } from './core/inline.ts'
export { Desk } from './desk.ts'
export { Runner } from './runner.ts'
