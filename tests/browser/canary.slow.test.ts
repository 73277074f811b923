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
import { Canaries } from '../js/canaries.ts'
import { flows } from '../js/canary-flows.ts'
import { MARKERS } from '../js/canary-scenario.ts'
import { CanaryServer } from '../js/canary-server.ts'
import { launchOn } from './chromium.ts'
import { type FoundFile, filesOf } from './profile-files.ts'
import { recordsOf } from './records.ts'

const ENOUGH = 200
/** Headers that a page may not set, and what no page may have in a URL. */
const NOT_A_PAGES = /: (?:credentials\(\) for )?(?:proxy-authorization|cookie|set-cookie) |user info/

const profile = mkdtempSync(join(tmpdir(), 'redrive-canary-'))
const canaries = new Canaries()
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

test('S12 neither do the files of a browser that has been closed; and what was told is searched once more', async () => {
  await page.evaluate(() => canary.end())
  await context.close()
  const before = kept.length
  keepFiles('once closed')
  expect(leaksIn([...kept.slice(before), ...told])).toEqual([])
  // all has passed through a log, which is searched as it is: no table was made of one meanwhile
  expect(kept.filter(({ where }) => /\.ldb/.test(where))).toEqual([])
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
