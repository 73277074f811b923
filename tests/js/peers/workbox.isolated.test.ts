/** Workbox's cells in the README's table, held against Workbox itself. */

import { expect, test, vi } from 'vitest'
import { post, rowsOfWorkbox, workbox, worker } from '../compat/worker.ts'
import { rowOf } from './readme.ts'

/** A `fetch` whose connection is lost so many times. */
function losing(times: number): string[] {
  const sent: string[] = []
  vi.stubGlobal('fetch', async (request: Request) => {
    sent.push(`${request.method} ${await request.text()}`)
    if (sent.length <= times) throw new TypeError('Failed to fetch')
    return new Response(null, { status: 503, headers: { 'retry-after': '7' } })
  })
  return sent
}

test('it keeps a POST for the process that comes after, and repeats it', async () => {
  worker()
  await (await workbox()).pushRequest({ request: post('a') })
  const sent = losing(1)
  const later = await workbox()
  await expect(later.replayRequests()).rejects.toThrow('queue-replay-failed')
  await later.replayRequests()
  expect(sent).toEqual(['POST a', 'POST a'])
  expect([rowOf('a POST is repeated').Workbox, rowOf('survives a reload or crash').Workbox]).toEqual(['yes', 'yes'])
})

test('an answer ends it, whatever its status and its Retry-After', async () => {
  worker()
  const sent = losing(0)
  const queue = await workbox()
  await queue.pushRequest({ request: post('a') })
  await queue.replayRequests()
  expect([sent, await rowsOfWorkbox(), rowOf('obeys `Retry-After`').Workbox]).toEqual([['POST a'], [], 'no'])
})

test('it asks a server that is down at each sync', async () => {
  worker()
  const SYNCS = 40
  const sent = losing(SYNCS)
  const queue = await workbox()
  await queue.pushRequest({ request: post('a') })
  for (let i = 0; i < SYNCS; i++) await expect(queue.replayRequests()).rejects.toThrow('queue-replay-failed')
  expect([sent.length, rowOf('stops calling a server that is down').Workbox]).toEqual([SYNCS, 'no'])
})

test('it needs the registration of a service worker', async () => {
  worker()
  vi.stubGlobal('registration', undefined)
  await expect(workbox()).rejects.toThrow(TypeError)
  expect(rowOf('needs').Workbox).toBe('a service worker')
})
