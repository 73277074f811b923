/**
 * S12 in a browser: no secret in any byte that a queue leaves in the profile, in any record as the browser gives it, nor in
 * anything that is told. The flows are those of the canary in Node.
 */
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bundleForPage } from '../bundle.ts'
import { Canaries, SHAPES } from '../js/canaries.ts'
import { flows } from '../js/canary-flows.ts'
import { MARKERS } from '../js/canary-scenario.ts'
import { CanaryServer } from '../js/canary-server.ts'
import { launchOn } from './chromium.ts'
import { type FoundFile, filesOf } from './profile-files.ts'
import { recordsOf } from './records.ts'

const ENOUGH = 200
/** Chromium moves its log into tables when it has grown so far. */
const FILLER_BYTES = 6 * 2 ** 20
/** Headers that a page may not set, and what no page may have in a URL. */
const NOT_A_PAGES = /: (?:credentials\(\) for )?(?:proxy-authorization|cookie|set-cookie) |user info/

const profile = mkdtempSync(join(tmpdir(), 'redrive-canary-'))
const canaries = new Canaries()
/** Secrets that are stored on purpose, by hand. */
const planted = new Canaries()
const kept: FoundFile[] = []
const prints = new Set<string>()
const told: FoundFile[] = []
let script = ''
const server = new CanaryServer(canaries, {
  '/': () => '<!doctype html><script src="/canary.js"></script>',
  '/canary.js': () => script,
})
let context: BrowserContext
let page: Page

beforeAll(async () => {
  ;[script] = await Promise.all([bundleForPage('browser/canary/in-page.ts'), server.start()])
  context = await launchOn(profile)
  page = await context.newPage()
  await page.exposeFunction('canarySnapshot', look)
  await page.exposeFunction('canaryServerIs', (state: string) => {
    server.up = state === 'up'
  })
  await page.goto(`http://127.0.0.1:${server.port}/`)
})
afterAll(async () => {
  await context?.close()
  await server.close()
  rmSync(profile, { recursive: true })
})

/** Keeps what is on the disk, and what the browser says is there. */
async function look(when: string): Promise<void> {
  keepFiles(when)
  for (const { database, store, records } of await recordsOf(page)) {
    keep(`records of ${database}/${store} ${when}`, Buffer.from(JSON.stringify(records)))
  }
}

function keepFiles(when: string): void {
  for (const { where, bytes } of filesOf(profile)) keep(`${where} ${when}`, bytes)
}

/** The same bytes are searched once. */
function keep(where: string, bytes: Buffer): void {
  const print = createHash('sha256').update(bytes).digest('hex')
  if (!prints.has(print)) kept.push({ where, bytes })
  prints.add(print)
}

const leaksIn = (texts: readonly FoundFile[]): string[] => {
  const leaks = texts.flatMap(({ where, bytes }) => canaries.foundIn(bytes).map((slot) => `${where}: ${slot}`))
  return [...new Set(leaks)].sort()
}

/** Some flows wait for a score of retries, in the time of a real browser. */
const LONG_MS = 180_000

test.each(Object.keys(flows))(
  'S12 neither the profile, nor a record, nor anything that is told holds a secret: %s',
  async (flow) => {
    const [keptBefore, toldBefore] = [kept.length, told.length]
    const failure = await page.evaluate((name) => canary.run(name), flow)
    const { all, sent, told: said } = await page.evaluate(() => canary.drain())
    const isSent = new Set(sent.map(({ slot }) => slot))
    canaries.add({ all, sent: all.filter(({ slot }) => isSent.has(slot)) })
    told.push(...said.map(({ where, text }) => ({ where, bytes: Buffer.from(text) })))
    expect(failure).toBeNull()
    expect(leaksIn(kept.slice(keptBefore))).toEqual([])
    expect(leaksIn(told.slice(toldBefore))).toEqual([])
  },
  LONG_MS,
)

test('S12 neither do the files of a browser that has been closed, nor of one that has tidied up; and what was told is searched once more', async () => {
  await page.evaluate(() => canary.end())
  await context.close()
  const before = kept.length
  keepFiles('once closed')
  context = await launchOn(profile)
  page = await context.newPage()
  await page.goto(`http://127.0.0.1:${server.port}/`)
  for (const shape of SHAPES) planted.make('planted', shape)
  await page.evaluate(plant, [planted.all.map(({ value }) => value), FILLER_BYTES] as const)
  await look('after it has tidied up')
  await context.close()
  keepFiles('at last')
  expect(leaksIn([...kept.slice(before), ...told])).toEqual([])
})

/** Runs in the page: every secret as text of one and of two bytes a letter, as bytes, as a key; then so much that tables are made. */
async function plant([values, fillerBytes]: readonly [readonly string[], number]): Promise<void> {
  const database = await new Promise<IDBDatabase>((resolve, reject) => {
    const request = indexedDB.open('planted', 1)
    request.onupgradeneeded = () => request.result.createObjectStore('records')
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
  const write = (work: (records: IDBObjectStore) => void): Promise<void> =>
    new Promise((resolve, reject) => {
      const transaction = database.transaction('records', 'readwrite', { durability: 'strict' })
      work(transaction.objectStore('records'))
      transaction.oncomplete = () => resolve()
      transaction.onabort = () => reject(transaction.error)
    })
  await write((records) => {
    for (const value of values) {
      records.put({ headers: { authorization: value } }, `narrow ${value.length} ${value.slice(0, 2)}`)
      records.put(`\u2603 ${value}`, `wide ${value.length} ${value.slice(0, 2)}`)
      records.put(new TextEncoder().encode(value), `bytes ${value.length} ${value.slice(0, 2)}`)
      records.put('by its key', value)
    }
  })
  const piece = 60_000
  for (let at = 0; at < fillerBytes; at += piece) {
    await write((records) => records.put(crypto.getRandomValues(new Uint8Array(piece)), `filler ${at}`))
  }
  database.close()
}

test('what is stored by hand is found, in every form, also where the files are compressed', () => {
  const last = kept.filter(({ where }) => /^IndexedDB.*(at last|tidied up)$/.test(where))
  expect(last.some(({ where }) => where.includes('unpacked'))).toBe(true)
  const found = new Set(last.flatMap(({ bytes }) => planted.foundIn(bytes)))
  for (const { slot } of planted.all) {
    for (const form of ['utf-8', 'utf-16le', 'utf-16be']) expect(found).toContain(`${slot} as ${form}`)
  }
  const shown = kept.filter(({ where }) => where.startsWith('records of planted'))
  const seen = shown.flatMap(({ bytes }) => planted.foundIn(bytes))
  for (const { slot } of planted.all) expect(seen).toContain(`${slot} as utf-8`)
})

test.each(Object.entries(MARKERS))(
  'what is harmless is found in the files and in the records: in a %s',
  (_, marker) => {
    const found = kept.filter(({ bytes }) => bytes.includes(marker)).map(({ where }) => where)
    expect(found).toContainEqual(expect.stringMatching(/^IndexedDB.*\.log, its records/))
    expect(found).toContainEqual(
      expect.stringMatching(/^records of redrive-default\/tasks|^records of redrive-default\/bodies/),
    )
  },
)

test('there were enough secrets, and those that a page may send have arrived', () => {
  expect(canaries.all.length).toBeGreaterThanOrEqual(ENOUGH)
  const arrived = new Set(
    canaries.foundIn(Buffer.from(server.received.join('\n'))).map((slot) => slot.split(' as ')[0]),
  )
  const missing = [...canaries.sent].map(({ slot }) => slot).filter((slot) => !arrived.has(slot))
  expect(missing.filter((slot) => !NOT_A_PAGES.test(slot))).toEqual([])
})
