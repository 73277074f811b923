// The programs of examples/redis-compose, as its compose.yaml starts them, but for the containers: a Redis, an API, three workers, a producer.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../js/eventually.ts'
import { type RedisServer, startServer } from '../redis/servers.ts'
import { copyOf, examples, startWith } from './example.ts'

interface Running {
  readonly redis: RedisServer
  start(...args: readonly string[]): ChildProcess
  /** Order -> how often it came. */
  seen(): Promise<Readonly<Record<string, number>>>
}

const lineOf = async ({ stdout }: ChildProcess): Promise<string> => {
  if (!stdout) throw new Error('a pipe was asked for')
  const [line] = await once(createInterface({ input: stdout }), 'line')
  return String(line)
}

async function setup(): Promise<Running> {
  const folder = copyOf('redis-compose', ['redis'])
  const redis = await startServer({ appendonly: true, maxmemory: '256mb', maxmemoryPolicy: 'noeviction' })
  onTestFinished(() => redis.end())
  const listens = await lineOf(startWith({ PORT: '0' }, folder, 'api.mjs'))
  const API_URL = `http://127.0.0.1:${/\d+$/.exec(listens)?.[0]}`
  return {
    redis,
    start: (...args) => startWith({ REDIS_URL: redis.url, API_URL }, folder, ...args),
    seen: async () => (await fetch(API_URL)).json() as Promise<Record<string, number>>,
  }
}

const thrice = (...numbers: readonly number[]) => Object.fromEntries(numbers.map((n) => [`order-${n}`, 3]))

test('S1 S5 what a producer hands over, three workers send: each order at its third attempt, under one key', async () => {
  const { start, seen } = await setup()
  for (const worker of [1, 2, 3].map(() => start('worker.mjs'))) expect(await lineOf(worker)).toBe('works')
  const producer = start('enqueue.mjs', '3')
  expect(await lineOf(producer)).toBe('3 orders in Redis (relaxed)')
  await once(producer, 'close')
  await eventually(seen).toEqual(thrice(1, 2, 3))
})

test('S1 what is handed over while no worker runs, and before Redis is killed, is sent by the first that comes', async () => {
  const { redis, start, seen } = await setup()
  const producer = start('enqueue.mjs', '2', '7')
  await once(producer, 'close')
  expect(await seen()).toEqual({})
  await redis.kill()
  await redis.start()
  start('worker.mjs')
  await eventually(seen).toEqual(thrice(7, 8))
})

test('a worker that is asked to end does', async () => {
  const { start } = await setup()
  const worker = start('worker.mjs')
  await lineOf(worker)
  worker.kill('SIGTERM')
  expect(await once(worker, 'close')).toEqual([143, null])
})

test('the README’s server settings are those of compose.yaml', () => {
  const text = (name: string) => readFileSync(join(examples, 'redis-compose', name), 'utf8')
  for (const setting of ['appendonly', 'everysec', 'noeviction', 'stop_grace_period']) {
    expect(text('compose.yaml')).toContain(setting)
    expect(text('README.md')).toContain(setting)
  }
})
