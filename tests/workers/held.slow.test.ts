/** An object limits the holds of its lanes itself, however many Workers hand over calls that were told to wait. */

import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { atOnce, noGates, quick } from './api.ts'
import { Edge } from './harness/edge.ts'
import { soon } from './harness/soon.ts'
import { startOrigin } from './origin.ts'

const MOST_MS = 1_500

test('L1 calls that are told to wait, in one Worker after another, do not renew the hold of their object past its end', async () => {
  await using origin = await startOrigin({
    '/limited': [[503, { 'retry-after': '3600' }]],
    '/fine': [[503], [200]],
  })
  // a Worker's own limit has no say
  await using edge = await Edge.start({ object: { ...noGates, maxLaneHoldMs: MOST_MS } })
  const call = (path: string) =>
    edge.call(`${origin.url}${path}`, { method: 'POST', body: '{}' }, { inlineAttempts: 1, maxLaneHoldMs: 3_600_000 })
  expect((await call('/limited')).status).toBe(202)
  expect((await call('/fine')).status).toBe(202)
  const delivered = () => origin.seen.filter(({ path }) => path === '/fine').length === 2
  const calls = 20
  let told = 0
  for (; told < calls && !delivered(); told++) {
    await setTimeout(300)
    await call('/limited')
  }
  expect(delivered(), `in ${calls} calls`).toBe(true)
  expect(told, 'the hold was kept').toBeGreaterThan(1)
})

test.for([
  ['a GET', '/limited', [429, { 'retry-after': '3' }]],
  ['a success after which nothing is left', '/last', [200, { ratelimit: '"all";r=0;t=3' }]],
] as const)('S9 tasks of an object wait as long as a server asks of %s', async ([, path, answer]) => {
  await using origin = await startOrigin({ [path]: [answer], '/stored': [[503], [200]] })
  await using edge = await Edge.start({ object: noGates })
  const options = { ...atOnce, policy: { ...quick, initialDelayMs: 1_000, maxDelayMs: 1_000 } }
  const post = { method: 'POST', body: '{}' }
  expect((await edge.call(`${origin.url}/stored`, post, options)).status).toBe(202)
  expect((await edge.call(`${origin.url}${path}`, {}, options)).status).toBe(answer[0])
  const heardAt = performance.now()
  await soon(() => origin.seen.filter((seen) => seen.path === '/stored').length).toBe(2)
  expect(performance.now() - heardAt).toBeGreaterThan(2_900)
})
