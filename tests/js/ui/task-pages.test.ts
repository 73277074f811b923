// What is loaded of a list stays what the source has, whatever ends, comes and moves between two looks.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TaskPages } from '../../../js/ui/inspector/task-pages.ts'
import { idOf, shelf, taskOf } from './inspector-setup.ts'

const numbers = (pages: TaskPages): number[] => pages.tasks.map(({ taskId }) => Number.parseInt(taskId.slice(-12), 16))

/** Pages of a shelf, of which so many are loaded. */
async function loaded(count: number, tasks: number, order?: 'rising' | 'falling') {
  const all = shelf(tasks, order)
  const pages = new TaskPages(all.ask, {})
  for (let i = 0; i < count; i++) await pages.more()
  return { all, pages }
}

test('loads page after page, and knows when all are there', async () => {
  const { ask, limits } = shelf(450)
  const pages = new TaskPages(ask, {})
  expect(pages.isFresh).toBe(true)
  for (const [loaded, isWhole] of [
    [200, false],
    [400, false],
    [450, true],
    [450, true],
  ] as const) {
    await pages.more()
    expect([pages.tasks.length, pages.isWhole]).toEqual([loaded, isWhole])
  }
  expect(limits).toEqual([200, 200, 200])
})

test('two that ask for more at once get two pages, and no task twice', async () => {
  const { ask } = shelf(600)
  const pages = new TaskPages(ask, {})
  await Promise.all([pages.more(), pages.more()])
  expect(numbers(pages)).toEqual(Array.from({ length: 400 }, (_, n) => n))
})

test('a refresh asks for the pages in view alone, and tells what has changed', async () => {
  const { all, pages } = await loaded(5, 1_000)
  all.limits.length = 0
  all.tasks[10] = taskOf(10, { attemptNumber: 2 })
  all.tasks[700] = taskOf(700, { attemptNumber: 2 })
  const changed = await pages.refresh(0, 40)
  expect(changed.map(([was, is]) => [was?.attemptNumber, is.attemptNumber, is.taskId])).toEqual([[1, 2, idOf(10)]])
  expect(all.limits).toEqual([200, 200]) // the first, and the last, where new ones come
  expect(pages.tasks[700]?.attemptNumber).toBe(1) // not in view
})

test('tasks that have left a page leave no gap and no double', async () => {
  const { all, pages } = await loaded(3, 500)
  all.tasks = all.tasks.filter((_, n) => n % 2 === 1)
  await pages.refresh(0, 500)
  expect(numbers(pages)).toEqual(Array.from({ length: 250 }, (_, n) => 2 * n + 1))
})

test('a task that comes back where a page has become empty is found', async () => {
  const { all, pages } = await loaded(3, 500)
  all.tasks = all.tasks.slice(200)
  await pages.refresh(0, 40)
  all.tasks.push(taskOf(7))
  await pages.refresh(0, 40)
  expect(numbers(pages).slice(0, 3)).toEqual([7, 200, 201])
})

test('new tasks come to the front where the newest are first, however many', async () => {
  const { all, pages } = await loaded(3, 500, 'falling')
  for (let n = 500; n < 1_900; n++) all.tasks.push(taskOf(n))
  await pages.refresh(0, 40)
  expect(numbers(pages)).toEqual(Array.from({ length: 1_900 }, (_, n) => 1_899 - n))
})

test('so many new ones that the known are out of reach: those are loaded again', async () => {
  const { all, pages } = await loaded(2, 500, 'falling')
  for (let n = 500; n < 12_000; n++) all.tasks.push(taskOf(n))
  await pages.refresh(0, 40)
  expect(pages.isWhole).toBe(false)
  while (!pages.isWhole) await pages.more(true)
  expect(numbers(pages)).toEqual(Array.from({ length: 12_000 }, (_, n) => 11_999 - n))
})

test('a page that cannot be had changes nothing, and the next one can', async () => {
  const all = shelf(300)
  let isDown = false
  const pages = new TaskPages((query) => (isDown ? Promise.reject(new Error('down')) : all.ask(query)), {})
  await pages.more()
  isDown = true
  await expect(pages.more()).rejects.toThrow('down')
  expect(pages.tasks).toHaveLength(200)
  isDown = false
  await pages.more()
  expect(pages.tasks).toHaveLength(300)
})

test('whatever comes and goes: once all is asked for again, it is what the source has', () =>
  fc.assert(
    fc.asyncProperty(
      fc.constantFrom('rising' as const, 'falling' as const),
      fc.array(fc.record({ go: fc.integer({ min: 2, max: 9 }), come: fc.integer({ min: 0, max: 500 }) }), {
        maxLength: 4,
      }),
      async (order, steps) => {
        const { all, pages } = await loaded(2, 700, order)
        let next = 700
        for (const { go, come } of steps) {
          all.tasks = all.tasks.filter((_, n) => n % go !== 0)
          for (let n = 0; n < come; n++) all.tasks.push(taskOf(next++))
          await pages.refresh(0, Number.POSITIVE_INFINITY)
          while (!pages.isWhole) await pages.more()
          const ids = pages.tasks.map(({ taskId }) => taskId)
          const sorted = all.tasks.map(({ taskId }) => taskId).sort()
          expect(ids).toEqual(order === 'rising' ? sorted : sorted.reverse())
        }
      },
    ),
    { numRuns: 40 },
  ))
