/**
 * redrive/ui: custom elements that show what a policy does and what a queue is doing. Importing it defines `<redrive-curve>` and
 * `<redrive-inspector>`; a server that renders pages gets `ui.server.ts` in its place.
 */

import { coreComesFrom } from './ui/base/core.ts'
import { define } from './ui/base/element.ts'
import type { RedriveCurveElement } from './ui/elements.ts'
import { RedriveCurve as Curve } from './ui/lab/curve-element.ts'

coreComesFrom(async () => (await import('./core.ts')).loadCore())
define('redrive-curve', Curve)

declare global {
  interface HTMLElementTagNameMap {
    'redrive-curve': RedriveCurveElement
  }
}

/** The class of `<redrive-curve>`. */
export const RedriveCurve: new () => RedriveCurveElement = Curve

export { THEME } from './ui/base/theme-names.ts'
export type { CurveView, RedriveCurveElement } from './ui/elements.ts'
