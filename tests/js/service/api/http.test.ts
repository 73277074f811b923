import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { eventually } from '../../eventually.ts'
import { ORDERS, overHttp, setup } from './setup.ts'

const post = (body: unknown): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

test('a task is made, read and cancelled over HTTP', async () => {
  const world = await setup({ sends: false })
  const base = `http://localhost:${await overHttp(world)}`
  const created = await fetch(`${base}/retry-tasks`, post({ targetUrl: ORDERS, body: 'x' }))
  expect(created.status).toBe(201)
  const path = created.headers.get('location')
  const shown = await fetch(`${base}${path}`)
  expect(await shown.json()).toMatchObject({ targetUrl: ORDERS, status: 'PENDING' })
  const head = await fetch(`${base}${path}`, { method: 'HEAD' })
  expect([head.status, await head.text()]).toEqual([200, ''])
  expect((await fetch(`${base}${path}`, { method: 'DELETE' })).status).toBe(200)
  expect(world.log).toContainEqual(expect.objectContaining({ remoteAddress: '127.0.0.1', method: 'DELETE' }))
})

test('a body over the limit is refused before it has come, and so is one of no length', async () => {
  const world = await setup({ sends: false, settings: { limits: { maxBodyBytes: 1_000 } } })
  const base = `http://localhost:${await overHttp(world)}`
  const large = await fetch(`${base}/retry-tasks`, post({ targetUrl: ORDERS, body: 'x'.repeat(2_000_000) }))
  expect(large.status).toBe(413)
  const chunks = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new TextEncoder().encode('[['.repeat(300))),
  })
  const endless = await fetch(`${base}/retry-tasks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: chunks,
    duplex: 'half',
  } as RequestInit)
  expect(endless.status).toBe(413)
  expect((await fetch(`${base}/healthz`)).status).toBe(200)
})

test('a request whose caller is gone before its end makes no task, and one whose caller leaves after it does', async () => {
  const world = await setup({ sends: false })
  const port = await overHttp(world)
  const base = `http://localhost:${port}`
  const body = JSON.stringify({ targetUrl: ORDERS })
  const head = `POST /retry-tasks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n`
  const half = connect(port, '127.0.0.1')
  half.write(`${head}content-length: ${body.length}\r\n\r\n${body.slice(0, 10)}`)
  await once(half, 'connect')
  half.destroy()
  const whole = connect(port, '127.0.0.1')
  whole.write(`${head}content-length: ${body.length}\r\n\r\n${body}`, () => whole.destroy())
  await once(whole, 'close')
  await eventually(async () => (await world.store.counts()).pending).toBe(1)
  expect((await fetch(`${base}/stats`)).status).toBe(200)
  expect((await world.store.counts()).pending).toBe(1)
})

test('a wait ends with its caller', async () => {
  const world = await setup({ sends: false })
  const base = `http://localhost:${await overHttp(world)}`
  const created = await fetch(`${base}/retry-tasks`, post({ targetUrl: ORDERS }))
  const before = world.clock.timers
  const leaving = new AbortController()
  const waiting = fetch(`${base}${created.headers.get('location')}`, {
    headers: { prefer: 'wait=60' },
    signal: leaving.signal,
  })
  await eventually(() => world.clock.timers).toBe(before + 1)
  leaving.abort()
  await expect(waiting).rejects.toThrow()
  await eventually(() => world.clock.timers).toBe(before)
})
