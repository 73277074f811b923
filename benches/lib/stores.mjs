// Stores of the package, and queues on them. Files lie in a folder that is gone afterwards.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { laneName, RECORD_SCHEMA } from '../../js/stores/store.ts'
import { memoryStore, RetryQueue, sqliteStore } from './package.mjs'

export const PRINCIPAL = 'ann'
const DAY_MS = 86_400_000
const ROOM = { capacity: 1_000_000, capacityBytes: Number.MAX_SAFE_INTEGER }
const BODY = new TextEncoder().encode('{"sku":17,"count":2}')
const POLICY = {
  policyId: 'default',
  maxAttempts: 5,
  initialDelayMs: 0,
  jitterType: 'NONE',
  attemptTimeoutMs: 0,
  totalBudgetMs: DAY_MS,
}

const folder = mkdtempSync(join(tmpdir(), 'redrive-bench-'))
let files = 0
let ids = 0
process.on('exit', () => rmSync(folder, { recursive: true }))

export const newFile = () => join(folder, `${++files}.db`)
export const openSqlite = (path = newFile()) => sqliteStore({ path, ...ROOM })
export const openMemory = () => memoryStore(ROOM)

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
    schema: RECORD_SCHEMA,
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

/** A queue whose requests are answered by `fetch`, with room for everything. */
export function openQueue(store, fetch, more = {}) {
  return new RetryQueue({
    store,
    principal: PRINCIPAL,
    fetch,
    ...ROOM,
    capacityBytes: 2 ** 40,
    retention: { maxTerminal: 1_000_000 },
    policy: { initialDelayMs: 0, jitterType: 'NONE', attemptTimeoutMs: 0 },
    ...more,
  })
}
