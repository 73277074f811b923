/**
 * The package `@redrive/ui`: custom elements that show what a policy does and what a queue is doing. Importing it defines `<redrive-curve>` and
 * `<redrive-inspector>`; a server that renders pages gets `ui.server.ts` in its place.
 */

import { coreComesFrom } from './ui/base/core.ts'
import { define } from './ui/base/element.ts'
import type { RedriveCurveElement, RedriveInspectorElement } from './ui/elements.ts'
import { RedriveInspector as Inspector } from './ui/inspector/inspector-element.ts'
import { RedriveCurve as Curve } from './ui/lab/curve-element.ts'

coreComesFrom(async () => (await import('redrive/core')).loadCore())
define('redrive-curve', Curve)
define('redrive-inspector', Inspector)

declare global {
  interface HTMLElementTagNameMap {
    'redrive-curve': RedriveCurveElement
    'redrive-inspector': RedriveInspectorElement
  }
}

/** The class of `<redrive-curve>`. */
export const RedriveCurve: new () => RedriveCurveElement = Curve
/** The class of `<redrive-inspector>`. */
export const RedriveInspector: new () => RedriveInspectorElement = Inspector

export { THEME } from './ui/base/theme-names.ts'
export type { CurveView, RedriveCurveElement, RedriveInspectorElement } from './ui/elements.ts'
export { type MountOptions, mountInspector } from './ui/inspector/mount.ts'
export type * from './ui/inspector/source.ts'
