/** docs/durability.md says how much is kept and what happens at each bound: every row of that table is tried here, at its bound. */

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { LOG_LENGTH, MOST_REFUNDS, NOTES_LENGTH } from '../../js/api/store.ts'
import type { AttemptLog } from '../../js/api/task.ts'
import type { RetryQueueOptions } from '../../js/index.ts'
import { limitsOf } from '../../js/options/limits.ts'
import { resolveOptions } from '../../js/options/queue-rules.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { type FakeClock, fakeClock } from '../../js/testing.ts'
import { always, type Fakes, forApi, ORDERS, setup, submitted, watch } from './setup.ts'
import { claimOf, idOf, newTask, releaseIn, settlementOf } from './store-contract/kit.ts'

const settings = resolveOptions({})
const { capacityBytes, retention } = limitsOf(settings)
const DAY_MS = 86_400_000
const MIB = 2 ** 20

const post = (body: string) => ({ method: 'POST', body })

/** A queue that holds `count` dead letters of `enqueue`, a second apart. */
async function withDead(count: number, options: RetryQueueOptions): Promise<Fakes> {
  const fakes = await setup(options)
  always(fakes.server, 404, count)
  for (let i = 0; i < count; i++) {
    await fakes.queue.enqueue(`${ORDERS}/${i}`, post('tea'))
    await fakes.clock.advance(1_000)
  }
  return fakes
}

/** A queue in which `count` tasks under keys have succeeded, a second apart. */
async function withDone(count: number, options: RetryQueueOptions): Promise<Fakes> {
  const fakes = await setup(options)
  for (let i = 0; i < count; i++) {
    await fakes.queue.enqueue(ORDERS, { ...post('tea'), redrive: { idempotencyKey: `key-${i}` } })
    await fakes.clock.advance(1_000)
  }
  return fakes
}

const again = ({ queue }: Fakes, i: number) =>
  queue.enqueue(ORDERS, { ...post('tea'), redrive: { idempotencyKey: `key-${i}` } })

const trimmed = ({ events }: Fakes) => events.of('degraded').map(({ code }) => code)

/** A task in a store, given back and claimed again so often; its history, and how many of its attempts count. */
async function givenBack(times: number, log: Partial<AttemptLog>) {
  const clock: FakeClock = fakeClock()
  const store = memoryStore({ clock })
  await store.enqueue([newTask(1, { policy: { policyId: 'default', maxAttempts: 1_000 } })])
  const step = { owner: 'runner', renew: [], claim: claimOf({ limit: 1 }) }
  let [claimed] = (await store.turn({ ...step, settle: [] })).claimed
  for (let i = 0; claimed && i < times; i++) {
    const settle = [settlementOf(claimed.lease, releaseIn(0), { log: { startedAt: i, ...log } })]
    claimed = (await store.turn({ ...step, settle })).claimed[0]
  }
  return { history: (await store.history?.(idOf(1))) ?? [], counted: (claimed?.task.attemptNumber ?? 0) - 1 }
}

interface Trial {
  readonly preset: string
  readonly run: () => Promise<void>
}

const number = (value: number): string => (value === Number.POSITIVE_INFINITY ? 'none' : value.toLocaleString('en-US'))

const TRIALS: Readonly<Record<string, Trial>> = {
  '`capacity`': {
    preset: number(settings.capacity),
    run: async () => {
      const fakes = await withDead(9, { capacity: 10 })
      const { queue, server, events, clock } = fakes
      queue.pause()
      await queue.enqueue(ORDERS)
      await expect(queue.enqueue(ORDERS)).rejects.toMatchObject({
        message: expect.stringContaining('9 of them dead letters'),
      })
      server.reply(503)
      expect((await queue.fetch(ORDERS)).status).toBe(503)
      expect(trimmed(fakes)).toEqual(['storage_full'])
      expect(events.of('alert')).toContainEqual(
        expect.objectContaining({ kind: 'queue_depth', value: 9, threshold: 8 }),
      )
      expect(await queue.deadLetters.redriveAll()).toBe(9)
      expect(queue.stats()).toMatchObject({ depth: 10, deadLetters: 0 })
      await clock.settle()
    },
  },
  '`capacityBytes`': {
    preset: `${capacityBytes / MIB} MiB`,
    run: async () => {
      const { queue } = await withDead(1, { capacityBytes: 10 })
      queue.pause()
      await queue.enqueue(ORDERS, post('1234567'))
      await expect(queue.enqueue(ORDERS, post('1'))).rejects.toMatchObject({ code: 'QUEUE_FULL' })
    },
  },
  '`maxBodyBytes`': {
    preset: `${settings.maxBodyBytes / MIB} MiB`,
    run: async () => {
      const fakes = await setup({ maxBodyBytes: 3 })
      await expect(fakes.queue.enqueue(ORDERS, post('1234'))).rejects.toMatchObject({ code: 'BODY_TOO_LARGE' })
      always(fakes.server, 503, 2)
      expect((await fakes.queue.fetch(ORDERS, post('1234'))).status).toBe(503)
      expect(fakes.queue.stats().depth).toBe(0)
      expect(fakes.events.of('degraded')).toMatchObject([{ code: 'body_too_large' }])
      await fakes.queue.enqueue(ORDERS, post('123'))
    },
  },
  '`deadLetterMs`': {
    preset: `${retention.deadLetterMs / DAY_MS} days`,
    run: async () => {
      const fakes = await withDead(1, { retention: { deadLetterMs: 60_000, terminalMs: 0 } })
      await fakes.clock.advance(59_000)
      expect((await fakes.queue.deadLetters.list()).tasks).toHaveLength(1)
      await fakes.clock.advance(1)
      expect((await fakes.queue.deadLetters.list()).tasks).toHaveLength(0)
      expect(trimmed(fakes)).toEqual(['dead_letters_trimmed'])
    },
  },
  '`maxDeadLetters`': {
    preset: number(retention.maxDeadLetters),
    run: async () => {
      const fakes = await withDead(3, { retention: { maxDeadLetters: 2 } })
      const left = (await fakes.queue.deadLetters.list()).tasks.map(({ targetUrl }) => targetUrl)
      expect(left).toEqual([`${ORDERS}/1`, `${ORDERS}/2`])
      expect(fakes.events.of('degraded')).toMatchObject([{ principal: null, taskIds: [expect.any(String)] }])
      expect(trimmed(fakes)).toEqual(['dead_letters_trimmed'])
    },
  },
  'dead letters in memory whose caller had the failure, which take no room': {
    preset: '1,000',
    run: async () => {
      const fakes = await setup({ capacity: 1, policy: { totalBudgetMs: 500 } })
      always(fakes.server, 503, 1_001)
      for (let i = 0; i < 1_000; i++) await fakes.queue.fetch(`${ORDERS}/${i}`)
      expect(trimmed(fakes)).toEqual([])
      await fakes.queue.fetch(ORDERS)
      expect([fakes.queue.stats().deadLetters, trimmed(fakes)]).toEqual([1_000, ['dead_letters_trimmed']])
      const message = '1 dead letter(s) were purged: over 1000 whose callers have the failure'
      expect(fakes.events.of('degraded')).toMatchObject([{ message }])
      await fakes.queue.enqueue(ORDERS)
    },
  },
  '`terminalMs`': {
    preset: `${retention.terminalMs / DAY_MS} day`,
    run: async () => {
      const fakes = await withDone(1, { retention: { terminalMs: 60_000 } })
      await fakes.clock.advance(59_000)
      expect(await again(fakes, 0)).toMatchObject({ deduplicated: true })
      await fakes.clock.advance(1)
      expect(await again(fakes, 0)).toMatchObject({ deduplicated: false })
    },
  },
  '`maxTerminal`': {
    preset: number(retention.maxTerminal),
    run: async () => {
      const fakes = await withDone(3, { retention: { maxTerminal: 2 } })
      expect(await again(fakes, 1)).toMatchObject({ deduplicated: true })
      expect(await again(fakes, 0)).toMatchObject({ deduplicated: false })
    },
  },
  'attempts in a stored history': {
    preset: number(LOG_LENGTH),
    run: async () => {
      const { history } = await givenBack(LOG_LENGTH + 1, { responseStatus: 503 })
      expect([history.length, history[0]?.startedAt]).toEqual([LOG_LENGTH, 1])
    },
  },
  'other lines of a stored history': {
    preset: number(NOTES_LENGTH),
    run: async () => {
      const { history } = await givenBack(NOTES_LENGTH + 1, { responseStatus: null, errorMessage: null })
      expect([history.length, history[0]?.startedAt]).toEqual([NOTES_LENGTH, 1])
    },
  },
  'lines of a history in memory': {
    preset: '120',
    run: async () => {
      const { taskId, queue, clock } = await submitted(Array(200).fill(404), { forMs: 1 })
      // each time an attempt and the line that it was put back
      for (let i = 0; i < 100; i++) {
        await queue.deadLetters.redrive(taskId)
        await clock.advance(1)
      }
      const { attempts } = await queue.attempts(taskId, { limit: 1_000 })
      expect(attempts).toHaveLength(60)
    },
  },
  'attempts of a task that are given back, since they never left': {
    preset: number(MOST_REFUNDS),
    run: async () => {
      expect((await givenBack(MOST_REFUNDS, {})).counted).toBe(0)
      expect((await givenBack(MOST_REFUNDS + 2, {})).counted).toBe(2)
      const { queue, clock } = await setup({
        credentials: forApi(() => {
          throw new Error('not now')
        }),
        policy: { maxAttempts: 3, maxDelayMs: 1_000 },
      })
      const { taskId } = await queue.enqueue(ORDERS)
      await clock.advance(60_000)
      expect(await queue.get(taskId)).toMatchObject({ status: 'EXHAUSTED', reason: 'max_attempts' })
      const counted = (await queue.explain(taskId)).flatMap(({ data }) => data?.counted ?? [])
      expect(counted.indexOf(true)).toBe(MOST_REFUNDS)
    },
  },
  'callers of one task': {
    preset: 'none',
    run: async () => {
      const { queue, clock } = await setup({}, ...Array(1_001).fill(503))
      const init = { ...post('tea'), redrive: { idempotencyKey: 'one' } }
      const calls = Array.from({ length: 1_000 }, () => watch(queue.fetch(ORDERS, init)))
      await clock.advance(0)
      await clock.advance(60_000)
      expect(calls.filter(({ state }) => state === 'resolved')).toHaveLength(1_000)
      expect(queue.stats().depth).toBe(0)
    },
  },
  '`stats().origins`': {
    preset: '1,000',
    run: async () => {
      const { queue } = await setup()
      queue.pause()
      for (let i = 0; i < 1_001; i++) await queue.enqueue(`https://${i}.test/`)
      const { origins, moreOrigins } = queue.stats()
      expect([Object.keys(origins).length, moreOrigins]).toEqual([1_000, 1])
    },
  },
}

const page = readFileSync(new URL('../../docs/durability.md', import.meta.url), 'utf8')
const [, table = ''] = page.split('| bound | default |')
const rows = (table.split('\n\n')[0] ?? '').split('\n').slice(2)
const stated = rows.map((row) => row.split(' | ').map((cell) => cell.replace(/^\| /, '')))

test('each bound that the table names is tried here, and no other', () => {
  expect(stated.map(([bound = '']) => bound.split(': ')[0])).toEqual(Object.keys(TRIALS))
})

test.for(stated)('S17 at the bound: %s', async ([bound = '', preset]) => {
  const trial = TRIALS[bound.split(': ')[0] ?? '']
  expect(trial?.preset).toBe(preset)
  await trial?.run()
})
