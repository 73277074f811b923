// The snippets of docs/undici.md, run as they are printed, and its types beside those of undici.
import { expect, test } from 'vitest'
import { consumer, link, versioned } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { blocksOf, docs, toServer } from './snippets.ts'
import { tries } from './tries.ts'
import { judge, ownCompiler } from './typed.ts'

const snippets = blocksOf(docs('undici.md'), 'js')

test('there is no snippet that no test runs', () => {
  expect(snippets).toHaveLength(2)
})

const ways = [
  ['behind the global fetch', 0, '/api/orders'],
  ['for some requests', 1, '/api/orders/1'],
] as const

for (const [way, index, path] of ways) {
  tries(versioned('undici', 'undici'), `redrive/undici: ${way}`, async () => {
    await using server = await flakyServer()
    using project = consumer({ 'main.mjs': toServer(snippets[index] ?? '', `${server.origin}/api`) })
    link(project, 'undici')
    expect(await project.run(process.execPath, 'main.mjs')).toBe('200 attempt 2\n')
    expect(server.hits(path)).toBe(2)
  })
}

test('its types, as a user’s compiler reads them beside those of undici', async () => {
  const program = `
import { RetryQueue } from 'redrive'
import { retryInterceptor, type RetryInterceptorOptions } from 'redrive/undici'
import { Agent, type Dispatcher, setGlobalDispatcher } from 'undici'

const options: RetryInterceptorOptions = { waitMs: 1, match: ({ path }) => path !== '/' }
const interceptor: Dispatcher.DispatcherComposeInterceptor = retryInterceptor(new RetryQueue(), options)
export const dispatcher: Dispatcher = new Agent().compose(interceptor)
setGlobalDispatcher(dispatcher)
// @ts-expect-error a call that is deferred is no matter of an interceptor
retryInterceptor(new RetryQueue(), { mode: 'defer' })
`
  const library = { lib: ['es2022'], types: ['node'], program, packages: ['undici'] }
  for (const resolution of ['nodenext', 'bundler'] as const) await judge(ownCompiler, library, resolution)
})
