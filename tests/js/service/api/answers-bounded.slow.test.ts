// Whatever lies in the store, no answer is longer than its bound, and a caller who goes on from page to page finds all.
import { expect, test } from 'vitest'
import { routes } from '../../../../js/service/api/routes.ts'
import { idOf, ORDERS, type StoreKind, setup, type World } from './setup.ts'

/** Bytes of a page of tasks, beside one that alone is more than that. */
const PAGE = 2 ** 20
const ONE = 40_000

/** As large as a task may be that is shown: its target, its headers, its names. */
const large = (n: number) => ({
  targetUrl: `${ORDERS}/${'q'.repeat(7_900)}${n}`,
  idempotencyKey: `${n}-`.padEnd(255, 'k'),
  headers: Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`accept-${i}`, 'h'.repeat(1_900)])),
  tags: Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`tag-${i}`, 't'.repeat(50)])),
  policy: { maxAttempts: 1 },
  json: 1,
})

async function filled(kind: StoreKind): Promise<World & { readonly taskId: string }> {
  const world = await setup({ kind })
  const { ask, clock, server, create } = world
  server.fail(new TypeError('the line broke '.repeat(5_000)))
  // one with as many attempts as are kept
  const taskId = idOf(await create({ ...large(0), policy: { maxAttempts: 120, strategy: 'fixed', initialDelayMs: 1 } }))
  for (let n = 0; n < 130; n++) await clock.advance(100)
  for (let n = 0; n < 160; n++) expect((await create(large(n + 1))).json).toMatchObject({ deduplicated: false })
  await clock.advance(1_000)
  for (let n = 0; n < 64; n++) {
    const body = { origin: `https://${n}.test`, reason: 'r'.repeat(200) }
    await ask('POST', '/pauses', { body })
    await ask('POST', '/retry-policies', {
      body: { policyId: `p${n}`, strategy: 'table', delaysMs: Array(200).fill(1_000) },
    })
  }
  return { ...world, taskId }
}

test.each(['memory', 'sqlite'] as const)(
  'in %s: no GET is answered with more than a mebibyte and a task',
  async (kind) => {
    const { ask, taskId } = await filled(kind)
    const paths = routes.filter(({ method, path }) => method === 'GET' && !/events|export|\/body$|metrics/.test(path))
    expect(paths.length).toBeGreaterThan(10)
    for (const { path } of paths) {
      const words = path.replace('{taskId}', taskId).replace('{policyId}', 'svix')
      const isList = ['/retry-tasks', '/dead-letters'].includes(path) || path.endsWith('/attempts')
      const answer = await ask('GET', `${words}${isList ? '?limit=1000' : ''}`)
      expect([path, answer.status < 500, Buffer.byteLength(answer.text) <= PAGE + ONE]).toEqual([path, true, true])
    }
  },
)

test.each(['sqlite', 'partitions'] as const)(
  'in %s: pages that end for their bytes go on where they ended',
  async (kind) => {
    const { ask } = await filled(kind)
    const found: string[] = []
    const sizes: number[] = []
    for (let cursor = ''; ; ) {
      const { text, json } = await ask('GET', `/retry-tasks?limit=1000${cursor && `&cursor=${cursor}`}`)
      sizes.push(Buffer.byteLength(text))
      found.push(...(json.tasks as readonly { readonly taskId: string }[]).map(({ taskId }) => taskId))
      if (json.cursor === undefined) break
      cursor = String(json.cursor)
    }
    expect([found.length, new Set(found).size]).toEqual([161, 161])
    expect(sizes.length).toBeGreaterThan(1)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(PAGE + ONE)
  },
)
