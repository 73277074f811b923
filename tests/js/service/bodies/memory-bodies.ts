/** A store of bodies in memory, whose faults are told: the obvious twin of the real ones. */

import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { type BodyStore, BodyStoreError } from '../../../../js/service/bodies/body-store.ts'

export interface MemoryBodies extends BodyStore {
  readonly held: Map<string, Uint8Array>
  /** Calls of it that fail from now on, and how often; Infinity: all. */
  readonly failing: Map<'put' | 'open' | 'delete', number>
}

export function memoryBodies(): MemoryBodies {
  const held = new Map<string, Uint8Array>()
  const failing: MemoryBodies['failing'] = new Map()
  const mayFail = (call: 'put' | 'open' | 'delete'): void => {
    const left = failing.get(call) ?? 0
    if (left <= 0) return
    failing.set(call, left - 1)
    throw new BodyStoreError(`${call} is away`)
  }
  return {
    shown: 'memory',
    held,
    failing,
    async put(key, body) {
      mayFail('put')
      const parts: Uint8Array[] = []
      for await (const part of body) parts.push(part)
      const bytes = Buffer.concat(parts)
      held.set(key, bytes)
      return { ref: key, sha256: createHash('sha256').update(bytes).digest('hex') }
    },
    async open(ref) {
      mayFail('open')
      const bytes = held.get(ref)
      return bytes && { body: Readable.from([bytes], { objectMode: false }), bytes: bytes.byteLength }
    },
    async delete(ref) {
      mayFail('delete')
      held.delete(ref)
    },
    close: async () => {},
  }
}
