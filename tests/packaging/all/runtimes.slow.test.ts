// Deno and Bun run the package as they find it in node_modules: the queue, and tasks in a file.
import { expect, test } from 'vitest'
import { consumer, expected, mixed, program as queue } from '../consumer.ts'
import { flakyServer } from '../flaky-server.ts'
import { tries } from '../tries.ts'
import { installed, program } from './installed.ts'

const runtimes = [
  {
    title: installed('Deno', 'deno'),
    words: () => [program('@deno', 'deno', 'DENO_PATH'), 'run', '--no-remote', '--allow-all'],
  },
  { title: installed('Bun', 'bun'), words: () => [program('@oven', 'bin/bun', 'BUN_PATH')] },
]

const main = `import { main } from './queue.mjs'\nconsole.log(JSON.stringify(await main(process.argv[2])))`

const stored = `
import { RetryQueue } from 'redrive'
import { sqliteStore } from 'redrive/sqlite'

export async function main(url) {
  const queue = new RetryQueue({ principal: null, store: sqliteStore({ path: 'tasks.db' }), policy: { initialDelayMs: 1 } })
  const { taskId, durability } = await queue.enqueue(url, { method: 'POST', body: 'tea' })
  const { task } = await queue.result(taskId)
  await queue.close()
  return { durability, status: task.status, attempts: task.attemptCount }
}
`

for (const { title, words } of runtimes) {
  test(`${title}: by import and by require a program has one copy of the package`, async () => {
    const dependencies = '{ "type": "module", "dependencies": { "redrive": "*" } }'
    using project = consumer({ 'package.json': dependencies, 'main.mjs': mixed })
    const [path = '', ...before] = words()
    expect(JSON.parse(await project.run(path, ...before, 'main.mjs'))).toEqual([true, true])
  })

  for (const [what, code, answer] of [
    ['run', queue, expected],
    ['run, with redrive/sqlite', stored, { durability: 'strict', status: 'SUCCEEDED' }],
  ] as const) {
    tries(title, what, async () => {
      await using server = await flakyServer()
      using project = consumer({ 'package.json': '{ "type": "module" }', 'queue.mjs': code, 'main.mjs': main })
      const [path = '', ...before] = words()
      const output = await project.run(path, ...before, 'main.mjs', `${server.origin}/api/runtime`)
      expect(JSON.parse(output)).toMatchObject(answer)
      expect(server.hits('/api/runtime')).toBe(2)
    })
  }
}

tries(installed('Deno', 'deno'), 'test, with sanitizers', async () => {
  using project = consumer({
    'package.json': '{ "type": "module" }',
    'queue.test.mjs': `
import { RetryQueue } from 'redrive'
import { fakeClock, scriptedServer } from 'redrive/testing'

Deno.test('nothing of a closed queue is left', async () => {
  const clock = fakeClock()
  const server = scriptedServer({ clock }).reply(503)
  const queue = new RetryQueue({ clock, fetch: server.fetch, policy: { initialDelayMs: 1_000 } })
  const answer = queue.fetch('https://api.test/')
  await queue.ready
  await clock.advance(2_000)
  await (await answer).body?.cancel()
  await queue.close()
})
`,
  })
  const words = ['test', '--no-remote', '--allow-all', '--no-check', '--sanitize-ops', '--sanitize-resources']
  const output = await project.run(program('@deno', 'deno', 'DENO_PATH'), ...words, 'queue.test.mjs')
  expect(output).toMatch(/1 passed/)
})
