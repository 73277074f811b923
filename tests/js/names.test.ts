/** Text that names something is the same wherever it is kept: what would become another name in a store is refused at once. */

import { expect, test } from 'vitest'
import { objectName } from '../../js/cloudflare/namespace.ts'
import { RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import { indexedDbStore } from '../../js/stores/indexeddb.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { ORDERS, setup } from './setup.ts'

const HALVES = ['\ud800', 'a\ud800', '\udc00b', 'a\ud83d\ud83d\ude00', 'a\u0000b'] as const
const WHOLE = ['\ud83d\ude00', '\u00e9', '\ufffd', 'a b', '\u200b'] as const

const OPTIONS: Readonly<Record<string, (name: string) => RetryQueueOptions>> = {
  name: (name) => ({ name }),
  principal: (principal) => ({ principal }),
  scope: (scope) => ({ idempotency: { mode: 'content', scope } }),
  'a policy': (policyId) => ({ policies: [{ policyId }] }),
}

test.for(Object.keys(OPTIONS))('S16 the option %s takes well-formed text, and no other', (what) => {
  const make = (name: string) => new RetryQueue({ durable: false, ...OPTIONS[what]?.(name) })
  for (const half of HALVES) expect(() => make(half)).toThrow(/expected (?:null or )?a well-formed string/)
  for (const whole of WHOLE) expect(() => make(whole)).not.toThrow()
})

test('S16 setPrincipal takes well-formed text, and no other', async () => {
  const { queue } = await setup()
  for (const half of HALVES) await expect(queue.setPrincipal(half)).rejects.toThrow('a well-formed string')
  for (const whole of WHOLE) await queue.setPrincipal(whole)
})

test.for(['orderKey', 'policyId', 'idempotencyKey'] as const)(
  'S5 S19 the %s of a call is well-formed, or the call is refused',
  async (name) => {
    const { queue, server } = await setup()
    for (const half of HALVES) {
      await expect(queue.enqueue(ORDERS, { method: 'POST', redrive: { [name]: half } })).rejects.toThrow(RangeError)
    }
    expect(server.hits).toBe(0)
  },
)

test('S16 stores and objects are named by well-formed text', () => {
  for (const half of HALVES) {
    expect(() => sqliteStore({ path: half })).toThrow(RangeError)
    expect(() => indexedDbStore({ name: half })).toThrow(RangeError)
    expect(() => objectName(half, 'https://api.test')).toThrow(RangeError)
  }
})
