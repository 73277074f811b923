/** The public signatures, held to the contract by the compiler: nothing here runs but the imports. */

import { expectTypeOf, test } from 'vitest'
import type { FetchOptions } from '../../js/adapters/fetch.ts'
import { installFetch, wrapFetch } from '../../js/adapters/fetch.ts'
import type { RedriveObjectOptions } from '../../js/cloudflare/object-options.ts'
import type { WorkerFetchOptions } from '../../js/cloudflare/worker-options.ts'
import type { Core } from '../../js/core.ts'
import * as redrive from '../../js/index.ts'
import { ExhaustedError, QueueFullError, RedriveError, RetryQueue } from '../../js/index.ts'

type Page = { limit?: number; cursor?: string }
type Scope = { allPrincipals?: boolean }
type Tasks = { tasks: readonly redrive.RetryTask[]; cursor?: string }

test('RetryQueue', () => {
  expectTypeOf(RetryQueue).constructorParameters.toEqualTypeOf<[options?: redrive.RetryQueueOptions | undefined]>()
  expectTypeOf<RetryQueue>().toExtend<AsyncDisposable>()
  expectTypeOf<RetryQueue>().toExtend<{
    readonly name: string
    readonly ready: Promise<void>
    fetch(input: RequestInfo | URL, init?: RequestInit & { redrive?: redrive.TaskOptions | false }): Promise<Response>
    enqueue(
      input: RequestInfo | URL,
      init?: RequestInit & { redrive?: redrive.TaskOptions },
    ): Promise<redrive.EnqueueReceipt>
    get(taskId: string, scope?: Scope): Promise<redrive.RetryTask | undefined>
    attempts(taskId: string, page?: Page & Scope): Promise<{ attempts: readonly redrive.AttemptLog[]; cursor?: string }>
    list(
      filter?: Page &
        Scope & { status?: redrive.TaskStatus; active?: true; tags?: string | readonly string[]; origin?: string },
    ): Promise<Tasks>
    result(taskId: string, scope?: Scope): Promise<redrive.TaskOutcome>
    cancel(taskId: string, scope?: Scope): Promise<'cancelled' | 'requested' | 'gone'>
    readonly deadLetters: {
      list(options?: Page & Scope): Promise<Tasks>
      redrive(taskId: string, options?: Scope & { acceptDuplicateRisk?: boolean }): Promise<redrive.RetryTask>
      redriveAll(options?: {
        allPrincipals?: boolean
        perSecond?: number
        acceptDuplicateRisk?: boolean
        signal?: AbortSignal
        onProgress?: (done: number, total: number) => void
      }): Promise<number>
      purge(taskId: string, options?: Scope): Promise<number>
      purgeAll(options?: Scope): Promise<number>
      export(options?: Scope): Promise<string>
    }
    pause(scope?: { origin: string }): void
    resume(scope?: { origin: string }): void
    flush(): Promise<number>
    idle(): Promise<void>
    stats(scope?: Scope): redrive.QueueStats
    explain(taskId: string, scope?: Scope): Promise<readonly { at: number; kind: string; text: string }[]>
    setPrincipal(principal: string | null, options?: { purge?: boolean; during?: () => unknown }): Promise<void>
    close(options?: { drainMs?: number }): Promise<void>
  }>()
})

test('events are typed by name', () => {
  const on: RetryQueue['on'] = () => () => {}
  on('retry', (payload) => expectTypeOf(payload).toEqualTypeOf<redrive.QueueEvents['retry']>())
  on('exhausted', ({ reason }) => expectTypeOf(reason).toEqualTypeOf<redrive.ExhaustedReason>())
  on('succeeded', ({ response }) => expectTypeOf(response).toEqualTypeOf<Response | null>())
  on('degraded', ({ code }) => expectTypeOf(code).toEqualTypeOf<redrive.DegradedCode>())
  // @ts-expect-error no such event
  on('finished', () => {})
})

test('options are readonly and closed', () => {
  expectTypeOf<redrive.RetryQueueOptions>().toExtend<{ readonly name?: string; readonly principal?: string | null }>()
  // @ts-expect-error no such option
  const wrong: redrive.RetryQueueOptions = { retries: 3 }
  // @ts-expect-error a jitter that there is not
  const jitter: redrive.RetryPolicy = { policyId: 'a', jitterType: 'HALF' }
  // @ts-expect-error the breaker waits or fails
  const later: redrive.RetryQueueOptions = { breaker: { whenOpen: 'drop' } }
  // @ts-expect-error a mode that there is not
  const mode: redrive.TaskOptions = { mode: 'later' }
  // @ts-expect-error a store that there is not
  const store: redrive.RetryQueueOptions = { store: 'redis' }
  void [wrong, later, mode, jitter, store]
  expectTypeOf<redrive.RetryQueueOptions['store']>().toEqualTypeOf<redrive.TaskStore | undefined>()
  expectTypeOf<redrive.RetryQueueOptions['durable']>().toEqualTypeOf<boolean | undefined>()
  expectTypeOf<redrive.RetryQueueOptions['persist']>().toEqualTypeOf<'on-failure' | 'before-send' | undefined>()
  expectTypeOf<redrive.RetryQueueOptions['persistMethods']>().toEqualTypeOf<readonly string[] | undefined>()
  expectTypeOf<redrive.TaskOptions['mode']>().toEqualTypeOf<'await' | 'defer' | undefined>()
  expectTypeOf<redrive.RetryPolicy['policyId']>().toEqualTypeOf<string>()
  expectTypeOf<redrive.TaskOptions['orderKey']>().toEqualTypeOf<string | undefined>()
  expectTypeOf<NonNullable<redrive.RetryPolicy['strategy']>>().toEqualTypeOf<
    | 'exponential'
    | 'linear'
    | 'fixed'
    | 'polynomial'
    | 'sidekiq'
    | 'buckets'
    | 'padded_exponential'
    | 'spread'
    | 'table'
  >()
  expectTypeOf<redrive.RetryPolicy['delaysMs']>().toEqualTypeOf<readonly number[] | undefined>()
  expectTypeOf<redrive.RetryQueueOptions['sanitize']>().toEqualTypeOf<redrive.SanitizeOptions | undefined>()
  expectTypeOf<redrive.SanitizeOptions['urlSecrets']>().toEqualTypeOf<'memory' | 'strip' | 'keep' | undefined>()
  expectTypeOf<redrive.IdempotencyOptions['mode']>().toEqualTypeOf<'intent' | 'content' | undefined>()
  expectTypeOf<redrive.IdempotencyOptions['windowMs']>().toEqualTypeOf<number | undefined>()
})

test('a durable queue comes with a principal, and a table with its delays', () => {
  const make = (options: redrive.RetryQueueOptions) => () => new RetryQueue(options)
  make({ durable: true, principal: 'ann' })
  make({ durable: true, principal: null })
  make({ durable: false })
  make({ principal: 'ann' })
  make({ policy: { strategy: 'table', delaysMs: [1_000] }, policies: [redrive.presets.svix] })
  make({ policy: { strategy: 'spread' } })
  const passed = (options: redrive.RetryQueueOptions) => make({ ...options, name: 'passed' })
  // @ts-expect-error whose requests are kept?
  make({ durable: true })
  const given: boolean = passed.length > 0
  // @ts-expect-error it may be true
  make({ durable: given })
  // @ts-expect-error no principal is not the same as none
  make({ durable: true, principal: undefined })
  // @ts-expect-error what are the delays?
  make({ policy: { strategy: 'table' } })
  // @ts-expect-error of a named policy
  make({ policies: [{ policyId: 'a', strategy: 'table' }] })
  // @ts-expect-error of a policy by itself
  const table: redrive.RetryPolicy = { policyId: 'a', strategy: 'table' }
  // the delays may be those of the policy that it is laid over
  const laid: redrive.TaskOptions = { policy: { strategy: 'table' } }
  // @ts-expect-error statuses are a list
  make({ policy: { expect: { status: 200 } } })
  // @ts-expect-error a policy is a JSON value
  make({ policy: { expect: { contentType: /json/ } } })
  void [table, laid]
})

test('presets are whole policies, for each name one', () => {
  expectTypeOf<keyof typeof redrive.presets>().toEqualTypeOf<
    'interactive' | 'background' | 'zizq' | 'sidekiq' | 'aws' | 'grpc' | 'svix'
  >()
  expectTypeOf<typeof redrive.presets.zizq>().toExtend<redrive.RetryPolicy>()
  const options: redrive.RetryQueueOptions = { policies: [redrive.presets.zizq] }
  // @ts-expect-error they are readonly
  const change = () => (redrive.presets.zizq.maxAttempts = 3)
  void [options, change]
})

test('errors', () => {
  expectTypeOf<RedriveError>().toExtend<Error & { readonly code: string; readonly task?: redrive.RetryTask }>()
  expectTypeOf<ExhaustedError>().toExtend<RedriveError & { readonly reason: redrive.ExhaustedReason }>()
  expectTypeOf<redrive.SettledElsewhereError>().toExtend<{ readonly responseStatus: number | null }>()
  expectTypeOf(QueueFullError).instance.toExtend<RedriveError>()
  expectTypeOf(redrive.IdempotencyConflictError).instance.toExtend<RedriveError>()
  expectTypeOf(redrive.redriveOf).toEqualTypeOf<(given: unknown) => redrive.RedriveMark | undefined>()
  expectTypeOf<redrive.RedriveMark['reason']>().toEqualTypeOf<redrive.GivenUpReason>()
  void [RedriveError, ExhaustedError]
})

test('adapters give fetch, whose answers may be marked', () => {
  expectTypeOf(wrapFetch).parameters.toEqualTypeOf<[queue: RetryQueueBase, defaults?: FetchOptions | undefined]>()
  expectTypeOf(wrapFetch).returns.toExtend<typeof fetch>()
  expectTypeOf<Awaited<ReturnType<RetryQueue['fetch']>>>().toEqualTypeOf<redrive.RedriveResponse>()
  const marked = async (send: ReturnType<typeof wrapFetch>) => (await send(new URL('https://api.test'))).redrive
  expectTypeOf(marked).returns.toEqualTypeOf<Promise<redrive.RedriveMark | undefined>>()
  expectTypeOf(installFetch).returns.toEqualTypeOf<() => void>()
  expectTypeOf<FetchOptions['match']>().toEqualTypeOf<((request: Request) => boolean) | undefined>()
})

type RetryQueueBase = Parameters<typeof wrapFetch>[0]

test('the queue of the package is what adapters take', () => {
  expectTypeOf<RetryQueue>().toExtend<RetryQueueBase>()
})

test('redrive/core', () => {
  expectTypeOf<Core['parseRetryAfter']>().toEqualTypeOf<(header: string, now: number) => number | null>()
  expectTypeOf<Core['evaluateRetryStatus']>().toExtend<
    (
      statusCode: number,
      circuitState: redrive.CircuitState,
      retryCount: number,
      maxRetries: number,
      retryableStatusCodes?: readonly number[],
    ) => redrive.RetryDecision
  >()
  expectTypeOf<Core['calculateBackoffDelay']>().toExtend<
    (
      policy: Partial<redrive.RetryPolicy>,
      attempt: number,
      context?: { retryAfter?: string | null; now?: number; previousDelayMs?: number; phase?: number; random?: number },
    ) => number
  >()
  expectTypeOf<Core['backoffSchedule']>().toExtend<
    (policy: Partial<redrive.RetryPolicy>) => readonly {
      attempt: number
      minMs: number
      meanMs: number
      maxMs: number
      totalMeanMs: number
      totalMaxMs: number
    }[]
  >()
  expectTypeOf<Core['parseRateLimit']>().toExtend<
    (header: string, now: number) => { remaining: number; resetMs: number | null } | null
  >()
  expectTypeOf<Core['generateIdempotencyKey']>().toExtend<
    (request: {
      method: string
      url: string
      body?: unknown
      contentType?: string
      scope?: string
      nonce?: string
    }) => string
  >()
  expectTypeOf<Core['sanitizeHeaders']>().toExtend<
    (
      headers: HeadersInit,
      options?: redrive.SanitizeOptions,
    ) => { headers: Record<string, string>; withheld: readonly string[]; unknown: readonly string[] }
  >()
  expectTypeOf<Core['canonicalJson']>().toEqualTypeOf<(text: string) => string>()
  expectTypeOf<Core['parseDuration']>().toEqualTypeOf<(text: string) => number>()
})

test("onDegraded of a Worker's fetch and of an object hears what listeners of 'degraded' hear", () => {
  type Heard<O extends { readonly onDegraded?: unknown }> = O['onDegraded']
  type Listener = ((report: redrive.QueueEvents['degraded']) => void) | undefined
  expectTypeOf<Heard<RedriveObjectOptions>>().toEqualTypeOf<Listener>()
  expectTypeOf<Heard<WorkerFetchOptions>>().toEqualTypeOf<Listener>()
})
