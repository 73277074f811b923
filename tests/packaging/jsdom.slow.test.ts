// The package in a user's own component tests: Vitest with jsdom or happy-dom, where half the platform is Node's and half is theirs.
import { join } from 'node:path'
import { expect } from 'vitest'
import { consumer, link, program, versioned } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { root } from './pack.ts'
import { tries } from './tries.ts'

const suite = (api: string) => `
import { expect, test, vi } from 'vitest'
import { RetryQueue } from 'redrive'
import { fastForward, toHaveBeenRetried, withFakeServer } from 'redrive/testing'
import { main } from './queue.js'

expect.extend({ toHaveBeenRetried })

test('a call is tried again', async () => {
  expect(navigator.userAgent).toMatch(/jsdom|HappyDOM/)
  expect(await main('${api}')).toEqual({ status: 200, body: 'attempt 2', degraded: [] })
})

test('the answer of a call that was given up has its body', async () => {
  const queue = new RetryQueue({ policy: { retryableStatusCodes: [200, 503], initialDelayMs: 1, maxAttempts: 2 } })
  const answer = await queue.fetch('${api}/never')
  expect([answer.redrive.reason, await answer.text()]).toEqual(['max_attempts', 'attempt 2'])
  await queue.close()
})

test('fake time and a fake server need nothing injected', async () => {
  vi.useFakeTimers()
  const queue = new RetryQueue({ policy: { initialDelayMs: 1_000 } })
  const server = withFakeServer()
  server.reply(503).reply(200, {}, 'done')
  const answer = queue.fetch('${api}')
  await fastForward(2_000)
  expect(await (await answer).text()).toBe('done')
  expect(server).toHaveBeenRetried(1)
  await queue.close()
  vi.useRealTimers()
})
`

for (const environment of ['jsdom', 'happy-dom']) {
  tries(
    `${versioned(environment, environment)}, ${versioned('Vitest', 'vitest')}`,
    `vitest run --environment ${environment}`,
    async () => {
      await using server = await flakyServer()
      using project = consumer({
        'package.json': '{ "type": "module" }',
        'queue.js': program,
        'queue.test.js': suite(`${server.origin}/api/dom`),
      })
      for (const name of ['vitest', environment]) link(project, name)
      const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
      const words = ['run', '--no-color', '--environment', environment, '--reporter', 'verbose']
      const output = await project.run(process.execPath, vitest, ...words)
      expect(output).toMatch(/Tests +3 passed \(3\)/)
      expect(server.hits('/api/dom')).toBe(2)
    },
  )
}
