// The snippets of docs/http-clients.md, run as they are printed: with the libraries themselves, and a server that answers 503 first. And
// the attempts that each library makes by itself, which the table has switched off.
import { execFile } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import got from 'got'
import ky from 'ky'
import { Octokit } from 'octokit'
import { createFetch } from 'ofetch'
import OpenAI from 'openai'
import Stripe from 'stripe'
import { expect, test } from 'vitest'
import { onLoopback } from '../loopback.ts'
import { consumer, link, plainEnv } from './consumer.ts'
import { blocksOf, docs } from './snippets.ts'

const page = docs('http-clients.md')

/** What a server of each library's kind answers, beside the order itself. */
const message = {
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'a promise', annotations: [] }],
}
const ANSWER = {
  sku: 'A-1',
  id: 'cus_1',
  full_name: 'example/orders',
  object: 'response',
  output: [message],
  result: { data: { sku: 'A-1' } },
}

interface Hit {
  readonly method: string
  readonly path: string
  readonly key: string | undefined
  readonly body: string
}

/** Answers each path 503 first, and then as all the libraries want it. */
async function serve(): Promise<{ readonly origin: string; readonly hits: Hit[] }> {
  const hits: Hit[] = []
  const origin = await onLoopback(async (request, response) => {
    const body = await text(request)
    const { method = '', url: path = '', headers } = request
    const isFirst = !hits.some((hit) => hit.path === path)
    hits.push({ method, path, key: headers['idempotency-key'] as string | undefined, body })
    const json = { 'content-type': 'application/json' }
    response.writeHead(isFirst ? 503 : 200, json).end(isFirst ? '{"error":{"message":"down"}}' : JSON.stringify(ANSWER))
  })
  return { origin, hits }
}

/** Leads whatever is sent to the services of the libraries, and to the example's server, to the test's. */
const detour = `
const { fetch } = globalThis
const hosts = /^https:\\/\\/(api\\.example\\.com|api\\.openai\\.com|api\\.stripe\\.com|api\\.github\\.com)(?=\\/|$)/
globalThis.fetch = (input, init) => {
  const url = input instanceof Request ? input.url : String(input)
  const there = url.replace(hosts, process.env.ORIGIN)
  return fetch(input instanceof Request ? new Request(there, input) : there, init)
}
`

const [before = ''] = blocksOf(page, 'js')
const sections = page
  .split(/^## /m)
  .slice(1)
  .map((part) => ({ heading: part.slice(0, part.indexOf('\n')), code: blocksOf(part, 'js')[0] ?? '' }))

/** Heading -> packages, what is printed, method, path, and whose key it is. */
const expected: Readonly<
  Record<
    string,
    readonly [packages: readonly string[], printed: string, method: string, path: string, key: RegExp | undefined]
  >
> = {
  ky: [['ky'], 'A-1', 'POST', '/orders', /^[\da-f-]{36}$/],
  ofetch: [['ofetch'], 'A-1', 'POST', '/orders', /^[\da-f-]{36}$/],
  'openapi-fetch': [['openapi-fetch'], 'A-1', 'POST', '/orders', /^[\da-f-]{36}$/],
  OpenAI: [['openai'], 'a promise', 'POST', '/v1/responses', /^[\da-f-]{36}$/],
  Stripe: [['stripe'], 'cus_1', 'POST', '/v1/customers', /^stripe-node-retry-/],
  Octokit: [['octokit'], 'example/orders', 'GET', '/repos/example/orders', undefined],
  tRPC: [['@trpc/client', '@trpc/server'], 'A-1', 'POST', '/orders.create', /^[\da-f-]{36}$/],
  Hono: [['hono'], 'A-1', 'POST', '/orders', /^[\da-f-]{36}$/],
  got: [['got'], 'SUCCEEDED', 'POST', '/orders', /^[\da-f-]{36}$/],
}

test('each library of the table has a section, a snippet and a test', () => {
  const rows = [...page.matchAll(/^\| \[(.+?)\]\(#(.+?)\)/gm)].map(([, , anchor]) => anchor)
  expect(rows).toEqual(sections.map(({ heading }) => heading.toLowerCase()))
  expect(sections.map(({ heading }) => heading)).toEqual(Object.keys(expected))
  expect(blocksOf(page, 'js')).toHaveLength(1 + sections.length)
})

test.each(sections)('$heading', async ({ heading, code }) => {
  const [packages, printed, method, path, key] = expected[heading] ?? [[], '', '', '', undefined]
  const server = await serve()
  // got sends by itself
  const there = heading === 'got' ? code.replaceAll('https://api.example.com', server.origin) : code
  const program = `${before}${there}await queue.close()\n`
  using project = consumer({ 'main.mjs': program, 'detour.mjs': detour })
  for (const name of packages) link(project, name)
  const env = { ...plainEnv(), ORIGIN: server.origin, STRIPE_KEY: 'sk_test_1', OPENAI_API_KEY: 'sk-1' }
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', './detour.mjs', 'main.mjs'], {
    cwd: project.folder,
    env,
  })
  expect(stdout.trim()).toBe(printed)
  expect(server.hits).toHaveLength(2)
  const [first, second] = server.hits
  expect(second).toEqual(first)
  expect([first?.method, first?.path]).toEqual([method, path])
  if (key) expect(first?.key).toMatch(key)
  else expect(first?.key).toBeUndefined()
})

/** A fetch that always answers 503, and how often it was asked. */
function down() {
  const count = { asked: 0 }
  const fetch = async () => {
    count.asked++
    return new Response('{}', { status: 503, headers: { 'content-type': 'application/json' } })
  }
  return { count, fetch: fetch as typeof globalThis.fetch }
}

type Fetch = typeof globalThis.fetch
const URL_OF_NONE = 'https://api.example.com'
const octokit = (fetch: Fetch, retry: object) =>
  new Octokit({ request: { fetch }, retry, throttle: { enabled: false } }).rest.repos.get({ owner: 'a', repo: 'b' })

test.each<[string, number, (fetch: Fetch) => Promise<unknown>]>([
  ['ky', 3, (fetch) => ky.get(URL_OF_NONE, { fetch, retry: { delay: () => 0 } })],
  ['ky with methods: []', 1, (fetch) => ky.get(URL_OF_NONE, { fetch, retry: { methods: [] } })],
  ['ofetch', 2, (fetch) => createFetch({ fetch })(URL_OF_NONE)],
  ['ofetch with retry: 0', 1, (fetch) => createFetch({ fetch, defaults: { retry: 0 } })(URL_OF_NONE)],
  ['Octokit', 4, (fetch) => octokit(fetch, { retryAfterBaseValue: 0 })],
  ['Octokit with retry switched off', 1, (fetch) => octokit(fetch, { enabled: false })],
])('%s makes %i attempts of a GET by itself', async (_, attempts, ask) => {
  const { count, fetch } = down()
  await expect(ask(fetch)).rejects.toThrow()
  expect(count.asked).toBe(attempts)
})

test('OpenAI, Stripe and got make 2 retries unless told otherwise, within the time limits of the page', () => {
  const openai = new OpenAI({ apiKey: 'sk-1' })
  expect([openai.maxRetries, openai.timeout]).toEqual([2, 600_000])
  const stripe = new Stripe('sk_test_1') as unknown as { getApiField(name: string): unknown }
  expect([stripe.getApiField('maxNetworkRetries'), stripe.getApiField('timeout')]).toEqual([2, 80_000])
  expect(got.defaults.options.retry.limit).toBe(2)
})
