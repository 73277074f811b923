// GET /events of the program itself, over real sockets.

import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startServer } from '../../redis/servers.ts'
import { eventually } from '../eventually.ts'
import { tokenFor } from './api/setup.ts'
import { folder, json, post, start } from './program.ts'

type Heard = Awaited<ReturnType<typeof listen>>

async function listen(url: string, headers: Record<string, string> = {}) {
  const request = get(url, { headers, agent: false })
  onTestFinished(() => void request.destroy())
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  response.setEncoding('utf8').on('data', (part) => {
    text += part
  })
  const ended = new Promise<void>((done) => response.on('close', () => done()))
  /** By name and data. */
  const events = () =>
    text
      .split('\n\n')
      .filter((part) => part.includes('event: '))
      .map((part) => ({
        event: /^event: (.*)$/m.exec(part)?.[1] ?? '',
        id: /^id: (.*)$/m.exec(part)?.[1],
        data: JSON.parse(/^data: (.*)$/m.exec(part)?.[1] ?? '{}') as Record<string, unknown>,
      }))
  const { statusCode: status = 0, headers: said } = response
  return { status, headers: said, text: () => text, events, ended, leave: () => request.destroy() }
}

const TOKENS = ['acme', 'other'].map((tenant) => tokenFor(`rd_${tenant}`, tenant, 'tasks:read', 'tasks:write'))
const ADMIN = tokenFor('rd_admin', null, 'admin')
const as = (name: string) => ({ authorization: `Bearer rd_${name}` })

const withTokens = () => start(['--tokens', 'tokens.json'], folder({ 'tokens.json': { tokens: [...TOKENS, ADMIN] } }))

describe('a listener', () => {
  test('hears what happens to a task, from the POST to its end', async () => {
    const { url } = await start()
    const heard = await listen(`${url}/events`)
    expect([heard.status, heard.headers['content-type'], heard.headers['cache-control']]).toEqual([
      200,
      'text/event-stream',
      'no-store',
    ])
    const { taskId } = await json(
      await post(`${url}/retry-tasks`, {
        targetUrl: 'http://127.0.0.1:9/orders',
        json: { sku: 1 },
        tags: { invoice: '7' },
        policy: { maxAttempts: 2, strategy: 'fixed', initialDelayMs: 10, jitterType: 'NONE' },
      }),
    )
    await eventually(() => heard.events().map(({ event }) => event)).toEqual([
      ...['queued', 'attempt', 'retry', 'attempt', 'exhausted'],
    ])
    const events = heard.events()
    for (const { data } of events) {
      expect(data.task).toMatchObject({
        taskId,
        tenant: null,
        targetUrl: 'http://127.0.0.1:9/orders',
        tags: { invoice: '7' },
      })
      expect(data.task).not.toHaveProperty('principal')
    }
    expect(events[2]?.data).toMatchObject({ delayMs: 10, status: null })
    expect(events[4]?.data).toMatchObject({ reason: 'max_attempts', attempts: 2, responseStatus: null })
    expect(heard.text()).not.toContain('sku')

    heard.leave()
    const again = await listen(`${url}/events`, { 'last-event-id': events[3]?.id ?? '' })
    await eventually(() => again.events().map(({ id }) => id)).toEqual([events[4]?.id])
  })

  test('hears of its own tenant alone, and only who sees all hears of circuits', async () => {
    const { url } = await withTokens()
    const [acme, other, admin] = await Promise.all(
      ['acme', 'other', 'admin'].map((name) => listen(`${url}/events`, as(name))),
    )
    await post(`${url}/retry-tasks`, { targetUrl: 'https://api.example.com/', json: 1, delayMs: 60_000 }, as('acme'))
    await post(`${url}/retry-tasks`, { targetUrl: 'https://api.example.com/', json: 2, delayMs: 60_000 }, as('other'))
    const tenants = (heard: Heard | undefined) =>
      heard?.events().map(({ data }) => (data.task as { tenant?: string } | undefined)?.tenant)
    await eventually(() => tenants(admin)).toEqual(['acme', 'other'])
    await eventually(() => [tenants(acme), tenants(other)]).toEqual([['acme'], ['other']])
  })

  test('needs a token that may read, a host that is known, and types that there are', async () => {
    const { url } = await withTokens()
    expect((await listen(`${url}/events`)).status).toBe(401)
    expect((await listen(`${url}/events?types=retry,none`, as('acme'))).status).toBe(400)
    expect((await listen(`${url}/events?origin=a`, as('acme'))).status).toBe(400)
    expect((await listen(`${url}/events?types=retry,exhausted&origin=https://a.example`, as('acme'))).status).toBe(200)
    expect((await listen(`${url}/events`, { ...as('acme'), host: 'evil.example' })).status).toBe(421)
    expect((await listen(`${url}/events`, { ...as('acme'), origin: 'https://evil.example' })).status).toBe(403)
  })

  test('is told when the service stops, which it does not hold up', async () => {
    const program = await start()
    const heard = await listen(`${program.url}/events`)
    program.child.kill('SIGTERM')
    await heard.ended
    expect(heard.events().at(-1)).toMatchObject({ event: 'closed', data: { reason: 'draining' } })
    expect(await program.exit).toBe(0)
  })
})

describe('over a Redis', () => {
  const QUICK = { maxAttempts: 2, strategy: 'fixed', initialDelayMs: 10, jitterType: 'NONE' }
  const ENDED = ['queued', 'attempt', 'retry', 'attempt', 'exhausted']
  const idsOf = ({ taskId }: { readonly taskId: unknown }, heard: Heard) =>
    heard.events().filter(({ data }) => (data.task as { taskId?: unknown } | undefined)?.taskId === taskId)

  /** Two processes, of which the second alone sends. */
  async function two() {
    const redis = await startServer()
    onTestFinished(() => redis.end())
    const [one, other] = await Promise.all([
      start(['--store', redis.url, '--role', 'api']),
      start(['--store', redis.url]),
    ])
    const hand = async (url: string, more: object = {}) => {
      const task = { targetUrl: 'http://127.0.0.1:9/orders', json: 1, policy: QUICK, ...more }
      return (await json(await post(`${url}/retry-tasks`, task))) as { readonly taskId: string }
    }
    const ended = async (url: string, { taskId }: { readonly taskId: string }) =>
      json(await fetch(`${url}/retry-tasks/${taskId}`, { headers: { prefer: 'wait=20' } }))
    return { one: one.url, other: other.url, hand, ended }
  }

  test('a listener hears of tasks that another process takes and ends, and goes on after one of its events', async () => {
    const { one, other, hand, ended } = await two()
    const heard = await listen(`${one}/events`)
    await eventually(() => heard.text()).toContain(': what the processes of this store do, as it happens\n')
    // the other tells from when it has heard that there is a listener
    let waiting = await hand(other, { delayMs: 60_000 })
    for (; heard.events().length === 0; waiting = await hand(other, { delayMs: 60_000 }));

    const first = await hand(other)
    await eventually(() => idsOf(first, heard).map(({ event }) => event)).toEqual(ENDED)
    await fetch(`${one}/retry-tasks/${waiting.taskId}`, { method: 'DELETE' })
    await eventually(() => idsOf(waiting, heard).map(({ event }) => event)).toEqual(['queued', 'cancelled'])
    // attempts are the other's, since this one sends none; ids do not say whose an event is, and are no one's twice
    const ids = heard.events().map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)

    heard.leave()
    const second = await hand(other)
    expect(await ended(other, second)).toMatchObject({ status: 'EXHAUSTED' })
    const [, attempt] = idsOf(first, heard)
    const again = await listen(`${one}/events`, { 'last-event-id': attempt?.id ?? '' })
    await eventually(() => again.events().map(({ event }) => event)).toEqual([
      ...[...ENDED.slice(2), 'cancelled'],
      ...ENDED,
    ])
    expect(idsOf(second, again)).toHaveLength(ENDED.length)

    // the other had no listener of its own, and so keeps nothing to go on from
    const elsewhere = await listen(`${other}/events`, { 'last-event-id': attempt?.id ?? '' })
    await eventually(() => elsewhere.events().map(({ event }) => event)).toEqual(['missed'])
  })
})

test('there is room for 100, of whom one that does not read is closed and told so; HEAD takes no place', async () => {
  const { url } = await start()
  for (let n = 0; n < 150; n++) expect((await fetch(`${url}/events`, { method: 'HEAD' })).status).toBe(200)
  const quick = await Promise.all([1, 2, 3].map(() => listen(`${url}/events?types=queued`)))
  // each event costs its reader time: those that only take a place ask for none
  const others = await Promise.all(Array.from({ length: 96 }, () => listen(`${url}/events?types=circuit`)))
  expect(new Set([...quick, ...others].map(({ status }) => status))).toEqual(new Set([200]))
  const { hostname, port } = new URL(url)
  // a socket that is not read: what it has asked for fills the buffers of both ends, and then the service's own
  const slow = connect(Number(port), hostname)
  onTestFinished(() => void slow.destroy())
  slow.pause()
  slow.write(`GET /events?types=queued HTTP/1.1\r\nhost: localhost\r\n\r\n`)
  await eventually(async () => (await fetch(`${url}/events`)).status).toBe(503)
  const full = await fetch(`${url}/events`)
  expect([full.headers.get('retry-after'), (await json(full)).type]).toEqual([
    '5',
    'urn:redrive:problem:too-many-listeners',
  ])

  const tags = Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`t${n}`, 'x'.repeat(60)]))
  const headers = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`x-text-${n}`, 'y'.repeat(240)]))
  const targetUrl = `https://api.example.com/${'z'.repeat(8_000)}`
  const task = { targetUrl, headers, tags, delayMs: 86_400_000, json: 1 }
  // until it was closed there is no place
  let count = 0
  for (let status = 503; status === 503 && count < 2_000; ) {
    await post(`${url}/retry-tasks/batch`, { tasks: Array.from({ length: 50 }, () => task) })
    count += 50
    const heard = await listen(`${url}/events`)
    status = heard.status
    heard.leave()
  }
  expect(count).toBeLessThan(2_000)
  let text = ''
  slow.on('data', (part) => {
    text += part
  })
  slow.resume()
  await eventually(() => text.slice(-400)).toMatch(/event: closed\ndata: \{"reason":"slow"/)
  await eventually(() => new Set(quick.map((heard) => heard.events().length))).toEqual(new Set([count]))
}, 120_000)
