import { type NewTask, schemaOf } from '../../../../js/api/records.ts'
import type { World } from './setup.ts'

let buried = 0

/** Tasks that were given up, made where they lie: `count` of them, for a tenant. */
export async function bury(
  { store, stores, clock }: World,
  count: number,
  principal: string | null = null,
  senderData?: NewTask['senderData'],
): Promise<string[]> {
  const origin = 'https://api.test'
  const ids = Array.from({ length: count }, (_, i) => `0199a3b4-6c58-7000-8000-${String(buried + i).padStart(12, '0')}`)
  buried += count
  const own = senderData ? { senderData } : {}
  await store.enqueue(
    ids.map((taskId) => ({
      ...{ taskId, idempotencyKey: taskId, fingerprint: 'f', method: 'POST', targetUrl: `${origin}/`, headers: {} },
      ...{
        withheldHeaders: [],
        requestInit: {},
        lane: principal === null ? origin : `${origin} ${principal}`,
        principal,
      },
      ...{ policy: { policyId: 'p', keyTtlMs: 86_400_000 }, deadlineInMs: 0, dueInMs: 3_600_000, attemptNumber: 0 },
      ...{ phase: -1, previousDelayMs: 0, priority: 0, home: null, schema: schemaOf(own) },
      ...own,
    })),
  )
  // past their deadline a turn ends them
  await clock.advance(1)
  while ((await store.counts()).pending > 0) {
    for (const each of stores) await each.turn({ owner: 'test', settle: [], renew: [], claim: null })
  }
  return ids
}
