// Tasks as the queue would store them, and what a runner asks a store for. For Node and for pages.
import { laneName, PLAIN_SCHEMA } from '../../js/api/store.ts'

export const PRINCIPAL = 'ann'
export const ROOM = { capacity: 1_000_000, capacityBytes: Number.MAX_SAFE_INTEGER }
const DAY_MS = 86_400_000
const BODY = new TextEncoder().encode('{"sku":17,"count":2}')
/** As a queue's is: nothing can change it, so that a store needs to look at it once. */
const POLICY = Object.freeze({
  policyId: 'default',
  maxAttempts: 5,
  initialDelayMs: 0,
  jitterType: 'NONE',
  attemptTimeoutMs: 0,
  totalBudgetMs: DAY_MS,
})

let ids = 0

/** A task as the queue would store it: a small POST, due now. */
export function taskOf(origin = 'https://api.example.test', { principal = PRINCIPAL, ...more } = {}) {
  const serial = (++ids).toString(16).padStart(12, '0')
  return {
    taskId: `01900000-0000-7000-8000-${serial}`,
    idempotencyKey: `key-${serial}`,
    fingerprint: serial,
    method: 'POST',
    targetUrl: `${origin}/orders`,
    headers: { 'content-type': 'application/json' },
    withheldHeaders: [],
    requestInit: {},
    body: BODY,
    lane: laneName(principal, origin),
    principal,
    policy: POLICY,
    deadlineInMs: DAY_MS,
    dueInMs: 0,
    attemptNumber: 0,
    phase: -1,
    previousDelayMs: 0,
    priority: 0,
    home: null,
    schema: PLAIN_SCHEMA,
    ...more,
  }
}

export async function fill(store, count, make) {
  for (let from = 0; from < count; from += 1_000) {
    await store.enqueue(Array.from({ length: Math.min(1_000, count - from) }, (_, i) => make(from + i)))
  }
}

export const claimOf = (more = {}) => ({
  limit: 64,
  leaseMs: 30_000,
  total: Number.POSITIVE_INFINITY,
  perLane: Number.POSITIVE_INFINITY,
  lanes: 'any',
  principal: PRINCIPAL,
  skipHomes: [],
  ...more,
})

/** Settles `claimed` as delivered. */
export const delivered = (claimed) =>
  claimed.map(({ task: { taskId, attemptNumber }, lease }) => ({
    lease,
    log: {
      taskId,
      attemptNumber,
      startedAt: 0,
      durationMs: 1,
      responseStatus: 200,
      errorMessage: null,
      decision: '200',
    },
    next: { kind: 'succeeded' },
  }))

/** What a queue gets to have room for everything, and to wait for nothing. `store`: 'memory' is none. */
export const queueOptions = (store, fetch, more = {}) => ({
  store: store === 'memory' ? undefined : store,
  principal: PRINCIPAL,
  fetch,
  ...ROOM,
  capacityBytes: 2 ** 40,
  retention: { maxTerminal: 1_000_000 },
  policy: { initialDelayMs: 0, jitterType: 'NONE', attemptTimeoutMs: 0 },
  // peers have none, and some of what is measured fails on purpose
  breaker: false,
  retryBudget: false,
  ...more,
})
