/** Bodies of one request up to their limit that cost most, for each byte, of what the service does with a body. */

import { expect } from 'vitest'
import { MOST_VALUES } from '../../../../js/service/api/json.ts'
import { type Answered, faultsOf, ORDERS, setup, type World } from './setup.ts'

const BYTES = 1_000_000
const BATCH = 8_000_000

/** The task and its members are values, too. */
const MOST = MOST_VALUES - 6

const list = (one: string, most = MOST): string => `[${Array.from({ length: most }, () => one).join(',')}]`
const full = (one: string, bytes = BYTES): string => list(one, Math.floor((bytes - 200) / (one.length + 1)))
/** Members of different names, out of order. */
const members = (value: string, tail = '', count = MOST): string =>
  `{${Array.from({ length: count }, (_, n) => `"${(n * 7919) % 20_011}${tail}":${value}`).join(',')}}`
const task = (more: string): string => `{"targetUrl":"${ORDERS}",${more}}`
const times = (count: number, one: (n: number) => string): readonly string[] =>
  Array.from({ length: count }, (_, n) => one(n))
const batch = (tasks: readonly string[]): string => `{"tasks":[${tasks.join(',')}]}`

export interface HostileBody {
  readonly path: string
  readonly raw: string
  readonly isLines?: true
}

export const HOSTILE_BODIES: Readonly<Record<string, () => HostileBody>> = {
  'rounded numbers under a long name': () => ({
    path: '/plan',
    raw: `{"${'x'.repeat(500_000)}":${full('9007199254740993', 300_000)}}`,
  }),
  'rounded numbers, as many as fit': () => ({ path: '/plan', raw: `{"a":${full('9007199254740993')}}` }),
  'rounded numbers deep within': () => ({
    path: '/plan',
    raw: `${`{"${'x'.repeat(30_000)}":`.repeat(30)}${list('0.12345678901234567', 4_000)}${'}'.repeat(30)}`,
  }),
  'names that are not allowed': () => ({ path: '/retry-tasks', raw: task(`"json":${list('{"__proto__":1}', 9_000)}`) }),
  'unknown fields, as many as fit': () => ({ path: '/plan', raw: `{${full('"a":1').slice(1, -1)}}` }),
  'unknown fields': () => ({ path: '/plan', raw: members('1') }),
  'unknown fields with long names': () => ({ path: '/plan', raw: members('1', 'ab'.repeat(20), 18_000) }),
  'unknown fields within': () => ({ path: '/retry-tasks', raw: task(`"policy":{"expect":${members('1')}}`) }),
  'wrong elements': () => ({ path: '/plan', raw: `{"delaysMs":${list('""')}}` }),
  'wrong elements of either form': () => ({ path: '/plan', raw: `{"retryableStatusCodes":${list('""')}}` }),
  'wrong ids': () => ({ path: '/dead-letters/redrive', raw: `{"filter":{"taskIds":${list('"x"')}}}` }),
  'headers of another kind': () => ({ path: '/retry-tasks', raw: task(`"headers":${members('1')}`) }),
  'too many headers': () => ({ path: '/retry-tasks', raw: task(`"headers":${members('""')}`) }),
  'headers that may not be stored': () => ({
    path: '/retry-tasks',
    raw: task(`"headers":{${times(64, (n) => `"x-token-${'y'.repeat(230)}${n}":""`).join(',')}}`),
  }),
  'too many tags': () => ({ path: '/retry-tasks', raw: task(`"tags":${members('""')}`) }),
  'a long origin': () => ({ path: '/pauses', raw: `{"origin":"https://${'a.'.repeat(450_000)}a"}` }),
  'a name twice': () => ({ path: '/plan', raw: `{${list('"a":1').slice(1, -1)}}` }),
  'brackets without an end': () => ({ path: '/plan', raw: '['.repeat(BYTES) }),
  'escapes of a policy’s name': () => ({ path: '/retry-tasks', raw: task(`"policyId":"${'\\u0001'.repeat(255)}"`) }),
}

/** The same, of a batch up to its limit. */
export const HOSTILE_BATCHES: Readonly<Record<string, () => HostileBody>> = {
  'a batch of unknown fields': () => ({
    path: '/retry-tasks/batch',
    raw: batch(times(500, () => members('1', '', 1_600))),
  }),
  'a batch of long names': () => ({
    path: '/retry-tasks/batch',
    raw: batch(times(500, () => `{"${'\\u0001'.repeat(2_600)}":1}`)),
  }),
  'a batch of rounded numbers': () => ({ path: '/retry-tasks/batch', raw: batch([full('9007199254740993', BATCH)]) }),
  'a batch of policies that are not there': () => ({
    path: '/retry-tasks/batch',
    raw: batch(times(500, () => task(`"policyId":"${'\\u0001'.repeat(255)}"`))),
  }),
  'a batch of nothing but commas': () => ({ path: '/retry-tasks/batch', raw: batch([full('1', BATCH).slice(1, -1)]) }),
  'another form than a batch': () => ({ path: '/retry-tasks/batch', raw: full('1', BATCH) }),
  'lines of rounded numbers': () => ({
    path: '/retry-tasks/batch',
    raw: `{"${'x'.repeat(8_000)}":${full('9007199254740993', 7_800)}}\n`.repeat(490),
    isLines: true,
  }),
  'lines of nothing': () => ({ path: '/retry-tasks/batch', raw: '\n'.repeat(BATCH), isLines: true }),
  blanks: () => ({ path: '/retry-tasks/batch', raw: ' '.repeat(BATCH), isLines: true }),
}

/** Bodies that are taken, or whose batch is, and that cost as much. */
export const LARGE_BODIES: Readonly<Record<string, () => HostileBody>> = {
  'numbers that the host prints': () => ({
    path: '/retry-tasks',
    raw: task(`"json":${list('1.7976931348623157e308', MOST / 2)}`),
  }),
  'numbers with zeros behind them': () => ({
    path: '/retry-tasks',
    raw: task(`"json":${list('9007199254740992.00')}`),
  }),
  'members out of order': () => ({
    path: '/retry-tasks',
    raw: task(`"idempotencyKey":"a","json":${members('1', 'q'.repeat(35))}`),
  }),
  'an escaped text': () => ({ path: '/retry-tasks', raw: task(`"json":"${'\\u0001'.repeat(160_000)}"`) }),
  base64: () => ({ path: '/retry-tasks', raw: task(`"bodyEncoding":"base64","body":"${'abcd'.repeat(240_000)}"`) }),
  'a batch of large texts': () => ({
    path: '/retry-tasks/batch',
    raw: batch(times(8, () => task(`"body":"${'x'.repeat(990_000)}"`))),
  }),
  'a batch of members out of order': () => ({
    path: '/retry-tasks/batch',
    raw: batch(times(9, (n) => task(`"idempotencyKey":"b${n}","json":${members('1', 'q'.repeat(30))}`))),
  }),
  'a batch of 500': () => ({
    path: '/retry-tasks/batch',
    raw: batch(times(500, (n) => task(`"idempotencyKey":"c${n}","json":${list('{"b":1,"a":2}', 1_000)}`))),
  }),
  lines: () => ({
    path: '/retry-tasks/batch',
    raw: times(500, () => task(`"json":${list('{"b":1,"a":2}', 1_000)}`)).join('\n'),
    isLines: true,
  }),
}

export const MOST_BYTES = 65_536

/** Of a service that counts the characters which the core is given to read. */
export async function counted(): Promise<World & { readonly read: () => number }> {
  let read = 0
  const world = await setup({ sends: false })
  const { core } = world.context
  const canonicalJson = core.canonicalJson.bind(core)
  Object.assign(world.context, {
    core: {
      ...core,
      canonicalJson(text: string) {
        read += text.length
        return canonicalJson(text)
      },
    },
  })
  return { ...world, read: () => read }
}

export const send = (
  { ask }: World,
  { path, raw, isLines }: { path: string; raw: string; isLines?: true },
): Promise<Answered> =>
  ask('POST', path, { raw, ...(isLines && { headers: { 'content-type': 'application/x-ndjson' } }) })

/** The law of them all: the answer is short, and the body is read once at most. */
export async function assertBounded(make: () => HostileBody): Promise<void> {
  const world = await counted()
  const body = make()
  const answer = await send(world, body)
  expect(answer.status).toBeLessThan(500)
  expect(Buffer.byteLength(answer.text)).toBeLessThanOrEqual(MOST_BYTES)
  expect(faultsOf(answer).length).toBeLessThanOrEqual(20)
  expect(world.read()).toBeLessThanOrEqual(body.raw.length)
}
