/**
 * Text of others is read in a time that grows as the text does. Each door at which such text comes in takes 100,000
 * characters of whatever may make a search begin anew at each of them.
 */

import axios from 'axios'
import { expect, test } from 'vitest'
import { attachToAxios } from '../../js/adapters/axios.ts'
import { resolveObjectOptions } from '../../js/cloudflare/object-options.ts'
import { type Core, loadCore } from '../../js/core.ts'
import { type RedriveInit, RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { type Fakes, setup } from './setup.ts'

const LENGTH = 100_000
/** The longest way reads a URL ten times, at less than 10 ms each; what is not linear takes many seconds. */
const LIMIT_MS = 1_000

/** Time that this thread has worked, since the machine may do something else beside it. */
function workedMs(): number {
  const { user, system } = process.threadCpuUsage?.() ?? process.cpuUsage()
  return (user + system) / 1_000
}

/** What searches begin, go on and end with. */
const PARTS = [
  ...'x9 @?#&=/%;:,."\'\\-_(é☕\ud800',
  '%41',
  'a=1&',
  'sig=x&',
  '?sig=x',
  'Bearer ',
  'basic  ',
  'password: ',
  'eyJhbGciOiJIUzI1NiJ9.',
  '-----BEGIN ',
  'https://a?sig=x ',
  'a://b@',
  '{"a":',
  '[',
  '"a":"b",',
  ', ',
  'a;b="',
  '1 Jan ',
  '/../',
  '\r\n',
]

/** The end is another character, at which a search that has come so far fails. */
const TEXTS = PARTS.map((part) => [part, `${part.repeat(Math.ceil(LENGTH / part.length)).slice(0, LENGTH)}!`] as const)

type Door = (text: string) => unknown

/** Takes each text through a door; each is given three tries, since machines are busy at times. */
async function takes(door: Door, texts: typeof TEXTS = TEXTS): Promise<void> {
  const slow: string[] = []
  for (const [name, text] of texts) {
    let leastMs = Number.POSITIVE_INFINITY
    for (let i = 0; i < 3 && leastMs > LIMIT_MS; i++) {
      const begun = workedMs()
      try {
        await door(text)
      } catch {
        // what it says of it is another test's
      }
      leastMs = Math.min(leastMs, workedMs() - begun)
    }
    if (leastMs > LIMIT_MS) slow.push(`${JSON.stringify(name)}: ${Math.round(leastMs)} ms`)
  }
  expect(slow).toEqual([])
}

const URLS: readonly (readonly [what: string, url: (text: string) => string])[] = [
  ['a URL', (text) => text],
  ['a path', (text) => `https://api.test/${text}`],
  ['a query', (text) => `https://api.test/?${text}`],
  ['a value of a query', (text) => `https://api.test/?a=${text}`],
  ['a fragment', (text) => `https://api.test/#${text}`],
  ['user and password', (text) => `https://${text}@api.test/`],
  ['a host', (text) => `https://${text}/`],
  ['a port', (text) => `https://api.test:${text}`],
  ['a scheme', (text) => `${text}://api.test`],
]

const POST = { method: 'POST', body: '{}' }
const DEFER: RedriveInit = { ...POST, redrive: { mode: 'defer' } }
const ORIGIN = 'https://api.test/'
const STORED = (): RetryQueueOptions => ({ store: memoryStore(), principal: 'ann' })

/** Both ways into a queue, to tasks that wait, and what is told of them. */
async function asked({ queue, server }: Fakes, text: string, url: string, init: RedriveInit = POST): Promise<void> {
  server.fail(new TypeError(`no ${text}`))
  const deferred: RedriveInit = { ...init, redrive: { mode: 'defer', ...(init.redrive || {}) } }
  const ended = await Promise.allSettled([queue.fetch(url, deferred), queue.enqueue(url, init)])
  for (const { taskId } of ended.flatMap((end) => ('value' in end && 'taskId' in end.value ? [end.value] : []))) {
    await queue.explain(taskId)
    await queue.cancel(taskId)
  }
}

const WAYS: readonly (readonly [way: string, options: () => RetryQueueOptions])[] = [
  ['in memory', () => ({})],
  ['with a store', STORED],
  ['with secrets of URLs stripped', () => ({ ...STORED(), sanitize: { urlSecrets: 'strip' } })],
  ['with content keys', () => ({ principal: 'ann', idempotency: { mode: 'content' } })],
]

test.each(WAYS.flatMap(([way, options]) => URLS.map(([what, url]) => [way, what, options, url] as const)))(
  'S18 fetch and enqueue %s take %s of 100,000 characters',
  async (_way, _what, options, url) => {
    const fakes = await setup(options())
    await takes((text) => asked(fakes, text, url(text)))
  },
)

const IN_AXIOS: readonly (readonly [what: string, config: (text: string) => object])[] = [
  ...URLS.flatMap(([what, url]) => [
    [what, (text: string) => ({ url: url(text) })] as const,
    [`${what} for its base`, (text: string) => ({ url: '/', baseURL: url(text) })] as const,
  ]),
  ['parameters', (text) => ({ url: ORIGIN, params: { a: text, [text]: 1, b: [text], c: { d: text } } })],
  ['headers', (text) => ({ url: ORIGIN, headers: { 'x-request-id': text, authorization: text, 'x-own': text } })],
  ['text in a body', (text) => ({ url: ORIGIN, data: { a: text } })],
]

test.each(IN_AXIOS)('S18 Axios takes %s of 100,000 characters', async (_, config) => {
  const { queue } = await setup({ policy: { maxAttempts: 1 } })
  const api = axios.create({ adapter: (sent) => Promise.reject(new axios.AxiosError('no', 'ERR_NETWORK', sent)) })
  attachToAxios(api, queue)
  await takes((text) => api.request({ method: 'post', data: '{}', ...config(text) }))
})

const HEADERS = [
  'x-request-id',
  'authorization',
  'x-own',
  'content-type',
  'baggage',
  'Idempotency-Key',
  'prefer',
  'cookie',
]
const many = (text: string) => Object.fromEntries(text.match(/.{1,9}/gs)?.map((part, i) => [`x-${i}`, part]) ?? [])

const CALLS: readonly (readonly [what: string, init: (text: string) => RedriveInit, texts?: typeof TEXTS])[] = [
  ...HEADERS.map((name): (typeof CALLS)[number] => [`a header ${name}`, (text) => ({ headers: { [name]: text } })]),
  ['a name of a header', (text) => ({ headers: { [text]: 'x' } }), TEXTS.slice(0, 3)],
  ['many headers', (text) => ({ headers: many(text) }), TEXTS.slice(0, 3)],
  ['a policy', (text) => ({ redrive: { policyId: text } })],
  ['a key', (text) => ({ redrive: { idempotencyKey: text } })],
  ['an order', (text) => ({ redrive: { orderKey: text } })],
  ['a mode', (text) => ({ redrive: { mode: text as 'defer' } })],
]

test.for(CALLS)('S18 %s of 100,000 characters is refused or taken', async ([, init, texts]) => {
  const fakes = await setup(STORED())
  await takes((text) => asked(fakes, text, ORIGIN, { ...POST, ...init(text) }), texts)
})

test.each([
  'retry-after',
  'retry-after-ms',
  'date',
  'ratelimit',
  'ratelimit-policy',
  'ratelimit-reset',
  'x-ratelimit-reset',
  'location',
  'content-type',
  'content-length',
  'x-own',
  'its body',
])('S18 of an answer, %s is taken', async (name) => {
  const { queue, server } = await setup()
  await takes(async (text) => {
    // a date is looked at beside a Retry-After that is one
    const other = name === 'date' ? { 'retry-after': 'Sun, 06 Nov 2044 08:49:37 GMT' } : {}
    if (name === 'its body') server.reply(503, {}, text)
    else server.reply(name === 'location' ? 307 : 503, { ...other, [name]: text })
    const { headers } = (await queue.fetch(ORIGIN, DEFER)) as Response
    await queue.cancel(headers.get('redrive-task-id') ?? '')
  })
})

test.each<[what: string, error: (text: string) => unknown]>([
  ['an error', (text) => new TypeError(text)],
  ["an error's code", (text) => Object.assign(new TypeError('no'), { cause: { code: text } })],
  ["an error's name", (text) => Object.assign(new Error('no'), { name: text })],
  ['a DOMException', (text) => new DOMException(text, 'NetworkError')],
  ['a text that is thrown', (text) => text],
])('S12 %s is looked through for secrets', async (_, error) => {
  const { queue, server, clock } = await setup(STORED())
  await takes(async (text) => {
    server.fail(error(text)).fail(error(text)).reply(200)
    const headers = { authorization: 'hush-hush' }
    await queue.fetch(`${ORIGIN}?token=${encodeURIComponent(text.slice(0, 5_000))}`, { ...DEFER, headers })
    await clock.advance(9_000)
  })
})

test('S12 an error is searched for many secrets of a request', async () => {
  const { queue, server, clock } = await setup({ policy: { maxAttempts: 2 } })
  await takes(
    async (text) => {
      server.fail(new TypeError(text)).fail(new TypeError(text))
      const query = Array.from({ length: 7_000 }, (_, i) => `token=${i}-xyz`).join('&')
      const answer = queue.fetch(`${ORIGIN}?${query}`, { headers: { authorization: text, cookie: text } })
      await Promise.allSettled([answer, clock.advance(9_000)])
    },
    TEXTS.slice(0, 3),
  )
})

test.each<[what: string, options: (text: string) => RetryQueueOptions]>([
  ['a name', (name) => ({ name })],
  ['a principal', (principal) => ({ principal })],
  ['an origin', (text) => ({ idempotency: { origins: [text] } })],
  ['an origin with a scheme', (text) => ({ idempotency: { origins: [`https://${text}`] } })],
  ['a header', (header) => ({ idempotency: { header } })],
  ['names of headers', (text) => ({ sanitize: { persistHeaders: [text], denyHeaders: [text] } })],
  ['a method', (text) => ({ persistMethods: [text] })],
  ['a strategy', (text) => ({ policy: { strategy: text as 'fixed' } })],
  ['a number of a wrong kind', (text) => ({ policy: { maxAttempts: text as never } })],
  ['an option that there is not', (text) => ({ [text]: 1 })],
])('S18 %s in the options is refused or taken', async (_, options) => {
  await takes((text) => new RetryQueue({ preload: 'never', fetch, ...options(text) }))
  await takes((text) => resolveObjectOptions(options(text)))
})

test.each<[what: string, ask: (core: Core, text: string) => unknown]>([
  ['parseRetryAfter', (core, text) => core.parseRetryAfter(text, 0)],
  ['parseRateLimit', (core, text) => core.parseRateLimit(text)],
  ['parseDuration', (core, text) => core.parseDuration(text)],
  ['canonicalJson', (core, text) => core.canonicalJson(text)],
  ['canonicalJson of a string', (core, text) => core.canonicalJson(JSON.stringify(text))],
  ['sanitizeHeaders', (core, text) => core.sanitizeHeaders({ 'x-request-id': text, baggage: text, [text]: text })],
  ['generateIdempotencyKey of a URL', (core, url) => core.generateIdempotencyKey({ method: 'POST', url })],
  ['generateIdempotencyKey', (core, text) => keyOf(core, text, `${ORIGIN}${text}?${text}`)],
  ['generateIdempotencyKey of a host', (core, text) => keyOf(core, text, `https://${text}/`)],
])('S18 %s takes 100,000 characters', async (_, ask) => {
  const core = await loadCore()
  await takes((text) => ask(core, text))
})

function keyOf(core: Core, text: string, url: string): void {
  core.generateIdempotencyKey({ method: 'POST', url, body: text, scope: text, nonce: text })
  core.generateIdempotencyKey({ method: 'POST', url, body: text, contentType: 'application/json' })
  core.generateIdempotencyKey({ method: 'POST', url, contentType: text })
}
