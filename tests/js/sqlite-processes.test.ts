// Real processes on one file: real time, since a killed process has no other.
import { existsSync, readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { fakeClock } from '../../js/testing/clock.ts'
import { ended, kill, linesOf, start, wordsOf } from './processes/run.ts'
import { freshPath, holder, openStore, soundnessOf } from './sqlite/setup.ts'
import { claiming, taskOf } from './sqlite/words.ts'

test('S2 S3 two processes that enqueue and claim at once take each task once', { timeout: 60_000 }, async () => {
  const path = freshPath()
  const each = 60
  const workers = [0, each].map((from) => start('sqlite/busy.ts', path, String(from), String(each), String(2 * each)))
  const claimed = await Promise.all(
    workers.map(async (worker) => {
      const { lines, end } = await wordsOf(worker)
      expect(end).toEqual([0, null])
      return lines
    }),
  )
  expect(claimed.flat()).toHaveLength(2 * each)
  expect(new Set(claimed.flat()).size).toBe(2 * each)
  expect(await openStore(path).counts()).toMatchObject({ pending: 0, inFlight: 0, succeeded: 2 * each, purged: 0 })
})

test('S1 a process that is killed between two writes has lost nothing it was told is stored', {
  timeout: 60_000,
}, async () => {
  const path = freshPath()
  const writer = start('sqlite/writer.ts', path)
  const end = ended(writer)
  const told: string[] = []
  for await (const line of linesOf(writer)) {
    told.push(line)
    if (told.length === 25) writer.kill('SIGKILL') // what it wrote until then is read to the end
  }
  expect(await end).toEqual([null, 'SIGKILL'])
  const store = openStore(path)
  for (const line of told) {
    const [outcome, taskId = ''] = line.split(' ')
    expect(outcome).toBe('stored')
    expect((await store.body(taskId))?.byteLength).toBe(1_000)
  }
  const { pending, bytes } = await store.counts()
  expect(pending).toBeGreaterThanOrEqual(told.length)
  expect(bytes).toBe(pending * 1_000)
  expect(soundnessOf(path)).toBe('ok')
})

test('a process that was killed while it made the file leaves one that the next can open', {
  timeout: 60_000,
}, async () => {
  const path = freshPath()
  expect(await ended(start('sqlite/unfinished.ts', path))).toEqual([null, 'SIGKILL'])
  expect(existsSync(`${path}-journal`)).toBe(true)
  expect(await openStore(path).counts()).toMatchObject({ pending: 0 })
})

test('L2 S3 what a killed process had in flight is claimed at the next look, and what a live one has is not', async () => {
  const path = freshPath()
  const clock = fakeClock()
  const store = openStore(path, { clock, idleCheckMs: 1_000 })
  await store.enqueue([taskOf(1), taskOf(2)])
  const claim = async () => (await store.turn(claiming(100))).claimed.length
  const child = await holder(path, 2)
  for (let checks = 0; checks < 20; checks++) {
    expect(await claim()).toBe(0)
    await clock.advance(1_000)
  }
  await kill(child)
  expect(await claim()).toBe(2)
  expect((await store.history?.(taskOf(1).taskId))?.map(({ decision }) => decision)).toEqual(['lost'])
  expect(readdirSync(`${path}-owners`)).toHaveLength(1) // this process's own
})
