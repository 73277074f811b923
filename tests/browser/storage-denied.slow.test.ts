/** S18: IndexedDB that is denied, blocked, or never answers. Calls go on as fetch would, retried from memory. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { beforeEach, expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { eventually } from '../js/eventually.ts'
import { launch } from './chromium.ts'
import { newContext, newWindow } from './contexts.ts'
import { labOrigin, openLab } from './lab.ts'
import { answersOfAServer, callAll, expectServedFromMemory } from './storage-faults.ts'

const DATABASE = 'redrive-default'

const browser = duringTests(() => launch())
const origin = labOrigin({
  '/sandbox.html': () => '<!doctype html><iframe sandbox="allow-scripts" src="/pages/lab.html"></iframe>',
})
beforeEach(() => {
  origin.reset()
  answersOfAServer(origin)
})

const faults: Readonly<Record<string, { readonly advice: RegExp; readonly install: () => void }>> = {
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
  const page = await openLab(await newContext(browser), origin, install)
  await expectServedFromMemory(page, await callAll(page, `${origin.url}/api`), advice)
})

test('S18 a frame in a sandbox, without an origin of its own: the same', async () => {
  const context = await newContext(browser)
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

test('S18 a user who has blocked site data: the same', async () => {
  const blocked = { profile: { default_content_setting_values: { cookies: 2 } } }
  const context = await newWindow((profile) => {
    mkdirSync(join(profile, 'Default'))
    writeFileSync(join(profile, 'Default', 'Preferences'), JSON.stringify(blocked))
  })
  const page = await openLab(context, origin)
  await expectServedFromMemory(page, await callAll(page, `${origin.url}/api`), /allow site data/)
})

/** Another tab of the site, whose page does as it likes with the database. */
async function otherTab(context: BrowserContext): Promise<Page> {
  const page = await context.newPage()
  await page.goto(`${origin.url}/pages/lab.html`)
  return page
}

test('S18 another tab keeps an old version open while a third upgrades it: served from memory; stored again once both are closed', async () => {
  const context = await newContext(browser)
  const [old, newer] = [await otherTab(context), await otherTab(context)]
  // it does not care about `versionchange`
  await old.evaluate(async (name) => void (await lab.done(indexedDB.open(name, 1))), DATABASE)
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
  const context = await newContext(browser)
  const newer = await otherTab(context)
  await newer.evaluate(async (name) => {
    const request = indexedDB.open(name, 1_000)
    request.onupgradeneeded = () => request.result.createObjectStore('of a later version').put('kept', 1)
    ;(await lab.done(request)).close()
  }, DATABASE)
  const page = await openLab(context, origin)
  await expectServedFromMemory(page, await callAll(page, `${origin.url}/api`), /later version.*reload the page/)
  const left = await newer.evaluate(async (name) => {
    const { version, objectStoreNames } = await lab.done(indexedDB.open(name))
    return { version, stores: [...objectStoreNames] }
  }, DATABASE)
  expect(left).toEqual({ version: 1_000, stores: ['of a later version'] })
})
