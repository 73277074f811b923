/** What a browser does to a connection, and what its user is told of it: nothing, or an error that says what to do. */
import { forceCloseDatabase } from 'fake-indexeddb'
import { afterEach, describe, expect, vi } from 'vitest'
import type { RedriveError } from '../../../js/api/errors.ts'
import { StorageFullError } from '../../../js/api/task-errors.ts'
import { done } from '../../../js/stores/indexeddb/transact.ts'
import { eventually } from '../eventually.ts'
import { testIn } from '../test-in.ts'
import { earlyFailure, engineAborts, error, failingRequest, fails, get, notes, put, setup } from './faulty.ts'

const test = testIn(setup)

const forceClose = forceCloseDatabase as unknown as (database: IDBDatabase) => void

afterEach(() => {
  vi.unstubAllGlobals()
})

describe('a transaction', () => {
  test('what was written is read, by another connection too', async ({ connection, factory }) => {
    expect(await connection.write('strict', put('here'))).toBe('here')
    expect(await setup(notes, factory).connection.read(get)).toBe('here')
    expect(await connection.read(async (tx) => tx.mode)).toBe('readonly')
  })

  test('resolves once it is complete, and not before', async ({ connection }) => {
    const order: string[] = []
    await connection.write('strict', async (tx) => {
      tx.addEventListener('complete', () => order.push('complete'))
      order.push(await put('here')(tx))
    })
    order.push('resolved')
    expect(order).toEqual(['here', 'complete', 'resolved'])
  })

  test('has the durability that is wanted, and is over all stores', async ({ connection }) => {
    const seen: unknown[] = []
    await connection.write('relaxed', async (tx) => {
      seen.push(tx.mode, tx.durability, [...tx.objectStoreNames])
    })
    expect(seen).toEqual(['readwrite', 'relaxed', ['notes']])
  })

  const engines = {
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36': 1,
    'Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0': 0,
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Safari/605.1.15': 0,
  }
  test.each(Object.entries(engines))(
    'is told to commit only where that keeps it whole: %s',
    async (userAgent, times) => {
      vi.stubGlobal('navigator', { userAgent })
      const { connection } = setup()
      const spies: unknown[] = []
      await connection.write('relaxed', async (tx) => {
        spies.push(vi.spyOn(tx, 'commit'))
      })
      expect(spies[0]).toHaveBeenCalledTimes(times)
    },
  )

  test('is complete also where the engine has no commit()', async ({ connection }) => {
    const written = connection.write('strict', (tx) => {
      vi.stubGlobal('navigator', { userAgent: 'Chrome/70.0.0.0' })
      Object.defineProperty(tx, 'commit', { value: undefined })
      return put('here')(tx)
    })
    expect(await written).toBe('here')
  })

  test.each([new TypeError('a mistake of ours'), error('AbortError'), undefined])(
    'an exception of the work undoes it and is thrown on as it is, and nothing runs again: %s',
    async (mistake) => {
      const { connection } = setup()
      const work = vi.fn(async (tx: IDBTransaction) => {
        await put('half')(tx)
        throw mistake
      })
      const outcome = await connection.write('strict', work).then(
        () => 'resolved',
        (thrown: unknown) => ({ thrown }),
      )
      expect(outcome).toEqual({ thrown: mistake })
      expect(work).toHaveBeenCalledTimes(1)
      expect(await connection.read(get)).toBeUndefined()
    },
  )

  test('an exception of work that has outlived its transaction is thrown on too', async ({ connection }) => {
    const work = vi.fn(async (tx: IDBTransaction) => {
      await new Promise((resolve) => tx.addEventListener('complete', resolve))
      tx.objectStore('notes')
    })
    await expect(connection.write('strict', work)).rejects.toMatchObject({ name: 'InvalidStateError' })
    expect(work).toHaveBeenCalledTimes(1)
  })

  test('says while it writes that it does, from the call on', async ({ connection }) => {
    expect(connection.isWriting).toBe(false)
    const written = connection.write('strict', put('here'))
    expect(connection.isWriting).toBe(true)
    await written
    expect(connection.isWriting).toBe(false)
    const read = connection.read(get)
    expect(connection.isWriting).toBe(false)
    await read
    await expect(connection.write('strict', () => Promise.reject(new TypeError('ours')))).rejects.toThrow('ours')
    expect(connection.isWriting).toBe(false)
  })

  test('a request that nobody awaits and that fails is no unhandled rejection', async ({ connection }) => {
    const written = connection.write('strict', async (tx) => {
      done(failingRequest(tx, error('QuotaExceededError')))
    })
    await expect(written).rejects.toBeInstanceOf(StorageFullError)
  })
})

describe('a connection', () => {
  test('is opened by the first call, once for all that come meanwhile', async ({ connection, opens }) => {
    expect(opens()).toBe(0)
    await Promise.all([connection.write('strict', put('here')), connection.read(get), connection.read(get)])
    await connection.read(get)
    expect(opens()).toBe(1)
  })

  test('is opened again by the next call after close()', async ({ connection, opens }) => {
    const database = await connection.write('strict', async (tx) => tx.db)
    connection.close()
    expect(() => database.transaction('notes')).toThrow(DOMException)
    await connection.write('strict', put('here'))
    database.onclose?.(new Event('close')) // of the one before: it has no say any more
    expect(await connection.read(get)).toBe('here')
    expect(opens()).toBe(2)
  })

  test('that was closed while it was opened is not left open', async ({ connection, factory, opens }) => {
    const read = connection.read(get)
    connection.close()
    expect(await read).toBeUndefined() // it opened another for itself
    connection.close()
    await done(factory.deleteDatabase('test')) // hangs where one is open
    expect(opens()).toBe(2)
  })

  test('gives way at once to a newer layout, then says so and deletes nothing', async ({ connection, factory }) => {
    await connection.write('strict', put('old'))
    const newer = await done(factory.open('test', 2))
    await expect(connection.read(get)).rejects.toEqual(fails('STORAGE_NEWER', "'test'", 'later version', 'reload'))
    expect(await done(newer.transaction('notes').objectStore('notes').get('note'))).toBe('old')
    newer.close()
  })

  test('gives way to a deletion, and the next call makes the database anew', async ({ connection, factory }) => {
    await connection.write('strict', put('old'))
    const transaction = vi.spyOn(await connection.read(async (tx) => tx.db), 'transaction')
    await done(factory.deleteDatabase('test'))
    expect(await connection.read(get)).toBeUndefined()
    expect(transaction).not.toHaveBeenCalled()
  })

  test('that the browser closes is opened again by the next call', async ({ connection, opens }) => {
    const database = await connection.write('strict', async (tx) => tx.db)
    const closed = vi.fn()
    database.addEventListener('close', closed)
    forceClose(database)
    await eventually(() => closed.mock.calls.length).toBe(1)
    const transaction = vi.spyOn(database, 'transaction')
    expect(await connection.read(get)).toBeUndefined()
    expect(transaction).not.toHaveBeenCalled()
    expect(opens()).toBe(2)
  })
})

/** A request that hears only of the abort. */
function abortedUnder(tx: IDBTransaction, name: string): Promise<unknown> {
  const request = done(tx.objectStore('notes').get('note'))
  engineAborts(tx, name)
  return request
}

describe('a connection that is lost', () => {
  const lost: readonly [string, (tx: IDBTransaction) => Promise<unknown>][] = [
    ['a request fails with UnknownError', (tx) => done(failingRequest(tx, error('UnknownError')))],
    ['a request fails, which is heard before the engine aborts', () => done(earlyFailure(error('UnknownError')))],
    ['a request fails with InvalidStateError', (tx) => done(failingRequest(tx, error('InvalidStateError')))],
    ['the transaction is aborted under a request', (tx) => abortedUnder(tx, 'AbortError')],
    [
      'the transaction is aborted between requests',
      async (tx) => {
        engineAborts(tx, 'UnknownError')
        tx.objectStore('notes')
      },
    ],
    ['the transaction is aborted after the last request', async (tx) => engineAborts(tx, 'UnknownError')],
  ]

  test.each(lost)('%s: it is opened again and all of the work runs again', async (_, lose) => {
    const { connection, opens } = setup()
    let runs = 0
    const written = await connection.write('strict', async (tx) => {
      runs++
      await put(`run ${runs}`)(tx)
      if (runs < 3) await lose(tx)
      return runs
    })
    expect(written).toBe(3)
    expect(opens()).toBe(3)
    expect(await connection.read(get)).toBe('run 3')
  })

  test.each(lost)('%s, three times: STORAGE_UNAVAILABLE with its cause', async (_, lose) => {
    const { connection, opens } = setup()
    const work = vi.fn((tx: IDBTransaction) => lose(tx))
    const failure = await connection.write('strict', work).catch((thrown: RedriveError) => thrown)
    expect(failure).toEqual(fails('STORAGE_UNAVAILABLE', "'test'", '3 times', 'reload'))
    expect((failure as RedriveError).cause).toBeInstanceOf(DOMException)
    expect(work).toHaveBeenCalledTimes(3)
    expect(opens()).toBe(3)
  })

  test('transaction() throws InvalidStateError: it is opened again, at most twice', async () => {
    const { connection, starting, opens } = setup()
    const closing = (): never => {
      throw error('InvalidStateError')
    }
    starting.push(closing, closing)
    expect(await connection.write('strict', put('here'))).toBe('here')
    expect(opens()).toBe(3)
    starting.push(closing, closing, closing)
    await expect(connection.read(get)).rejects.toEqual(fails('STORAGE_UNAVAILABLE'))
    expect(await connection.read(get)).toBe('here')
  })

  test('others that use it end as they would have', async ({ connection, opens }) => {
    await connection.write('strict', put('here'))
    let runs = 0
    const [value] = await Promise.all([
      connection.read(get),
      connection.read(async (tx) => {
        if (runs++ === 0) await done(failingRequest(tx, error('UnknownError')))
      }),
    ])
    expect(value).toBe('here')
    expect(opens()).toBe(2)
  })

  test('one that is found out late does not take the new one along', async ({ connection, opens }) => {
    let isReopened = false
    let runs = 0
    const late = connection.read(async (tx) => {
      if (runs++ > 0) return
      while (!isReopened) await get(tx)
      await done(failingRequest(tx, error('UnknownError')))
    })
    let losses = 0
    await connection.read(async (tx) => {
      if (losses++ === 0) await done(failingRequest(tx, error('UnknownError')))
    })
    isReopened = true
    await late
    expect([runs, opens()]).toEqual([2, 2])
  })

  test('what the storage refuses otherwise is not tried again', async ({ connection, opens }) => {
    const work = vi.fn((tx: IDBTransaction) => done(failingRequest(tx, error('NotReadableError'))))
    await expect(connection.read(work)).rejects.toEqual(fails('STORAGE_UNAVAILABLE', 'NotReadableError'))
    expect(work).toHaveBeenCalledTimes(1)
    expect(opens()).toBe(1)
  })
})

describe('a full quota', () => {
  class QuotaExceededError extends DOMException {
    readonly quota = 1
    constructor() {
      super('no room', 'QuotaExceededError')
    }
  }

  test.each([
    ['on the commit', async (tx: IDBTransaction) => engineAborts(tx, 'QuotaExceededError')],
    ['on a request', (tx: IDBTransaction) => done(failingRequest(tx, error('QuotaExceededError')))],
    ['of the newer class', (tx: IDBTransaction) => done(failingRequest(tx, new QuotaExceededError()))],
    ['under a request', (tx: IDBTransaction) => abortedUnder(tx, 'QuotaExceededError')],
  ])('%s is a StorageFullError with its cause, at once; the connection stays', async (_, work) => {
    const { connection, opens } = setup()
    const tries = vi.fn(work)
    const failure = await connection.write('strict', tries).catch((thrown: StorageFullError) => thrown)
    expect(failure).toBeInstanceOf(StorageFullError)
    expect(failure).toEqual(fails('STORAGE_FULL', "'test'", 'delete .* or lower'))
    expect((failure as StorageFullError).cause).toMatchObject({ name: 'QuotaExceededError' })
    expect(tries).toHaveBeenCalledTimes(1)
    expect(await connection.write('strict', put('small'))).toBe('small')
    expect(opens()).toBe(1)
  })

  test('while the database is made is one too', async () => {
    const { connection } = setup({
      version: 1,
      upgrade(database, tx) {
        database.createObjectStore('notes')
        engineAborts(tx, 'QuotaExceededError')
      },
    })
    await expect(connection.read(get)).rejects.toBeInstanceOf(StorageFullError)
  })
})
