/** S12: what errors of other people say, where the queue passes it on. */

import { expect, test } from 'vitest'
import { forApi, ORDERS, setup } from './setup.ts'

const SECRET_URL = `${ORDERS}?api_key=SEKRIT`

/** A task whose first attempt has failed with these words, and what is said of it. */
async function failedWith(words: string, init: RequestInit = {}, url: string = ORDERS) {
  const { queue, server, clock, events } = await setup()
  server.fail(new Error(words)).reply(200)
  const { taskId } = await queue.enqueue(url, { method: 'POST', body: 'tea', ...init })
  await clock.advance(5_000)
  const { attempts } = await queue.attempts(taskId)
  const said = JSON.stringify([attempts, await queue.explain(taskId), await queue.get(taskId), events.of('retry')])
  return { message: attempts[0]?.errorMessage ?? '', said }
}

test.each([
  ['a URL with a secret', `request to ${SECRET_URL} failed, reason: ECONNREFUSED`],
  ['a URL with a user', 'connect to https://kim:SEKRIT@api.test/ failed'],
  ['a token', 'upstream said: Bearer SEKRITSEKRITSEKRIT'],
  ['user and password of a cache', 'connect ECONNREFUSED redis://kim:SEKRIT@cache.test:6379/0'],
  ['a password without a user', 'connect to postgres+ssl://:SEKRIT@db.test/orders failed'],
  ['a body', 'refused: {"error":"late","access_token":"SEKRIT","n":1}'],
  ['a body in a body', JSON.stringify({ error: JSON.stringify({ 'access-token': 'SEKRIT' }) })],
  ['a body, percent-encoded', `refused: ${encodeURIComponent('{"access_token": "SEKRIT"}')}`],
  ['a password', 'login failed, password: SEKRIT'],
  ['a configuration', "with { host: 'db.test', password: 'SEKRIT' }"],
  ['a setting', 'started with API_KEY=SEKRIT'],
  ['a setting with spaces', 'client_secret = SEKRIT in config.toml'],
  ['a PIN', 'card refused, PIN: SEKRIT'],
  ['a verifier', 'codeVerifier=SEKRIT did not match'],
  ['a header', 'sent Authorization: SEKRIT'],
  ['a cookie', 'sent Cookie: a=SEKRIT'],
  ['credentials', 'sent Basic a2ltOlNFS1JJVFNFS1JJVA=='],
  ['a bot', 'POST https://api.telegram.org/bot123456:SEKRITSEKRITSEKRITSEKRIT/sendMessage failed'],
  ['a webhook', 'POST https://hooks.slack.com/services/T00000000/B00000000/SEKRIT failed'],
  ['a session in a path', 'GET https://api.test/a;jsessionid=SEKRIT?b=1 failed'],
  ['a code', 'GET https://api.test/?code=SEKRIT failed'],
  ['a code, without its host', 'GET /a?code=SEKRIT failed'],
  ['a bot, without its host', 'POST "/bot123456:SEKRITSEKRITSEKRITSEKRIT/sendMessage" failed'],
  ['a URL in JSON', 'refused: {"url":"https:\\/\\/kim:SEKRIT@api.test\\/"}'],
  ['a URL, percent-encoded', `refused: ${encodeURIComponent('https://kim:SEKRIT@api.test/')}`],
  ['a URL, percent-encoded twice', `refused: ${encodeURIComponent(encodeURIComponent('https://a.test/?code=SEKRIT'))}`],
])('S12 a lost connection whose error quotes %s', async (_, words) => {
  const { message, said } = await failedWith(words, {}, SECRET_URL)
  expect(said).not.toContain('SEKRIT')
  expect(message).toBeTruthy()
})

test.each([
  `request to ${ORDERS} failed, reason: ECONNREFUSED`,
  'connect ECONNREFUSED 127.0.0.1:443',
  'getaddrinfo ENOTFOUND api.test (code: ENOTFOUND, key: api.test)',
  '{"code":"ECONNRESET","message":"socket hang up"}',
  `Unexpected token '<', "<!DOCTYPE "... is not valid JSON`,
  `network timeout at: ${ORDERS}?page=2&sort=asc`,
  `redirected to ${ORDERS}/00000000-0000-4000-8000-000000000000`,
  'author: kim, country_code: DE, 100% of it, C:\\temp',
])('a message without a secret is passed on as it is: %s', async (words) => {
  const { message } = await failedWith(words)
  expect(message).toBe(words)
})

test.each<[what: string, words: string, shown: RegExp]>([
  ['of words is cut between two', 'never mind '.repeat(9_000), /^(never mind )+… \(.*\)$|^(never mind )+…$/],
  ['without a space is not shown', 'x'.repeat(100_000), /not shown/],
  ['with a token across the cut is not shown', `${'no '.repeat(330)}Bearer ${'SEKRIT'.repeat(9)}`, /not shown/],
  ['with a URL across the cut loses its secret', `${'no '.repeat(325)} ${SECRET_URL} at last`, /^[^S]*$/],
])('S12 a long message %s', async (_, words, shown) => {
  const { message } = await failedWith(words)
  expect(message).toMatch(shown)
  expect(message.length).toBeLessThan(1_050)
})

const QUOTED = 'f81d4fae7dec11d0a76500a0c91e6bf6'

test.each([
  ['a header that is not stored', { headers: { cookie: `sid=${QUOTED}` } }, ORDERS],
  ['a header on no list', { headers: { 'x-acme': QUOTED } }, ORDERS],
  ['a secret of the URL', {}, `${ORDERS}?token=${QUOTED}`],
])('S12 a lost connection whose error quotes %s, which has no form of its own', async (_, init, url) => {
  const { message, said } = await failedWith(`refused: ${QUOTED}`, init, url)
  expect(said).not.toContain(QUOTED)
  expect(message).toContain('not shown')
})

const PASSWORD = 'pa/ss wörd+7'
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`

test.each<[what: string, headers: Record<string, string>, said: string]>([
  ['a password of Basic', { authorization: basic(`kim:${PASSWORD}`) }, PASSWORD],
  ['user and password of Basic', { authorization: basic(`kim:${PASSWORD}`) }, `kim:${PASSWORD}`],
  ['a password of Basic, percent-encoded', { authorization: basic(`kim:${PASSWORD}`) }, encodeURIComponent(PASSWORD)],
  ['a header, percent-encoded', { 'x-acme': 'a b/c=d?e&f' }, encodeURIComponent('a b/c=d?e&f')],
  ['a header, in small letters', { 'x-acme': 'a b/c=d' }, encodeURIComponent('a b/c=d').toLowerCase()],
  ['a header as of a form', { 'x-acme': 'a b/c=d' }, String(new URLSearchParams({ _: 'a b/c=d' }))],
  ['a header, every letter escaped', { 'x-acme': 'abcd' }, '%61%62%63%64'],
  ['a header, percent-encoded twice', { 'x-acme': 'a b/c=d' }, encodeURIComponent(encodeURIComponent('a b/c=d'))],
  ['a header in JSON, every letter escaped', { 'x-acme': 'abcd' }, '\\u0061\\u0062\\u0063\\u0064'],
  ['a header in JSON, as .NET writes a plus', { 'x-acme': 'ab+cd' }, 'ab\\u002Bcd'],
  ['a header in JSON', { 'x-acme': 'a"b\\c/d' }, JSON.stringify({ q: 'a"b\\c/d' })],
])('S12 a lost connection whose error quotes %s', async (_, headers, said) => {
  const { message } = await failedWith(`refused: ${said}`, { headers })
  expect(message).toContain('not shown')
})

test.each([
  ['a lost connection', { fetch: (): Promise<Response> => Promise.reject(new Error(`refused: ${QUOTED}`)) }],
  [
    'beforeAttempt()',
    {
      beforeAttempt: () => {
        throw new Error(`refused: ${QUOTED}`)
      },
    },
  ],
])('S12 %s whose error quotes what credentials gave', async (_, options) => {
  const { queue, clock, events } = await setup({ ...options, credentials: forApi(() => ({ 'x-pin': QUOTED })) })
  const { taskId } = await queue.enqueue(ORDERS, { method: 'POST', body: 'tea' })
  await clock.advance(60_000)
  const { attempts } = await queue.attempts(taskId)
  const said = JSON.stringify([attempts, await queue.explain(taskId), events.of('degraded'), events.of('retry')])
  expect(said).not.toContain(QUOTED)
  expect(said).toContain('not shown')
})

test('S12 a listener that fails with a secret in its words', async () => {
  const { queue, server, events } = await setup()
  queue.on('succeeded', () => {
    throw new Error(`no room for ${SECRET_URL}`)
  })
  server.reply(200)
  await queue.enqueue(ORDERS, { method: 'POST', body: 'tea' })
  await queue.idle()
  expect(events.of('degraded')).toMatchObject([
    { code: 'hook_threw', message: expect.stringContaining('threw: Error') },
  ])
  expect(JSON.stringify(events.of('degraded'))).not.toContain('SEKRIT')
})

test.each([
  ['a secret without a form', QUOTED],
  ['a token', 'Bearer SEKRITSEKRITSEKRIT'],
])('S12 credentials that fail with %s in their words', async (_, secret) => {
  const { queue, clock, events } = await setup({
    credentials: forApi(() => Promise.reject(new Error(`expired: ${secret}`))),
  })
  await queue.enqueue(ORDERS, { method: 'POST', body: 'tea' })
  await clock.advance(1_000)
  expect(events.of('degraded')).toMatchObject([
    { code: 'credentials_failed', message: expect.stringContaining('may hold a secret') },
  ])
  expect(JSON.stringify(events.of('degraded'))).not.toContain(secret)
})
