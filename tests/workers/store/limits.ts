/** What a Durable Object's storage does not take, and options that cannot be right. */
import { expect } from 'vitest'
import { type DurableObjectStoreOptions, durableObjectStore } from '../../../js/stores/durable-object.ts'
import { idOf, logOf, newTask } from '../../js/store-contract/kit.ts'
import { failureOf, leaseOf, opened, overheard, type Rules, settle } from './kit.ts'

const MIB = 2 ** 20

/** Bytes that no two parts have alike. */
function bodyOf(bytes: number): Uint8Array {
  const body = new Uint8Array(bytes)
  for (let i = 0; i < bytes; i++) body[i] = (i * 2_654_435_761) >>> 24
  return body
}

const bodyRows = (storage: Parameters<Rules[string]>[0]): number =>
  (storage.sql.exec('SELECT count(*) AS n FROM bodies').toArray() as readonly { readonly n: number }[])[0]?.n ?? -1

export const limits: Rules = {
  async 'a body of 8 MiB comes back as it was, and goes with its task, all of its parts'(storage) {
    const { store } = opened(storage)
    const body = bodyOf(8 * MIB)
    await store.enqueue([newTask(1, { body }), newTask(2, { body: new Uint8Array() }), newTask(3)])
    const back = await store.body(idOf(1))
    expect(back?.byteLength).toBe(body.byteLength)
    expect(back?.every((byte, i) => byte === body[i])).toBe(true)
    expect(await store.body(idOf(2)), 'an empty body is one').toEqual(new Uint8Array())
    expect(await store.body(idOf(3))).toBeUndefined()
    expect(bodyRows(storage)).toBe(6)
    await settle(store, await leaseOf(store), { kind: 'succeeded' })
    expect(bodyRows(storage)).toBe(1)
  },

  async 'S1 a record that fits no row is refused before anything is stored, with its sizes and the limit'(storage) {
    const { store } = opened(storage)
    const large = newTask(2, { headers: { 'x-note': 'é'.repeat(MIB) }, targetUrl: 'https://api.test/a?token=secret' })
    const [good, bad, other] = await Promise.allSettled([
      store.enqueue([newTask(1)]),
      store.enqueue([newTask(4), large]),
      store.enqueue([newTask(3)]),
    ])
    expect([good?.status, bad?.status, other?.status]).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    const { code, message } = (bad as PromiseRejectedResult).reason
    expect(code).toBe('RECORD_TOO_LARGE')
    for (const part of [idOf(2), 'POST https://api.test', `${2 * MIB + 13} of its headers`, '2000000']) {
      expect(message).toContain(part)
    }
    expect(message).not.toContain('secret')
    expect(store.tooLarge(large)).toMatchObject({ code })
    expect(store.tooLarge(newTask(1))).toBeUndefined()
    expect(await store.counts()).toMatchObject({ pending: 2 })
  },

  async 'S1 a line of the log that fits no row is refused likewise'(storage) {
    const { store } = opened(storage)
    const log = [logOf(idOf(1), { errorMessage: 'x'.repeat(2 * MIB) })]
    expect(await failureOf(store.enqueue([newTask(1, { log })]))).toMatchObject({ code: 'RECORD_TOO_LARGE' })
    expect(await store.counts()).toMatchObject({ pending: 0 })
  },

  async 'the largest record that is not refused can be stored'(storage) {
    const { store } = opened(storage)
    const fits = (length: number) => newTask(1, { headers: { 'x-note': 'x'.repeat(length) } })
    let [least, most] = [0, 2 * MIB]
    while (most - least > 1) {
      const middle = Math.floor((least + most) / 2)
      if (store.tooLarge(fits(middle))) most = middle
      else least = middle
    }
    expect(least).toBeGreaterThan(1_990_000)
    expect(await store.enqueue([fits(least)])).toMatchObject([{ outcome: 'stored' }])
    expect((await store.get(idOf(1)))?.headers['x-note']).toHaveLength(least)
  },

  async 'S17 a full storage is said to be full, and what was there is there'(storage) {
    await opened(storage).store.enqueue([newTask(1)])
    const { store } = opened(
      overheard(storage, (sql) => {
        if (sql.startsWith('INSERT INTO tasks')) throw new Error('database or disk is full: SQLITE_FULL')
      }),
    )
    expect(await failureOf(store.enqueue([newTask(2)]))).toMatchObject({
      name: 'StorageFullError',
      code: 'STORAGE_FULL',
    })
    expect(await store.counts()).toMatchObject({ pending: 1 })
  },

  async 'an object without SQLite is told so, with what to do'(storage) {
    const without = {
      get sql(): never {
        throw new Error('SQL is not enabled for this Durable Object class')
      },
      transactionSync: <T>(work: () => T) => storage.transactionSync(work),
      sync: () => storage.sync(),
    }
    const { code, message } = await failureOf(durableObjectStore({ storage: without }).enqueue([newTask(1)]))
    expect(code).toBe('STORAGE_UNAVAILABLE')
    expect(message).toContain('SQL is not enabled')
    expect(message).toContain('new_sqlite_classes')
  },

  async 'an option that cannot be right is refused by name'(storage) {
    const wrong: readonly (readonly [object, string])[] = [
      [{}, 'durableObjectStore.storage: expected an object, got undefined'],
      [{ storage: {} }, 'durableObjectStore.storage.transactionSync: expected a function, got undefined'],
      [{ storage, capacity: 0 }, 'durableObjectStore.capacity: expected a whole number from 1 to 1000000, got 0'],
      [{ storage, wrote: 5 }, 'durableObjectStore.wrote: expected a function, got 5'],
      [{ storage, path: 'x' }, 'durableObjectStore.path: no such option'],
    ]
    for (const [options, message] of wrong) {
      expect(() => durableObjectStore(options as DurableObjectStoreOptions)).toThrow(message)
    }
  },
}
