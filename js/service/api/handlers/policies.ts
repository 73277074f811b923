/** /retry-policies and /plan. Registered policies are rows of the registry; their version there is their ETag. */

import type { RetryPolicy } from 'redrive/core'
import { backgroundOf } from 'redrive/internal'
import { type Exchange, NO_CONTENT, ok, type Reply } from '../exchange.ts'
import { DEFAULT_POLICY, isPreset, type NamedPolicy, soundPolicy } from '../policies.ts'
import { invalid, Problem } from '../problem.ts'
import { isAllowed } from '../tokens.ts'

/** Retries that a schedule lists. */
const LISTED = 1_000

const idOf = ({ params }: Exchange): string => params.policyId ?? ''
const etagOf = ({ version }: NamedPolicy): Record<string, string> => (version > 0 ? { etag: `"${version}"` } : {})

const unknown = (policyId: string): Problem => new Problem('not-found', `there is no policy '${policyId}'`)

/** Throws where a name is not the API's to write. */
function assertOurs(policyId: string, { settings, caller, context }: Exchange): void {
  if (isPreset(policyId) || policyId === DEFAULT_POLICY) {
    const remedy = 'give yours another name, or lay fields over it in a task’s `policy`'
    throw new Problem('policy-exists', `'${policyId}' is there already and cannot be replaced: ${remedy}`)
  }
  if (settings.policiesLocked) {
    throw new Problem('forbidden', 'policies are changed by the operator’s file alone (--policies-locked)')
  }
  if (settings.filePolicies?.has(policyId)) {
    throw new Problem('forbidden', `'${policyId}' is in the operator’s file, which alone changes it`)
  }
  const tenants = new Set(context.tokens()?.map(({ tenant }) => tenant))
  if (caller.tenant === null && tenants.size > 1 && !isAllowed(caller, 'admin')) {
    throw new Problem('forbidden', 'without a tenant a policy is there for all tenants, and that takes the scope admin')
  }
}

export async function createPolicy(exchange: Exchange<unknown, RetryPolicy>): Promise<Reply> {
  const { body, policies, caller } = exchange
  const { tenant } = caller
  const policy = soundPolicy(body)
  const { policyId } = policy
  const known = ownOf(await policies.get(policyId, tenant, true))
  if (known && isSame(known.given, policy, exchange)) return ok(await showPolicy(known, exchange), etagOf(known))
  assertOurs(policyId, exchange)
  const written = known ? 'changed' : await policies.write(policy, tenant, 0)
  const now = await policies.get(policyId, tenant, true)
  if (!now || (written === 'changed' && !isSame(now.given, policy, exchange))) {
    throw new Problem('policy-exists', `'${policyId}' is another policy: PUT /retry-policies/${policyId} replaces it`)
  }
  const shown = await showPolicy(now, exchange)
  if (written === 'changed') return ok(shown, etagOf(now))
  return { status: 201, json: shown, headers: { location: `/retry-policies/${policyId}`, ...etagOf(now) } }
}

/** The tenant may have one of its own by the name of one that is there for all. */
const ownOf = (policy: NamedPolicy | undefined): NamedPolicy | undefined =>
  policy?.source === 'operator' ? undefined : policy

function isSame(a: RetryPolicy, b: RetryPolicy, { context }: Exchange): boolean {
  const { canonicalJson } = context.core
  return canonicalJson(JSON.stringify(a)) === canonicalJson(JSON.stringify(b))
}

export async function putPolicy(exchange: Exchange<unknown, Partial<RetryPolicy>>): Promise<Reply> {
  const { body, policies, headers, caller } = exchange
  const policyId = idOf(exchange)
  if (body.policyId !== undefined && body.policyId !== policyId) {
    throw invalid(`policyId: the path says '${policyId}'`, 'policyId')
  }
  const policy = soundPolicy({ ...body, policyId })
  assertOurs(policyId, exchange)
  const before = ownOf(await policies.get(policyId, caller.tenant, true))
  const expected = expectedBy(headers, policyId, before)
  if ((await policies.write(policy, caller.tenant, expected)) === 'changed') throw changed(policyId)
  const now = (await policies.get(policyId, caller.tenant)) ?? { given: policy, source: 'api', version: 0 }
  const shown = await showPolicy(now, exchange)
  if (before) return ok(shown, etagOf(now))
  return { status: 201, json: shown, headers: { location: `/retry-policies/${policyId}`, ...etagOf(now) } }
}

const changed = (policyId: string): Problem =>
  new Problem('changed-meanwhile', `'${policyId}' is not what it was: read it again, and send its new ETag`)

/** The version that a condition of the request names (RFC 9110, 13.1); undefined: none. */
function expectedBy(headers: Headers, policyId: string, before: NamedPolicy | undefined): number | undefined {
  const match = headers.get('if-match')
  if (headers.get('if-none-match') === '*') return 0
  if (match === null) return undefined
  if (!before) throw changed(policyId)
  const tags = match.split(',').map((each) => each.trim())
  if (tags.includes('*') || tags.includes(`"${before.version}"`)) return before.version
  throw changed(policyId)
}

export async function listPolicies({ policies, caller }: Exchange): Promise<Reply> {
  const all = await policies.list(caller.tenant)
  return ok({ policies: all.map(({ given, source }) => ({ ...given, source })) })
}

export async function getPolicy(exchange: Exchange): Promise<Reply> {
  const policyId = idOf(exchange)
  const found = await exchange.policies.get(policyId, exchange.caller.tenant, true)
  if (!found) throw unknown(policyId)
  return ok(await showPolicy(found, exchange), etagOf(found))
}

export async function deletePolicy(exchange: Exchange): Promise<Reply> {
  const { policies, settings, caller, headers } = exchange
  const policyId = idOf(exchange)
  const isDefault = policyId === DEFAULT_POLICY || policyId === settings.defaultPolicy.policyId
  const found = await policies.get(policyId, caller.tenant, true)
  if (!found) throw unknown(policyId)
  if (found.source === 'operator') {
    throw new Problem('forbidden', `'${policyId}' is there for all tenants, and this one has none of that name`)
  }
  if (isDefault || found.source === 'preset') {
    const what = isDefault ? 'the policy of tasks that name none' : 'a preset'
    throw new Problem('policy-default', `'${policyId}' is ${what}, and stays`)
  }
  assertOurs(policyId, exchange)
  const expected = expectedBy(headers, policyId, found)
  if ((await policies.delete(policyId, caller.tenant, expected)) === 'changed') throw changed(policyId)
  return NO_CONTENT
}

async function showPolicy({ given, source }: NamedPolicy, exchange: Exchange): Promise<object> {
  return { ...given, source, schedule: scheduleOf(given, exchange).schedule }
}

interface Plan {
  readonly schedule: readonly object[]
  readonly longestMs: number | null
}

/** The waits in the background under this policy, as tasks are. */
function scheduleOf(given: Partial<RetryPolicy>, { context }: Exchange): Plan {
  const policy = backgroundOf({ given })
  const isWhole = policy.maxAttempts - 1 <= LISTED
  const steps = context.core.backoffSchedule({ ...policy, maxAttempts: Math.min(policy.maxAttempts, LISTED + 1) })
  const schedule = steps.map(({ attempt, ...step }) => ({ retry: attempt, ...step }))
  return { schedule, longestMs: isWhole ? (steps.at(-1)?.totalMaxMs ?? 0) : null }
}

export async function plan(exchange: Exchange<unknown, Partial<RetryPolicy>>): Promise<Reply> {
  return ok(scheduleOf(soundPolicy(exchange.body), exchange))
}
