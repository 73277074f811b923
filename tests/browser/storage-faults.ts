/** What the tests of failing storage have in common: what callers get though nothing can be stored. */
import type { Frame, Page } from 'playwright-core'
import { expect } from 'vitest'
import type { LabOrigin } from './lab.ts'

/** How each call of a queue that is opened in `page` now, with `ann` as its principal, ended: a status, or name and code of an error. */
export type Ends = Readonly<Record<'passing' | 'refused' | 'enqueued', number | string>>

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
    const end = (work: Promise<number | string>): Promise<number | string> =>
      work.catch((error: { name: string; code?: string }) => `${error.name} ${error.code ?? ''}`)
    const post = (path: string) => queue.fetch(`${base}${path}`, { method: 'POST', body: path }).then((r) => r.status)
    const enqueue = async () => {
      const { taskId } = await queue.enqueue(`${base}/enqueued`, { method: 'POST', body: 'enqueued' })
      return (await queue.result(taskId)).task.status
    }
    const [passing, refused, enqueued] = await Promise.all([
      end(post('/passing')),
      end(post('/refused')),
      end(enqueue()),
    ])
    return { passing, refused, enqueued }
  }, api)
}

/** S18: callers get what fetch gives, retried, and hear once what has become of their storage. */
export async function expectServedFromMemory(page: Page | Frame, ends: Ends, advice: RegExp): Promise<void> {
  expect(ends).toEqual({ passing: 200, refused: 404, enqueued: 'SUCCEEDED' })
  const degraded = await page.evaluate(() => lab.degraded)
  expect(degraded.map(({ code }) => code)).toEqual(['storage_unavailable'])
  const message = degraded[0]?.message ?? ''
  expect(message).toMatch(advice)
  expect(message).toMatch(/tasks.*memory/)
}
