/** redrive/core: what each function takes and gives. The rows of tests/vectors/ are in *-vectors.test.ts. */

import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { loadCore } from '../../js/core.ts'

const core = await loadCore()
const NOW = Date.UTC(2030, 0, 1)
const URL_OF = 'https://api.test/orders'

test('spread: phase places the wait, random is its fresh jitter, none where only the phase is given', () => {
  const policy = { strategy: 'spread', initialDelayMs: 1_000 } as const
  const wait = (context: object) => core.calculateBackoffDelay(policy, 2, context)
  const still = wait({ phase: 0.5 })
  expect(wait({ phase: 0.5 })).toBe(still)
  expect(wait({ phase: 0.75 })).toBeGreaterThan(still)
  const share = Math.floor(still * 0.1)
  expect(wait({ phase: 0.5, random: 0 })).toBe(still - share)
  expect(wait({ phase: 0.5, random: 1 - 2 ** -32 })).toBe(still + share - 1)
  expect(core.calculateBackoffDelay({ ...policy, freshJitter: 0 }, 2, { phase: 0.5, random: 0 })).toBe(still)
  const drawn = new Set(Array.from({ length: 50 }, () => wait({})))
  expect(drawn.size).toBeGreaterThan(25)
})

test('phase alone leaves other curves half-way', () => {
  expect(core.calculateBackoffDelay({ initialDelayMs: 1_000 }, 1, { phase: 0.9 })).toBe(500)
})

test('canonicalJson sorts and trims; what is not I-JSON is a SyntaxError that says where', () => {
  expect(core.canonicalJson(' { "b": [1.0, 1e2], "a": "\\u0061" } ')).toBe('{"a":"a","b":[1,100]}')
  expect(() => core.canonicalJson('{"a":1,"a":2}')).toThrow(
    new SyntaxError('text: a name twice in one object, at byte 7'),
  )
  expect(() => core.canonicalJson('[1,]')).toThrow(/^text: .*, at byte 3$/)
  expect(() => core.canonicalJson('')).toThrow(SyntaxError)
  // a text that is not well formed would reach the core as another one
  for (const lone of ['"\ud800"', '"\udc00"', '"a\udc00\ud800"', '\ud800']) {
    expect(() => core.canonicalJson(lone)).toThrow(new SyntaxError('text: a surrogate stands alone in it'))
  }
  expect(core.canonicalJson('"\ud83d\ude00"')).toBe('"\ud83d\ude00"')
})

test('canonicalJson says where in bytes, of a text beyond ASCII too', () => {
  expect(() => core.canonicalJson('["ü",x]')).toThrow(/at byte 6$/)
})

const key = (request: object) => core.generateIdempotencyKey({ method: 'POST', url: URL_OF, ...request })

test('a body counts as what fetch would send', () => {
  const json = key({ body: '{"a":1,"b":[true,null]}', contentType: 'application/json' })
  expect(json).toMatch(/^[\da-f]{64}$/)
  expect(key({ body: { b: [true, null], a: 1 } })).toBe(json)
  expect(key({ body: Object.assign(Object.create(null), { b: [true, null], a: 1 }) })).toBe(json)
  expect(key({ body: '{"a":1,"b":[true,null]}' })).not.toBe(json)
  expect(key({ body: [1] })).toBe(key({ body: '[1]', contentType: 'application/json' }))
  const form = new URLSearchParams({ a: '1', b: 'ü' })
  expect(key({ body: form })).toBe(key({ body: 'a=1&b=%C3%BC', contentType: 'application/x-www-form-urlencoded' }))
  expect(key({ body: 'ü' })).toBe(key({ body: new TextEncoder().encode('ü'), contentType: 'text/plain;charset=UTF-8' }))
})

test('what another realm has made is taken as one’s own', () => {
  const form = Object.assign(Object.create({ toString: () => 'a=1' }), { [Symbol.toStringTag]: 'URLSearchParams' })
  expect(key({ body: form })).toBe(key({ body: new URLSearchParams('a=1') }))
  expect(key({ body: runInNewContext('new Uint8Array([97]).buffer') })).toBe(key({ body: new Uint8Array([97]) }))
  expect(key({ body: runInNewContext('({ a: 1 })') })).toBe(key({ body: { a: 1 } }))
})

test('bytes count the same however they are held', () => {
  const bytes = new Uint8Array([0, 1, 2, 255])
  const held = new Uint8Array([9, 0, 1, 2, 255, 9])
  const forms = [bytes, bytes.buffer, held.subarray(1, 5), new DataView(held.buffer, 1, 4), held.slice(1, 5).buffer]
  expect(new Set(forms.map((body) => key({ body }))).size).toBe(1)
  expect(key({ body: new Uint8Array([0, 1, 2]) })).not.toBe(key({ body: bytes }))
})

test('no body is no body, however it is said', () => {
  expect(new Set([key({}), key({ body: undefined }), key({ body: null }), key({ body: new Uint8Array() })]).size).toBe(
    1,
  )
})

test.each<[what: string, body: unknown, got: string]>([
  ['a Blob', new Blob(['x']), 'Blob'],
  ['FormData', new FormData(), 'FormData'],
  ['a stream', new ReadableStream(), 'ReadableStream'],
  ['a Map', new Map(), 'Map'],
  ['a Date', new Date(), 'Date'],
  ['a number', 5, 'number'],
  ['a flag', true, 'boolean'],
  ['a function', () => {}, 'function'],
])('a body that has to be read first is refused: %s', (_what, body, got) => {
  expect(() => key({ body })).toThrow(TypeError)
  expect(() => key({ body })).toThrow(
    `request.body: expected text, bytes, URLSearchParams or a plain object, got ${got}`,
  )
})

type Headers2 = [string, string][]

test('sanitizeHeaders takes what fetch takes', () => {
  const kept = { headers: { accept: 'text/html' }, withheld: ['cookie'], unknown: ['x-own'] }
  const pairs: Headers2 = [
    ['Accept', 'text/html'],
    ['Cookie', 'a=hush'],
    ['X-Own', 'a'],
    ['Connection', 'close'],
  ]
  expect(core.sanitizeHeaders(pairs)).toEqual(kept)
  expect(core.sanitizeHeaders(Object.fromEntries(pairs))).toEqual(kept)
  expect(core.sanitizeHeaders(new Headers(pairs))).toEqual({ ...kept, withheld: ['cookie'] })
  expect(core.sanitizeHeaders(new Map(pairs) as never)).toEqual(kept)
  expect(core.sanitizeHeaders({})).toEqual({ headers: {}, withheld: [], unknown: [] })
})

test('S12 a header given twice is one, and hidden whole where half of it is secret', () => {
  const pairs: Headers2 = [
    ['Accept', 'a/b'],
    ['accept', 'c/d'],
    ['cookie', 'a'],
    ['Cookie', 'b'],
    ['x-own', '1'],
    ['x-own', '2'],
    ['prefer', 'wait=1'],
    ['prefer', 'Bearer hush'],
  ]
  expect(core.sanitizeHeaders(pairs)).toEqual({
    headers: { accept: 'a/b, c/d' },
    withheld: ['cookie', 'prefer'],
    unknown: ['x-own'],
  })
})

test('sanitizeHeaders obeys its options and keeps none of them', () => {
  const headers = { 'x-own': 'a', accept: 'b' }
  const options = { persistHeaders: ['X-*'], denyHeaders: ['accept'] }
  expect(core.sanitizeHeaders(headers, options)).toEqual({
    headers: { 'x-own': 'a' },
    withheld: ['accept'],
    unknown: [],
  })
  expect(core.sanitizeHeaders(headers)).toEqual({ headers: { accept: 'b' }, withheld: [], unknown: ['x-own'] })
})

test('names that objects have already are shown like any other', () => {
  const options = { persistHeaders: ['__proto__', 'construct*'] }
  const given: Headers2 = [
    ['__proto__', 'a'],
    ['constructor', 'b'],
  ]
  const { headers, withheld } = core.sanitizeHeaders(given, options)
  expect([Object.entries(headers), withheld]).toEqual([given, []])
})

test.each<[what: string, headers: unknown, says: RegExp]>([
  ['a name with a space', [['bad name', 'hush']], /number 1 is not one/],
  [
    'a name with a line break',
    [
      ['accept', 'x'],
      ['a\nb', 'hush'],
    ],
    /number 2 is not one/,
  ],
  [
    'an empty name',
    [
      ['accept', 'x'],
      ['', 'hush'],
    ],
    /number 2 is not one/,
  ],
  ['an empty name alone', { '': 'hush' }, /number 1 is not one/],
  [
    'a value with a line break',
    { accept: 'hush\r\nx: y' },
    /^headers: the value of 'accept' holds CR, LF, NUL or a character that is no byte$/,
  ],
  ['a value of a secret with NUL', { authorization: 'hush\0' }, /^headers: the value of 'authorization' holds/],
  ['nothing', null, /^headers: expected an object, got null/],
  ['text', 'accept: hush', /^headers: expected an object/],
  ['pairs that are none', [['accept']], /^headers: expected Headers, a record, or pairs/],
  ['triples', [['accept', 'hush', 'x']], /^headers: expected Headers, a record, or pairs/],
])('S12 sanitizeHeaders refuses %s and names no value', (_what, headers, says) => {
  const call = () => core.sanitizeHeaders(headers as never)
  expect(call).toThrow(TypeError)
  expect(call).toThrow(says)
  expect(call).not.toThrow(/hush[^']*$/)
})

type Row = readonly [what: string, call: () => unknown, error: typeof TypeError | typeof RangeError, says: RegExp]

const wrong: readonly Row[] = [
  ['status 99', () => core.evaluateRetryStatus(99, 'CLOSED', 0, 1), RangeError, /statusCode.*100.*599.*99/],
  ['status 503.5', () => core.evaluateRetryStatus(503.5, 'CLOSED', 0, 1), RangeError, /statusCode.*503\.5/],
  ['status as text', () => core.evaluateRetryStatus('503' as never, 'CLOSED', 0, 1), TypeError, /statusCode.*'503'/],
  [
    'an unknown circuit',
    () => core.evaluateRetryStatus(503, 'AJAR' as never, 0, 1),
    RangeError,
    /circuitState.*'AJAR'/,
  ],
  ['retryCount -1', () => core.evaluateRetryStatus(503, 'CLOSED', -1, 1), RangeError, /retryCount.*-1/],
  ['maxRetries 2^32', () => core.evaluateRetryStatus(503, 'CLOSED', 0, 2 ** 32), RangeError, /maxRetries.*4294967296/],
  [
    'codes out of range',
    () => core.evaluateRetryStatus(503, 'CLOSED', 0, 1, [70_000]),
    RangeError,
    /retryableStatusCodes\[0\]/,
  ],
  ['attempt 0', () => core.calculateBackoffDelay({}, 0), RangeError, /attempt.*from 1.*got 0/],
  ['attempt NaN', () => core.calculateBackoffDelay({}, Number.NaN), RangeError, /attempt.*NaN/],
  ['attempt 2^32', () => core.calculateBackoffDelay({}, 2 ** 32), RangeError, /attempt/],
  ['random 1', () => core.calculateBackoffDelay({}, 1, { random: 1 }), RangeError, /random.*got 1/],
  ['random -0.1', () => core.calculateBackoffDelay({}, 1, { random: -0.1 }), RangeError, /random/],
  [
    'previousDelayMs -1',
    () => core.calculateBackoffDelay({}, 1, { previousDelayMs: -1 }),
    RangeError,
    /previousDelayMs/,
  ],
  ['a wrong policy', () => core.calculateBackoffDelay({ maxAttempts: 0 }, 1), RangeError, /policy\.maxAttempts/],
  ['an unknown policy option', () => core.calculateBackoffDelay({ tries: 1 } as never, 1), TypeError, /policy\.tries/],
  ['a header that is no text', () => core.parseRetryAfter(30 as never, NOW), TypeError, /header/],
  ['now NaN', () => core.parseRetryAfter('30', Number.NaN), RangeError, /now.*NaN/],
  ['phase 1', () => core.calculateBackoffDelay({}, 1, { phase: 1 }), RangeError, /^context\.phase: .*got 1/],
  ['phase as text', () => core.calculateBackoffDelay({}, 1, { phase: '0' as never }), TypeError, /^context\.phase/],
  ['an unknown context', () => core.calculateBackoffDelay({}, 1, { seed: 1 } as never), TypeError, /^context\.seed/],
  ['now as a Date', () => core.calculateBackoffDelay({}, 1, { now: new Date() as never }), TypeError, /^context\.now/],
  [
    'retryAfter 5',
    () => core.calculateBackoffDelay({}, 1, { retryAfter: 5 as never }),
    TypeError,
    /^context\.retryAfter/,
  ],
  ['a schedule of a wrong policy', () => core.backoffSchedule({ maxAttempts: 0 }), RangeError, /^policy\.maxAttempts/],
  ['a schedule of no policy', () => core.backoffSchedule(null as never), TypeError, /^policy: expected an object/],
  ['a rate limit that is no text', () => core.parseRateLimit(5 as never, NOW), TypeError, /^header/],
  ['a rate limit now', () => core.parseRateLimit('', Number.NaN), RangeError, /^now/],
  ['a duration that is no text', () => core.parseDuration(5 as never), TypeError, /^text: .*got 5/],
  ['JSON that is no text', () => core.canonicalJson({} as never), TypeError, /^text: .*got an object/],
  ['no request', () => core.generateIdempotencyKey(undefined as never), TypeError, /^request: expected an object/],
  ['no method', () => core.generateIdempotencyKey({ url: URL_OF } as never), TypeError, /^request\.method/],
  ['no URL', () => core.generateIdempotencyKey({ method: 'POST' } as never), TypeError, /^request\.url/],
  ['a method that is no token', () => key({ method: 'PO ST' }), RangeError, /^request\.method: .*'PO ST'/],
  ['a relative URL', () => key({ url: '/orders?token=hush' }), TypeError, /^request\.url: .*'\/orders…'/],
  ['another scheme', () => key({ url: 'ftp://user:hush@api.test/' }), TypeError, /^request\.url: expected/],
  ['a scope that is no text', () => key({ scope: 5 }), TypeError, /^request\.scope: .*5/],
  ['a nonce that is no text', () => key({ nonce: 7 }), TypeError, /^request\.nonce: .*7/],
  ['an unknown part', () => key({ headers: {} }), TypeError, /^request\.headers: no such option/],
  [
    'a wrong pattern',
    () => core.sanitizeHeaders({}, { denyHeaders: ['a b'] }),
    RangeError,
    /^options\.denyHeaders\[0\]/,
  ],
  ['wrong options', () => core.sanitizeHeaders({}, 5 as never), TypeError, /^options: expected an object/],
]

test.each(wrong)('%s is refused, naming what was wrong and no secret', (_what, call, error, says) => {
  expect(call).toThrow(error)
  expect(call).toThrow(says)
  expect(call).not.toThrow(/hush/)
})

test.each([
  ['an object that says it has no JSON', { toJSON() {} }],
  ['a bigint inside', { id: 1n }],
])('generateIdempotencyKey refuses %s by name', (_, body) => {
  const key = () => core.generateIdempotencyKey({ method: 'POST', url: 'https://api.test/', body })
  expect(key).toThrow(TypeError)
  expect(key).toThrow(/request\.body/)
})

test('a name that only lowering would make a token is none, and a character beyond a byte is no value', () => {
  expect(() => core.sanitizeHeaders([['coo\u212Aie', 'a=b']])).toThrow(TypeError)
  expect(() => core.sanitizeHeaders({ accept: 'a\u0100b' })).toThrow(/no byte/)
})

test('parseRateLimit goes without the time', () => {
  expect(core.parseRateLimit('"a";r=0;t=3')).toEqual({ remaining: 0, resetMs: 3_000, partitioned: false })
})
