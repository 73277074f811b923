import { test, expect } from 'vitest'
import { RetryQueue } from '/work/main/js/index.ts'
import { fakeClock, scriptedServer } from '/work/main/js/testing.ts'
test('smoke', async () => {
  const clock = fakeClock(); const server = scriptedServer({ clock })
  const events: string[] = []
  const queue = new RetryQueue({ clock, fetch: server.fetch, seed: 1n })
  await queue.ready
  for (const e of ['queued','attempt','retry','succeeded','exhausted','cancelled','degraded','idle'] as const) queue.on(e, (p: any) => events.push(e + (p.code ?? '') + (p.message ?? '')))
  server.reply(503).reply(503).reply(200, {}, 'done')
  const answer = queue.fetch('https://api.test/orders', { method: 'POST', body: 'x' })
  await clock.advance(5000)
  console.log(events, server.hits, server.requests.map(r => [r.at, r.headers.get('idempotency-key')]))
  console.log(queue.stats(), clock.timers)
  expect((await answer).status).toBe(200)
  const r = await queue.enqueue('https://api.test/x', { method: 'POST', body: 'x' })
  await clock.advance(100)
  console.log(await queue.get(r.taskId), await queue.attempts((await queue.list()).tasks[0]!.taskId))
  await queue.close()
})
