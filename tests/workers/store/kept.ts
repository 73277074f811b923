/** What is kept, and what is left alone because it is not ours. */

import { expect } from 'vitest'
import { LAYOUT } from '../../../js/stores/durable-object/layout.ts'
import type { DurableObjectStore } from '../../../js/stores/durable-object.ts'
import { claimOf, idOf, newTask, SUCCEEDED } from '../../js/store-contract/kit.ts'
import { contents, failureOf, leaseOf, opened, overheard, type Rules, STEP, settle } from './kit.ts'

const everyMethod: Readonly<Record<string, (store: DurableObjectStore) => Promise<unknown>>> = {
  enqueue: (store) => store.enqueue([newTask(9)]),
  turn: (store) => store.turn(STEP),
  cancel: (store) => store.cancel(idOf(1)),
  redrive: (store) => store.redrive([idOf(1)], { spacingMs: 0, acceptDuplicateRisk: true }),
  flush: (store) => store.flush(),
  unpark: async (store) => store.unpark?.({}),
  purge: (store) => store.purgeAll(),
  body: (store) => store.body(idOf(1)),
  find: (store) => store.find('key-1'),
  get: (store) => store.get(idOf(1)),
  list: (store) => store.list({ limit: 9 }),
  attempts: (store) => store.attempts(idOf(1), { limit: 9 }),
  history: async (store) => store.history?.(idOf(1)),
  counts: (store) => store.counts(),
  countsOf: async (store) => store.countsOf?.(null),
  migrate: async (store) => store.migrate(),
  nextAt: async (store) => store.nextAt(),
  owners: async (store) => store.owners(),
  lapse: async (store) => store.lapse(),
}

export const kept: Rules = {
  async 'S1 another store on the same storage finds everything'(storage) {
    const { store, clock } = opened(storage)
    await store.enqueue([newTask(1, { body: new Uint8Array([1, 2, 3]) }), newTask(2), newTask(3)])
    await settle(store, await leaseOf(store), SUCCEEDED)
    const held = await leaseOf(store)
    const seen = async (from: DurableObjectStore) => [
      await from.list({ limit: 9 }),
      await from.counts(),
      await from.attempts(idOf(1), { limit: 9 }),
    ]
    const before = await seen(store)
    const { store: later } = opened(storage, { clock })
    expect(await seen(later)).toEqual(before)
    await settle(later, held, SUCCEEDED)
    expect(await later.counts()).toMatchObject({ pending: 1, inFlight: 0, succeeded: 2 })
  },

  async 'nothing is written before the first use, and migrate() is one'(storage) {
    const { store } = opened(storage)
    const empty = contents(storage)
    store.configure?.({
      capacity: 1,
      capacityBytes: 1,
      maxLaneHoldMs: 1,
      retention: { terminalMs: 1, maxTerminal: 1, deadLetterMs: 1, maxDeadLetters: 1 },
    })
    expect(contents(storage)).toBe(empty)
    store.migrate()
    expect(contents(storage)).toContain('redrive_layout')
  },

  async 'S20 what a later version has written is refused by every method, and left as it is'(storage) {
    const { store } = opened(storage)
    await store.enqueue([newTask(1)])
    storage.sql.exec('UPDATE redrive_layout SET layout = 99')
    const before = contents(storage)
    for (const [name, call] of Object.entries(everyMethod)) {
      const { store: older } = opened(storage)
      const { code, message } = await failureOf(Promise.resolve(older).then(call))
      expect([name, code]).toEqual([name, 'STORAGE_NEWER'])
      expect(message).toContain(`layout 99, this one knows ${LAYOUT}`)
    }
    expect(contents(storage)).toBe(before)
    storage.sql.exec('UPDATE redrive_layout SET layout = ?', LAYOUT)
    expect(await opened(storage).store.counts()).toMatchObject({ pending: 1 })
  },

  async 'a table of the same name that is another’s is refused, and nothing is made beside it'(storage) {
    storage.sql.exec("CREATE TABLE lanes (mine TEXT); INSERT INTO lanes VALUES ('x')")
    const before = contents(storage)
    const { code, message } = await failureOf(opened(storage).store.enqueue([newTask(1)]))
    expect(code).toBe('STORAGE_UNAVAILABLE')
    expect(message).toContain("a 'lanes' of its own")
    expect(contents(storage)).toBe(before)
  },

  async 'tables of other names are nobody’s business'(storage) {
    storage.sql.exec("CREATE TABLE mine (a TEXT); INSERT INTO mine VALUES ('x')")
    expect(await opened(storage).store.enqueue([newTask(1)])).toMatchObject([{ outcome: 'stored' }])
    expect(storage.sql.exec('SELECT a FROM mine').toArray()).toEqual([{ a: 'x' }])
  },

  async 'S20 a damaged record is put aside, counted once, never claimed'(storage) {
    const { store, clock } = opened(storage)
    await store.enqueue([newTask(1, { deadlineInMs: 50 })])
    storage.sql.exec("UPDATE tasks SET headers = '{'")
    const claim = claimOf()
    expect(await store.turn({ ...STEP, claim })).toMatchObject({ claimed: [], unreadable: 1 })
    clock.step(3_600_000)
    expect(await store.turn({ ...STEP, claim })).toMatchObject({ claimed: [], ended: [], nextInMs: null })
    expect([store.nextAt(), store.owners()]).toEqual([null, []])
    expect(await store.counts()).toMatchObject({ pending: 1, purged: 0 })
  },

  async 'S15 S16 S20 whatever other code has put into one row, it is put aside alone, and the others are claimed'(
    storage,
  ) {
    const { store } = opened(storage)
    const most = '9223372036854775807'
    const spoils = [
      ...['seq', 'token', 'attemptNumber', 'bodyBytes', 'refunds', 'phase', 'marks'].map((name) => `${name} = ${most}`),
      ...[
        "targetUrl = 'https://evil.test/'",
        "principal = 'ben'",
        "method = 'TRACE'",
        "headers = '[]'",
        'headers = \'{"a":1}\'',
      ],
      ...["record = json_set(record, '$.withheldHeaders', json('[\"a b\"]'))", "record = '{}'", "deadlineReason = 'x'"],
      "record = json_set(record, '$.requestInit.redirect', json('[\"follow\"]'))",
      "record = json_set(record, '$.policy.maxAttempts', json('{}'))",
    ]
    for (const [n, spoil] of spoils.entries()) {
      await store.enqueue([newTask(2 * n), newTask(2 * n + 1)])
      storage.sql.exec(`UPDATE tasks SET ${spoil} WHERE id = '${newTask(2 * n).taskId}'`)
    }
    const { claimed, unreadable } = await store.turn({ ...STEP, claim: claimOf() })
    expect(claimed.map(({ task }) => task.taskId).sort()).toEqual(
      spoils.map((_, n) => newTask(2 * n + 1).taskId).sort(),
    )
    expect([unreadable, (await store.counts()).unreadable]).toEqual([spoils.length, spoils.length])
    expect((await store.unreadable?.({ limit: 100 }))?.records).toHaveLength(spoils.length)
  },

  async 'S1 counters and lanes that lie are made anew from the tasks when the object begins'(storage) {
    await opened(storage).store.enqueue([newTask(1)])
    for (const lie of [
      'lanes SET inFlight = 99999',
      'state SET inFlight = 99999',
      'lanes SET readyAt = NULL',
      'state SET highWater = 1e300',
    ]) {
      storage.sql.exec(`UPDATE ${lie}`)
      const { store } = opened(storage)
      const { claimed } = await store.turn({ ...STEP, claim: claimOf() })
      expect([lie, claimed.length]).toEqual([lie, 1])
      store.lapse()
      await store.turn(STEP)
    }
  },

  async 'a store whose storage was emptied says so once, and then begins anew'(storage) {
    const { store } = opened(storage)
    await store.enqueue([newTask(1)])
    await storage.deleteAll()
    expect(await failureOf(store.counts())).toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
    expect(await store.counts()).toMatchObject({ pending: 0 })
  },

  async 'S1 a statement that fails, whichever it is, undoes the whole step; asked again it is done'(storage) {
    const task = newTask(1, { body: new Uint8Array(5), log: [], orderKey: 'a' })
    let left = Number.POSITIVE_INFINITY
    const { store } = opened(
      overheard(storage, () => {
        if (left-- === 0) throw new Error('the disk is away')
      }),
    )
    store.migrate()
    const before = contents(storage)
    let failures = 0
    for (let nth = 0; ; nth++) {
      left = nth
      const [answer] = await Promise.allSettled([store.enqueue([newTask(2), task])])
      left = Number.POSITIVE_INFINITY
      if (answer?.status === 'fulfilled') break
      failures++
      expect(answer?.reason).toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
      expect(contents(storage)).toBe(before)
    }
    expect(failures).toBeGreaterThan(8)
    expect(await store.counts()).toMatchObject({ pending: 2, bytes: 5 })
    expect(await store.body(idOf(1))).toEqual(new Uint8Array(5))
  },
}
