/**
 * The strict reading of what a storage holds. Other code, another version or an attacker may have written there: a row counts
 * only if every field that is known here is of its kind and in its range, and if its target is what its lane and principal
 * say. What does not pass is never sent: it is put aside alone, and kept as it was found (S20).
 *
 * Nothing here throws, whatever it is given: one row must not end the work on the others.
 */

import type { NewTask, StoredTask } from '../../api/records.ts'
import { laneName, RECORD_SCHEMA, schemaOf } from '../../api/records.ts'
import type { AttemptLog } from '../../api/task.ts'
import { REASONS } from '../../core/generated/codes.ts'
import { follow, isWellFormed, MAX_MS, object, type Rule, text } from '../../options/check.ts'
import { isKnownPolicy, policyOf } from '../../options/policy-rules.ts'
import { INIT_RULES } from '../../options/request-init.ts'
import { META_BYTES, MOST_TAGS, TAG_LENGTH, tags as TAGS } from '../../options/task-rules.ts'
import { isPlain, isSmall, METHOD_LENGTH, MOST_IN_ROW, NAME_LENGTH, TEXT_LENGTH } from './bounds.ts'
import { PARTS, type Parts } from './parts.ts'
import { isOurs, type Row } from './row.ts'
import { isWholeBody } from './sums.ts'

const U32 = 2 ** 32 - 1
/** Instants reach this far from 1970 either way: the clock's own end, and two durations on top of it. */
const FAR = 4 * MAX_MS

const STATUSES: ReadonlySet<unknown> = new Set(['PENDING', 'IN_FLIGHT', 'SUCCEEDED', 'EXHAUSTED', 'CANCELLED'])
const ENDS: ReadonlySet<unknown> = new Set(REASONS)
const DEADLINES: ReadonlySet<unknown> = new Set(['total_budget', 'expired', 'key_expired'])

/** One of each kind. */
const MOST_NEEDS = 4

const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/
/** As `Headers` takes it. */
const HEADER_VALUE = /^[^\0\r\n\u0100-\uffff]*$/
/** Methods that fetch refuses. */
const FORBIDDEN = /^(?:CONNECT|TRACE|TRACK)$/i

const isInt = (value: unknown, from: number, to: number): boolean =>
  Number.isInteger(value) && (value as number) >= from && (value as number) <= to
const isInstant = (value: unknown): boolean => typeof value === 'number' && value >= -FAR && value <= FAR
const isText = (value: unknown, most: number = NAME_LENGTH): value is string =>
  typeof value === 'string' && value.length <= most
const isName = (value: unknown, most?: number): boolean => isText(value, most) && isWellFormed(value)
type IsRight = (value: unknown) => boolean
const nullOr =
  (isRight: IsRight): IsRight =>
  (value) =>
    value === null || isRight(value)
const absentOr =
  (isRight: IsRight): IsRight =>
  (value) =>
    value === undefined || isRight(value)
const isU32: IsRight = (value) => isInt(value, 0, U32)
/** Whether a row may say so of what is counted. */
export const isCount = (value: unknown): boolean => isInt(value, 0, MOST_IN_ROW)
const isFlag = (value: unknown): boolean => typeof value === 'boolean'
const isWord = (value: unknown): boolean => typeof value === 'string'

/** Whether commands can go by the row: its numbers, its words, and what they say together. Its request is not looked at. */
export function isSoundRow(row: Row): boolean {
  return (
    isText(row.taskId) &&
    row.taskId !== '' &&
    isText(row.lane) &&
    isText(row.origin) &&
    STATUSES.has(row.status) &&
    isCount(row.seq) &&
    nullOr(isText)(row.idempotencyKey) &&
    isText(row.fingerprint) &&
    nullOr(isText)(row.orderKey) &&
    (row.behind === null || row.behind === 0 || row.behind === 1) &&
    Number.isFinite(row.rank) &&
    nullOr(isInstant)(row.dueAt) &&
    isInstant(row.turnAt) &&
    (isInstant(row.serverAt) || row.serverAt === Number.NEGATIVE_INFINITY) &&
    (isInstant(row.deadlineAt) || row.deadlineAt === Number.POSITIVE_INFINITY) &&
    DEADLINES.has(row.deadlineReason) &&
    isU32(row.attemptNumber) &&
    nullOr(isInstant)(row.firstAttemptAt) &&
    isU32(row.refunds) &&
    isU32(row.bodyBytes) &&
    nullOr(isU32)(row.bodySum ?? null) &&
    nullOr(isU32)(row.requestSum ?? null) &&
    nullOr(isText)(row.parkedIn) &&
    isFlag(row.cancelAsked) &&
    isFlag(row.aside) &&
    nullOr(isText)(row.owner) &&
    isCount(row.token) &&
    nullOr(isCount)(row.settledToken) &&
    nullOr(isInstant)(row.endedAt) &&
    (row.status === 'IN_FLIGHT' ? isInstant(row.leaseUntil) && row.owner !== null : nullOr(isInstant)(row.leaseUntil))
  )
}

/**
 * A row that commands may count and move without harm, in place of one that is not sound. It is never shown, and of what is
 * stored nothing is changed but what keeps it out of everything that acts.
 */
export function neutral<R extends Row>(row: R): R {
  return {
    ...row,
    taskId: typeof row.taskId === 'string' ? row.taskId : '',
    lane: typeof row.lane === 'string' ? row.lane : '',
    status: STATUSES.has(row.status) ? row.status : 'PENDING',
    seq: 0,
    fingerprint: typeof row.fingerprint === 'string' ? row.fingerprint : '',
    orderKey: typeof row.orderKey === 'string' ? row.orderKey : null,
    behind: row.behind === 1 ? 1 : null,
    rank: 0,
    dueAt: null,
    turnAt: 0,
    serverAt: 0,
    // by these it is found, and put aside
    deadlineAt: isInstant(row.deadlineAt) ? row.deadlineAt : Number.POSITIVE_INFINITY,
    attemptNumber: 0,
    refunds: 0,
    parkedIn: null,
    cancelAsked: false,
    aside: row.aside === true,
    owner: null,
    token: 0,
    settledToken: null,
    leaseUntil: isInstant(row.leaseUntil) ? row.leaseUntil : null,
    endedAt: null,
    bodyBytes: 0,
    isBroken: true,
    isStray: !isOurs(row),
  }
}

/** Whether a task may be sent, and shown, as what a store says it is. Fields that a store need not tell may be absent. */
export function isSoundTask(task: StoredTask): boolean {
  return isPlain(task) && isSoundRequest(task) && areSoundParts(task)
}

/** `isSoundTask` but for what `areSoundParts` looks at. */
export const isSoundRequest = (task: StoredTask): boolean => unsoundField(task) === undefined

/** What a field may say. `task`: all of it. */
type IsSound = (value: unknown, task: StoredTask) => boolean

const oneIn =
  (words: ReadonlySet<unknown>): IsRight =>
  (value) =>
    words.has(value)
const isKey: IsRight = (value) => isName(value) && HEADER_VALUE.test(value as string)
const isMethod: IsRight = (value) => isText(value, METHOD_LENGTH) && isToken(value) && !FORBIDDEN.test(value)

/** The fields of a request, each with its rule. */
const FIELDS = Object.entries<IsSound>({
  schema: (schema, task) => isInt(schema, schemaOf(task), RECORD_SCHEMA),
  status: oneIn(STATUSES),
  reason: absentOr(oneIn(ENDS)),
  taskId: (id) => isName(id) && id !== '',
  idempotencyKey: nullOr(isKey),
  fingerprint: (print) => isText(print),
  principal: nullOr(isName),
  home: nullOr(isName),
  orderKey: absentOr(isName),
  attemptNumber: isU32,
  refunds: isU32,
  phase: (phase) => isInt(phase, -1, U32),
  previousDelayMs: (ms) => typeof ms === 'number' && ms >= 0 && ms <= FAR,
  marks: absentOr(isU32),
  priority: (priority) => isInt(priority, -(2 ** 31), 2 ** 31 - 1),
  createdAt: isInstant,
  dueAt: nullOr(isInstant),
  deadlineAt: absentOr((at) => isInstant(at) || at === Number.POSITIVE_INFINITY),
  deadlineReason: absentOr(oneIn(DEADLINES)),
  parked: absentOr(isFlag),
  bodyBytes: isU32,
  method: isMethod,
  headers: areHeaders,
  targetUrl: (_, task) => isTarget(task),
} satisfies { readonly [Name in keyof StoredTask]?: IsSound })

/** The first field of a request that is not sound. */
const unsoundField = (task: StoredTask): string | undefined =>
  FIELDS.find(([name, isSound]) => !isSound(task[name as keyof StoredTask], task))?.[0]

const isToken = (value: unknown): value is string => isText(value) && TOKEN.test(value)

function areHeaders(headers: unknown): boolean {
  if (!isPlain(headers) || !isSmall(headers)) return false
  for (const [name, value] of Object.entries(headers)) {
    if (!isToken(name) || typeof value !== 'string' || !HEADER_VALUE.test(value)) return false
  }
  return true
}

/** Whether a task goes where its lane says, for whom it says (S15, S16). */
function isTarget({ targetUrl, lane, principal }: StoredTask): boolean {
  if (!isName(targetUrl, TEXT_LENGTH)) return false
  try {
    // the origin of a blob: URL is that of the page which made it
    const { origin, protocol, username, password } = new URL(targetUrl)
    return /^https?:$/.test(protocol) && username === '' && password === '' && lane === laneName(principal, origin)
  } catch {
    return false
  }
}

export const areSoundParts = (parts: Parts): boolean => unsoundPart(parts) === undefined

const isLittle = (part: unknown): boolean => isKnownPolicy(part) || isSmall(part)

/** As it may be shown: what is longer than a caller may give was written by other code. */
const isMeta = (meta: unknown): boolean => isPlain(meta) && isSmall(meta, META_BYTES)
const areTags = (tags: unknown): boolean =>
  Array.isArray(tags) && tags.length <= MOST_TAGS && [...tags].every((tag) => isName(tag, 2 * TAG_LENGTH))

const areNeeds = (needs: unknown): boolean =>
  Array.isArray(needs) && needs.length <= MOST_NEEDS && [...needs].every((need) => isName(need, TEXT_LENGTH))

/** The rules of parts. */
const SOUND: { readonly [Name in keyof Required<Parts>]: IsRight } = {
  // the size first: what comes after looks at all of it; not `every`, which leaves out the holes of an array
  withheldHeaders: (names) => isLittle(names) && Array.isArray(names) && [...names].every(isToken),
  requestInit: (init) => isLittle(init) && isInit(init),
  policy: (policy) => isLittle(policy) && isPolicy(policy),
  idempotent: absentOr(isFlag),
  meta: absentOr(isMeta),
  tags: absentOr(areTags),
  needs: absentOr(areNeeds),
  senderData: absentOr((data) => isPlain(data) && isSmall(data)),
  tells: absentOr(isFlag),
  expiresAfterMs: absentOr(isInstant),
}

const unsoundPart = (parts: Parts): string | undefined => PARTS.find((name) => !SOUND[name](parts[name]))

/** An unknown word is refused: a later version that stored it meant something that would be lost here. */
function isInit(init: unknown): boolean {
  if (!isPlain(init)) return false
  return Object.entries(init).every(([name, value]) => {
    const rule = INIT_RULES.get(name)
    return rule !== undefined && isText(value, TEXT_LENGTH) && rule.ok?.(value as never) !== false
  })
}

function isPolicy(policy: unknown): boolean {
  if (!isPlain(policy)) return false
  try {
    policyOf(policy)
    return true
  } catch {
    return false
  }
}

const NUMBERS = ['attemptNumber', 'startedAt', 'durationMs'] as const

const NAMES = ['taskId', 'lane', 'principal', 'orderKey', 'idempotencyKey', 'fingerprint', 'home'] as const

const NAME: Rule = lengthOf(NAME_LENGTH)
const OTHER_TEXTS = { method: lengthOf(METHOD_LENGTH), targetUrl: lengthOf(TEXT_LENGTH) } as const
const PART: Rule = { expected: 'no more than a row may hold', ok: (part: unknown) => isSmall(part) }

const META: Rule = { ...object, expected: 'an object as `redrive.meta` may be', ok: isMeta }

function lengthOf(most: number): Rule {
  const expected = `a well-formed string of at most ${most} characters`
  return { ...text, expected, ok: (value: string) => value.length <= most && isWellFormed(value) }
}

/**
 * Refuses names that a database would keep as others: two users, two orders or two tasks would be one. Refuses, too, what would be
 * accepted and then not be read: it would never be sent, and its caller has a receipt.
 */
export function assertStorable(tasks: readonly NewTask[]): void {
  for (const task of tasks) {
    for (const name of NAMES) if (typeof task[name] === 'string') follow(`task.${name}`, task[name], NAME)
    for (const name of ['method', 'targetUrl'] as const) follow(`task.${name}`, task[name], OTHER_TEXTS[name])
    for (const name of ['headers', 'withheldHeaders', 'requestInit', 'policy'] as const) {
      if (!isKnownPolicy(task[name])) follow(`task.${name}`, task[name], PART)
    }
    if (task.meta !== undefined) follow('task.meta', task.meta, META)
    if (task.tags !== undefined) follow('task.tags', task.tags, TAGS)
    // what a later version means is not known here: it is kept, and left alone
    if (task.schema <= RECORD_SCHEMA) assertSound(task)
  }
}

function assertSound(task: NewTask): void {
  for (const [name, value] of Object.entries(task.requestInit)) {
    const rule = INIT_RULES.get(name)
    if (rule) follow(`task.requestInit.${name}`, value, rule)
  }
  const { body, ageMs = 0, dueInMs: dueAt, deadlineInMs: deadlineAt, deadlineReason = 'total_budget', marks = 0 } = task
  const status = 'PENDING'
  const times = { createdAt: 0 - ageMs, dueAt, deadlineAt, deadlineReason }
  const bodyBytes = body?.byteLength ?? 0
  const stored = { ...task, ...times, status, marks, bodyBytes, refunds: 0, parked: false } as const
  const field = unsoundField(stored) ?? unsoundPart(task)
  if (field) throw new RangeError(`task.${field}: expected what its store can read back`)
}

/** A line of a history, if it is one: kept whole, with fields that are not known here. */
export function soundLog(line: unknown): AttemptLog | undefined {
  if (!isPlain(line) || !isSmall(line)) return undefined
  const log = line as unknown as AttemptLog
  const isRight =
    NUMBERS.every((name) => Number.isFinite(log[name])) &&
    typeof log.taskId === 'string' &&
    nullOr((status) => isInt(status, 0, 999))(log.responseStatus) &&
    nullOr(isWord)(log.errorMessage) &&
    typeof log.decision === 'string' &&
    absentOr(isWord)(log.kind) &&
    absentOr((data) => isPlain(data) && Object.values(data).every(isScalar))(log.data)
  return isRight ? log : undefined
}

const isScalar = (value: unknown): boolean =>
  ['string', 'boolean'].includes(typeof value) || Number.isFinite(value) || value === null

/** The body of a task, if it is as long as the task says: another's is not sent in its place. */
export function soundBody(bytes: unknown, bodyBytes: unknown): Uint8Array | undefined {
  const isBytes = Object.prototype.toString.call(bytes) === '[object Uint8Array]'
  return isBytes && (bytes as Uint8Array).byteLength === bodyBytes ? (bytes as Uint8Array) : undefined
}

/**
 * A store's answer to who asks for a body: one that is not what was stored is none, and one that is not to be there is reported, so
 * that its task is not sent without it.
 */
export function foundBody(
  bytes: unknown,
  { bodyBytes, bodySum }: Pick<Row, 'bodyBytes' | 'bodySum'>,
): Uint8Array | undefined {
  const body = soundBody(bytes, bodyBytes === 0 ? ((bytes as Uint8Array | undefined)?.byteLength ?? 0) : bodyBytes)
  return body && isWholeBody(body, bodySum) ? body : undefined
}
