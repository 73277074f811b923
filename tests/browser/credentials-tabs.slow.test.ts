/** Two real tabs whose session has a refresh token that is good once: the second use of one ends the session, as OAuth servers do. */

import { beforeEach, expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { launch } from './chromium.ts'
import { newContext } from './contexts.ts'
import { type Answer, labOrigin, openLab, type Received } from './lab.ts'

const REFRESH_MS = 300
const CALLS = 4

const browser = duringTests(() => launch())
const origin = labOrigin()
const session = { refreshes: 0, isOver: false }

/**
 * `/api/refresh` gives the next token for the last one, slowly; all else asks for any that was given. The last one is a cookie, which all tabs
 * see at once: `localStorage` of another tab may be seen later than its lock.
 */
function site({ path, headers }: Received): Answer {
  if (path !== '/api/refresh') return !session.isOver && /^Bearer [1-9]/.test(headers.authorization ?? '') ? 200 : 401
  const last = /\brefresh=(\d+)/.exec(headers.cookie ?? '')?.[1] ?? '0'
  if (last !== `${session.refreshes}`) session.isOver = true
  if (session.isOver) return 401
  const token = `${++session.refreshes}`
  return (response) => {
    response.setHeader('set-cookie', `refresh=${token}; HttpOnly; Path=/`)
    setTimeout(() => response.end(token), REFRESH_MS)
  }
}

beforeEach(() => {
  origin.answer = site
  Object.assign(session, { refreshes: 0, isOver: false })
})

test.each([
  ['awaited calls that meet 401', 'fetch'],
  ['enqueued tasks that meet 401', 'enqueue'],
] as const)(
  '%s in two tabs refresh one after the other, once a tab at most, and the session lives on',
  async (_what, how) => {
    const context = await newContext(browser)
    const tabs = [await openLab(context, origin), await openLab(context, origin)]
    for (const tab of tabs) {
      await tab.evaluate(async () => {
        let token = '0'
        const credentials = {
          self: async ({ unauthorized }: { readonly unauthorized: boolean }) => {
            if (unauthorized) token = await (await fetch('/api/refresh', { method: 'POST' })).text()
            return { authorization: `Bearer ${token}` }
          },
        }
        await lab.open({ credentials }).ready
      })
    }
    const statuses = await Promise.all(
      tabs.map((tab) =>
        tab.evaluate(
          async ([name, calls]) => {
            const init = { method: 'POST', body: 'tea', headers: { authorization: 'Bearer 0' } }
            const awaited = async () =>
              (await lab.queue.fetch('/api/order', { ...init, redrive: { credentials: 'on-401' } })).status
            const enqueued = async () => {
              const { taskId } = await lab.queue.enqueue('/api/order', init)
              return (await lab.queue.result(taskId)).task.status
            }
            const all = Array.from({ length: calls }, () => (name === 'fetch' ? awaited() : enqueued()))
            return await Promise.all<number | string>(all)
          },
          [how, CALLS] as const,
        ),
      ),
    )
    const good = how === 'fetch' ? 200 : 'SUCCEEDED'
    expect(statuses).toEqual(tabs.map(() => Array.from({ length: CALLS }, () => good)))
    expect(session.isOver).toBe(false)
    // a tab whose tasks start after the other's refresh finds its token
    expect(session.refreshes).toBeLessThanOrEqual(tabs.length)
  },
)
