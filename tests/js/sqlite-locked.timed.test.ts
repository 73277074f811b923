/** A file that another program holds: all else of the process goes on, and what was asked for is done in its order once it lets go. */

import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pass } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../js/platform/clock.ts'
import { freshPath, openStore } from './sqlite/setup.ts'
import { claiming, taskOf } from './sqlite/words.ts'

/** Holds the file until the returned function is called. */
function hold(path: string, how: 'BEGIN IMMEDIATE' | 'PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE'): () => void {
  const database = new DatabaseSync(path)
  database.exec(how)
  let isHeld = true
  const letGo = (): void => {
    if (isHeld) database.close()
    isHeld = false
  }
  onTestFinished(letGo)
  return letGo
}

/** Lets timers fire `times` times; says how long the longest wait for one was. */
async function ticks(times: number): Promise<number> {
  let longest = 0
  for (let i = 0; i < times; i++) {
    const at = performance.now()
    await pass(1)
    longest = Math.max(longest, performance.now() - at)
  }
  return longest
}

test('L4 a locked file does not hold up the event loop, and enqueues are stored in their order once it is free', async () => {
  const path = freshPath()
  const store = openStore(path)
  await store.counts()
  const letGo = hold(path, 'BEGIN IMMEDIATE')
  const answers: string[] = []
  const asked = [1, 2, 3].map((n) => store.enqueue([taskOf(n)]).then(([one]) => answers.push(one?.taskId ?? '')))
  await ticks(2)
  asked.push(store.enqueue([taskOf(4)]).then(([one]) => answers.push(one?.taskId ?? '')))
  const turn = store.turn(claiming(10)).then(({ claimed }) => claimed.map(({ task }) => task.taskId))
  expect(await ticks(40)).toBeLessThan(500)
  expect(answers).toEqual([])
  letGo()
  await Promise.all(asked)
  const all = [1, 2, 3, 4].map((n) => taskOf(n).taskId)
  expect(answers).toEqual(all)
  const claimed = [await turn, (await store.turn(claiming(10))).claimed.map(({ task }) => task.taskId)].flat()
  expect(claimed).toEqual(all)
})

test('S1 a file that is held while a store opens it is opened when it is free', async () => {
  const path = freshPath()
  await openStore(path).close()
  const letGo = hold(path, 'PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  const store = openStore(path)
  const stored = store.enqueue([taskOf(1)])
  expect(await ticks(40)).toBeLessThan(500)
  letGo()
  expect(await stored).toMatchObject([{ outcome: 'stored' }])
})

test('questions are answered while another program writes', async () => {
  const path = freshPath()
  const store = openStore(path)
  await store.enqueue([taskOf(1)])
  const letGo = hold(path, 'BEGIN IMMEDIATE')
  expect(await store.counts()).toMatchObject({ pending: 1 })
  expect(await store.get(taskOf(1).taskId)).toBeDefined()
  const stored = store.enqueue([taskOf(2)])
  await ticks(2)
  expect(await store.counts()).toMatchObject({ pending: 1 })
  letGo()
  await stored
})

test('what is still locked after 5 s fails, and says why', async () => {
  let ms = 0
  const clock = vi.spyOn(systemClock, 'monotonic').mockImplementation(() => (ms += 100))
  onTestFinished(() => clock.mockRestore())
  const path = freshPath()
  const store = openStore(path)
  await store.counts()
  hold(path, 'BEGIN IMMEDIATE')
  const failed = [1, 2].map((n) => store.enqueue([taskOf(n)]).catch((error: Error) => error.message))
  expect(await Promise.all(failed)).toEqual([expect.stringContaining('another process holds it'), expect.anything()])
})

test('a store that is closed while its file is locked has done first what it was asked', async () => {
  const path = freshPath()
  const store = openStore(path)
  await store.counts()
  const letGo = hold(path, 'BEGIN IMMEDIATE')
  const stored = store.enqueue([taskOf(1)])
  const closed = store.close()
  await ticks(5)
  letGo()
  await closed
  expect(await stored).toMatchObject([{ outcome: 'stored' }])
})
