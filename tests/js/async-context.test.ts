/** Each attempt and each hook of a call runs in the asynchronous context of the call: what one user's holds goes to no other. */

import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, test } from 'vitest'
import type { RetryQueueOptions } from '../../js/index.ts'
import { world } from './durable-setup.ts'
import { API, setup, watch } from './setup.ts'

const user = new AsyncLocalStorage<string>()

/** A queue that notes, for each call, the user in whose context its attempts are sent and its hooks asked. */
function noting() {
  const seen = new Map<string, Set<string | undefined>>()
  const note = (url: string): void => {
    const name = new URL(url).pathname.slice(1)
    seen.set(name, (seen.get(name) ?? new Set()).add(user.getStore()))
  }
  let sent = 0
  const options: RetryQueueOptions = {
    fetch: async (url) => {
      note(String(url))
      return new Response(null, { status: ++sent <= 6 ? 503 : 200 })
    },
    sign: ({ url }) => {
      note(url)
      return {}
    },
    beforeAttempt: ({ targetUrl }) => {
      note(targetUrl)
      return true
    },
    shouldRetry: ({ request: { url } }) => {
      note(url)
      return undefined
    },
  }
  return { seen, options }
}

const KINDS = ['memory', 'a store'] as const

test.for(KINDS)('in %s: attempts and hooks of two users of one origin', async (kind) => {
  const { seen, options } = noting()
  const { queue, clock } = kind === 'memory' ? await setup(options) : await opened(options)
  const anna = user.run('anna', () => watch(queue.fetch(`${API}/anna`, { method: 'POST', body: 'tea' })))
  const bert = user.run('bert', () => watch(queue.fetch(`${API}/bert`, { method: 'POST', body: 'tea' })))
  await user.run('carl', () => queue.enqueue(`${API}/carl`, { method: 'POST', body: 'tea' }))
  await clock.advance(20_000)
  expect([anna.value?.status, bert.value?.status]).toEqual([200, 200])
  for (const name of ['anna', 'bert']) expect([name, ...(seen.get(name) ?? [])]).toEqual([name, name])
  // no caller waits for it
  expect([...(seen.get('carl') ?? [])]).toEqual([undefined])
})

test('a task that another process has made is sent in the context of no call', async () => {
  const here = world()
  const first = await here.open()
  first.queue.pause()
  await user.run('anna', () => first.queue.enqueue(`${API}/anna`, { method: 'POST', body: 'tea' }))
  await first.queue.close()
  const { seen, options } = noting()
  await user.run('bert', async () => {
    const { queue } = await here.open(options)
    await queue.enqueue(`${API}/bert`, { method: 'POST', body: 'tea' })
  })
  await here.clock.advance(20_000)
  expect([...(seen.get('anna') ?? [])]).toEqual([undefined])
  expect([...(seen.get('bert') ?? [])]).toEqual([undefined])
})

async function opened(options: RetryQueueOptions) {
  const { open, clock } = world()
  const { queue } = await open(options)
  return { queue, clock }
}
