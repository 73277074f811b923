/** A database that cannot be opened, and a browser that does not answer: in the end somebody always says why. */
import { IDBFactory } from 'fake-indexeddb'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { RedriveError } from '../../../js/api/errors.ts'
import { Connection } from '../../../js/stores/indexeddb/connection.ts'
import { done } from '../../../js/stores/indexeddb/transact.ts'
import { closesSilently, error, failedOpen, fails, get, notes, put, setup, stubborn } from './faulty.ts'

describe('a browser that does not let the database be opened', () => {
  test('no IndexedDB at all', async () => {
    const connection = new Connection({ name: 'test', layout: notes, stores: ['notes'] })
    await expect(connection.read(get)).rejects.toEqual(
      fails('STORAGE_UNAVAILABLE', 'no IndexedDB here', 'allow site data', 'another store'),
    )
  })

  test('IndexedDB is looked up at each open, and reading it may throw', async () => {
    const connection = new Connection({ name: 'test', layout: notes, stores: ['notes'] })
    const getter = vi.fn(() => {
      throw error('SecurityError')
    })
    Object.defineProperty(globalThis, 'indexedDB', { get: getter, configurable: true })
    try {
      const failure = await connection.read(get).catch((thrown: RedriveError) => thrown)
      expect(failure).toEqual(fails('STORAGE_UNAVAILABLE', 'allow site data'))
      expect((failure as RedriveError).cause).toMatchObject({ name: 'SecurityError' })
      Object.defineProperty(globalThis, 'indexedDB', { value: new IDBFactory(), configurable: true })
      expect(await connection.read(get)).toBeUndefined()
    } finally {
      Reflect.deleteProperty(globalThis, 'indexedDB')
    }
  })

  test.each(['SecurityError', 'InvalidStateError', 'TypeError'])('open() throws %s', async (name) => {
    const { connection, opening, opens } = setup()
    opening.push(() => {
      throw error(name)
    })
    const failure = await connection.read(get).catch((thrown: RedriveError) => thrown)
    expect(failure).toEqual(fails('STORAGE_UNAVAILABLE', "'test'"))
    expect((failure as RedriveError).cause).toMatchObject({ name })
    expect(opens()).toBe(1)
    expect(await connection.read(get)).toBeUndefined()
  })

  test('an open that fails as storage processes do that end is tried again, at most twice', async () => {
    const { connection, opening, opens } = setup()
    opening.push(
      () => failedOpen(error('UnknownError')),
      () => failedOpen(error('AbortError')),
    )
    expect(await connection.read(get)).toBeUndefined()
    expect(opens()).toBe(3)
  })

  test.each([
    ['Chromium where site data is blocked', 'UnknownError', 'The user denied permission to access the database.'],
    ['Chromium whose files of it are damaged', 'UnknownError', 'Internal error opening backing store.'],
    ['Firefox in an earlier private window', 'InvalidStateError', 'A mutation operation was attempted on a database.'],
  ])('an open that fails again and again says to allow site data: %s', async (_, name, message) => {
    const { connection, opening } = setup()
    for (let i = 0; i < 3; i++) opening.push(() => failedOpen(new DOMException(message, name)))
    const failure = await connection.read(get).catch((thrown: RedriveError) => thrown)
    expect(failure).toEqual(fails('STORAGE_UNAVAILABLE', '3 times', message, 'allow site data'))
    expect((failure as RedriveError).message).not.toContain('reload')
    expect(await connection.read(get)).toBeUndefined()
  })

  test('an exception while the database is made is thrown on, and leaves none', async () => {
    const mistake = new TypeError('a mistake of ours')
    const { connection, factory } = setup({
      version: 1,
      upgrade() {
        throw mistake
      },
    })
    await expect(connection.read(get)).rejects.toBe(mistake)
    expect(await factory.databases()).toEqual([])
  })

  test('a database of this name that something else has made', async () => {
    const { connection } = setup({ version: 1, upgrade: (database) => void database.createObjectStore('others') })
    await expect(connection.read(get)).rejects.toEqual(fails('STORAGE_UNAVAILABLE', 'something else', 'another name'))
  })
})

describe('S18 nobody hangs', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  })
  afterEach(() => {
    expect(vi.getTimerCount()).toBe(0)
    vi.useRealTimers()
  })
  /** What the fake's events need, whose timers are real. */
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await new Promise((resolve) => setImmediate(resolve))
  }
  const outcome = (work: Promise<unknown>): { value?: unknown } => {
    const seen: { value?: unknown } = {}
    work.then(
      (value) => Object.assign(seen, { value }),
      (value: unknown) => Object.assign(seen, { value }),
    )
    return seen
  }

  const upgraded = { version: 2, upgrade: () => {} }

  test('an open that another tab blocks is given up after 3 s and says who; it is kept when it comes after all', async () => {
    const factory = new IDBFactory()
    const older = await stubborn(factory, 1)
    const { connection, opens } = setup(upgraded, factory)
    const blocked = vi.fn()
    older.onversionchange = blocked
    const seen = outcome(connection.read(get))
    await until(() => blocked.mock.calls.length > 0)
    for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve))
    await vi.advanceTimersByTimeAsync(2_999)
    expect(seen).toEqual({})
    await vi.advanceTimersByTimeAsync(1)
    expect(seen.value).toEqual(fails('STORAGE_UNAVAILABLE', 'another tab', 'earlier version', 'close or reload'))
    // while it still hangs nobody waits for it anew
    await expect(connection.read(get)).rejects.toBe(seen.value)
    older.close()
    const opened = vi.fn()
    const waiting = async () => {
      await connection.read(get).then(opened, () => {})
    }
    while (opened.mock.calls.length === 0)
      await Promise.all([waiting(), new Promise((resolve) => setImmediate(resolve))])
    expect(opens()).toBe(1)
  })

  test('an open that never answers is given up after 3 s, and no second one is sent after it', async () => {
    const { connection, opening, opens } = setup()
    opening.push(() => ({}) as IDBOpenDBRequest)
    const seen = [outcome(connection.read(get)), outcome(connection.write('strict', put('here')))]
    await vi.advanceTimersByTimeAsync(3_000)
    for (const { value } of seen) expect(value).toEqual(fails('STORAGE_UNAVAILABLE', '3 s', 'restart the browser'))
    connection.close()
    const again = outcome(connection.read(get))
    await vi.advanceTimersByTimeAsync(3_000)
    expect(again.value).toEqual(fails('STORAGE_UNAVAILABLE'))
    expect(opens()).toBe(1)
  })

  test('an open that comes when nobody wants it any more is closed', async () => {
    const factory = new IDBFactory()
    const older = await stubborn(factory, 1)
    const { connection } = setup(upgraded, factory)
    const seen = outcome(connection.read(get))
    await vi.advanceTimersByTimeAsync(3_000)
    expect(seen.value).toEqual(fails('STORAGE_UNAVAILABLE'))
    connection.close()
    older.close()
    let isDeleted = false
    done(factory.deleteDatabase('test')).then(() => {
      isDeleted = true
    })
    await until(() => isDeleted) // hangs where it is open
  })

  /** A transaction that others wait for. */
  async function holdUp(database: IDBDatabase): Promise<() => void> {
    const store = database.transaction('notes', 'readwrite').objectStore('notes')
    let isHeld = true
    const again = (): void => {
      if (isHeld) store.get('note').onsuccess = again
    }
    again()
    return () => {
      isHeld = false
    }
  }

  test('a transaction that hears nothing for 10 s is aborted and counts as lost', async () => {
    const { connection, factory, opens } = setup()
    await connection.read(get)
    const letGo = await holdUp(await stubborn(factory, 1))
    const aborted = vi.fn()
    const work = vi.fn((tx: IDBTransaction) => {
      tx.addEventListener('abort', aborted)
      return put('late')(tx)
    })
    const seen = outcome(connection.write('strict', work))
    await vi.advanceTimersByTimeAsync(9_999)
    expect([opens(), work.mock.calls.length]).toEqual([1, 1])
    await vi.advanceTimersByTimeAsync(1)
    await until(() => work.mock.calls.length === 2)
    expect(opens()).toBe(2)
    letGo()
    await until(() => 'value' in seen)
    expect(seen.value).toBe('late')
    expect(aborted).toHaveBeenCalledTimes(1)
  })

  test('a transaction whose connection the browser closes is lost at once, although nothing more is heard of it', async () => {
    const { connection, factory, opens } = setup()
    const database = await connection.read(async (tx) => tx.db)
    const letGo = await holdUp(await stubborn(factory, 1))
    const work = vi.fn(put('after all'))
    const seen = outcome(connection.write('strict', work))
    await until(() => work.mock.calls.length === 1)
    closesSilently(database)
    await until(() => work.mock.calls.length === 2)
    expect(opens()).toBe(2)
    letGo()
    await until(() => 'value' in seen)
    expect(seen.value).toBe('after all')
  })

  test('one that gets answers may take as long as it needs', async () => {
    const { connection } = setup()
    await connection.read(get)
    let isLong = true
    const work = vi.fn(async (tx: IDBTransaction) => {
      while (isLong) await get(tx)
      return 'done'
    })
    const seen = outcome(connection.read(work))
    for (let waits = 0; waits < 5; waits++) {
      await vi.advanceTimersByTimeAsync(10_000)
      for (let tasks = 0; tasks < 5; tasks++) await new Promise((resolve) => setImmediate(resolve))
    }
    isLong = false
    await until(() => 'value' in seen)
    expect(seen.value).toBe('done')
    expect(work).toHaveBeenCalledTimes(1)
  })

  test('nor does work that waits for something that never comes', async () => {
    const { connection } = setup()
    const work = vi.fn(() => new Promise<never>(() => {}))
    const seen = outcome(connection.write('strict', work))
    for (const runs of [1, 2, 3]) {
      await until(() => work.mock.calls.length === runs)
      await vi.advanceTimersByTimeAsync(10_000)
    }
    await until(() => 'value' in seen)
    expect(seen.value).toEqual(fails('STORAGE_UNAVAILABLE', '3 times'))
    expect((seen.value as RedriveError).cause).toMatchObject({ name: 'TimeoutError' })
  })

  test('a page that was frozen meanwhile takes its transaction for lost only after another 10 s', async () => {
    let now = 0
    let wake = (): void => {}
    const timer = {
      now: () => now,
      monotonic: () => now,
      after: (_: number, then: () => void) => {
        wake = then
        return () => {}
      },
    }
    const factory = new IDBFactory()
    const connection = new Connection({ name: 'test', layout: notes, stores: ['notes'], factory, timer })
    await connection.read(get)
    const letGo = await holdUp(await stubborn(factory, 1))
    const work = vi.fn(put('here'))
    const seen = outcome(connection.write('strict', work))
    await until(() => work.mock.calls.length === 1)
    now += 3_600_000
    wake()
    letGo()
    await until(() => 'value' in seen)
    expect(seen.value).toBe('here')
    expect(work).toHaveBeenCalledTimes(1)

    const letGoAgain = await holdUp(await stubborn(factory, 1))
    const hanging = vi.fn(put('there'))
    const late = outcome(connection.write('strict', hanging))
    await until(() => hanging.mock.calls.length === 1)
    for (let times = 0; times < 2; times++) {
      now += 3_600_000
      wake()
    }
    await until(() => hanging.mock.calls.length === 2)
    letGoAgain()
    await until(() => 'value' in late)
    connection.close()
  })
})
