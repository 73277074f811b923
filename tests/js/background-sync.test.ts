/** What a page asks of the browser, and what a service worker answers, with the browser's side played by the test. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { registerBackgroundSync } from '../../js/background-sync.ts'
import { RetryQueue } from '../../js/index.ts'
import { opened, withMethods, world } from './durable-setup.ts'
import { closeNow, ORDERS } from './setup.ts'

const TAG = 'redrive/default'
const post = (body: string, redrive = {}) => ({ method: 'POST', body, redrive })

/** The globals of a page or a service worker of a browser with Background Sync. */
function browser(kind: 'page' | 'worker', refuse?: Error) {
  const asked: string[] = []
  const listeners = new Set<(event: Event) => void>()
  const register = async (tag: string) => {
    if (refuse) throw refuse
    asked.push(tag)
  }
  const registration = { sync: { register } }
  vi.stubGlobal('SyncManager', class {})
  vi.stubGlobal('navigator', { onLine: true, serviceWorker: { ready: Promise.resolve(registration) } })
  vi.stubGlobal('requestIdleCallback', (work: () => void) => queueMicrotask(work))
  vi.stubGlobal('cancelIdleCallback', () => {})
  vi.stubGlobal('addEventListener', (type: string, listener: (event: Event) => void) => {
    if (type === 'sync') listeners.add(listener)
  })
  vi.stubGlobal('removeEventListener', (_: string, listener: (event: Event) => void) => listeners.delete(listener))
  if (kind === 'worker') {
    vi.stubGlobal('ServiceWorkerGlobalScope', class {})
    vi.stubGlobal('registration', registration)
  }
  onTestFinished(() => {
    vi.unstubAllGlobals()
  })
  /** What the browser does when there is a network; tells how the sync ended, once it has. */
  const sync = (tag: string, { lastChance = false } = {}) => {
    const how = { answered: 0, ended: 'not yet' }
    const waitUntil = (work: Promise<unknown>) => {
      how.answered++
      work.then(
        () => {
          how.ended = 'well'
        },
        (error) => {
          how.ended = `${error.code}: ${error.message}`
        },
      )
    }
    for (const listener of listeners) listener({ tag, lastChance, waitUntil } as unknown as Event)
    return how
  }
  return { asked, listeners, sync }
}

describe('in a page', () => {
  test('many tasks at once ask for one sync', async () => {
    const { clock, server, open } = world()
    const { asked } = browser('page')
    const { queue } = await open()
    registerBackgroundSync(queue)
    await clock.settle()
    expect(asked).toEqual([])
    for (let i = 0; i < 50; i++) server.reply(503)
    await Promise.all(Array.from({ length: 50 }, (_, i) => queue.enqueue(ORDERS, post(`${i}`))))
    await clock.settle()
    expect(asked).toEqual([TAG])
  })

  test('a failed call asks, and its retries ask again once a minute at most', async () => {
    const { clock, server, open, hitsAfter } = world()
    const { asked } = browser('page')
    const { queue } = await open({
      policy: { maxAttempts: 100, strategy: 'fixed', initialDelayMs: 10_000, totalBudgetMs: 600_000 },
    })
    registerBackgroundSync(queue)
    for (let i = 0; i < 20; i++) server.reply(503)
    const deferred = queue.fetch(ORDERS, post('one', { mode: 'defer' }))
    await clock.settle()
    expect((await deferred).status).toBe(202)
    expect(asked).toEqual([TAG])
    expect(await hitsAfter(59_000)).toBe(6)
    expect(asked).toEqual([TAG])
    await clock.advance(61_000)
    expect(asked).toEqual([TAG, TAG, TAG])
  })

  test('what an earlier page has left asks as soon as the page has time', async () => {
    const { clock, server, open, close } = world()
    const earlier = await open()
    server.reply(503)
    await earlier.queue.enqueue(ORDERS, post('left'))
    await clock.settle()
    await close(earlier)
    const { asked } = browser('page')
    const { queue } = await open()
    registerBackgroundSync(queue)
    await clock.settle()
    expect(asked).toEqual([TAG])
  })

  test('nothing is asked any more once it was taken back', async () => {
    const { clock, server, open } = world()
    const { asked } = browser('page')
    const { queue } = await open()
    const undo = registerBackgroundSync(queue)
    if (!undo) throw new Error('it was not registered')
    undo()
    server.reply(503)
    await queue.enqueue(ORDERS, post('quiet'))
    await clock.settle()
    expect(asked).toEqual([])
  })

  test('a browser that refuses is told of once, and the page sends by itself', async () => {
    const { clock, server, open } = world()
    browser('page', new DOMException('Permission denied.', 'NotAllowedError'))
    const { queue, events } = await open()
    registerBackgroundSync(queue)
    for (let i = 0; i < 2; i++) {
      server.reply(503).reply(200)
      const { taskId } = await queue.enqueue(ORDERS, post(`${i}`))
      await clock.advance(1_000)
      expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
    }
    const [refused, ...more] = events.of('degraded')
    expect(refused).toMatchObject({ code: 'sync_refused', message: expect.stringContaining('Permission denied.') })
    expect(refused?.message).toContain('the next page that is open')
    expect(more).toEqual([])
  })

  test('says false where there is nothing to do', async () => {
    const { queue } = await opened()
    expect(registerBackgroundSync(queue)).toBe(false) // Node, Firefox, Safari
    browser('page')
    expect(registerBackgroundSync(new RetryQueue({ preload: 'never', durable: false }))).toBe(false)
    expect(registerBackgroundSync(queue)).toBeTypeOf('function')
    vi.stubGlobal('navigator', { onLine: true }) // Chromium without TLS
    expect(registerBackgroundSync(queue)).toBe(false)
    expect(registerBackgroundSync(queue, { registration: { scope: '/', update: async () => {} } })).not.toBe(false)
  })

  test.each([
    [{ drainMs: 999 }, 'registerBackgroundSync.drainMs: expected a whole number from 1000 to 300000, got 999'],
    [{ registration: null }, 'registerBackgroundSync.registration: expected an object, got null'],
    [{ tag: 'x' }, 'registerBackgroundSync.tag: no such option; there are registration, drainMs'],
  ])('a wrong option is named: %o', async (options, message) => {
    const { queue } = await world().open()
    expect(() => registerBackgroundSync(queue, options as never)).toThrow(message)
  })
})

describe('in a service worker', () => {
  /** A store with what a page has left behind, and a worker that has not looked yet. */
  async function left(tasks: readonly { readonly body: string; readonly principal?: string | null }[]) {
    const made = world()
    const { clock, server, open, close } = made
    for (const { body, principal = null } of tasks) {
      const page = await open({ principal })
      server.reply(503)
      await page.queue.enqueue(ORDERS, post(body))
      await clock.settle()
      await close(page)
    }
    const { sync, asked, listeners } = browser('worker')
    const worker = async (options = {}, sync = {}) => {
      const { queue } = await open(options)
      const undo = registerBackgroundSync(queue, sync)
      return { queue, undo }
    }
    const hits = server.hits
    return { ...made, sync, asked, listeners, worker, hitsSince: () => server.hits - hits }
  }

  test('a sync sends what waits, waits for what is due soon, and ends well', async () => {
    const { clock, server, sync, worker, hitsSince } = await left([{ body: 'a' }, { body: 'b' }])
    const { queue } = await worker()
    server.reply(200).reply(503).reply(200)
    const how = sync(TAG)
    await clock.advance(900)
    expect(hitsSince()).toBe(0)
    while (how.ended === 'not yet') await clock.advance(50)
    expect(hitsSince()).toBe(3)
    expect(how).toEqual({ answered: 1, ended: 'well' })
    expect(queue.stats().depth).toBe(0)
    expect(clock.timers).toBe(0)
  })

  test('a sync of another queue is not answered', async () => {
    const { clock, sync, worker } = await left([{ body: 'a' }])
    await worker()
    expect(sync('redrive/other')).toEqual({ answered: 0, ended: 'not yet' })
    expect(sync('workbox-background-sync:default').answered).toBe(0)
    await clock.settle()
  })

  test('what is due later than the sync lasts is handed back at once', async () => {
    const { clock, server, store, sync, worker } = await left([{ body: 'a' }])
    await worker({}, { drainMs: 60_000 })
    server.reply(503, { 'retry-after': '90' })
    const how = sync(TAG)
    await clock.advance(5_000)
    expect(how.ended).toMatch(/^SYNC_UNFINISHED: not every task of 'default' could be sent/)
    expect(await store.counts()).toMatchObject({ pending: 1, exhausted: 0 })
  })

  test('what takes longer than the sync lasts is handed back when it is over', async () => {
    const { clock, server, sync, worker } = await left([{ body: 'a' }])
    await worker({}, { drainMs: 5_000 })
    server.hang()
    const how = sync(TAG)
    await clock.advance(4_900)
    expect(how.ended).toBe('not yet')
    await clock.advance(1_100)
    expect(how.ended).toMatch(/^SYNC_UNFINISHED/)
  })

  test('the last chance ends no task, and ends well', async () => {
    const { clock, server, store, sync, worker } = await left([{ body: 'a' }])
    const { queue } = await worker({}, { drainMs: 60_000 })
    server.reply(503, { 'retry-after': '90' })
    const how = sync(TAG, { lastChance: true })
    await clock.advance(5_000)
    expect(how.ended).toBe('well')
    expect(await store.counts()).toMatchObject({ pending: 1, exhausted: 0, cancelled: 0 })
    expect(await queue.deadLetters.list()).toEqual({ tasks: [] })
  })

  test('S16 tasks of somebody else are neither sent nor waited for', async () => {
    const { clock, server, store, sync, worker, hitsSince } = await left([
      { body: 'ann', principal: 'ann' },
      { body: 'ben', principal: 'ben' },
    ])
    await worker({ principal: 'ben' })
    server.reply(200)
    const how = sync(TAG)
    await clock.advance(10_000)
    expect(hitsSince()).toBe(1)
    expect(server.requests.at(-1)?.body).toBe('ben')
    expect(how.ended).toBe('well')
    expect(await store.counts()).toMatchObject({ pending: 1 })
  })

  test('where the store cannot be opened the sync fails with the reason: nobody has looked what waits', async () => {
    const { clock, server, store, sync } = await left([{ body: 'a' }])
    const refused = () => Promise.reject(new Error('disk gone'))
    const broken = withMethods(store, { unpark: refused })
    const queue = new RetryQueue({ clock, fetch: server.fetch, store: broken, preload: 'never' })
    onTestFinished(() => closeNow(queue, clock))
    registerBackgroundSync(queue)
    const how = sync(TAG)
    await clock.advance(1_000)
    expect(how.ended).toMatch(/^SYNC_UNFINISHED: the store cannot be opened \(.*disk gone/)
  })

  test.for(['unpark', 'turn'] as const)(
    'once the store is back, after a fault of its %s, a sync ends well again',
    async (name) => {
      const { clock, server, store, sync } = await left([{ body: 'a' }])
      let isBroken = name === 'unpark'
      const broken = withMethods(store, {
        [name]: async (given: never) => {
          if (isBroken) throw new Error('disk gone')
          return store[name](given)
        },
      })
      const queue = new RetryQueue({ clock, fetch: server.fetch, store: broken, preload: 'never' })
      onTestFinished(() => closeNow(queue, clock))
      registerBackgroundSync(queue, { drainMs: 20_000 })
      server.reply(503, { 'retry-after': '60' }).reply(200)
      if (name === 'turn') sync(TAG)
      await clock.advance(10_000)
      isBroken = true
      for (let i = 0; i < 2; i++) {
        const failed = sync(TAG)
        await clock.advance(30_000)
        expect(failed.ended).toMatch(name === 'turn' ? /^SYNC_UNFINISHED/ : /^SYNC_UNFINISHED: the store .*disk gone/)
      }
      isBroken = false
      await clock.advance(120_000)
      const how = sync(TAG)
      await clock.advance(5_000)
      expect(how.ended).toBe('well')
      expect(await store.counts()).toMatchObject({ pending: 0, succeeded: 1 })
    },
  )

  test('what it queues itself asks for a sync, but not while one is under way', async () => {
    const { clock, server, asked, sync, worker } = await left([{ body: 'a' }])
    const { queue } = await worker({ policy: { initialDelayMs: 2_000 } })
    server.reply(503).reply(200).reply(200)
    sync(TAG)
    await clock.advance(1_500)
    await queue.enqueue(ORDERS, post('meanwhile'))
    await clock.settle()
    expect(asked).toEqual([])
    await clock.advance(10_000)
    server.reply(503).reply(200)
    await queue.enqueue(ORDERS, post('own'))
    await clock.advance(10_000)
    expect(asked).toEqual([TAG])
  })

  test('taken back, it answers no more', async () => {
    const { listeners, worker } = await left([])
    const { undo } = await worker()
    expect(listeners.size).toBe(1)
    if (undo) undo()
    expect(listeners.size).toBe(0)
  })
})
