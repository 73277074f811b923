// A queue over a store for everyone: it sends for all tenants, each with its own lane, and knows each server once.
import { expect, onTestFinished, test } from 'vitest'
import type { NewTask } from '../../js/api/store.ts'
import { RetryQueue } from '../../js/index.ts'
import { internalsOf } from '../../js/queue/internals.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { fakeClock, scriptedServer } from '../../js/testing.ts'
import { closeNow } from './setup.ts'
import { newTask, ORIGIN } from './store-contract/kit.ts'

type Answer = (
  tenant: string | null,
  url: string,
) => { readonly status: number; readonly headers?: Record<string, string> }

let number = 0
function task(principal: string | null, more: { readonly targetUrl?: string } = {}): NewTask {
  number++
  const { origin } = new URL(more.targetUrl ?? ORIGIN)
  const policy = { policyId: 'default', strategy: 'fixed', initialDelayMs: 1_000, jitterType: 'NONE' } as const
  // one without a header that is withheld: no other process has it
  const own = { principal, origin, policy: { ...policy, maxAttempts: 100 }, withheldHeaders: [] }
  return newTask(number, { ...own, fingerprint: `print-${number}`, dueInMs: 0, ...more })
}

/** `answer` says how each request of each tenant ends. */
async function setup(answer: Answer, more: ConstructorParameters<typeof RetryQueue>[0] = {}) {
  const clock = fakeClock()
  const store = memoryStore({ clock, everyone: true })
  const sent: {
    readonly tenant: string | null
    readonly url: string
    readonly key: string | null
    readonly at: number
  }[] = []
  const queue = new RetryQueue({
    ...{ clock, store, seed: 1n, principal: null, warn: false, fetch: scriptedServer({ clock }).fetch },
    ...{ concurrency: 200, concurrencyPerOrigin: 20, ...more },
  })
  const { host } = internalsOf(queue)
  host.settings.sendingOf = ({ principal: tenant }) => ({
    fetch: async (input, init) => {
      const url = String(input)
      const key = new Headers(init?.headers).get('idempotency-key')
      sent.push({ tenant, url, key, at: clock.now() })
      const { status, headers = {} } = answer(tenant, url)
      return new Response(null, { status, headers })
    },
    credentials: {},
  })
  onTestFinished(() => closeNow(queue, clock))
  await queue.ready
  return { clock, store, queue, sent, settings: host.settings }
}

const OK: Answer = () => ({ status: 200 })

test('S16 sends the tasks of every tenant, each by the sender of its own tenant', async () => {
  const { clock, store, sent } = await setup(OK)
  const tenants = Array.from({ length: 200 }, (_, i) => (i % 3 === 0 ? null : `tenant-${i % 7}`))
  const tasks = tenants.map((tenant) => task(tenant))
  await store.enqueue(tasks)
  await clock.advance(2_000)
  expect(sent).toHaveLength(200)
  const tenantOf = new Map(tasks.map(({ idempotencyKey, principal }) => [idempotencyKey, principal]))
  expect(sent.filter(({ key, tenant }) => tenantOf.get(key) !== tenant)).toEqual([])
  expect(await store.counts()).toMatchObject({ pending: 0, succeeded: 200 })
})

test('a server that tells one tenant to wait holds that tenant, and no other', async () => {
  const { clock, store, queue, sent } = await setup((tenant) =>
    tenant === 'loud' ? { status: 429, headers: { 'retry-after': '30' } } : { status: 200 },
  )
  await store.enqueue([task('loud')])
  await clock.advance(100)
  await store.enqueue([task('loud'), task('quiet'), task(null)])
  await clock.advance(5_000)
  expect(sent.map(({ tenant }) => String(tenant)).sort()).toEqual(['loud', 'null', 'quiet'])
  const [held] = (await store.list({ principal: 'loud', limit: 1 })).tasks
  expect((await queue.explain(held?.taskId ?? '', { allPrincipals: true })).at(-1)).toMatchObject({ kind: 'waits' })
})

test('L4 a server that is down for one tenant is down for all: its circuit opens once', async () => {
  const { clock, store, queue, sent } = await setup(() => ({ status: 503 }))
  await store.enqueue(Array.from({ length: 40 }, () => task('loud')))
  await clock.advance(20_000)
  const { origins } = queue.stats({ allPrincipals: true })
  expect(Object.keys(origins)).toEqual([ORIGIN])
  expect(origins[ORIGIN]?.circuit).not.toBe('CLOSED')
  const before = sent.length
  await store.enqueue([task('quiet')])
  await clock.advance(100)
  expect(sent.slice(before).filter(({ tenant }) => tenant === 'quiet')).toEqual([])
})

test('the circuit of one origin keeps no other back, not even for the same tenant', async () => {
  const { clock, store, sent } = await setup((_, url) => ({ status: url.startsWith(ORIGIN) ? 503 : 200 }))
  await store.enqueue(Array.from({ length: 40 }, () => task('loud')))
  await clock.advance(20_000)
  const before = sent.length
  await store.enqueue([task('loud', { targetUrl: 'https://other.test/x' })])
  await clock.advance(100)
  expect(sent.slice(before).map(({ url }) => url)).toContain('https://other.test/x')
})

test('S7 one origin gets no more at once than its limit, over all tenants', async () => {
  let running = 0
  let most = 0
  const { clock, store, settings } = await setup(OK, { concurrencyPerOrigin: 3 })
  settings.sendingOf = () => ({
    fetch: async () => {
      most = Math.max(most, ++running)
      await new Promise<void>((done) => clock.after(50, done))
      running--
      return new Response(null, { status: 200 })
    },
    credentials: {},
  })
  await store.enqueue(Array.from({ length: 60 }, (_, i) => task(`tenant-${i % 6}`)))
  await clock.advance(10_000)
  expect(await store.counts()).toMatchObject({ succeeded: 60 })
  expect(most).toBe(3)
})

test('a target that is refused when it is to be sent ends its task at once, and no circuit hears of it', async () => {
  const { clock, store, queue, sent, settings } = await setup(OK)
  settings.sendingOf = () => ({
    fetch: async () => {
      throw Object.assign(new Error('refused by the rule private'), { unmade: { reason: 'target_refused' } })
    },
    credentials: {},
  })
  const tasks = Array.from({ length: 30 }, () => task('acme'))
  await store.enqueue(tasks)
  await clock.advance(1_000)
  expect(sent).toEqual([])
  expect(await store.counts()).toMatchObject({ exhausted: 30, pending: 0 })
  const { taskId = '' } = tasks[0] ?? {}
  expect(await store.get(taskId)).toMatchObject({ status: 'EXHAUSTED', reason: 'target_refused', attemptNumber: 1 })
  expect(await store.attempts(taskId, { limit: 10 })).toMatchObject({
    attempts: [{ attemptNumber: 1, errorMessage: 'refused by the rule private' }],
  })
  expect(queue.stats({ allPrincipals: true }).origins[ORIGIN]?.circuit ?? 'CLOSED').toBe('CLOSED')
})

test('S8 a pause of the store keeps a tenant back, also where the runner has it in view', async () => {
  const { clock, store, sent } = await setup(OK)
  await store.pauses?.put({ id: 'p', principal: 'loud', at: clock.now() })
  await store.enqueue([task('loud'), task('quiet')])
  await clock.advance(60_000)
  expect(sent.map(({ tenant }) => tenant)).toEqual(['quiet'])
  await store.pauses?.lift('p')
  await clock.advance(10)
  expect(sent.map(({ tenant }) => tenant)).toEqual(['quiet', 'loud'])
})

test('the life of a lease is the one that the service sets', async () => {
  const { clock, store, settings } = await setup(OK)
  expect(settings.leaseMs).toBeUndefined()
  let claimedMs: number | undefined
  const turn = store.turn.bind(store)
  store.turn = (step) => {
    claimedMs = step.claim?.leaseMs ?? claimedMs
    return turn(step)
  }
  await store.enqueue([task('acme')])
  await clock.advance(100)
  expect(claimedMs).toBe(30_000)
})

test('an attempt that its sender gives back is not counted and made later, and no circuit hears of it', async () => {
  const { clock, store, queue, sent, settings } = await setup(OK)
  let refusals = 0
  const { sendingOf: send } = settings
  if (!send) throw new Error('nothing sends')
  settings.sendingOf = (record) => ({
    ...send(record),
    fetch: async (input, init) => {
      if (++refusals <= 30) throw Object.assign(new Error('its body is away'), { unmade: {} })
      return send(record).fetch(input, init)
    },
  })
  const tasks = Array.from({ length: 10 }, () => task('acme'))
  await store.enqueue(tasks)
  await clock.advance(200_000)
  expect(sent).toHaveLength(10)
  expect(await store.counts()).toMatchObject({ succeeded: 10 })
  const { taskId = '' } = tasks[0] ?? {}
  expect(await store.get(taskId)).toMatchObject({ attemptNumber: 1 })
  const { attempts } = await store.attempts(taskId, { limit: 10 })
  expect(attempts[0]).toMatchObject({ errorMessage: 'its body is away', kind: 'released' })
  expect(queue.stats({ allPrincipals: true }).origins[ORIGIN]?.circuit ?? 'CLOSED').toBe('CLOSED')
})

test('S16 a credential of the queue itself goes with no task of a service', async () => {
  const seen: (string | null)[] = []
  const { clock, store, settings } = await setup(OK, {
    credentials: { [ORIGIN]: () => ({ authorization: 'Bearer of-the-queue' }) },
    sign: () => ({ 'x-signature': 'of-the-queue' }),
  })
  settings.sendingOf = ({ principal }) => ({
    fetch: async (_, init) => {
      const headers = new Headers(init?.headers)
      seen.push(headers.get('authorization'), headers.get('x-signature'))
      return new Response(null, { status: 200 })
    },
    credentials: principal === 'acme' ? { [ORIGIN]: () => ({ authorization: 'Bearer of-acme' }) } : {},
  })
  await store.enqueue([task('acme'), task('other')])
  await clock.advance(1_000)
  expect(seen.sort()).toEqual(['Bearer of-acme', null, null, null].sort())
})

test('a task that may not have what it needs is parked, and goes on when it may', async () => {
  const { clock, store, sent, settings } = await setup(OK)
  const { sendingOf: send } = settings
  if (!send) throw new Error('nothing sends')
  let isRefused = true
  settings.sendingOf = (record) => ({
    ...send(record),
    fetch: async (...given) => {
      if (isRefused)
        throw Object.assign(new Error('there is no credential for this tenant'), { unmade: { parks: true } })
      return send(record).fetch(...given)
    },
  })
  const one = task('acme')
  await store.enqueue([one])
  await clock.advance(100_000)
  expect(sent).toEqual([])
  expect(await store.get(one.taskId)).toMatchObject({ status: 'PENDING', parked: true, attemptNumber: 0 })
  expect(await store.attempts(one.taskId, { limit: 10 })).toMatchObject({
    attempts: [{ kind: 'parked', errorMessage: 'there is no credential for this tenant' }],
  })
  isRefused = false
  await store.unpark?.({})
  await clock.advance(1_000)
  expect(sent).toHaveLength(1)
})
