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

/** FNV-1a. */
export function seedOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash >>> 0
}
