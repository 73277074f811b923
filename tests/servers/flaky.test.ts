/** The judge is judged first: what the flaky server injects, and whether it would notice a client that misbehaves. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { only } from './faults.mjs'
import { Ledger } from './ledger.mjs'
import { type FaultKind, type FaultOptions, type FlakyServer, startFlaky } from './start.mjs'

const always = (kind: FaultKind): FaultOptions => ({ share: 1, maxFaults: 1, weights: only(kind) })

let server: FlakyServer

beforeEach(async () => {
  server = await startFlaky({ faults: { share: 0, latencyMs: [0, 1], slowShare: 0 } })
})
afterEach(() => server.close())

async function post(intent: string, key?: string, body = '{}'): Promise<Response | null> {
  const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key }
  return await fetch(`${server.url}/api/orders?intent=${intent}`, { method: 'POST', headers, body }).catch(() => null)
}

describe('what it injects', () => {
  test('the same seed gives the same faults to the same attempts, whatever the order of the intents', async () => {
    const intents = Array.from({ length: 20 }, (_, at) => `i${at}`)
    const outcomes = async (order: readonly string[]) => {
      await server.reset()
      await server.configure({ seed: 5, share: 0.5 })
      for (const intent of [...order, ...order]) await post(intent, intent)
      const { perIntent } = await server.report()
      return Object.fromEntries(perIntent.map(({ intent, outcomes: list }) => [intent, list.join()]))
    }
    expect(await outcomes(intents)).toEqual(await outcomes(intents.toReversed()))
  })

  const kinds = [
    ['unavailable', 503, null, 0],
    ['unavailable_retry_after', 503, '1', 0],
    ['too_many_requests', 429, '1', 0],
    ['reset_before', null, null, 0],
    ['reset_after', null, null, 1],
    ['refused', 403, null, 0],
  ] as const
  test.each(kinds)('%s: status %s, Retry-After %s, %i effects', async (kind, status, retryAfter, effects) => {
    await server.configure(always(kind))
    const response = await post('one', 'k')
    expect(response?.status ?? null).toBe(status)
    expect(response?.headers.get('retry-after') ?? null).toBe(retryAfter)
    expect((await server.report()).effectsPerIntent.max).toBe(effects)
  })

  test('after maxFaults of them an intent is answered', async () => {
    await server.configure({ ...always('unavailable'), maxFaults: 2 })
    const statuses = [await post('one'), await post('one'), await post('one')].map((response) => response?.status)
    expect(statuses).toEqual([503, 503, 200])
  })

  test('a wrong configuration is refused, not ignored', async () => {
    await expect(server.configure({ shaer: 1 } as FaultOptions)).rejects.toThrow("unknown option 'shaer'")
  })
})

test('who waits for the next answer hears of it, be it a reset', async () => {
  for (const kind of ['unavailable', 'reset_before'] as const) {
    await server.configure(always(kind))
    let heard = false
    const next = server.nextAnswer().then(() => {
      heard = true
    })
    await server.report()
    expect(heard).toBe(false)
    await post(kind)
    await next
  }
})

describe('how it honours a key', () => {
  test('one effect and the same answer again', async () => {
    const [first, again] = [await post('one', 'k'), await post('one', 'k')]
    expect(await again?.json()).toEqual(await first?.json())
    expect(again?.headers.get('idempotency-replayed')).toBe('true')
    expect((await server.report()).effectsPerIntent).toEqual({ min: 1, max: 1, notOne: [] })
  })

  test('another request under the same key is 422', async () => {
    await post('one', 'k', '{"pieces":1}')
    expect((await post('one', 'k', '{"pieces":2}'))?.status).toBe(422)
  })
})

test('asked to, it does not: the work is done each time', async () => {
  const careless = await startFlaky({ faults: { share: 0, latencyMs: [0, 1], slowShare: 0 }, honoursKeys: false })
  const order = { method: 'POST', headers: { 'idempotency-key': 'k', 'x-attempt': 'me' }, body: '{"intent":"one"}' }
  for (const _ of [1, 2]) await fetch(`${careless.url}/api/orders`, order)
  const report = await careless.report({ visits: true })
  await careless.close()
  expect(report.effectsPerIntent.max).toBe(2)
  expect(report.visits?.map(({ by }) => by)).toEqual(['me', 'me'])
})

describe('what it would notice', () => {
  test('a second key, and an effect that came twice', async () => {
    await post('two-keys', 'a')
    await post('two-keys', 'b')
    await post('no-key')
    const report = await server.report()
    expect(report.keysPerIntent.notOne).toEqual(['two-keys', 'no-key'])
    expect(report.effectsPerIntent.notOne).toEqual(['two-keys'])
    expect(report.keylessWrites).toBe(1)
  })

  test('a Retry-After undercut', async () => {
    await server.configure(always('too_many_requests'))
    await post('hasty', 'k')
    await post('hasty', 'k')
    const { retryAfter } = await server.report()
    expect(retryAfter).toMatchObject({ sent: 1, undercut: 1 })
    expect(retryAfter.worstUndercutMs).toBeGreaterThan(500)
  })

  test('how many retries were open at once', async () => {
    await server.configure({ ...always('unavailable'), latencyMs: [60, 60] })
    const intents = ['a', 'b', 'c']
    await Promise.all(intents.map((intent) => post(intent, intent)))
    await Promise.all(intents.map((intent) => post(intent, intent)))
    expect((await server.report()).inFlight).toEqual({ max: 3, queueMax: 3, placesMax: 3, retriesMax: 3 })
  })

  test('S4 an attempt for what is done takes no place of a queue, whether it began before that was said or after', () => {
    const ledger = new Ledger()
    const visit = (intent: string, from: number, to: number, outcome: string) => {
      const begun = ledger.arrive(from)
      ledger.identify(begun, { intent, via: 'enqueue', by: null, method: 'POST', key: intent })
      ledger.end(begun, to, outcome)
    }
    visit('a', 0, 10, 'done')
    visit('b', 0, 30, 'done')
    visit('b', 5, 60, 'repeated')
    visit('a', 40, 70, 'repeated')
    visit('c', 40, 70, 'unavailable')
    visit('c', 50, 70, 'done')
    const { afterDone, inFlight } = ledger.report([])
    expect(afterDone).toBe(1)
    expect(inFlight).toMatchObject({ queueMax: 4, placesMax: 3 })
  })
})
