/** A tab of a real browser that is frozen while it waits for answers, and takes them when it is back, whichever limit is over. */
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { freshFolder } from '../folder.ts'
import { eventually } from '../js/eventually.ts'
import { deferred } from '../js/setup.ts'
import { openTab, startMortal } from './contexts.ts'
import { labOrigin } from './lab.ts'

const origin = labOrigin()

const CALLS = 4
/** How each of them ended, and whether the tab was frozen meanwhile. */
const CALL = `(async () => {
  let wasFrozen = false
  document.addEventListener('freeze', () => { wasFrozen = true })
  const queue = lab.open({ concurrencyPerOrigin: 6 })
  await queue.ready
  const init = { method: 'POST', body: 'tea' }
  const { taskId } = await queue.enqueue('/api/enqueued', init)
  const call = (path, redrive) => queue.fetch(path, { ...init, redrive }).then(({ status }) => status, ({ name }) => name)
  const ends = await Promise.all([
    call('/api/awaited', {}),
    call('/api/once', { policy: { maxAttempts: 1 } }),
    call('/api/deferred', { mode: 'defer', waitMs: 10_000 }),
    queue.result(taskId).then(({ task }) => task.status),
  ])
  return [wasFrozen, ...ends]
})()`

test.each([
  { ms: 14_000, back: 'in front' },
  { ms: 36_000, back: 'in front' },
  { ms: 36_000, back: 'hidden' },
])(
  'a tab that was frozen for $ms ms and is back $back takes the answers that came meanwhile',
  {
    timeout: 90_000,
  },
  async ({ ms, back }) => {
    const browser = await startMortal(freshFolder())
    const tab = await openTab(browser, `${origin.url}/pages/lab.html`, 'globalThis.lab !== undefined')
    // one in front is not frozen
    const front = await openTab(browser)
    await front.show()
    await eventually(() => tab.run('document.hidden')).toBe(true)
    const frozen = deferred()
    // an answer to a second request says nothing of the first
    origin.answer = ({ before }) => (before > 0 ? 409 : (response) => void frozen.promise.then(() => response.end()))
    const ends = tab.run(CALL)
    await eventually(() => origin.received.length).toBe(CALLS)
    await tab.freeze?.()
    frozen.resolve()
    await delay(ms)
    if (back === 'in front') await tab.show()
    await tab.thaw?.()
    expect(await ends).toEqual([true, 200, 200, 200, 'SUCCEEDED'])
    expect(origin.received).toHaveLength(CALLS)
  },
)
