/** A field of the service that takes text: how a secret is put into it, and where it may be found afterwards. */

import type { Shape } from '../../canaries.ts'
import type { Sink } from './sinks.ts'
import type { World } from './world.ts'

export type Make = (shape?: Shape) => string

export interface Field {
  readonly name: string
  /** Where it may be, and is. @default nowhere */
  readonly kept?: readonly Sink[]
  /** Likewise, in the words of the documentation; of fields that are kept. */
  readonly why?: string
  /** Absent: it is there from the start. */
  put?(world: World, make: Make): Promise<unknown>
}

/** Puts a secret of each of these shapes. */
export const ofEach =
  (shapes: readonly Shape[], put: (world: World, make: () => string) => Promise<unknown>): Required<Field>['put'] =>
  async (world, make) => {
    for (const shape of shapes) await put(world, () => make(shape))
  }

/** Shapes without blanks, and those that fit into 64 characters. */
export const TOKENS: readonly Shape[] = ['base64url', 'hex', 'jwt', 'words']
export const NAMES: readonly Shape[] = ['base64url', 'hex', 'words']
