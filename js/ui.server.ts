/**
 * The package `@redrive/ui` where there is no document: a server that renders a page may import what its page imports. The tags that it writes become elements in the
 * browser, whose conditions name the real entry.
 */

export { THEME } from './ui/base/theme-names.ts'

/** Stands in for the element's class. */
export class RedriveCurve {}
/** Stands in for the element's class. */
export class RedriveInspector {}

/** There is no document to put a button into. */
export const mountInspector = (): { close(): void } => ({ close() {} })
