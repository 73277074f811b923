// The few words that processes of these tests speak; those of the contract's own tests need a test around them.
import { type Claim, type Lease, type NewTask, RECORD_SCHEMA, type Settlement } from '../../../js/api/store.ts'

export function taskOf(n: number, given: Partial<NewTask> = {}): NewTask {
  return {
    taskId: `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`,
    idempotencyKey: `key-${n}`,
    fingerprint: 'print',
    method: 'POST',
    targetUrl: 'https://api.test/orders',
    headers: { 'content-type': 'text/plain' },
    withheldHeaders: [],
    requestInit: {},
    lane: 'https://api.test',
    principal: null,
    policy: { policyId: 'default' },
    deadlineInMs: 86_400_000,
    dueInMs: 0,
    attemptNumber: 0,
    phase: -1,
    previousDelayMs: 0,
    priority: 0,
    home: null,
    schema: RECORD_SCHEMA,
    ...given,
  }
}

export const claimOf = (limit: number): Claim => ({
  limit,
  leaseMs: 30_000,
  total: 1_000,
  perLane: 1_000,
  lanes: 'any',
  principal: null,
  skipHomes: [],
})

export const succeeded = (lease: Lease): Settlement => ({
  lease,
  next: { kind: 'succeeded' },
  log: {
    taskId: lease.taskId,
    attemptNumber: 1,
    startedAt: 0,
    durationMs: 5,
    responseStatus: 200,
    errorMessage: null,
    decision: '200',
  },
})

/** A turn that only claims. */
export const claiming = (
  limit: number,
  owner = 'test',
): { readonly owner: string; readonly settle: []; readonly renew: []; readonly claim: Claim } => ({
  owner,
  settle: [],
  renew: [],
  claim: claimOf(limit),
})
