/** A policy in the words of gRFC A6, read back by grpc-js' own validation. */

import { createRequire } from 'node:module'
import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { serviceConfig, UnsupportedPolicyError } from '../../../js/adapters/grpc.ts'
import type { RetryPolicy } from '../../../js/api/policy.ts'
import { loadCore } from '../../../js/core.ts'
import { presets } from '../../../js/index.ts'
import { call, clientOf, grpcServer, RESOURCE_EXHAUSTED, UNAVAILABLE } from './server.ts'

const require = createRequire(import.meta.url)
const { validateServiceConfig } = require('@grpc/grpc-js/build/src/service-config.js') as {
  validateServiceConfig(config: unknown): { readonly methodConfig: readonly { readonly timeout?: unknown }[] }
}

/** The config of a policy, as grpc-js reads it. */
const readByGrpc = (policy: Partial<RetryPolicy>) =>
  validateServiceConfig(JSON.parse(JSON.stringify(serviceConfig(policy, { warn: false })))).methodConfig[0]

test('the example of A6', () => {
  expect(serviceConfig(presets.grpc)).toEqual({
    methodConfig: [
      {
        name: [{}],
        timeout: '86400s',
        retryPolicy: {
          maxAttempts: 4,
          initialBackoff: '0.100000000s',
          maxBackoff: '1s',
          backoffMultiplier: 2,
          retryableStatusCodes: ['RESOURCE_EXHAUSTED', 'UNAVAILABLE'],
        },
      },
    ],
  })
})

test('what is not given is the queue’s default, without a warning', () => {
  const warn = vi.spyOn(console, 'warn')
  expect(serviceConfig({}).methodConfig).toEqual([
    {
      name: [{}],
      retryPolicy: {
        maxAttempts: 5,
        initialBackoff: '0.500000000s',
        maxBackoff: '8s',
        backoffMultiplier: 2,
        retryableStatusCodes: ['RESOURCE_EXHAUSTED', 'UNAVAILABLE'],
      },
    },
  ])
  expect(warn).not.toHaveBeenCalled()
})

test('the longest wait is the core’s default', async () => {
  const core = await loadCore()
  const longest = core.calculateBackoffDelay({ jitterType: 'NONE' }, 1_000)
  expect(serviceConfig({}).methodConfig[0]?.retryPolicy?.maxBackoff).toBe(`${longest / 1_000}s`)
})

test('it is for the methods that are named', () => {
  const { methodConfig } = serviceConfig({}, { methods: ['shop.Orders/Create', '/shop.Orders/Cancel', 'shop.Bills'] })
  expect(methodConfig[0]?.name).toEqual([
    { service: 'shop.Orders', method: 'Create' },
    { service: 'shop.Orders', method: 'Cancel' },
    { service: 'shop.Bills' },
  ])
})

test('more attempts than A6 knows are 5, and that is said', () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  const attempts = (maxAttempts: number, options = {}) =>
    serviceConfig({ maxAttempts }, options).methodConfig[0]?.retryPolicy?.maxAttempts
  expect([attempts(5), attempts(8, { warn: false })]).toEqual([5, 5])
  expect(warn).not.toHaveBeenCalled()
  expect(attempts(8)).toBe(5)
  expect(warn.mock.calls).toEqual([['redrive/grpc: maxAttempts 8 is 5 in a gRPC client, which knows no more']])
})

test('a client of grpc-js makes as many attempts as the policy says, and no more', async () => {
  const { address, seen } = await grpcServer([UNAVAILABLE, RESOURCE_EXHAUSTED, UNAVAILABLE])
  const quick = { initialDelayMs: 1, maxDelayMs: 1, maxAttempts: 3 }
  const shop = clientOf(address, [], serviceConfig(quick, { methods: ['test.Shop/Create'] }))
  await expect(call(shop, 'Create')).rejects.toMatchObject({ code: UNAVAILABLE })
  expect(seen.map(({ path }) => path)).toEqual(Array(3).fill('/test.Shop/Create'))
})

test('a method that is not named is tried once', async () => {
  const { address, seen } = await grpcServer([UNAVAILABLE])
  const shop = clientOf(address, [], serviceConfig({ initialDelayMs: 1 }, { methods: ['test.Shop/Create'] }))
  await expect(call(shop, 'Show')).rejects.toMatchObject({ code: UNAVAILABLE })
  expect(seen).toHaveLength(1)
})

const ms = fc.integer({ min: 1, max: 8.64e15 })

test('grpc-js reads every duration as it was given', () => {
  fc.assert(
    fc.property(
      ms,
      ms,
      fc.integer({ min: 1, max: 2 ** 31 * 1_000 - 1 }),
      (initialDelayMs, maxDelayMs, totalBudgetMs) => {
        const read = readByGrpc({ initialDelayMs, maxDelayMs, totalBudgetMs, keyTtlMs: totalBudgetMs }) as {
          readonly timeout: { readonly seconds: number; readonly nanos: number }
          readonly retryPolicy: { readonly initialBackoff: string; readonly maxBackoff: string }
        }
        // as texts: a double has no room for years in nanoseconds
        const msOf = (text: string) => {
          const [seconds = '', rest = ''] = text.slice(0, -1).split('.')
          return Number(seconds + rest.padEnd(9, '0').replace(/0{6}$/, ''))
        }
        const { initialBackoff, maxBackoff } = read.retryPolicy
        expect(msOf(maxBackoff)).toBe(maxDelayMs)
        expect(msOf(initialBackoff)).toBe(Math.min(initialDelayMs, maxDelayMs))
        expect(read.timeout.seconds * 1_000 + read.timeout.nanos / 1_000_000).toBe(totalBudgetMs)
      },
    ),
  )
})

test('a bound beyond what grpc-js counts is none', () => {
  expect(serviceConfig({ keyTtlMs: 8.64e15 }).methodConfig[0]).not.toHaveProperty('timeout')
  expect(readByGrpc({ keyTtlMs: 60_500 })?.timeout).toEqual({ seconds: 60, nanos: 500_000_000 })
})

test.each<[policy: Partial<RetryPolicy>, field: keyof RetryPolicy, message: string]>([
  [presets.svix, 'strategy', "policy.strategy: gRPC's retryPolicy cannot say 'table': its waits grow by a factor; use"],
  [presets.zizq, 'strategy', "'polynomial'"],
  [{ strategy: 'linear' }, 'strategy', "use 'exponential' or 'fixed'"],
  [{ jitterType: 'DECORRELATED' }, 'jitterType', 'or leave it out'],
  [{ initialDelayMs: 0 }, 'initialDelayMs', 'give 1 or more'],
  [{ maxDelayMs: 0 }, 'maxDelayMs', 'give 1 or more'],
  [{ retryableStatusCodes: 'broad' }, 'retryableStatusCodes', 'cannot say 408, 425, 500, 520'],
  [{ retryableStatusCodes: [503, 409] }, 'retryableStatusCodes', 'cannot say 409: list some of 429, 502, 503, 504'],
  [{ retryableStatusCodes: [] }, 'retryableStatusCodes', 'set maxAttempts to 1'],
  [{ retryNetworkErrors: true, retryableStatusCodes: [429] }, 'retryNetworkErrors', 'add 503'],
])('A6 cannot say %j', (policy, field, message) => {
  const error = thrownBy(() => serviceConfig(policy))
  expect(error).toBeInstanceOf(UnsupportedPolicyError)
  expect(error).toMatchObject({ code: 'POLICY_UNSUPPORTED', field, message: expect.stringContaining(message) })
})

test.each<[Partial<RetryPolicy>]>([
  [{ jitterType: 'PROPORTIONAL', jitterRatio: 0.2 }],
  [{ retryTimeouts: false, attemptTimeoutMs: 0, retryNetworkErrors: true }],
  [{ retryNetworkErrors: false, retryableStatusCodes: [429] }],
  [{ strategy: 'exponential', multiplier: 1.5, policyId: 'quick' }],
])('A6 can say %j', (policy) => {
  expect(readByGrpc(policy)).toHaveProperty('retryPolicy')
})

test.each<[policy: object, message: string]>([
  [{ maxAttempts: 0 }, 'policy.maxAttempts: expected a whole number from 1 to 1000000, got 0'],
  [{ maxAttemps: 3 }, "policy.maxAttemps: no such option; did you mean 'maxAttempts'?"],
  [{ totalBudgetMs: 90_000_000 }, 'policy.totalBudgetMs: expected keyTtlMs 86400000 at most: raise both'],
])('a wrong policy is refused as a queue refuses it: %j', (policy, message) => {
  expect(() => serviceConfig(policy)).toThrow(message)
})

test('a wrong option is refused', () => {
  expect(() => serviceConfig({}, { methods: ['a b'] })).toThrow('serviceConfig.methods[0]: expected a method such as')
})

function thrownBy(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}
