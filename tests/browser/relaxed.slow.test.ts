/**
 * A store that does not wait for the disk: what it said is kept outlives the page and the browser. That it may not outlive a loss of power
 * cannot be tried here.
 */

import { expect, onTestFinished, test } from 'vitest'
import type { Browser, Tab } from '../faults/browser/browser.ts'
import { startChromium } from '../faults/browser/chromium.ts'
import { freshFolder } from '../folder.ts'
import { eventually } from '../js/eventually.ts'
import { labOrigin } from './lab.ts'

const origin = labOrigin()

const DEAF = { said() {}, crashed() {} }
/** The page's queue, whose tasks wait for an hour. */
const OPEN = `import('/pkg/indexeddb.js').then(async ({ indexedDbStore }) => {
  const store = indexedDbStore({ durability: 'relaxed' })
  await lab.open({ store, principal: 'ann' }).ready
  lab.queue.pause()
})`

async function openTab(browser: Browser): Promise<Tab> {
  const tab = await browser.open(DEAF, { script: '', alone: false })
  await tab.load(`${origin.url}/pages/lab.html`)
  await eventually(() => tab.run('globalThis.lab !== undefined')).toBe(true)
  await tab.run(OPEN)
  return tab
}

async function start(profile: string): Promise<Browser> {
  const ended = new AbortController()
  const browser = await startChromium(profile, ended.signal)
  onTestFinished(async () => {
    ended.abort()
    await browser.gone
  })
  return browser
}

test('S1 what was taken without a wait for the disk is there after the browser was killed', async () => {
  const profile = freshFolder()
  let accepted: readonly string[] = []
  for (let life = 0; life < 3; life++) {
    const browser = await start(profile)
    const tab = await openTab(browser)
    const kept = `lab.queue.list({ limit: 500 }).then(({ tasks }) => tasks.map(({ taskId }) => taskId))`
    expect((await tab.run<string[]>(kept)).sort()).toEqual([...accepted].sort())
    const taken = await tab.run<{ taskId: string; durability: string }[]>(
      `(async () => {
        const one = (n) => lab.queue.enqueue('/api/order', { method: 'POST', body: 'order ' + n })
        const taken = []
        for (let n = 0; n < 20; n++) taken.push(await one(n))
        return [...taken, ...(await Promise.all(Array.from({ length: 30 }, (_, n) => one(n))))]
      })()`,
    )
    expect(new Set(taken.map(({ durability }) => durability))).toEqual(new Set(['relaxed']))
    accepted = [...accepted, ...taken.map(({ taskId }) => taskId)]
    browser.kill()
    await browser.gone
  }
})
