/**
 * The entry `@redrive/ui/sources`: the two sources of `<redrive-inspector>`, for those who need more than its properties `queue` and `src`, and the error with which a source of
 * one's own says more than a sentence. No element comes with it, and a server may import it.
 */

export { type QueueSourceOptions, queueSource } from './ui/inspector/queue-source.ts'
export type { ServiceSourceOptions } from './ui/inspector/service-call.ts'
export { serviceSource } from './ui/inspector/service-source.ts'
export type * from './ui/inspector/source.ts'
export { InspectorError } from './ui/inspector/source.ts'
