/** Hints as scripts give them and publish them: a letter of the kind, the length of an id, the id. */

import type { Buffer } from 'node:buffer'
import type { Hint } from '../../api/store.ts'
import { idText } from './names.ts'

const KINDS: ReadonlyMap<string, Hint['kind']> = new Map([
  ['d', 'due'],
  ['s', 'settled'],
  ['c', 'cancelled'],
  ['l', 'changed'],
])

export function hintsIn(packed: Buffer): Hint[] {
  const hints: Hint[] = []
  for (let at = 0; at + 5 <= packed.length; ) {
    const kind = KINDS.get(String.fromCharCode(packed[at] as number))
    const bytes = packed.readUInt32BE(at + 1)
    const from = at + 5
    at = from + bytes
    // a later version may publish other kinds
    if (kind) hints.push(bytes === 0 ? { kind } : { kind, taskId: idText(packed.subarray(from, at)) })
  }
  return hints
}
