/**
 * Makes a record of a Task in: the one place where the API's words become the store's. What it makes, `callOf` of `js/durable/record.ts` can
 * send.
 *
 * Tags stand in the record as `name=value`: stores already find tasks by such texts, and a map in `meta` none could look into. So a
 * tag is 64 bytes as a whole, and its name holds no `=`.
 */

import { createHash } from 'node:crypto'
import { bodyMs, DAY_MS, deadlineOf, FOREVER, type ResolvedPolicy, utf8 } from 'redrive/internal'
import { laneName, type NewTask, schemaOf } from 'redrive/store'
import { SOURCE_SHAPE } from '../bodies/body-sources.ts'
import { BodyStoreError } from '../bodies/body-store.ts'
import type { TaskBody } from '../bodies/task-bodies.ts'
import type { SenderData } from '../sending.ts'
import { callbackOf } from './callback.ts'
import type { Exchange } from './exchange.ts'
import { memberOf } from './parts.ts'
import { invalid, Problem } from './problem.ts'
import { bodyOf, checkHeaders, storedHeaders, storedTarget, targetOf } from './request-of.ts'
import { KEY_SHAPE, MOST_TAGS, TAG_BYTES, type TaskIn } from './schemas/task-in.ts'
import { hasSeveralTenants, isAllowed } from './tokens.ts'

const MAX_DELAY_MS = 90 * DAY_MS

/** The key in the header of a request. Throws 'bad-request'. */
export function headerKeyOf(headers: Headers): string | undefined {
  const given = headers.get('idempotency-key')
  if (given === null) return undefined
  // draft-ietf-httpapi-idempotency-key-header puts it in quotes, most clients do not
  const key = /^"[ !#-[\]-~]*"$/.test(given) ? given.slice(1, -1) : given
  if (KEY_SHAPE.test(key)) return key
  throw new Problem('bad-request', 'Idempotency-Key: expected 1 to 255 visible ASCII characters')
}

/** The key of a request that has one: the field's, or the header's. Throws 'key-mismatch'. */
export function keyOf({ idempotencyKey }: TaskIn, headers: Headers): string | undefined {
  const key = headerKeyOf(headers)
  if (key === undefined) return idempotencyKey
  if (idempotencyKey !== undefined && idempotencyKey !== key) {
    throw new Problem(
      'key-mismatch',
      'idempotencyKey and the header Idempotency-Key differ; send one of them, or the same',
    )
  }
  return key
}

/** SHA-256 over the canonical JSON of the whole Task in, but for its key: 64 hex digits. */
export function fingerprintOf({ text }: Pick<Exchange, 'text'>): string {
  const bytes = utf8(text)
  const hash = createHash('sha256')
  for (const part of memberOf(bytes, 'idempotencyKey')?.others ?? [bytes]) hash.update(part)
  return hash.digest('hex')
}

/** Methods that change nothing: they go out without a key unless one is given. */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** The parts of a Task in that are read once. */
interface CheckedTask {
  readonly method: string
  readonly target: URL
  readonly body: NewTask['body']
  readonly tags: readonly string[] | undefined
}

/** Throws whatever is wrong with a Task in by itself, whenever it is asked. */
export function checkTaskIn(task: TaskIn, { settings, text }: Exchange): CheckedTask {
  const { limits } = settings
  const { method = 'POST', deliverAt, delayMs, expiresAt } = task
  const target = targetOf(task.targetUrl, limits)
  checkHeaders(task, limits)
  const body = bodyOf(task, method, text)
  const tags = tagsOf(task)
  if (deliverAt !== undefined && delayMs !== undefined) {
    throw invalid('delayMs: give `deliverAt` or `delayMs`, not both', 'delayMs')
  }
  if (expiresAt !== undefined && deliverAt !== undefined && expiresAt <= deliverAt) throw tooLate()
  return { method, target, body, tags }
}

const tooLate = (): Problem => invalid('expiresAt: the task would expire before it may be delivered', 'expiresAt')

/** A task goes before all that have a lower priority, those of other tenants too. Below 0 each tenant may put its own in order. Throws 'forbidden'. */
function checkPriority(priority: number, { caller, context }: Exchange): void {
  if (priority <= 0 || isAllowed(caller, 'admin') || !hasSeveralTenants(context.tokens())) return
  const why = 'above 0 the task would go before those of all tenants, and that takes the scope admin'
  throw new Problem('forbidden', `priority: ${why}; use numbers below 0 for what may wait`)
}

/** The record of a checked Task in. Throws what depends on the service: its policies, its targets, its clock. */
export async function newTaskOf(
  exchange: Exchange<unknown, TaskIn>,
  { method, target, body, tags }: CheckedTask,
  given: string | undefined,
): Promise<NewTask> {
  const { body: task, caller, context, settings, policies } = exchange
  const { policyId = 'default', priority = 0, orderKey, idempotent } = task
  checkPriority(priority, exchange)
  // the store counts from its own now: the clock of this machine may be another
  const now = await exchange.storeNow()
  const resolved = await policies.resolve(policyId, caller.tenant, task.policy)
  const targetUrl = storedTarget(target, caller.tenant, context, settings)
  const headers = storedHeaders(task, context)
  const senderData = await senderDataFor(task, target.origin, exchange)
  const policy = withTimeFor(senderData?.body?.bytes ?? 0, resolved)
  const own = { ...(senderData && { senderData }), ...(senderData?.callback && { tells: true as const }) }
  const dueInMs = dueOf(task, now, settings.limits.maxDelayMs ?? MAX_DELAY_MS)
  const { expiresAt = FOREVER } = task
  if (expiresAt <= now + dueInMs) throw tooLate()
  checkKept(task, now + dueInMs, exchange)
  // without one it could not be repeated
  const key = given ?? (SAFE.has(method) || idempotent ? null : exchange.newKey())
  // the budget counts from the moment it may start, and so does the life of its key
  const startAt = now + dueInMs
  const starts = { budgetAt: startAt, keyAt: key === null ? FOREVER : startAt, expiresAt }
  const { deadlineAt, deadlineReason } = deadlineOf(policy, starts)
  return {
    taskId: exchange.newId(),
    idempotencyKey: key,
    fingerprint: fingerprintOf(exchange),
    method,
    targetUrl,
    headers,
    withheldHeaders: [],
    requestInit: {},
    ...(body && { body }),
    lane: laneName(caller.tenant, target.origin),
    principal: caller.tenant,
    policy,
    deadlineInMs: deadlineAt - now,
    deadlineReason,
    ...(expiresAt < FOREVER && { expiresAfterMs: expiresAt - now }),
    dueInMs,
    attemptNumber: 0,
    phase: -1,
    previousDelayMs: 0,
    priority,
    ...(orderKey !== undefined && { orderKey }),
    home: null,
    ...(idempotent && { idempotent: true }),
    ...(tags && { tags }),
    ...own,
    schema: schemaOf(own),
  }
}

/**
 * The parts of a task that only the sender reads; undefined: there are none. Throws 'credential-refused', 'body-ref-unknown', 'invalid', or what
 * is wrong with its callback.
 */
async function senderDataFor(task: TaskIn, origin: string, exchange: Exchange): Promise<SenderData | undefined> {
  const { credential, signing, bodyRef } = task
  const { context, settings, caller } = exchange
  const { tenant } = caller
  const refuse = (field: string, why: string | undefined): void => {
    if (why !== undefined) throw new Problem('credential-refused', `${field}: ${why}`)
  }
  const { refuseCredential = () => 'this service has none', refuseSigning = () => 'this service has none' } = context
  if (credential !== undefined) refuse('credential', refuseCredential(credential, tenant, origin))
  if (signing !== undefined) refuse('signing', refuseSigning(signing, tenant))
  const body = bodyRef === undefined ? undefined : await bodyApart(bodyRef, tenant, context)
  const { maxBodyBytes } = settings.limits
  if (signing !== undefined && body && body.bytes > maxBodyBytes) {
    const why = `a body of ${body.bytes} bytes is sent as it is read, and cannot be signed before; at most ${maxBodyBytes} (--max-body)`
    throw invalid(`signing: ${why}`, 'signing')
  }
  return withParts({ credential, signing, callback: callbackOf(task, exchange), body })
}

/** Throws 'invalid' for an upload that is deleted before the task may be sent. */
function checkKept({ bodyRef = '' }: TaskIn, startAt: number, { context: { bodies } }: Exchange): void {
  const keptUntil = bodies?.keptUntil(bodyRef)
  if (keptUntil === undefined || startAt < keptUntil) return
  const [end, start] = [keptUntil, startAt].map((at) => new Date(at).toISOString())
  throw invalid(`bodyRef: the body is kept until ${end}, and the task is not sent before ${start}`, 'bodyRef')
}

/** undefined: no part is there. */
function withParts(parts: { readonly [K in keyof SenderData]: SenderData[K] | undefined }): SenderData | undefined {
  const given = Object.entries(parts).filter(([, value]) => value !== undefined)
  return given.length > 0 ? Object.fromEntries(given) : undefined
}

async function bodyApart(
  bodyRef: string,
  tenant: string | null,
  { bodies, bodySources }: Exchange['context'],
): Promise<TaskBody> {
  if (SOURCE_SHAPE.test(bodyRef)) {
    const body = await bodySources?.find(bodyRef, tenant).catch(bodiesAway)
    if (!bodySources || !body)
      throw new Problem('body-ref-unknown', 'bodyRef: there is no such object that this tenant may name')
    if (body.bytes <= bodySources.maxBytes) return body
    throw invalid(
      `bodyRef: the object has ${body.bytes} bytes; at most ${bodySources.maxBytes} (--max-upload)`,
      'bodyRef',
    )
  }
  const found = await bodies?.find(bodyRef, tenant).catch(bodiesAway)
  if (found) return found
  const why = bodies
    ? 'it was never uploaded by this tenant, or is kept no longer'
    : 'this service keeps no bodies apart'
  throw new Problem('body-ref-unknown', `bodyRef: there is no such body: ${why}`)
}

/** Throws 'store-unavailable' where the store of bodies has failed. */
export function bodiesAway(error: unknown): never {
  if (error instanceof BodyStoreError) throw new Problem('store-unavailable', `${error.message}; nothing was stored`)
  throw error
}

/** A policy that leaves an attempt the time that its body needs beside the limit to its answer. */
export function withTimeFor(bytes: number, policy: ResolvedPolicy): ResolvedPolicy {
  const { attemptTimeoutMs } = policy
  const more = bodyMs(bytes)
  return attemptTimeoutMs === undefined || more === 0
    ? policy
    : { ...policy, attemptTimeoutMs: attemptTimeoutMs + more }
}

/** A `deliverAt` that was a moment ago may be due to a clock or to a line of requests, one before that to another unit. */
const PAST_MS = DAY_MS

function dueOf({ deliverAt, delayMs }: TaskIn, now: number, most: number): number {
  if (deliverAt !== undefined && deliverAt < now - PAST_MS) {
    const why = 'more than a day past; give epoch milliseconds, not seconds, or leave it out'
    throw invalid(`deliverAt: ${why}`, 'deliverAt')
  }
  const dueInMs = Math.max(0, deliverAt === undefined ? (delayMs ?? 0) : deliverAt - now)
  if (dueInMs <= most) return dueInMs
  const name = deliverAt === undefined ? 'delayMs' : 'deliverAt'
  throw invalid(`${name}: at most ${most / DAY_MS} days ahead`, name)
}

/** Tags as the record has them; undefined: there are none. Throws 'invalid'. */
function tagsOf({ tags = {} }: TaskIn): readonly string[] | undefined {
  const entries = Object.entries(tags)
  if (entries.length > MOST_TAGS) throw invalid(`tags: ${entries.length} of them exceed ${MOST_TAGS}`, 'tags')
  for (const [name, value] of entries) {
    if (name === '' || /[=\0]/.test(name) || value.includes('\0')) {
      throw invalid('tags: expected a name without `=`, and no NUL', 'tags', name)
    }
    const size = utf8(`${name}=${value}`).length
    if (size > TAG_BYTES) throw invalid(`tags: ${size} bytes of name and value exceed ${TAG_BYTES}`, 'tags', name)
  }
  return entries.length > 0 ? entries.map(([name, value]) => `${name}=${value}`) : undefined
}

/** The map that `tagsOf` was given. Tags that other code has made are names without a value. */
export function tagsIn(tags: readonly string[] | undefined): Readonly<Record<string, string>> | undefined {
  if (!tags || tags.length === 0) return undefined
  return Object.fromEntries(
    tags.map((tag) => {
      const at = tag.indexOf('=')
      return at < 0 ? [tag, ''] : [tag.slice(0, at), tag.slice(at + 1)]
    }),
  )
}
