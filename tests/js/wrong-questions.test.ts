/** A wrong argument of a question is refused whatever the core's state: an empty list would say that there is nothing of the kind. */

import { expect, onTestFinished, test } from 'vitest'
import { RetryQueue as PageQueue } from '../../js/index.page.ts'
import { RetryQueue } from '../../js/index.ts'
import { fakeClock, scriptedServer } from '../../js/testing.ts'
import { closeNow, ORDERS } from './setup.ts'

const WRONG: readonly (readonly [question: string, ask: (queue: RetryQueue) => Promise<unknown>, told: string])[] = [
  ["list({ status: 'WAITING' })", (queue) => queue.list({ status: 'WAITING' as never }), "list.status: expected 'PEND"],
  ['list({ status: undefined })', (queue) => queue.list({ status: undefined as never }), 'list.status: expected'],
  ["list({ state: 'PENDING' })", (queue) => queue.list({ state: 'PENDING' } as never), 'list.state: no such option'],
  ['list({ origin: undefined })', (queue) => queue.list({ origin: undefined as never }), 'list.origin: expected'],
  ["list({ allPrincipals: 'yes' })", (queue) => queue.list({ allPrincipals: 'yes' as never }), 'list.allPrincipals'],
  ['list({ limit: NaN })', (queue) => queue.list({ limit: Number.NaN }), 'list.limit: expected'],
  ['list({ limit: 1001 })', (queue) => queue.list({ limit: 1_001 }), 'list.limit: expected'],
  ["list({ limit: 'all' })", (queue) => queue.list({ limit: 'all' as never }), 'list.limit: expected'],
  ['list({ cursor: 5 })', (queue) => queue.list({ cursor: 5 as never }), 'list.cursor: expected'],
  ['list({ limit: 0 })', (queue) => queue.list({ limit: 0 }), 'list.limit: expected'],
  ['list({ tags: [] })', (queue) => queue.list({ tags: [] }), 'list.tags: expected'],
  ...[{ active: false }, { active: undefined }, { tags: undefined }, { tags: [7] }, { tag: 'a' }].map(
    (filter): (typeof WRONG)[number] => [
      `list(${JSON.stringify(filter)})`,
      (queue) => queue.list(filter as never),
      `list.${Object.keys(filter)[0]}: `,
    ],
  ),
  ["list({ origin: 'api.test' })", (queue) => queue.list({ origin: 'api.test' }), 'list.origin: expected'],
  ['list(null)', (queue) => queue.list(null as never), 'list: expected'],
  ['get(7)', (queue) => queue.get(7 as never), 'get: expected a well-formed string, got 7'],
  ['get(undefined)', (queue) => queue.get(undefined as never), 'get: expected a well-formed string, got undefined'],
  ["get('a', { all: true })", (queue) => queue.get('a', { all: true } as never), 'get.all: no such option'],
  ['attempts(7)', (queue) => queue.attempts(7 as never), 'attempts: expected a well-formed string'],
  ["attempts('a', { limit: 0 })", (queue) => queue.attempts('a', { limit: 0 }), 'attempts.limit: expected'],
  ['explain({})', (queue) => queue.explain({} as never), 'explain: expected a well-formed string, got an object'],
  ['result(undefined)', (queue) => queue.result(undefined as never), 'result: expected a well-formed string'],
  ['cancel(undefined)', (queue) => queue.cancel(undefined as never), 'cancel: expected a well-formed string'],
  ['cancel({})', (queue) => queue.cancel({} as never), 'cancel: expected a well-formed string'],
  ["cancel('a', { x: 1 })", (queue) => queue.cancel('a', { x: 1 } as never), 'cancel.x: no such option'],
  ['clear({ origin: ORDERS })', (queue) => queue.clear({ origin: ORDERS } as never), 'clear.origin: no such option'],
  ['deadLetters.list({ limit: -1 })', (queue) => queue.deadLetters.list({ limit: -1 }), 'deadLetters.list.limit'],
  ['deadLetters.list({ all: 1 })', (queue) => queue.deadLetters.list({ all: 1 } as never), 'deadLetters.list.all: no'],
  [
    "deadLetters.redrive('a', { force: true })",
    (queue) => queue.deadLetters.redrive('a', { force: true } as never),
    'deadLetters.redrive.force: no such option',
  ],
  ...[
    { perSecond: '2' },
    { perSecond: 0 },
    { perSecond: -1 },
    { perSecond: NaN },
    { signal: {} },
    { onProgress: 1 },
  ].map((options): (typeof WRONG)[number] => [
    `deadLetters.redriveAll(${JSON.stringify(options)})`,
    (queue) => queue.deadLetters.redriveAll(options as never),
    `redriveAll.${Object.keys(options)[0]}: expected`,
  ]),
  ...(['purge', 'redrive'] as const).flatMap((method) =>
    [undefined, null, { taskId: undefined }].map(
      (id) =>
        [
          `deadLetters.${method}(${JSON.stringify(id)})`,
          (queue: RetryQueue) => queue.deadLetters[method](id as never),
          `deadLetters.${method}: expected the id of a task`,
        ] as const,
    ),
  ),
  [
    'deadLetters.purgeAll({ x: 1 })',
    (queue) => queue.deadLetters.purgeAll({ x: 1 } as never),
    'deadLetters.purgeAll.x: no such option',
  ],
  [
    'deadLetters.export({ x: 1 })',
    (queue) => queue.deadLetters.export({ x: 1 } as never),
    'deadLetters.export.x: no such option',
  ],
]

function make(Queue: typeof RetryQueue): RetryQueue {
  const clock = fakeClock()
  const queue = new Queue({ clock, fetch: scriptedServer({ clock }).fetch })
  onTestFinished(() => closeNow(queue, clock))
  return queue
}

test.each(WRONG)('%s is refused in each state of the core', async (_, ask, told) => {
  const here = make(RetryQueue)
  await here.ready
  for (const queue of [here, make(RetryQueue), make(PageQueue)]) {
    const error: unknown = await ask(queue).catch((thrown) => thrown)
    expect(error).toMatchObject({
      name: expect.stringMatching(/^(Type|Range)Error$/),
      message: expect.stringContaining(told),
    })
  }
})

test('stats() is refused its wrong options once the core is there', async () => {
  const queue = make(RetryQueue)
  await queue.ready
  for (const wrong of [{ allPrincipals: 'yes' }, { all: true }])
    expect(() => queue.stats(wrong as never)).toThrow(TypeError)
})

test('a right question of a queue whose core was never loaded finds nothing', async () => {
  const empty = { tasks: [] }
  expect(await make(RetryQueue).list({ status: 'PENDING' })).toEqual(empty)
  expect(await make(RetryQueue).list({ cursor: undefined, limit: undefined } as never)).toEqual(empty)
  expect(await make(RetryQueue).get('a')).toBeUndefined()
  expect(await make(RetryQueue).cancel('a')).toBe('gone')
  expect(await make(RetryQueue).flush()).toBe(0)
  expect(await make(RetryQueue).deadLetters.list({ limit: 1 })).toEqual(empty)
})
