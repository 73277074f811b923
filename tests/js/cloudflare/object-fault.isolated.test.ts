/** An object that cannot take tasks is told of at the first call that it might be needed for, and not only in the first outage. */
import { expect, test, vi } from 'vitest'
import type { WorkerFetchOptions } from '../../../js/cloudflare/worker-options.ts'
import { workerFetch } from '../../../js/cloudflare.ts'
import { fakeClock, scriptedServer } from '../../../js/testing.ts'

vi.mock('cloudflare:workers', () => ({ DurableObject: class {} }))
vi.mock('../../../js/core/static.ts', () => import('../../../js/core/file.ts'))
vi.mock('../../../js/core/keys-static.ts', () => import('../../../js/core/keys-file.ts'))

const FAULT = {
  code: 'OBJECT_MISCONFIGURED',
  message: "options.credential: no such option; did you mean 'credentials'?",
}
const noMethod = () => {
  throw new TypeError('The RPC receiver does not implement the method "verify".')
}

/** An isolate with a namespace of its own, whose objects say this of themselves. */
function setup(verify: () => unknown, options: Partial<WorkerFetchOptions> = {}) {
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  const reports: { readonly code: string; readonly message: string }[] = []
  const asked: string[] = []
  const pending: Promise<unknown>[] = []
  const queue = {
    idFromName: (name: string) => ({ name }),
    get: ({ name }: { readonly name: string }) => ({
      verify: async () => {
        asked.push(name)
        return verify()
      },
      enqueue: async ([task]: readonly { readonly taskId: string }[]) => [
        { taskId: task?.taskId, outcome: 'refused', ...FAULT },
      ],
      cancel: async () => 'gone',
      holdLane: async () => {},
    }),
  }
  const ctx = { waitUntil: (work: Promise<unknown>) => void pending.push(work) }
  const onDegraded = (report: (typeof reports)[number]) => reports.push(report)
  const own = { queue, ctx, clock, fetch: server.fetch, seed: 1n, onDegraded, ...options } as WorkerFetchOptions
  const call = async (init: RequestInit & { redrive?: object } = { method: 'POST', body: 'tea' }) => {
    const response = await workerFetch(own)('https://api.test/orders', init)
    await Promise.all(pending)
    return response.status
  }
  return { call, server, clock, reports, asked }
}

test('options that an object refuses are told at the first call, in its own words; the call has its answer', async () => {
  const { call, reports, asked } = setup(() => FAULT)
  expect(await call()).toBe(200)
  expect(asked).toEqual(['https://api.test'])
  expect(reports).toEqual([
    { code: 'object_misconfigured', message: expect.stringContaining(`https://api.test: ${FAULT.message}`) },
  ])
})

test('an object of another class is told likewise, with the class to bind', async () => {
  const { call, reports } = setup(noMethod)
  expect(await call()).toBe(200)
  expect(reports).toMatchObject([
    { code: 'object_misconfigured', message: expect.stringContaining("RedriveObject of 'redrive/cloudflare'") },
  ])
})

test('an isolate asks once, and only where a call may be handed over', async () => {
  const { call, asked, reports } = setup(() => undefined)
  await call({})
  await call({ method: 'POST', redrive: { mode: 'await' } })
  expect(asked).toEqual([])
  await call()
  await call()
  expect(asked).toHaveLength(1)
  expect(reports).toEqual([])
})

test('an object that cannot be reached says nothing of its options: the next call asks again', async () => {
  const { call, asked, reports } = setup(() => {
    throw new Error('Network connection lost.')
  })
  await call()
  await call()
  expect(asked).toHaveLength(2)
  expect(reports).toEqual([])
})

test('an object whose class throws when it is made is told, without the words of the error: they may hold anything', async () => {
  const { call, reports, asked } = setup(() => {
    throw new TypeError('Invalid URL string: hunter2')
  })
  await call()
  await call()
  expect(asked).toHaveLength(1)
  expect(reports).toEqual([
    { code: 'object_misconfigured', message: expect.stringMatching(/its fields or its constructor throw a TypeError/) },
  ])
  expect(reports[0]?.message).not.toContain('hunter2')
})

test('in an outage the words are the same, and told once in a request', async () => {
  const { call, server, reports } = setup(() => FAULT, { inlineMs: 0 })
  server.reply(503)
  expect(await call()).toBe(503)
  expect(reports).toHaveLength(1)
  expect(reports[0]?.message).toContain(FAULT.message)
})
