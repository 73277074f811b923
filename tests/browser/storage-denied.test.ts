/** S18: IndexedDB that is denied, blocked, or never answers. Calls go on as fetch would, retried from memory. */
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../js/eventually.ts'
import { launch } from './chromium.ts'
import { labOrigin, openLab } from './lab.ts'
import { listenDuringTests } from './origins.ts'
import { answersOfAServer, callAll, expectServedFromMemory, WITHIN_MS } from './storage-faults.ts'

const DATABASE = 'redrive-default'

let browser: Browser
const origin = labOrigin({
  '/sandbox.html': () => '<!doctype html><iframe sandbox="allow-scripts" src="/pages/lab.html"></iframe>',
})
listenDuringTests(origin)
beforeAll(async () => {
  browser = await launch()
})
beforeEach(() => {
  origin.reset()
  answersOfAServer(origin)
})
afterAll(() => browser?.close())

async function device(): Promise<BrowserContext> {
  const context = await browser.newContext()
  onTestFinished(() => context.close())
  return context
}

const faults: Readonly<Record<string, { readonly advice: RegExp; readonly install: () => void }>> = {
  'reading `indexedDB` throws, as where cookies are blocked': {
    advice: /allow site data/,
    install: () => {
      const get = () => {
        throw new DOMException('Access is denied for this document.', 'SecurityError')
      }
      Object.defineProperty(globalThis, 'indexedDB', { get })
    },
  },
  '`open` throws': {
    advice: /allow site data/,
    install: () => {
      IDBFactory.prototype.open = () => {
        throw new DOMException('access to the Indexed Database API is denied', 'SecurityError')
      }
    },
  },
  'there is none': {
    advice: /no IndexedDB/,
    install: () => {
      Object.defineProperty(globalThis, 'indexedDB', { value: undefined })
    },
  },
  '`open` never answers': {
    advice: /has not opened it/,
    install: () => {
      IDBFactory.prototype.open = () => new EventTarget() as IDBOpenDBRequest
    },
  },
  'every connection is lost at once': {
    advice: /lost.*reload the page/,
    install: () => {
      IDBDatabase.prototype.transaction = () => {
        throw new DOMException('The database connection is closing.', 'InvalidStateError')
      }
    },
  },
}

test.each(Object.entries(faults))('S18 %s: served from memory, and told once', async (_, { advice, install }) => {
  const page = await openLab(await device(), origin, install)
  await expectServedFromMemory(page, await callAll(page, `${origin.url}/api`), advice)
})

test('S18 a frame in a sandbox, without an origin of its own: the same', async () => {
  const context = await device()
  const page = await context.newPage()
  await page.goto(`${origin.url}/sandbox.html`)
  const [frame] = page.frames().filter((each) => each !== page.mainFrame())
  if (!frame) throw new Error('the page has no frame')
  await frame.waitForFunction(() => globalThis.lab !== undefined)
  // to such a frame every server is another origin
  await frame.evaluate((url) => {
    lab.open({ durable: true, allowMemory: true, principal: 'ann', idempotency: { origins: [url] } })
  }, origin.url)
  await expectServedFromMemory(frame, await callAll(frame, `${origin.url}/api`), /allow site data/)
})

/** Another tab of the site, whose page does as it likes with the database. */
async function otherTab(context: BrowserContext): Promise<Page> {
  const page = await context.newPage()
  await page.goto(`${origin.url}/pages/lab.html`)
  return page
}

test('S18 another tab keeps an old version open while a third upgrades it: served from memory; stored again once both are closed', async () => {
  const context = await device()
  const [old, newer] = [await otherTab(context), await otherTab(context)]
  await old.evaluate(
    (name) =>
      new Promise<void>((resolve, reject) => {
        const request = indexedDB.open(name, 1)
        request.onsuccess = () => resolve() // and does not care about `versionchange`
        request.onerror = () => reject(request.error)
      }),
    DATABASE,
  )
  await newer.evaluate(
    (name) =>
      new Promise<void>((resolve) => {
        indexedDB.deleteDatabase(name).onblocked = () => resolve()
      }),
    DATABASE,
  )
  const page = await openLab(context, origin)
  await expectServedFromMemory(page, await callAll(page, `${origin.url}/api`), /close.*other tabs/)

  await old.close()
  await newer.close()
  const durability = () =>
    page.evaluate(async () => (await lab.queue.enqueue('/api/later', { method: 'POST' })).durability)
  await eventually(durability).toBe('strict')
})

test('S20 the database is of a later version: nothing of it is touched, and the message says what to do', async () => {
  const context = await device()
  const newer = await otherTab(context)
  await newer.evaluate(
    (name) =>
      new Promise<void>((resolve, reject) => {
        const request = indexedDB.open(name, 1_000)
        request.onupgradeneeded = () => request.result.createObjectStore('of a later version').put('kept', 1)
        request.onsuccess = () => {
          request.result.close()
          resolve()
        }
        request.onerror = () => reject(request.error)
      }),
    DATABASE,
  )
  const page = await openLab(context, origin)
  await expectServedFromMemory(page, await callAll(page, `${origin.url}/api`), /later version.*reload the page/)
  const left = await newer.evaluate(
    (name) =>
      new Promise((resolve, reject) => {
        const request = indexedDB.open(name)
        request.onerror = () => reject(request.error)
        request.onsuccess = () => {
          const { version, objectStoreNames } = request.result
          resolve({ version, stores: [...objectStoreNames] })
        }
      }),
    DATABASE,
  )
  expect(left).toEqual({ version: 1_000, stores: ['of a later version'] })
})

test('a tab that holds the database open lets go of it when a later version wants to upgrade it', async () => {
  const context = await device()
  const page = await openLab(context, origin)
  await page.evaluate(() => lab.open({ durable: true, allowMemory: true, principal: 'ann' }).ready)
  const newer = await otherTab(context)
  const took = await newer.evaluate(
    (name) =>
      new Promise<number>((resolve, reject) => {
        const from = performance.now()
        const request = indexedDB.open(name, 1_000)
        request.onsuccess = () => resolve(performance.now() - from)
        request.onerror = () => reject(request.error)
      }),
    DATABASE,
  )
  expect(took).toBeLessThan(WITHIN_MS)
})

test('a connection that is lost once is opened again, and nobody notices', async () => {
  const page = await openLab(await device(), origin, () => {
    const { transaction } = IDBDatabase.prototype
    const armed = globalThis as { lose?: number }
    IDBDatabase.prototype.transaction = function (...given) {
      if (armed.lose) {
        armed.lose--
        throw new DOMException('The database connection is closing.', 'InvalidStateError')
      }
      return transaction.apply(this, given)
    }
  })
  await page.evaluate(() => lab.open({ durable: true, allowMemory: true, principal: 'ann' }).ready)
  await page.evaluate(() => Object.assign(globalThis, { lose: 1 }))
  const ends = await callAll(page, `${origin.url}/api`)
  expect([ends.passing.end, ends.refused.end, ends.enqueued.end]).toEqual([200, 404, 'SUCCEEDED'])
  expect(await page.evaluate(() => (globalThis as { lose?: number }).lose)).toBe(0)
  expect(await page.evaluate(() => lab.degraded)).toEqual([])
})
