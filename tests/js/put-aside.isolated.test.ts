/** A queue whose store has put rows aside: it tells of them, and waits for none of them (S20). */

import { describe, expect, onTestFinished, test } from 'vitest'
import { RECORD_SCHEMA, type TaskStore } from '../../js/api/store.ts'
import { RetryQueue } from '../../js/index.ts'
import { resolvePolicy } from '../../js/options/policy-rules.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { type FakeClock, fakeClock, scriptedServer } from '../../js/testing.ts'
import { PLACES } from './rows/places.ts'
import { closeNow, NO_GATES } from './setup.ts'
import { claiming, taskOf } from './sqlite/words.ts'
import { browser } from './tabs-setup.ts'

const idOf = (n: number): string => taskOf(n).taskId

async function serve(store: TaskStore, clock: FakeClock) {
  const server = scriptedServer({ clock })
  const queue = new RetryQueue({ clock, fetch: server.fetch, seed: 1n, principal: null, store, ...NO_GATES })
  onTestFinished(() => closeNow(queue, clock))
  let isIdle = false
  await queue.ready
  await clock.advance(10_000)
  queue.idle().then(
    () => {
      isIdle = true
    },
    () => {},
  )
  await clock.advance(10_000)
  return { queue, server, isIdle: () => isIdle }
}

/** A database of its own pace answers in real time. */
const answered = async (): Promise<void> => {
  for (let i = 0; i < 30; i++) await new Promise((resolve) => setImmediate(resolve))
}

describe.for(Object.entries(PLACES))('%s', ([, makePlace]) => {
  test.for([
    ['status', 'WHAT'],
    ['targetUrl', 'https://api.test/other'],
    ['idempotencyKey', 'another'],
    ['schema', RECORD_SCHEMA + 1],
  ] as const)('S20 L1 a row whose %s was changed keeps no queue busy', async ([name, value]) => {
    const clock = fakeClock()
    const place = makePlace()
    const first = place.open(clock)
    await first.enqueue([taskOf(1), taskOf(2), taskOf(3)])
    await first.close()
    await place.change(idOf(1), { [name]: value })
    const store = place.open(clock)
    const { queue, server, isIdle } = await serve(store, clock)
    await answered()
    expect(server.requests).toHaveLength(2)
    expect(queue.stats()).toMatchObject({ depth: 0, inFlight: 0, nextAttemptAt: null, unreadable: 1 })
    expect(queue.stats({ allPrincipals: true })).toMatchObject({ depth: 0, unreadable: 1 })
    expect(isIdle()).toBe(true)
    // it is counted all the same, until it is purged
    expect((await store.counts()).unreadable).toBe(1)
    expect(await store.purge({ taskId: idOf(1) })).toBe(1)
    await store.enqueue([taskOf(4, { dueInMs: 3_600_000 })])
    await queue.flush()
    await clock.advance(1_000)
    await answered()
    expect([server.requests.length, (await store.counts()).unreadable]).toEqual([3, undefined])
  })

  test.for([
    ['credentials', { requestInit: { credentials: 'omit' } }],
    ['withheld headers', { withheldHeaders: ['authorization'] }],
    ['policy', { policy: { policyId: 'default', maxAttempts: 1 } }],
    ['word that it may be repeated', { idempotent: true }],
    ['sums and URL', { requestSum: undefined, bodySum: undefined, targetUrl: 'https://api.test/other' }],
    [
      'sums, which say that there is none, and URL',
      { requestSum: null, bodySum: null, targetUrl: 'https://api.test/a' },
    ],
    ['sums', { requestSum: undefined, bodySum: undefined }],
  ] as const)('S20 a task whose %s were changed is not sent', async ([, fields]) => {
    const clock = fakeClock()
    const place = makePlace()
    const first = place.open(clock)
    await first.enqueue([taskOf(1), taskOf(2)])
    await first.close()
    await place.change(idOf(1), fields)
    const { queue, server } = await serve(place.open(clock), clock)
    expect(server.requests.map(({ headers }) => headers.get('idempotency-key'))).toEqual(['key-2'])
    expect(queue.stats()).toMatchObject({ depth: 0, unreadable: 1 })
  })

  test('S13 S20 a dead letter whose policy is another since its redrive is whole', async () => {
    const clock = fakeClock()
    const store = makePlace().open(clock)
    await store.enqueue([taskOf(1)])
    await store.cancel(idOf(1), 'expired')
    const policies = [resolvePolicy({ policyId: 'default', maxAttempts: 2 })]
    const how = { spacingMs: 0, acceptDuplicateRisk: true, policies }
    expect(await store.redrive([idOf(1)], how)).toEqual(['redriven'])
    expect((await store.turn(claiming(9))).claimed).toMatchObject([{ task: { policy: { maxAttempts: 2 } } }])
  })

  test('S2 S20 what was put aside is counted as it was when the store is opened anew, and its lane waits for none', async () => {
    const clock = fakeClock()
    const place = makePlace()
    const first = place.open(clock)
    await first.enqueue([taskOf(1), taskOf(2, { dueInMs: 9_000 })])
    await first.close()
    await place.damage(idOf(1))
    for (let opened = 0; opened < 3; opened++) {
      const store = place.open(clock)
      const { lanes } = await store.turn(claiming(9))
      expect(lanes).toMatchObject([{ pending: 1 }])
      expect(await store.counts()).toMatchObject({ pending: 2, unreadable: 1, pendingAside: 1 })
      await store.close()
      // counters that are wrong are made anew
      if (opened === 1) await place.changeState({ pending: 9 })
    }
  })
})

test('S20 L1 a record of a later version keeps no queue in memory busy', async () => {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  await store.enqueue([taskOf(1, { schema: RECORD_SCHEMA + 1 }), taskOf(2)])
  const { queue, isIdle } = await serve(store, clock)
  expect(queue.stats()).toMatchObject({ depth: 0, unreadable: 1 })
  expect(isIdle()).toBe(true)
})

test('S20 L1 a tab leads no longer once only what was put aside is left', async () => {
  const { open, store, locks, clock } = browser()
  await store.enqueue([taskOf(1, { principal: 'ann', lane: 'https://api.test ann', schema: RECORD_SCHEMA + 1 })])
  const { events } = await open({ principal: 'ann' })
  await clock.advance(10_000)
  expect(events.of('degraded').map(({ code }) => code)).toContain('unreadable_record')
  expect(locks().filter((name) => name.startsWith('leader'))).toEqual([])
})
