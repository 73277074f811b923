/** The lazy chunk of the default entry: what only a failed or enqueued call needs. */

export { instantiate } from './core/inline.ts'
export { Intake } from './intake.ts'
export { Runner } from './runner.ts'
