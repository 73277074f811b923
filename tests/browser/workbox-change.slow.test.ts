/**
 * The day of the change, in a browser that is killed on it: a site's service worker with Workbox has queued requests while there was no
 * network, a new one with `redrive/compat/workbox` takes over, and in the middle of that all processes of the browser are killed.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { bundleForPage } from '../bundle.ts'
import type { Browser, Tab } from '../faults/browser/browser.ts'
import { freshFolder } from '../folder.ts'
import { eventually } from '../js/eventually.ts'
import { openTab, startMortal } from './contexts.ts'
import { listenDuringTests, type Origin } from './origins.ts'

const MANY = 20
const bodies = Array.from({ length: MANY }, (_, i) => `order ${i}`)

/** The script of the service worker, as it is deployed now. */
let deployed: 'workbox' | 'redrive' = 'workbox'
const scripts = { workbox: '', redrive: '' }
/** Whether requests get an answer. */
let isUp = false
const arrived: { readonly body: string; readonly key: string | undefined; readonly token: string | undefined }[] = []
/** Hears how many entries Workbox's database holds, as the page sees them go. */
let onLeft: (left: number) => void = () => {}

const origin: Origin = {
  server: createServer((request, response) => {
    serve(request, response).catch((error) => response.writeHead(500).end(String(error)))
  }),
  url: '',
}
listenDuringTests(origin)

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://site')
  if (pathname === '/worker.js') {
    response.writeHead(200, { 'content-type': 'text/javascript', 'cache-control': 'no-store' }).end(scripts[deployed])
  } else if (pathname === '/left') {
    response.writeHead(204).end()
    onLeft(Number(searchParams.get('n')))
  } else if (pathname === '/api/orders') {
    const body = await text(request)
    if (!isUp) return void request.socket.destroy()
    const { authorization: token, 'idempotency-key': key } = request.headers
    arrived.push({ body, key: typeof key === 'string' ? key : undefined, token })
    response.writeHead(200).end()
  } else response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>site</title>')
}

beforeAll(async () => {
  const define = { 'process.env.NODE_ENV': '"production"' }
  const instead = { 'workbox-background-sync/BackgroundSyncPlugin.js': 'browser/workbox-compat/facade.ts' }
  scripts.workbox = await bundleForPage('browser/workbox-compat/site-worker.ts', { define })
  scripts.redrive = await bundleForPage('browser/workbox-compat/site-worker.ts', { define, instead })
})
beforeEach(() => {
  deployed = 'workbox'
  isUp = false
  arrived.length = 0
  onLeft = () => {}
})

/** A page whose service worker is in charge of it. */
async function visit(browser: Browser): Promise<Tab> {
  const tab = await openTab(browser, `${origin.url}/`, "document.title === 'site'")
  await tab.run(`navigator.serviceWorker.register('/worker.js').then(() => new Promise((resolve) => {
    const look = () => navigator.serviceWorker.controller ? resolve() : setTimeout(look, 20)
    look()
  }))`)
  return tab
}

/** How many entries Workbox's database holds. */
const LEFT = `new Promise((resolve) => {
  const opening = indexedDB.open('workbox-background-sync')
  opening.onsuccess = () => {
    const counting = opening.result.transaction('requests').objectStore('requests').count()
    counting.onsuccess = () => {
      opening.result.close()
      resolve(counting.result)
    }
  }
})`

/** All that our database holds, as text. */
const OURS = `new Promise((resolve) => {
  const opening = indexedDB.open('redrive-orders')
  opening.onsuccess = () => {
    const names = [...opening.result.objectStoreNames]
    const all = names.map((name) => new Promise((done) => {
      const asking = opening.result.transaction(name).objectStore(name).getAll()
      asking.onsuccess = () => done(asking.result)
    }))
    Promise.all(all).then((rows) => {
      opening.result.close()
      resolve(JSON.stringify(rows))
    })
  }
})`

/** Tells the server each time that Workbox's database holds fewer. */
const WATCH = `(async () => {
  for (let known = Infinity; ; ) {
    const left = await ${LEFT}
    if (left < known) await fetch('/left?n=' + left)
    known = left
  }
})()`

/** A profile in which Workbox has queued all of them. */
async function offline(
  headers: object = {},
): Promise<{ readonly profile: string; readonly browser: Browser; readonly tab: Tab }> {
  const profile = freshFolder()
  const browser = await startMortal(profile)
  const tab = await visit(browser)
  const statuses = await tab.run(`(async () => {
    const statuses = []
    for (let i = 0; i < ${MANY}; i++) {
      const init = { method: 'POST', body: 'order ' + i, headers: ${JSON.stringify(headers)} }
      statuses.push((await fetch('/api/orders', init)).status)
    }
    return statuses
  })()`)
  expect(statuses).toEqual(bodies.map(() => 202))
  await eventually(() => tab.run(LEFT)).toBe(MANY)
  return { profile, browser, tab }
}

/** Deploys the new worker, and kills the browser when Workbox's database holds no more than so many. Gives how many it held. */
async function killDuringTakeOver({ browser, tab }: { readonly browser: Browser; readonly tab: Tab }, most: number) {
  deployed = 'redrive'
  const left = new Promise<number>((resolve) => {
    onLeft = (n) => {
      if (n > most) return
      browser.kill()
      resolve(n)
    }
  })
  tab.run(WATCH).catch(() => {}) // it ends with the browser
  tab.run(`navigator.serviceWorker.getRegistration().then((registration) => registration.update())`).catch(() => {})
  const n = await left
  await browser.gone
  return n
}

const arrivals = (): string[] => arrived.map(({ body }) => body).sort()
const distinct = (): string[] => [...new Set(arrivals())]

test('nothing is queued by Workbox any more once all is delivered, and all arrives once', async () => {
  const { tab } = await offline()
  isUp = true
  deployed = 'redrive'
  await tab.run(
    `navigator.serviceWorker.getRegistration().then((registration) => registration.update()).then(() => {})`,
  )
  await eventually(() => distinct().length).toBe(MANY)
  expect(arrivals()).toEqual([...bodies].sort())
  expect(await tab.run(LEFT)).toBe(0)
})

test('S5 S12 with a credential in each: it arrives with it, after the kill as well, and ours stores none', async () => {
  const token = 'Bearer of-the-caller-Jx81Qz'
  const before = await offline({ authorization: token, 'x-request-id': 'harmless' })
  isUp = true
  await killDuringTakeOver(before, 10)
  const tab = await visit(await startMortal(before.profile))
  const ours = await tab.run<string>(OURS)
  await eventually(() => distinct().length).toBe(MANY)
  await eventually(() => tab.run(LEFT)).toBe(0)
  expect(new Set(arrived.map((each) => each.token))).toEqual(new Set([token]))
  expect(arrivals().length - MANY).toBeLessThanOrEqual(1)
  expect(new Set(arrived.map(({ key }) => key)).size).toBe(MANY)
  expect(ours).toContain('harmless')
  for (const rows of [ours, await tab.run<string>(OURS)]) expect(rows).not.toContain('Jx81Qz')
})

describe.for([16, 10, 3])('SIGKILL with no more than %i entries left', (most) => {
  test('S1 while there is no network: the next browser delivers each of them, and none twice', async () => {
    const before = await offline()
    const left = await killDuringTakeOver(before, most)
    expect(left).toBeLessThan(MANY)
    isUp = true
    const tab = await visit(await startMortal(before.profile))
    await eventually(() => distinct().length).toBe(MANY)
    expect(arrivals()).toEqual([...bodies].sort())
    expect(await tab.run(LEFT)).toBe(0)
  })

  test('S1 S5 while they are delivered: each arrives, and one that arrives twice has one key', async () => {
    const before = await offline()
    isUp = true
    await killDuringTakeOver(before, most)
    const tab = await visit(await startMortal(before.profile))
    await eventually(() => distinct().length).toBe(MANY)
    await eventually(() => tab.run(LEFT)).toBe(0)
    const twice = arrivals().length - MANY
    // one at a time is on its way
    expect(twice).toBeLessThanOrEqual(1)
    expect(new Set(arrived.map(({ key }) => key)).size).toBe(MANY)
  })
})
