/** The faults of the servers of a run: what an answer is, and which one a request gets, as the seed says for it. */

/** An answer, and whether the work is done for it. `status` null: none, the connection is reset; 'hang': nothing at all. */
export interface Fault {
  readonly outcome: string
  readonly status: number | null | 'hang'
  readonly works: boolean
  readonly waits?: true
}

/** Faults with their shares of all requests. */
export type Faults = readonly (readonly [share: number, fault: Fault])[]

/** `draw`: in [0, 1). undefined: there is none. */
export function faultAt(faults: Faults, draw: number): Fault | undefined {
  let left = draw
  for (const [share, fault] of faults) {
    left -= share
    if (left < 0) return fault
  }
  return undefined
}

/** FNV-1a. */
export function seedOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash >>> 0
}
