import { expect, test } from 'vitest'
import { vectors } from '../../vectors.ts'
import { faultsOf, idOf, ORDERS, refusalOf, setup, typeOf } from './setup.ts'

const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`
const whole = (members: string): string => `{"targetUrl":"${ORDERS}",${members}}`
const json = (value: string): string => whole(`"json":${value}`)

/** Bodies as strangers send them: the answer's status and type, and a word of its detail. */
const HOSTILE: readonly (readonly [
  name: string,
  string | Uint8Array<ArrayBuffer>,
  number,
  type: string,
  word: string,
])[] = [
  ['nothing', '', 400, 'bad-request', 'ends too early'],
  ['no JSON', '{targetUrl:1}', 400, 'bad-request', 'not JSON'],
  ['more than one value', '{}{}', 400, 'bad-request', 'more text'],
  ['a list', '[]', 422, 'invalid', 'object'],
  ['a name twice', `{"targetUrl":"${ORDERS}","targetUrl":"https://evil.test/"}`, 400, 'bad-request', 'a name twice'],
  ['a name twice, once escaped', `{"body":"a","b\\u006fdy":"b"}`, 400, 'bad-request', 'a name twice'],
  ['bytes that are no text', new Uint8Array([0x22, 0xff, 0x22]), 400, 'bad-request', 'UTF-8'],
  ['a byte order mark', `\ufeff{}`, 400, 'bad-request', 'byte order mark'],
  ['half of a character', '{"body":"\\ud800"}', 400, 'bad-request', 'surrogate'],
  ['__proto__ at the top', `{"targetUrl":"${ORDERS}","__proto__":{"method":"GET"}}`, 422, 'invalid', '#/__proto__'],
  ['__proto__ escaped, within', json('{"a":[{"\\u005f_proto__":1}]}'), 422, 'invalid', '#/json/a/0/__proto__'],
  ['constructor', `{"targetUrl":"${ORDERS}","constructor":1}`, 422, 'invalid', '#/constructor'],
  ['33 levels', json(deep(32)), 400, 'bad-request', 'deeper than 32'],
  ['10,000 levels', json(deep(10_000)), 400, 'bad-request', 'deeper than 32'],
  ['half a million levels', deep(500_000), 400, 'bad-request', 'deeper than 32'],
  ['a number beyond doubles', json('1e400'), 400, 'bad-request', 'largest double'],
  ['a number that would be rounded', json('{"id":[12345678901234567890]}'), 422, 'invalid', '#/json/id/0'],
  ['a fraction that would be rounded', json('0.1234567890123456789'), 422, 'invalid', '#/json'],
  ['an unknown field', `{"targetUrl":"${ORDERS}","bodi":"x"}`, 422, 'invalid', "'body'"],
  ['an unknown field within', whole('"policy":{"maxAtempts":3}'), 422, 'invalid', '#/policy/maxAtempts'],
  ['what is not there yet', `{"targetUrl":"${ORDERS}","callback":{}}`, 422, 'invalid', '#/callback'],
  ['no target', '{}', 422, 'invalid', '#/targetUrl'],
]

test.for(HOSTILE)('%s is refused', async ([, raw, status, type, word]) => {
  const { ask, store } = await setup({ sends: false })
  const refused = await ask('POST', '/retry-tasks', { raw })
  expect(refusalOf(refused)).toEqual([status, type])
  expect(JSON.stringify([refused.json.detail, refused.json.errors])).toContain(word)
  expect(refused.headers.get('content-type')).toBe('application/problem+json')
  expect(refused.json.instance).toBe(refused.headers.get('redrive-request-id'))
  expect((await store.counts()).pending).toBe(0)
})

test.for([
  ['1e2', '100'],
  ['1.50', '1.5'],
  ['100000000000000000000', '100000000000000000000'],
  ['0.000001', '0.000001'],
  ['-1.5e-7', '-1.5e-7'],
  ['12345678901234567', undefined],
  ['"12345678901234567890"', '"12345678901234567890"'],
  ['9007199254740993', undefined],
])('the JSON number %s is sent as %s', async ([given, sent]) => {
  const { ask, store } = await setup({ sends: false })
  const answer = await ask('POST', '/retry-tasks', { raw: json(given as string) })
  if (sent === undefined) expect(typeOf(answer)).toBe('invalid')
  else expect(new TextDecoder().decode(await store.body(idOf(answer)))).toBe(sent)
})

const REFUSED: readonly (readonly [more: Record<string, unknown>, type: string, fault: string])[] = [
  [{ targetUrl: '/orders' }, 'invalid', '#/targetUrl'],
  [{ targetUrl: 'ftp://api.test/' }, 'invalid', '#/targetUrl'],
  [{ targetUrl: 'blob:https://api.test/x' }, 'invalid', '#/targetUrl'],
  [{ targetUrl: 'https://a:b@api.test/' }, 'invalid', '#/targetUrl'],
  [{ targetUrl: `https://api.test/${'a'.repeat(8_200)}` }, 'invalid', '#/targetUrl'],
  [{ method: 'get' }, 'invalid', '#/method'],
  [{ method: 'TRACE' }, 'invalid', '#/method'],
  [{ method: 'A B' }, 'invalid', '#/method'],
  [{ method: 'GET', body: 'x' }, 'invalid', '#/body'],
  [{ body: 'x', json: 1 }, 'invalid', '#/json'],
  [{ bodyEncoding: 'base64' }, 'invalid', '#/bodyEncoding'],
  [{ body: 'YQ', bodyEncoding: 'base64' }, 'invalid', '#/body'],
  [{ body: 'Y Q=', bodyEncoding: 'base64' }, 'invalid', '#/body'],
  [{ body: '_-8=', bodyEncoding: 'base64' }, 'invalid', '#/body'],
  [{ body: 1 }, 'invalid', '#/body'],
  [{ bodyEncoding: 'latin1', body: 'x' }, 'invalid', '#/bodyEncoding'],
  [{ headers: { 'a b': 'x' } }, 'invalid', '#/headers/a b'],
  [{ headers: { accept: 'x\r\ny: z' } }, 'invalid', '#/headers/accept'],
  [{ headers: { accept: 'x\u0000' } }, 'invalid', '#/headers/accept'],
  [{ headers: { accept: '€' } }, 'invalid', '#/headers/accept'],
  [{ headers: { accept: 1 } }, 'invalid', '#/headers/accept'],
  [{ headers: { Accept: 'a', accept: 'b' } }, 'invalid', '#/headers/accept'],
  [{ headers: { accept: 'a'.repeat(16_384) } }, 'invalid', '#/headers'],
  [{ headers: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`accept-${i}`, ''])) }, 'invalid', '#/headers'],
  [{ headers: { authorization: 'Bearer x' } }, 'header-refused', '#/headers/authorization'],
  [{ headers: { Cookie: 'a=b' } }, 'header-refused', '#/headers/Cookie'],
  [{ headers: { 'x-api-key': 'x' } }, 'header-refused', '#/headers/x-api-key'],
  [{ headers: { 'x-of-mine': `Bearer ${'a'.repeat(40)}` } }, 'header-refused', '#/headers/x-of-mine'],
  [{ headers: { host: 'evil.test' } }, 'header-refused', '#/headers/host'],
  [{ headers: { 'content-length': '1' } }, 'header-refused', '#/headers/content-length'],
  [{ headers: { 'transfer-encoding': 'chunked' } }, 'header-refused', '#/headers/transfer-encoding'],
  [{ headers: { connection: 'close' } }, 'header-refused', '#/headers/connection'],
  [{ headers: { 'Idempotency-Key': 'k' } }, 'header-refused', '#/headers/Idempotency-Key'],
  [{ idempotencyKey: '' }, 'invalid', '#/idempotencyKey'],
  [{ idempotencyKey: 'a b' }, 'invalid', '#/idempotencyKey'],
  [{ idempotencyKey: 'a'.repeat(256) }, 'invalid', '#/idempotencyKey'],
  [{ policyId: 'nowhere' }, 'policy-unknown', ''],
  [{ policy: { maxAttempts: 0 } }, 'invalid', '#/policy/maxAttempts'],
  [{ policy: { totalBudgetMs: 2, keyTtlMs: 1 } }, 'invalid', '#/policy/totalBudgetMs'],
  [{ policy: { strategy: 'table' } }, 'invalid', '#/policy/delaysMs'],
  [{ policy: { retryableStatusCodes: [600] } }, 'invalid', '#/policy/retryableStatusCodes/0'],
  [{ policy: { policyId: 'x' } }, 'invalid', '#/policy/policyId'],
  [{ deliverAt: 2e12, delayMs: 1 }, 'invalid', '#/delayMs'],
  [{ delayMs: 90 * 86_400_000 + 1 }, 'invalid', '#/delayMs'],
  [{ delayMs: 0.5 }, 'invalid', '#/delayMs'],
  [{ deliverAt: 8.64e15 }, 'invalid', '#/deliverAt'],
  [{ expiresAt: 1 }, 'invalid', '#/expiresAt'],
  [{ expiresAt: 2e12, deliverAt: 2e12 }, 'invalid', '#/expiresAt'],
  [{ priority: 2 ** 31 }, 'invalid', '#/priority'],
  [{ orderKey: '' }, 'invalid', '#/orderKey'],
  [{ orderKey: 'a\u0000' }, 'invalid', '#/orderKey'],
  [{ idempotent: 'yes' }, 'invalid', '#/idempotent'],
  [{ tags: { 'a=b': 'x' } }, 'invalid', '#/tags/a=b'],
  [{ tags: { '': 'x' } }, 'invalid', '#/tags/'],
  [{ tags: { a: 'x'.repeat(63) } }, 'invalid', '#/tags/a'],
  [{ tags: { a: 'ü'.repeat(32) } }, 'invalid', '#/tags/a'],
  [{ tags: Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`t${i}`, ''])) }, 'invalid', '#/tags'],
  [{ targetUrl: `${ORDERS}?token=3f1d2c9b7e60a4f8` }, 'url-secret', ''],
]

test.for(REFUSED)('%j is refused as %s', async ([more, type, pointer]) => {
  const { create, store } = await setup({ sends: false })
  const refused = await create(more)
  expect(refusalOf(refused)).toEqual([422, type])
  if (pointer !== '') expect(faultsOf(refused)[0]?.split(': ', 1)[0]).toBe(pointer)
  expect((await store.counts()).pending).toBe(0)
})

test('no refusal tells a value of the request', async () => {
  const { create } = await setup({ sends: false })
  const secret = 'sk_live_51H8xPq2eZvKYlo'
  const bodies: readonly object[] = [
    ...[
      { headers: { authorization: secret } },
      { headers: { accept: `${secret}\n` } },
      { tags: { a: secret.repeat(4) } },
    ],
    ...[{ method: secret }, { targetUrl: `${ORDERS}?api_key=${secret}` }, { targetUrl: secret }, { body: [secret] }],
    ...[{ policy: { strategy: secret } }, { orderKey: [secret] }, { deliverAt: secret }],
    { idempotencyKey: `${secret} x` },
  ]
  for (const body of bodies) {
    const { status, text } = await create(body)
    expect([body, status, text.includes(secret)]).toEqual([body, 422, false])
  }
})

test('a refused target names the rule, and no address', async () => {
  const { create, now } = await setup({ sends: false })
  now.refusal = { rule: 'address', text: 'the target is not public' }
  const json = { rule: 'address', detail: 'targetUrl: the target is not public' }
  expect(await create()).toMatchObject({ status: 422, json })
})

test('what is at the edge is taken', async () => {
  const { create, ask } = await setup({ sends: false })
  const tags = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`t${i}`, 'x'.repeat(61)]))
  const taken = await create({
    ...{ tags, idempotencyKey: `!${'~'.repeat(254)}`, delayMs: 90 * 86_400_000, priority: -(2 ** 31) },
    method: 'M-SEARCH',
    headers: { 'Accept-Language': '\u00e9', accept: '', 'content-type': 'text/plain; charset=utf-8' },
    body: '',
    targetUrl: 'HTTPS://API.test:443/orders/../orders?a=b#top',
  })
  expect(taken.status).toBe(201)
  const { json } = await ask('GET', `/retry-tasks/${idOf(taken)}`)
  expect(json).toMatchObject({ targetUrl: 'https://api.test/orders?a=b', tags, method: 'M-SEARCH' })
  expect(json.bodyRef).toBeUndefined()
})

test('secrets in a URL are left out, or kept, where the service is told to', async () => {
  const targetUrl = `${ORDERS}?a=b&token=3f1d2c9b7e60a4f8`
  const { create, ask } = await setup({ sends: false, settings: { urlSecrets: 'strip' } })
  const { json } = await ask('GET', `/retry-tasks/${idOf(await create({ targetUrl }))}`)
  expect(json.targetUrl).toBe(`${ORDERS}?a=b`)
})

test('a policy is laid over the one that is named, and goes with the task', async () => {
  const { create, store } = await setup({ sends: false, settings: { attemptTimeoutMs: 30_000 } })
  const laid = await store.get(idOf(await create({ policyId: 'svix', policy: { maxAttempts: 3 } })))
  const policy = { policyId: 'svix', strategy: 'table', maxAttempts: 3, totalBudgetMs: 172_800_000 }
  expect(laid?.policy).toMatchObject(policy)
  const plain = await store.get(idOf(await create()))
  expect(plain?.policy).toMatchObject({ policyId: 'default', maxAttempts: 5, attemptTimeoutMs: 30_000 })
  const own = await store.get(idOf(await create({ policy: { attemptTimeoutMs: 5 } })))
  expect(own?.policy.attemptTimeoutMs).toBe(5)
})

test('a body over the limit is refused, by what it says and by what it is', async () => {
  const { ask } = await setup({ sends: false, settings: { limits: { maxBodyBytes: 100 } } })
  const raw = json(`"${'x'.repeat(200)}"`)
  expect(refusalOf(await ask('POST', '/retry-tasks', { raw }))).toEqual([413, 'body-too-large'])
  const lying = await ask('POST', '/retry-tasks', { raw: '{}', headers: { 'content-length': '101' } })
  expect(lying.status).toBe(413)
})

test.for([
  ['text/plain', 415],
  ['application/x-www-form-urlencoded', 415],
  ['application/json; charset=latin1', 415],
  ['', 415],
  ['application/json; charset="UTF-8"', 201],
  ['Application/JSON', 201],
] as const)('a body sent as %j gets %i', async ([type, status]) => {
  const { ask } = await setup({ sends: false })
  const raw = `{"targetUrl":"${ORDERS}"}`
  expect((await ask('POST', '/retry-tasks', { raw, headers: { 'content-type': type } })).status).toBe(status)
})

test.for([
  ['gzip', 415],
  ['br, gzip', 415],
  ['identity', 201],
  ['', 201],
] as const)('a body in the encoding %j gets %i', async ([encoding, status]) => {
  const { ask } = await setup({ sends: false })
  const raw = `{"targetUrl":"${ORDERS}"}`
  const headers = { 'content-type': 'application/json', 'content-encoding': encoding }
  const answer = await ask('POST', '/retry-tasks', { raw, headers })
  expect(answer.status).toBe(status)
  if (status === 415) {
    expect([typeOf(answer), answer.headers.get('accept-encoding')]).toEqual(['unsupported-media-type', 'identity'])
    expect(answer.json.detail).toBe(`Content-Encoding: ${encoding}: the body has to be sent without an encoding`)
  }
})

interface PolicyRow {
  readonly name: string
  readonly options: object
  readonly error?: { readonly option: string }
}

test('policies are taken and refused as the package does', async () => {
  const { ask } = await setup({ sends: false })
  for (const { name, options, error } of vectors<PolicyRow>('policies')) {
    const answer = await ask('POST', '/plan', { body: options })
    expect([name, answer.status]).toEqual([name, error ? 422 : 200])
    if (error) expect([name, faultsOf(answer)[0]]).toEqual([name, expect.stringMatching(`^#/${error.option}[:/]`)])
  }
})
