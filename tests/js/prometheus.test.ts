import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { type MetricsOptions, metricsOf, registerMetrics } from '../../js/adapters/prometheus.ts'
import type { OriginStats, QueueStats } from '../../js/api/stats.ts'
import { RetryQueue as Queue, type RetryQueue } from '../../js/index.ts'
import { internalsOf } from '../../js/queue/internals.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { fakeClock, scriptedServer } from '../../js/testing.ts'
import { always, bare, ORDERS, type Said, setup } from './setup.ts'

/** The value of a series as the text has it; undefined: there is none. */
function seriesIn(text: string, series: string): number | undefined {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length + 1).replace('+Inf', 'Infinity'))
}

const attempts = (outcome: string, policy = 'default') =>
  `retry_attempts_total{outcome="${outcome}",policy="${policy}"}`

const retries = (outcome: string) => `retry_retries_total{outcome="${outcome}",policy="default"}`

async function measured(options: Parameters<typeof setup>[0] = {}, metrics?: MetricsOptions, ...answers: Said[]) {
  const fakes = await setup(options, ...answers)
  const { text, detach } = metricsOf(fakes.queue, metrics)
  return { ...fakes, text, detach, value: (series: string) => seriesIn(text(), series) }
}

/** A queue that says of itself what the test wants. */
function withStats(queue: RetryQueue, origins: Record<string, Partial<OriginStats>>): void {
  const none: OriginStats = {
    depth: 0,
    inFlight: 0,
    circuit: 'CLOSED',
    heldUntilAt: null,
    shutUntilAt: null,
    retryBudget: 10,
  }
  const all = Object.fromEntries(Object.entries(origins).map(([origin, given]) => [origin, { ...none, ...given }]))
  const stats = queue.stats()
  queue.stats = (): QueueStats => ({ ...stats, origins: all })
}

test('every attempt is counted by how it ended, first ones too', async () => {
  const { queue, clock, value } = await measured({}, {}, 200, 503, 429, 404)
  await queue.fetch(ORDERS)
  const second = queue.fetch(`${ORDERS}/2`)
  await clock.advance(10_000)
  await second
  const ends = ['success', 'server_error', 'rate_limited', 'client_error']
  expect(ends.map((name) => value(attempts(name)))).toEqual([1, 1, 1, 1])
  expect(ends.map((name) => value(retries(name)))).toEqual([0, 0, 1, 1])
})

test('what is enqueued has a first attempt too, and that is no retry', async () => {
  const { queue, clock, value } = await measured({}, {}, 503, 200)
  await queue.enqueue(ORDERS)
  await clock.advance(1_000)
  expect(['server_error', 'success'].map((name) => value(attempts(name)))).toEqual([1, 1])
  expect(['server_error', 'success'].map((name) => value(retries(name)))).toEqual([0, 1])
})

test('an attempt without an answer says why', async () => {
  const hang: typeof fetch = (_, init) =>
    new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)))
  const refuse: typeof fetch = () => Promise.reject(new TypeError('fetch failed'))
  const policy = { maxAttempts: 1, attemptTimeoutMs: 500 }
  const ways = [hang, refuse, hang]
  const fetch: typeof globalThis.fetch = (input, init) => (ways.shift() as typeof refuse)(input, init)
  const { queue, clock } = bare({ policy, fetch })
  const metrics = metricsOf(queue)
  const late = queue.fetch(ORDERS).catch(() => {})
  await clock.advance(500)
  await late
  await queue.fetch(ORDERS).catch(() => {})
  const controller = new AbortController()
  const gone = queue.fetch(ORDERS, { signal: controller.signal }).catch(() => {})
  await clock.settle()
  controller.abort()
  await gone
  const text = metrics.text()
  expect(['timeout', 'network_error', 'cancelled'].map((name) => seriesIn(text, attempts(name)))).toEqual([1, 1, 1])
})

test('the age of a task is told when it ends, by how it ended', async () => {
  const { queue, server, clock, value } = await measured({ policy: { maxAttempts: 2 } })
  always(server, 503, 2)
  const given = queue.fetch(ORDERS).catch(() => {})
  await clock.advance(1_000)
  await given
  server.reply(503).reply(200)
  const done = queue.fetch(ORDERS)
  await clock.advance(1_000)
  await done
  queue.pause()
  const { taskId } = await queue.enqueue(`${ORDERS}/9`)
  await queue.cancel(taskId)
  const count = (outcome: string) => value(`retry_task_age_seconds_count{outcome="${outcome}"}`)
  expect([count('succeeded'), count('exhausted'), count('cancelled')]).toEqual([1, 1, 1])
  const bucket = (le: string) => value(`retry_task_age_seconds_bucket{outcome="succeeded",le="${le}"}`)
  expect([bucket('0.5'), bucket('1'), bucket('+Inf')]).toEqual([0, 1, 1])
  expect(value('retry_task_age_seconds_sum{outcome="succeeded"}')).toBe(1)
})

test('a task that a store keeps ends once, and its store is asked for depth and dead letters', async () => {
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  const store = memoryStore({ clock })
  const { queue, value } = await measured({ clock, fetch: server.fetch, store, policy: { maxAttempts: 2 } })
  const POST = { method: 'POST', body: 'tea' }
  always(server, 503, 3)
  for (const path of ['lost', 'kept']) void queue.fetch(`${ORDERS}/${path}`, POST).catch(() => {})
  await clock.advance(0)
  expect(value('retry_queue_depth')).toBe(2)
  await clock.advance(10_000)
  expect(value('retry_queue_depth')).toBe(0)
  expect(value('retry_dead_letters')).toBe(1)
  const count = (outcome: string) => value(`retry_task_age_seconds_count{outcome="${outcome}"}`)
  expect([count('succeeded'), count('exhausted'), count('cancelled')]).toEqual([1, 1, 0])
})

test('no answer is copied for it, and no task shown', () => {
  const queue = new Queue()
  metricsOf(queue)
  const { events } = internalsOf(queue).host
  expect(
    (['queued', 'attempt', 'retry', 'succeeded', 'exhausted'] as const).filter((name) => events.has(name)),
  ).toEqual([])
})

test('latency is to the headers of the response, in seconds', async () => {
  const clock = fakeClock()
  const fetch = () =>
    new Promise<Response>((resolve) => void clock.after(300, () => resolve(new Response(null, { status: 200 }))))
  const { queue } = bare({ clock, fetch })
  const { text } = metricsOf(queue)
  const done = queue.fetch(ORDERS)
  await clock.advance(300)
  await done
  const bucket = (le: string) => seriesIn(text(), `retry_attempt_duration_seconds_bucket{outcome="success",le="${le}"}`)
  expect([bucket('0.25'), bucket('0.5'), bucket('30')]).toEqual([0, 1, 1])
  expect(seriesIn(text(), 'retry_attempt_duration_seconds_sum{outcome="success"}')).toBe(0.3)
})

test('depth, capacity and dead letters are those of stats()', async () => {
  const { queue, clock, value } = await measured({ capacity: 40, policy: { maxAttempts: 2 } }, {}, 503, 503)
  void queue.fetch(ORDERS).catch(() => {})
  await clock.settle()
  expect(value('retry_queue_depth')).toBe(1)
  await clock.advance(1_000)
  expect(['depth', 'capacity'].map((name) => value(`retry_queue_${name}`))).toEqual([0, 40])
  expect(value('retry_dead_letters')).toBe(1)
})

test('what was never seen is nought, so that the first of it is an increase', async () => {
  const { value } = await measured({ policies: [{ policyId: 'slow' }] })
  expect([attempts('timeout'), attempts('success', 'slow'), retries('timeout')].map(value)).toEqual([0, 0, 0])
  expect(value('retry_task_age_seconds_count{outcome="exhausted"}')).toBe(0)
})

test('a breaker is 0 closed, 1 half-open, 2 open; an origin without a budget has no tokens', async () => {
  const { queue, value } = await measured()
  withStats(queue, {
    'https://a.test': { circuit: 'CLOSED', retryBudget: 2.5 },
    'https://b.test': { circuit: 'HALF_OPEN', retryBudget: Number.POSITIVE_INFINITY },
    'https://c.test': { circuit: 'OPEN' },
  })
  const state = (name: string) => value(`retry_circuit_state{origin="https://${name}.test"}`)
  expect([state('a'), state('b'), state('c')]).toEqual([0, 1, 2])
  const tokens = (name: string) => value(`retry_budget_tokens{origin="https://${name}.test"}`)
  expect([tokens('a'), tokens('b'), tokens('c')]).toEqual([2.5, undefined, 10])
})

test('10,000 origins are 50 series and one for the rest, which shows the worst of them', async () => {
  const { queue, text } = await measured()
  const names = Array.from({ length: 10_000 }, (_, i) => `https://${i}.test`)
  const origins = Object.fromEntries(names.map((name, i) => [name, { depth: i % 7, retryBudget: i === 6 ? 9 : 10 }]))
  withStats(queue, { ...origins, 'https://9990.test': { circuit: 'OPEN', retryBudget: 0 } })
  const lines = text().split('\n')
  const of = (name: string) => lines.filter((line) => line.startsWith(`${name}{`))
  expect([of('retry_circuit_state').length, of('retry_budget_tokens').length]).toEqual([51, 51])
  expect(seriesIn(text(), 'retry_circuit_state{origin="https://9990.test"}')).toBe(2)
  const open = Object.fromEntries(names.map((name) => [name, { circuit: 'OPEN' as const }]))
  await Promise.resolve() // the numbers of one moment are kept for that moment
  withStats(queue, { ...open, 'https://77.test': { circuit: 'OPEN', retryBudget: 1 } })
  expect(seriesIn(text(), 'retry_circuit_state{origin="other"}')).toBe(2)
  expect(seriesIn(text(), 'retry_budget_tokens{origin="other"}')).toBe(1)
})

test('1,000 policies are as many series as maxPolicies and one for the rest', async () => {
  const policies = Array.from({ length: 1_000 }, (_, i) => ({ policyId: `p${i}` }))
  const { queue, text, value } = await measured({ policies }, { maxPolicies: 3 })
  await queue.fetch(ORDERS, { redrive: { policyId: 'p999' } })
  const lines = text().split('\n')
  expect(lines.filter((line) => line.startsWith('retry_retries_total{outcome="success"'))).toHaveLength(4)
  expect(value(attempts('success', 'other'))).toBe(1)
})

test('S12 no URL and no key is in it', async () => {
  const { queue, clock, text } = await measured({}, {}, 503, 503)
  void queue
    .fetch('https://api.test/private/path?token=hunter2', {
      method: 'POST',
      headers: { 'idempotency-key': 'order-4711' },
    })
    .catch(() => {})
  await clock.advance(1_000)
  expect(text()).toContain('origin="https://api.test"')
  expect(text()).not.toMatch(/hunter2|private|4711/)
})

test('a value with quotes, backslashes and new lines is escaped', async () => {
  const policyId = 'a"b\\c\nd'
  const { text } = await measured({ policies: [{ policyId }] }, { labels: { team: 'x"y' } })
  expect(text()).toContain(String.raw`retry_retries_total{team="x\"y",outcome="success",policy="a\"b\\c\nd"} 0`)
  expect(
    text()
      .split('\n')
      .every((line) => line === '' || /^(# (HELP|TYPE) )?retry_/.test(line)),
  ).toBe(true)
})

test('several queues are told apart by their names', async () => {
  const [one, two] = ['orders', 'mail'].map((name) => new Queue({ name, fetch: async () => new Response() }))
  if (!one || !two) throw new Error('two queues were made')
  const { text } = metricsOf([one, two])
  await two.fetch(ORDERS)
  expect(seriesIn(text(), 'retry_attempts_total{queue="mail",outcome="success",policy="default"}')).toBe(1)
  expect(seriesIn(text(), 'retry_attempts_total{queue="orders",outcome="success",policy="default"}')).toBe(0)
  expect(text().match(/# TYPE retry_attempts_total/g)).toHaveLength(1)
})

test('prom-client prints the same', async () => {
  const register = new Registry()
  const { queue, server, clock } = await setup()
  registerMetrics(queue, { register })
  const { text } = metricsOf(queue)
  server.reply(503).reply(200)
  const done = queue.fetch(ORDERS)
  await clock.advance(1_000)
  await done
  const sorted = (given: string) => given.split('\n').filter(Boolean).sort()
  expect(sorted(await register.metrics())).toEqual(sorted(text()))
  const json = await register.getMetricsAsJSON()
  expect(json.find(({ name }) => name === 'retry_queue_depth')).toMatchObject({ type: 'gauge', values: [{ value: 0 }] })
})

test('prom-client prints it as OpenMetrics too, time and again', async () => {
  const register = new Registry<typeof Registry.OPENMETRICS_CONTENT_TYPE>()
  register.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  const { detach } = registerMetrics(new Queue(), { register })
  const first = await register.metrics()
  expect(first).toContain('# TYPE retry_attempts counter')
  expect(first).toContain('retry_attempts_total{outcome="success",policy="default"} 0')
  expect(await register.metrics()).toBe(first)
  detach()
  expect(register.getMetricsAsArray()).toEqual([])
})

test('one register takes one call, and says what to do', () => {
  const register = new Registry()
  const { detach } = registerMetrics(new Queue(), { register })
  const queue = new Queue()
  const before = { ...internalsOf(queue).host }
  const again = () => registerMetrics(queue, { register })
  expect(again).toThrow('retry_attempts_total is in it already; give one call all the queues, or each its own Registry')
  expect({ ...internalsOf(queue).host }).toEqual(before)
  detach()
  again()
})

test('watchers come off in any order, and nothing is counted any more', async () => {
  const queue = new Queue({ fetch: async () => new Response() })
  const [first, second] = [metricsOf(queue), metricsOf(queue)]
  first.detach()
  await queue.fetch(ORDERS)
  expect([first, second].map(({ text }) => seriesIn(text(), attempts('success')))).toEqual([0, 1])
  second.detach()
  await queue.fetch(ORDERS)
  expect([first, second].map(({ text }) => seriesIn(text(), attempts('success')))).toEqual([0, 1])
})

test.each([
  [{ maxOrigins: 0 }, RangeError, 'metricsOf.maxOrigins: expected a whole number from 1 to 10000, got 0'],
  [
    { labels: { outcome: 'x' } },
    RangeError,
    'metricsOf.labels.outcome: expected another name, of letters, digits and _',
  ],
  [{ labels: { 'a-b': 'x' } }, RangeError, 'metricsOf.labels.a-b: expected another name, of letters, digits and _'],
  [{ labels: { a: 1 } }, TypeError, 'metricsOf.labels.a: expected a string, got 1'],
  [{ prefix: 'x' }, TypeError, 'metricsOf.prefix: no such option; there are labels, maxOrigins, maxPolicies'],
])('%j is refused', (options, kind, message) => {
  const made = () => metricsOf(new Queue(), options as MetricsOptions)
  expect(made).toThrow(kind as typeof Error)
  expect(made).toThrow(message as string)
})

test('what is no register is refused, and a queue that is counted already', () => {
  const wrong = () => registerMetrics(new Queue(), { register: {} as Registry })
  expect(wrong).toThrow('registerMetrics.register.registerMetric: expected a function, got undefined')
  const queue = new Queue()
  expect(() => metricsOf([queue, queue])).toThrow("the queue 'default' is counted here already")
})

test('queues come and go, and what they did stays', async () => {
  const metrics = metricsOf([])
  expect(metrics.text()).toContain('# TYPE retry_queue_depth gauge\n# HELP')
  const value = (name: string, labels = '') => seriesIn(metrics.text(), `${name}{queue="mail"${labels}}`)
  for (let i = 0; i < 3; i++) {
    const queue = new Queue({ name: 'mail', capacity: 5, fetch: async () => new Response() })
    const off = metrics.add(queue)
    await queue.fetch(ORDERS)
    expect(value('retry_queue_capacity')).toBe(5)
    off()
    off()
    await queue.fetch(ORDERS)
  }
  expect(value('retry_attempts_total', ',outcome="success",policy="default"')).toBe(3)
  expect(value('retry_queue_capacity')).toBe(0)
})

test('a queue for each of 1,000 tenants is 100 names and one for the rest', () => {
  const queues = Array.from({ length: 1_000 }, (_, i) => new Queue({ name: `tenant ${i}`, capacity: 5 }))
  const { text } = metricsOf(queues)
  expect(text().match(/^retry_queue_depth{/gm)).toHaveLength(101)
  expect(seriesIn(text(), 'retry_queue_capacity{queue="other"}')).toBe(4_500)
})

test('two queues of a name are one series: their tasks added up, the worse of their breakers', async () => {
  const [one, two] = [await setup(), await setup()]
  const { text } = metricsOf([one.queue, two.queue])
  withStats(one.queue, { 'https://a.test': { circuit: 'OPEN', retryBudget: 7 } })
  withStats(two.queue, { 'https://a.test': { retryBudget: 3 }, 'https://b.test': {} })
  const of = (series: string) => seriesIn(text(), series)
  expect(of('retry_circuit_state{queue="default",origin="https://a.test"}')).toBe(2)
  expect(of('retry_budget_tokens{queue="default",origin="https://a.test"}')).toBe(3)
  expect(of('retry_circuit_state{queue="default",origin="https://b.test"}')).toBe(0)
  expect(of('retry_queue_capacity{queue="default"}')).toBe(20_000)
})

test('a listener of `circuit` finds the state that it is told of', async () => {
  const policy = { strategy: 'table', delaysMs: [0], maxAttempts: 100, attemptTimeoutMs: 0 } as const
  const { queue, server, clock, events } = await setup({ policy, breaker: { afterMs: 0, whenOpen: 'hold' } })
  const { text } = metricsOf(queue)
  const circuit = () => seriesIn(text(), 'retry_circuit_state{origin="https://api.test"}')
  const states: unknown[] = []
  queue.on('circuit', () => states.push(circuit()))
  for (let i = 0; i < 5; i++) server.reply(503)
  for (const path of ['a', 'b', 'c']) await queue.enqueue(`${ORDERS}/${path}`)
  await clock.advance(0)
  expect(circuit()).toBe(2)
  await clock.advance(60_000)
  expect(circuit()).toBe(0)
  expect(events.of('circuit').map(({ to }) => to)).toEqual(['OPEN', 'HALF_OPEN', 'CLOSED'])
  expect(states).toEqual([2, 1, 0])
})
