import { expect, onTestFinished, test } from 'vitest'
import type { CircuitState } from '../../js/api/task.ts'
import { Calls } from '../../js/core/calls.ts'
import {
  MARK_UNANSWERED,
  NEXT_DELAY_MS,
  NEXT_KINDS,
  NEXT_REASON,
  NONE,
  OP_ADMIT,
  OP_ADOPT,
  OP_CLASSIFY,
  OP_LANE,
  OP_SETTLE,
  SAID_END,
  SAID_NOTHING,
  SAID_RETRY,
} from '../../js/core/codes.ts'
import { instantiate } from '../../js/core/file.ts'
import { policyFields } from '../../js/core/policy-row.ts'
import { loadCore, type RetryPolicy } from '../../js/core.ts'
import { resolvePolicy } from '../../js/options/policy-rules.ts'
import { vectors } from './vectors.ts'

interface PolicyRow {
  readonly name: string
  readonly options: Partial<RetryPolicy>
  readonly ok?: Readonly<Record<string, unknown>>
  readonly error?: { readonly option: string }
}

interface ClassifyRow {
  readonly outcome: string
  readonly status: number
  readonly flags: readonly string[]
  readonly policy: Partial<RetryPolicy>
  readonly decision: string
  readonly unanswered?: boolean
  readonly asked?: boolean
  readonly shouldRetry?: boolean
  readonly handedOver?: boolean
}

const engine = await instantiate()
const core = await loadCore()

function makeQueue() {
  const queue = new Calls(engine, 1, 1, 10, 100, 0, 1n)
  onTestFinished(() => queue.free())
  return queue
}

/** The end of an attempt of which no wait is known. */
const untimed = (said: number, asked = false) =>
  [Number.NaN, 1, Number.NaN, false, false, said, Number.NaN, asked, false, 0, NONE] as const

/** The name of the option a check complains of. */
function complaint(work: () => unknown): string | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return /^(?:policy\.)?(\w+)/.exec((error as Error).message)?.[1]
  }
}

/** The core keeps status codes as a set. */
function asSet(value: unknown): unknown {
  return Array.isArray(value) ? [...new Set(value as number[])].sort((a, b) => a - b) : value
}

const policies = vectors<PolicyRow>('policies')

test.each(policies.map((row) => [row.name, row] as const))('policy: %s', (_name, { options, ok, error }) => {
  const queue = makeQueue()
  // the fields go to the core unchecked, so that each side answers for itself
  const byCore = complaint(() => queue.policy(policyFields(options)))
  const byOptions = complaint(() => resolvePolicy(options))
  expect([byOptions, byCore]).toEqual([error?.option, error?.option])
  if (!ok) return
  const resolved = resolvePolicy(options) as unknown as Record<string, unknown>
  // the defaults that depend on the strategy are the core's to fill in
  for (const [key, value] of Object.entries(ok)) {
    if (value !== null && resolved[key] !== undefined) expect([key, asSet(resolved[key])]).toEqual([key, value])
  }
})

const OUTCOMES = [
  ...'response network_error timed_out offline credentials_failed vetoed released'.split(' '),
  ...'redirect_refused own_error aborted'.split(' '),
]
const FLAGS: Readonly<Record<string, number>> = { replayable: 1, key: 2, credentials: 4 }
const CLASSES = [
  ...'success retry max_attempts total_budget wait_exceeded not_retryable key_expired'.split(' '),
  ...'key_conflict expired retry_after_too_long outcome_unknown vetoed body_missing'.split(' '),
]

test('the core classifies the end of a call as every row says', () => {
  const queue = makeQueue()
  const wrong = vectors<ClassifyRow>('classify')
    .filter((row) => !('unanswered' in row || 'shouldRetry' in row || 'handedOver' in row))
    .map((row) => {
      const flags = row.flags.reduce((sum, flag) => sum + (FLAGS[flag] ?? 0), 0)
      const policy = queue.policy(policyFields(resolvePolicy(row.policy)))
      return {
        row,
        got: CLASSES[
          queue.send(OP_CLASSIFY, policy, OUTCOMES.indexOf(row.outcome), row.status, flags, row.asked === true)
        ],
      }
    })
    .filter(({ row, got }) => got !== row.decision)
  expect(wrong).toEqual([])
})

test('the core heeds what came before an attempt, and the word of a hook, as every row says', async () => {
  const queue = makeQueue()
  const lane = queue.call(OP_LANE)
  const [never, nothing] = [Number.POSITIVE_INFINITY, Number.NaN]
  const rows = vectors<ClassifyRow>('classify').filter(
    (row) => 'unanswered' in row || 'shouldRetry' in row || 'handedOver' in row,
  )
  expect(rows.length).toBeGreaterThanOrEqual(40)
  const wrong = rows
    .map((row) => {
      const { unanswered, asked = false, shouldRetry, status, outcome } = row
      const flags = row.flags.reduce((sum, flag) => sum + (FLAGS[flag] ?? 0), 0)
      const policy = queue.policy(policyFields(resolvePolicy(row.policy)))
      const marks = unanswered ? MARK_UNANSWERED : 0
      const past = [never, 2, 0, -1, 0, marks, nothing, never, NONE] as const
      const slot = queue.send(OP_ADOPT, 0, lane, policy, 0, 0, flags, 0, never, never, ...past)
      const said = shouldRetry === undefined ? SAID_NOTHING : shouldRetry ? SAID_RETRY : SAID_END
      const code = OUTCOMES.indexOf(outcome)
      const kind = queue.send(OP_SETTLE, 0, slot, code, status, ...untimed(said, asked))
      const reason = queue.at(1 + NEXT_REASON)
      const ends = { succeeded: 0, exhausted: reason + 2 } as Readonly<Record<string, number>>
      return { row, got: CLASSES[ends[NEXT_KINDS[kind] ?? 'lost'] ?? 1] }
    })
    .filter(({ row, got }) => got !== row.decision)
  expect(wrong).toEqual([])
})

test('evaluateRetryStatus decides as every row says', () => {
  interface Row {
    readonly status: number
    readonly circuit: CircuitState
    readonly retryCount: number
    readonly maxRetries: number
    readonly codes: readonly number[]
    readonly decision: string
  }
  const wrong = vectors<Row>('retry-status')
    .map((row) => {
      const { status, circuit, retryCount, maxRetries, codes } = row
      return { row, got: core.evaluateRetryStatus(status, circuit, retryCount, maxRetries, codes) }
    })
    .filter(({ row, got }) => got !== row.decision)
  expect(wrong).toEqual([])
})

test('S21 a seed gives the draws of its row: they are the waits of full jitter over 2^32 ms', async () => {
  const wide = { strategy: 'fixed', initialDelayMs: 2 ** 32, totalBudgetMs: 2 ** 40, keyTtlMs: 2 ** 40 } as const
  for (const { seed, outputs } of vectors<{ seed: string; outputs: readonly string[] }>('splitmix64')) {
    const queue = new Calls(engine, 1, 1, 10, 100, 0, BigInt(`0x${seed}`))
    onTestFinished(() => queue.free())
    const policy = queue.policy(policyFields(resolvePolicy(wide)))
    const lane = queue.call(OP_LANE)
    const forever = Number.POSITIVE_INFINITY
    // the first draw is the queue's own
    const waits = outputs.slice(1).map(() => {
      const slot = queue.send(OP_ADMIT, 0, lane, policy, 0, 0, 3, 0, forever, forever, NONE, 0)
      queue.send(OP_SETTLE, 0, slot, 0, 503, ...untimed(SAID_NOTHING))
      return queue.at(1 + NEXT_DELAY_MS)
    })
    expect([seed, waits]).toEqual([seed, outputs.slice(1).map((hex) => Number.parseInt(hex.slice(0, 8), 16))])
  }
})
