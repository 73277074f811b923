import { expect, test } from 'vitest'
import { consumer, expected, link, mixed, program } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { tries } from './tries.ts'

const node = `Node ${process.versions.node}`

const required = `${program
  .replace(/import (\{.*\}) from '(.*)'/g, "const $1 = require('$2')")
  .replace('export async function', 'async function')}
main(process.argv[2]).then((answer) => console.log(JSON.stringify(answer)))`
const importing = {
  'queue.mjs': program,
  'main.mjs': `import { main } from './queue.mjs'\nconsole.log(JSON.stringify(await main(process.argv[2])))`,
}

for (const [what, files, words] of [
  ['import', importing, ['main.mjs']],
  ['require', { 'main.cjs': required }, ['main.cjs']],
  [
    'require, where only CommonJS can be required',
    { 'main.cjs': required },
    ['--no-experimental-require-module', 'main.cjs'],
  ],
] as const) {
  tries(node, what, async () => {
    await using server = await flakyServer()
    using project = consumer(files)
    const output = await project.run(process.execPath, ...words, `${server.origin}/api/orders`)
    expect(JSON.parse(output)).toEqual(expected)
    expect(server.hits('/api/orders')).toBe(2)
  })
}

test('by import and by require a program has one copy of the package', async () => {
  using project = consumer({ 'main.mjs': mixed })
  expect(await project.node('main.mjs')).toEqual([true, true])
})

test('in a page that a test runner puts together, a queue that is never closed keeps no process alive', async () => {
  using project = consumer({
    'main.mjs': `
      import { RetryQueue } from 'redrive'
      globalThis.location = new URL('https://shop.test/')
      let attempts = 0
      const fetch = async () => new Response('', { status: attempts++ ? 200 : 503 })
      const queue = new RetryQueue({ fetch, policy: { initialDelayMs: 1 } })
      console.log((await queue.fetch('https://api.test/')).status)`,
  })
  expect(await project.node('main.mjs')).toBe(200)
})

test('every entry loads by itself, and without the packages it is for installed', async () => {
  using project = consumer({
    'main.mjs': `
      const names = {}
      const entries = ['core', 'fetch', 'axios', 'compat/axios-retry', 'prometheus', 'testing', 'store', 'memory', 'indexeddb', 'sqlite', 'redis', 'node', 'express', 'fastify', 'hono', 'grpc', 'undici'].map((name) => 'redrive/' + name)
      for (const entry of ['redrive', ...entries]) {
        names[entry] = Object.keys(await import(entry))
      }
      console.log(JSON.stringify(names))`,
  })
  const names = (await project.node('main.mjs')) as Record<string, string[]>
  expect(names.redrive).toContain('RetryQueue')
  expect(names['redrive/core']).toContain('loadCore')
  expect(names['redrive/fetch']).toEqual(expect.arrayContaining(['wrapFetch', 'installFetch']))
  expect(names['redrive/axios']).toContain('attachToAxios')
  expect(names['redrive/compat/axios-retry']).toEqual(
    expect.arrayContaining(['default', 'isNetworkError', 'namespace']),
  )
  expect(names['redrive/prometheus']?.sort()).toEqual(['metricsOf', 'registerMetrics'])
  expect(names['redrive/testing']?.length).toBeGreaterThan(0)
  expect(names['redrive/store']).toEqual(expect.arrayContaining(['CLOCK_STEP_MS', 'RECORD_SCHEMA', 'laneName']))
  expect(names['redrive/memory']).toContain('memoryStore')
  expect(names['redrive/sqlite']).toContain('sqliteStore')
  expect(names['redrive/redis']).toEqual(['redisStore'])
  expect(names['redrive/node']).toContain('closeOnSignals')
  const middleware = ['DeferredError', 'deferredErrors', 'inboundErrors', 'orDefer']
  expect(names['redrive/express']?.sort()).toEqual([...middleware, 'captureBody', 'keepBody'].sort())
  expect(names['redrive/fastify']?.sort()).toEqual(middleware)
  expect(names['redrive/hono']?.sort()).toEqual(middleware)
  expect(names['redrive/grpc']?.sort()).toEqual(['UnsupportedPolicyError', 'keyInterceptor', 'keyOf', 'serviceConfig'])
  expect(names['redrive/undici']).toEqual(['retryInterceptor'])
})

const importsTracing = `
  const loaded = await import('redrive/opentelemetry').catch((error) => ({ [error.code]: error.message }))
  console.log(JSON.stringify(loaded, (_, value) => typeof value === 'function' ? 'function' : value))`

test('redrive/opentelemetry without its peer fails and names it', async () => {
  using project = consumer({ 'main.mjs': importsTracing })
  const loaded = (await project.node('main.mjs')) as Record<string, string>
  expect(loaded.ERR_MODULE_NOT_FOUND).toMatch(/^Cannot find package '@opentelemetry\/api' imported from .*redrive/)
})

test('redrive/opentelemetry needs the API and no SDK', async () => {
  using project = consumer({ 'main.mjs': importsTracing })
  link(project, '@opentelemetry/api')
  expect(await project.node('main.mjs')).toEqual({ attachOpenTelemetry: 'function' })
})

test('attached without an SDK it changes nothing', async () => {
  await using server = await flakyServer()
  using project = consumer({
    'queue.mjs': `import { attachOpenTelemetry } from 'redrive/opentelemetry'${program}`.replace(
      'const degraded',
      'attachOpenTelemetry(queue, { replay: "link" })\n  const degraded',
    ),
    'main.mjs': `import { main } from './queue.mjs'\nconsole.log(JSON.stringify(await main(process.argv[2])))`,
  })
  link(project, '@opentelemetry/api')
  expect(await project.node('main.mjs', `${server.origin}/api/traced`)).toEqual(expected)
  expect(server.hits('/api/traced')).toBe(2)
})

test('redrive/sqlite keeps a file, and its errors are those of redrive', async () => {
  using project = consumer({
    'main.mjs': `
      import { RedriveError } from 'redrive'
      import { sqliteStore } from 'redrive/sqlite'
      const store = sqliteStore({ path: 'tasks.db' })
      const counts = await store.counts()
      await store.close()
      const error = await sqliteStore({ path: '.' }).counts().catch((error) => error)
      console.log(JSON.stringify([counts.pending, error instanceof RedriveError, error.code]))`,
  })
  expect(await project.node('main.mjs')).toEqual([0, true, 'STORAGE_UNAVAILABLE'])
})

test('redrive/core answers in Node', async () => {
  using project = consumer({
    'main.mjs': `
      import { loadCore } from 'redrive/core'
      const core = await loadCore()
      const policy = { strategy: 'fixed', initialDelayMs: 250, jitterType: 'NONE' }
      console.log(JSON.stringify([core.calculateBackoffDelay(policy, 1), core.evaluateRetryStatus(503, 'CLOSED', 0, 3)]))`,
  })
  expect(await project.node('main.mjs')).toEqual([250, 'ENQUEUE'])
})
