// Real processes on one file: real time, since a killed process has no other.
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ended, linesOf, start } from './processes/run.ts'
import { edit, freshPath, openStore } from './sqlite/setup.ts'

test('S2 S3 two processes that enqueue and claim at once take each task once', { timeout: 60_000 }, async () => {
  const path = freshPath()
  const each = 60
  const workers = [0, each].map((from) => start('sqlite/busy.ts', path, String(from), String(each), String(2 * each)))
  const claimed = await Promise.all(
    workers.map(async (worker) => {
      const end = ended(worker)
      const lines: string[] = []
      for await (const line of linesOf(worker)) lines.push(line)
      expect(await end).toEqual([0, null])
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
  expect(edit(path, (database) => database.prepare('PRAGMA integrity_check').get())).toEqual({ integrity_check: 'ok' })
})

test('a process that was killed while it made the file leaves one that the next can open', {
  timeout: 60_000,
}, async () => {
  const path = freshPath()
  expect(await ended(start('sqlite/unfinished.ts', path))).toEqual([null, 'SIGKILL'])
  expect(existsSync(`${path}-journal`)).toBe(true)
  expect(await openStore(path).counts()).toMatchObject({ pending: 0 })
})
