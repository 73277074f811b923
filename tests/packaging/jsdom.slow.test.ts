// The package in a user's own component tests: Vitest with jsdom, where half the platform is Node's and half is jsdom's.
import { join } from 'node:path'
import { expect } from 'vitest'
import { consumer, link, program, versioned } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { root } from './pack.ts'
import { tries } from './tries.ts'

const suite = (api: string) => `
import { expect, test } from 'vitest'
import { main } from './queue.js'

test('a call is tried again', async () => {
  expect(navigator.userAgent).toContain('jsdom')
  expect(await main('${api}')).toEqual({ status: 200, body: 'attempt 2', degraded: [] })
})
`

tries(
  `${versioned('jsdom', 'jsdom')}, ${versioned('Vitest', 'vitest')}`,
  'vitest run --environment jsdom',
  async () => {
    await using server = await flakyServer()
    using project = consumer({
      'package.json': '{ "type": "module" }',
      'queue.js': program,
      'queue.test.js': suite(`${server.origin}/api/jsdom`),
    })
    for (const name of ['vitest', 'jsdom']) link(project, name)
    const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
    const output = await project.run(
      process.execPath,
      vitest,
      'run',
      '--no-color',
      '--environment',
      'jsdom',
      '--reporter',
      'verbose',
    )
    expect(output).toMatch(/Tests +1 passed \(1\)/)
    expect(server.hits('/api/jsdom')).toBe(2)
    return undefined
  },
)
