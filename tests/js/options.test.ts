import { expect, test } from 'vitest'
import { RetryQueue } from '../../js/index.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { fakeClock } from '../../js/testing.ts'

type Row = readonly [option: string, options: object, error: typeof TypeError | typeof RangeError, got: string]

const T = TypeError
const R = RangeError

/** Each is refused with the option's name, what was expected, and what came. */
const wrong: readonly Row[] = [
  ['options', [] as object, T, 'an array'],
  ['options.name', { name: 5 }, T, '5'],
  ['options.principal', { principal: 7 }, T, '7'],
  ['options.principal', { durable: true, principal: '' }, R, 'the id of the user'],
  ['options.principal', { durable: true }, T, 'the id of the user whose requests are made'],
  ['options.principal', { durable: true, store: memoryStore() }, T, 'undefined'],
  ['options.durable', { durable: 'yes' }, T, "'yes'"],
  ['options.store', { store: 'redis' }, T, "'redis'"],
  ['options.store', { store: {} }, R, 'got an object'],
  ['options.store', { store: { turn: () => {} } }, R, 'an object'],
  ['options.store', { store: { turn: () => {}, enqueue: true } }, R, 'an object'],
  ['options.store', { store: null }, T, 'null'],
  ['options.persist', { persist: 'after-send' }, R, "'after-send'"],
  ['options.persist', { persist: true }, T, 'true'],
  ['options.persistMethods', { persistMethods: 'POST' }, T, "'POST'"],
  ['options.persistMethods[1]', { persistMethods: ['POST', 'PO ST'] }, R, "'PO ST'"],
  ['options.breaker', { breaker: true }, T, 'true'],
  ['options.breaker.openMs', { breaker: { openMs: 0 } }, R, '0'],
  ['options.breaker.fairShare', { breaker: { fairShare: 0 } }, R, '0'],
  ['options.breaker.afterMs', { breaker: { afterMs: -1 } }, R, '-1'],
  ['options.breaker.whenOpen', { breaker: { whenOpen: 'drop' } }, R, "'drop'"],
  ['options.breaker.fallback', { breaker: { fallback: {} } }, T, 'an object'],
  ['options.retryBudget', { retryBudget: [] }, T, 'an array'],
  ['options.retryBudget.capacity', { retryBudget: { capacity: 0.5 } }, R, '0.5'],
  ['options.retryBudget.perSecond', { retryBudget: { perSecond: -1 } }, R, '-1'],
  ['options.concurrency', { concurrency: 0 }, R, '0'],
  ['options.concurrency', { concurrency: 10_001 }, R, '10001'],
  ['options.concurrency', { concurrency: 2.5 }, R, '2.5'],
  ['options.concurrency', { concurrency: '3' }, T, "'3'"],
  ['options.concurrency', { concurrency: Number.NaN }, R, 'NaN'],
  ['options.concurrencyPerOrigin', { concurrencyPerOrigin: -1 }, R, '-1'],
  ['options.concurrencyPerOrigin', { concurrencyPerOrigin: Number.POSITIVE_INFINITY }, R, 'Infinity'],
  ['options.capacity', { capacity: 0 }, R, '0'],
  ['options.capacity', { capacity: 1_000_001 }, R, '1000001'],
  ['options.capacityBytes', { capacityBytes: -1 }, R, '-1'],
  ['options.capacityBytes', { capacityBytes: 2 ** 53 }, R, '9007199254740992'],
  ['options.maxBodyBytes', { maxBodyBytes: null }, T, 'null'],
  ['options.maxBodyBytes', { maxBodyBytes: 1.5 }, R, '1.5'],
  ['options.policy', { policy: 'default' }, T, "'default'"],
  ['options.policy', { policy: null }, T, 'null'],
  ['options.policy', { policy: [] }, T, 'an array'],
  ['options.policy.maxAttempts', { policy: { maxAttempts: 0 } }, R, '0'],
  ['options.policy.maxAttempts', { policy: { maxAttempts: 1_000_001 } }, R, '1000001'],
  ['options.policy.strategy', { policy: { strategy: 'expo' } }, R, "'expo'"],
  ['options.policy.strategy', { policy: { strategy: 2 } }, T, '2'],
  ['options.policy.delaysMs', { policy: { strategy: 'table' } }, T, 'undefined'],
  ['options.policy.delaysMs', { policy: { strategy: 'table', delaysMs: [] } }, R, 'an array'],
  ['options.policy.delaysMs[1]', { policy: { strategy: 'table', delaysMs: [1, -1] } }, R, '-1'],
  ['options.policy.exponent', { policy: { strategy: 'polynomial', baseMs: 1 } }, T, 'undefined'],
  ['options.policy.exponent', { policy: { exponent: 8.5 } }, R, '8.5'],
  ['options.policy.freshJitter', { policy: { freshJitter: 0.6 } }, R, '0.6'],
  ['options.policy.jitterRatio', { policy: { jitterRatio: 1.1 } }, R, '1.1'],
  ['options.policy.jitterType', { policy: { jitterType: 'full' } }, R, "'full'"],
  ['options.policy.jitterType', { policy: { jitterType: 'additive' } }, R, "'additive'"],
  ['options.policy.initialDelayMs', { policy: { initialDelayMs: -1 } }, R, '-1'],
  ['options.policy.initialDelayMs', { policy: { initialDelayMs: 0.5 } }, R, '0.5'],
  ['options.policy.initialDelayMs', { policy: { initialDelayMs: 1n } }, T, '1'],
  ['options.policy.multiplier', { policy: { multiplier: 1.001 } }, R, '1.001'],
  ['options.policy.multiplier', { policy: { multiplier: 0.5 } }, R, '0.5'],
  ['options.policy.maxDelayMs', { policy: { maxDelayMs: Number.NaN } }, R, 'NaN'],
  ['options.policy.totalBudgetMs', { policy: { totalBudgetMs: '1h' } }, T, "'1h'"],
  ['options.policy.totalBudgetMs', { policy: { totalBudgetMs: 86_400_001 } }, R, '86400001'],
  ['options.policies[0].totalBudgetMs', { policies: [{ policyId: 'a', totalBudgetMs: 2, keyTtlMs: 1 }] }, R, '2'],
  ['options.policy.retryableStatusCodes', { policy: { retryableStatusCodes: 503 } }, T, '503'],
  ['options.policy.retryableStatusCodes', { policy: { retryableStatusCodes: 'BROAD' } }, T, "'BROAD'"],
  ['options.policy.retryableStatusCodes[0]', { policy: { retryableStatusCodes: [600] } }, R, '600'],
  ['options.policy.retryableStatusCodes[1]', { policy: { retryableStatusCodes: [503, 99] } }, R, '99'],
  ['options.policy.retryableStatusCodes[0]', { policy: { retryableStatusCodes: ['503'] } }, T, "'503'"],
  ['options.policy.retryNetworkErrors', { policy: { retryNetworkErrors: 1 } }, T, '1'],
  ['options.policy.attemptTimeoutMs', { policy: { attemptTimeoutMs: -1 } }, R, '-1'],
  ['options.policy.maxRetryAfterMs', { policy: { maxRetryAfterMs: 8.65e15 } }, R, '8650000000000000'],
  ['options.policy.keyTtlMs', { policy: { keyTtlMs: 0 } }, R, '0'],
  ['options.policies', { policies: {} }, T, 'an object'],
  ['options.policies[0]', { policies: [null] }, T, 'null'],
  ['options.policies[0].policyId', { policies: [{}] }, T, 'undefined'],
  ['options.policies[1].policyId', { policies: [{ policyId: 'a' }, { policyId: 'a' }] }, R, "'a'"],
  ['options.policies[0].policyId', { policy: {}, policies: [{ policyId: 'default' }] }, R, "'default'"],
  ['options.policies[0].maxAttempts', { policies: [{ policyId: 'a', maxAttempts: 0 }] }, R, '0'],
  ['options.retention', { retention: 5 }, T, '5'],
  ['options.retention.terminalMs', { retention: { terminalMs: -1 } }, R, '-1'],
  ['options.retention.maxTerminal', { retention: { maxTerminal: 0.5 } }, R, '0.5'],
  ['options.retention.deadLetterMs', { retention: { deadLetterMs: '30d' } }, T, "'30d'"],
  ['options.retention.maxDeadLetters', { retention: { maxDeadLetters: 1e9 } }, R, '1000000000'],
  ['options.idempotency', { idempotency: true }, T, 'true'],
  ['options.idempotency', { idempotency: null }, T, 'null'],
  ['options.idempotency.mode', { idempotency: { mode: 'body' } }, R, "'body'"],
  ['options.idempotency.windowMs', { idempotency: { windowMs: 0 } }, R, '0'],
  ['options.idempotency.windowMs', { idempotency: { windowMs: '1d' } }, T, "'1d'"],
  ['options.idempotency.scope', { idempotency: { scope: 7 } }, T, '7'],
  ['options.sanitize', { sanitize: 'strict' }, T, "'strict'"],
  ['options.sanitize.persistHeaders', { sanitize: { persistHeaders: 'x-own' } }, T, "'x-own'"],
  ['options.sanitize.persistHeaders[1]', { sanitize: { persistHeaders: ['x-own', 'x own'] } }, R, "'x own'"],
  ['options.sanitize.denyHeaders[0]', { sanitize: { denyHeaders: ['x-*-own'] } }, R, "'x-*-own'"],
  ['options.sanitize.urlSecrets', { sanitize: { urlSecrets: 'hide' } }, R, "'hide'"],
  ['options.idempotency.header', { idempotency: { header: 'bad name' } }, R, "'bad name'"],
  ['options.idempotency.header', { idempotency: { header: '' } }, R, "''"],
  ['options.idempotency.format', { idempotency: { format: 'json' } }, R, "'json'"],
  ['options.idempotency.methods', { idempotency: { methods: 'POST' } }, T, "'POST'"],
  ['options.idempotency.methods[0]', { idempotency: { methods: [1] } }, T, '1'],
  ['options.idempotency.methods[1]', { idempotency: { methods: ['POST', 'PO ST'] } }, R, "'PO ST'"],
  ['options.idempotency.origins[0]', { idempotency: { origins: ['api.test'] } }, R, "'api.test'"],
  ["options.credentials['https://a.test']", { credentials: { 'https://a.test': {} } }, T, 'an object'],
  ['options.beforeAttempt', { beforeAttempt: {} }, T, 'an object'],
  ['options.preload', { preload: 'lazy' }, R, "'lazy'"],
  ['options.fetch', { fetch: {} }, T, 'an object'],
  ['options.clock', { clock: 5 }, T, '5'],
  ['options.clock.now', { clock: {} }, T, 'undefined'],
  ['options.clock.after', { clock: { now: () => 0, monotonic: () => 0, after: 5 } }, T, '5'],
  ['options.seed', { seed: 5 }, T, '5'],
]

test.each(wrong)('%s: %o is refused at construction', (option, options, error, got) => {
  let thrown: unknown
  try {
    new RetryQueue(options as never)
  } catch (caught) {
    thrown = caught
  }
  expect(thrown).toBeInstanceOf(error)
  const { message } = thrown as Error
  expect(message.startsWith(`${option}:`)).toBe(true)
  expect(message).toContain(got)
  expect(message).toMatch(/expected|not available/)
})

test('undefined counts as absent', () => {
  expect(
    new RetryQueue({ name: undefined, policy: undefined, retention: undefined, seed: undefined } as never).name,
  ).toBe('default')
})

test('a value that may hold a secret is never in the message whole', () => {
  const secret = `${'x'.repeat(41)}hush`
  expect(() => new RetryQueue({ preload: secret as never })).toThrow(/^(?!.*hush)/)
  expect(() => new RetryQueue({ fetch: { token: 'hush' } as never })).toThrow(/^(?!.*hush)/)
})

test('what the caller changes in its options afterwards changes nothing', async () => {
  const codes = [503]
  const clock = fakeClock()
  let hits = 0
  const policy = { retryableStatusCodes: codes, maxAttempts: 2, jitterType: 'NONE' as const, initialDelayMs: 1 }
  const fetch = async () => new Response(null, { status: ++hits === 1 ? 503 : 200 })
  const queue = new RetryQueue({ clock, policy, fetch })
  await queue.ready
  codes.length = 0
  policy.maxAttempts = 1
  const answer = queue.fetch('https://api.test/')
  await clock.advance(1)
  expect((await answer).status).toBe(200)
  await queue.close()
})
