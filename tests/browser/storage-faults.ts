/** What the tests of failing storage have in common: what callers get though nothing can be stored, and by when. */
import type { Frame, Page } from 'playwright-core'
import { expect } from 'vitest'
import type { LabOrigin } from './lab.ts'

/** By then every caller has its answer, whatever the storage does. */
export const WITHIN_MS = 5_000

/** How one call ended: a status, or the name and code of an error. */
export interface End {
  readonly end: number | string
  readonly tookMs: number
}

/** Of a queue opened in `page` now, with `ann` as its principal. */
export interface Ends {
  readonly passing: End
  readonly refused: End
  readonly enqueued: End
}

/** `/api/passing` fails once, `/api/refused` is refused for good. */
export function answersOfAServer(origin: LabOrigin): void {
  origin.answer = ({ path, before }) => {
    if (path.startsWith('/api/refused')) return 404
    return path.startsWith('/api/passing') && before === 0 ? 503 : 200
  }
}

export function callAll(page: Page | Frame, api: string): Promise<Ends> {
  return page.evaluate(async (base) => {
    const queue = globalThis.lab.queue ?? lab.open({ durable: true, allowMemory: true, principal: 'ann' })
    const timed = async (work: Promise<number | string>): Promise<End> => {
      const from = performance.now()
      const end = await work.catch((error: { name: string; code?: string }) => `${error.name} ${error.code ?? ''}`)
      return { end, tookMs: performance.now() - from }
    }
    const post = (path: string) => queue.fetch(`${base}${path}`, { method: 'POST', body: path }).then((r) => r.status)
    const enqueue = async () => {
      const { taskId } = await queue.enqueue(`${base}/enqueued`, { method: 'POST', body: 'enqueued' })
      return (await queue.result(taskId)).task.status
    }
    const [passing, refused, enqueued] = await Promise.all([
      timed(post('/passing')),
      timed(post('/refused')),
      timed(enqueue()),
    ])
    return { passing, refused, enqueued }
  }, api)
}

/** S18: callers get what fetch gives, retried, in time, and hear once what has become of their storage. */
export async function expectServedFromMemory(page: Page | Frame, ends: Ends, advice: RegExp): Promise<void> {
  expect([ends.passing.end, ends.refused.end, ends.enqueued.end]).toEqual([200, 404, 'SUCCEEDED'])
  for (const { tookMs } of Object.values(ends)) expect(tookMs).toBeLessThan(WITHIN_MS)
  const degraded = await page.evaluate(() => lab.degraded)
  expect(degraded.map(({ code }) => code)).toEqual(['storage_unavailable'])
  const message = degraded[0]?.message ?? ''
  expect(message).toMatch(advice)
  expect(message).toMatch(/tasks.*memory/)
}
