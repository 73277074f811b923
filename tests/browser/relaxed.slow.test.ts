/**
 * A store that does not wait for the disk: what it said is kept outlives the page and the browser. That it may not outlive a loss of power
 * cannot be tried here.
 */

import { expect, test } from 'vitest'
import { freshFolder } from '../folder.ts'
import { openTab, startMortal } from './contexts.ts'
import { labOrigin } from './lab.ts'

const origin = labOrigin()

/** The page's queue, whose tasks wait for an hour. */
const OPEN = `import('/pkg/indexeddb.js').then(async ({ indexedDbStore }) => {
  const store = indexedDbStore({ durability: 'relaxed' })
  await lab.open({ store, principal: 'ann' }).ready
  lab.queue.pause()
})`

test('S1 what was taken without a wait for the disk is there after the browser was killed', async () => {
  const profile = freshFolder()
  let accepted: readonly string[] = []
  for (let life = 0; life < 3; life++) {
    const browser = await startMortal(profile)
    const tab = await openTab(browser, `${origin.url}/pages/lab.html`, 'globalThis.lab !== undefined')
    await tab.run(OPEN)
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
