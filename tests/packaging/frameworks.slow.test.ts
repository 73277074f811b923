// The snippets of docs/frameworks.md, each bundled as its framework has it, against the packed package, in a real browser.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'esbuild'
import type { Page } from 'playwright-core'
import { compile } from 'svelte/compiler'
import { expect, test } from 'vitest'
import { compileScript, parse } from 'vue/compiler-sfc'
import { launch } from '../browser/chromium.ts'
import { newContext } from '../browser/contexts.ts'
import { duringTests } from '../during.ts'
import { eventually } from '../js/eventually.ts'
import { onLoopback } from '../loopback.ts'
import { esbuilt } from './builds.ts'
import { consumer, link } from './consumer.ts'
import { docs } from './snippets.ts'

const [shared = '', ...sections] = docs('frameworks.md').split(/^## /m)

/** The files that a part of the page prints, by the name in their first line. */
const filesIn = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...text.matchAll(/```\w+\n(?:\/\/|<!--) (\S+)(?: -->)?\n(.*?)```/gs)].map(([, name = '', code = '']) => [
      name,
      code,
    ]),
  )

const loads = (filter: RegExp, made: (source: string, path: string) => string): Plugin => ({
  name: String(filter),
  setup: (build) =>
    build.onLoad({ filter }, ({ path }) => ({ contents: made(readFileSync(path, 'utf8'), path), loader: 'js' })),
})
const vue = loads(/\.vue$/, (source, path) => {
  const { descriptor } = parse(source, { filename: path })
  return compileScript(descriptor, { id: 'outbox', inlineTemplate: true }).content
})
const svelte = loads(/\.svelte$/, (source, path) => compile(source, { filename: path, generate: 'client' }).js.code)

const QUEUE = `import { RetryQueue } from 'redrive'
const policy = { strategy: 'fixed', initialDelayMs: 600_000, jitterType: 'NONE' }
const queue = new RetryQueue({ durable: true, principal: null, breaker: false, retryBudget: false, policy })
globalThis.order = () => queue.enqueue('/api/orders', { method: 'POST', body: 'A-1' }).then(({ durability }) => durability)
`
const MOUNTED: Readonly<Record<string, string>> = {
  React: `import { createElement } from 'react'
import { createRoot } from 'react-dom/client'
import { Outbox } from './Outbox.jsx'
createRoot(document.body).render(createElement(Outbox, { queue }))`,
  Vue: `import { createApp } from 'vue'
import Outbox from './Outbox.vue'
createApp(Outbox, { queue }).mount(document.body)`,
  Svelte: `import { mount } from 'svelte'
import Outbox from './Outbox.svelte'
mount(Outbox, { target: document.body, props: { queue } })`,
}

const browser = duringTests(() => launch())

/** Pages of one site with the component of a framework, and a server that answers as it is asked to. */
async function site(framework: string) {
  const section = sections.find((text) => text.startsWith(`${framework}\n`)) ?? ''
  const own = filesIn(section)
  for (const code of Object.values(own)) expect(code.split('\n').length).toBeLessThanOrEqual(40)
  const main = `${QUEUE}${MOUNTED[framework]}`
  using project = consumer({ 'dist/none': '', 'main.js': main, ...filesIn(shared), ...own })
  for (const name of ['react', 'react-dom', 'vue', 'svelte']) link(project, name)
  const define = {
    'process.env.NODE_ENV': '"production"',
    __VUE_OPTIONS_API__: 'false',
    __VUE_PROD_DEVTOOLS__: 'false',
  }
  const flags = { ...define, __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false' }
  await esbuilt(project, { splitting: false, jsx: 'automatic', define: flags, plugins: [vue, svelte] })
  const script = readFileSync(join(project.folder, 'dist', 'main.js'))
  const api = { status: 503, hits: 0 }
  const errors: string[] = []
  const site = await onLoopback((request, response) => {
    if (request.method === 'POST') {
      api.hits++
      return response.writeHead(api.status).end()
    }
    const isScript = request.url === '/main.js'
    response.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html' })
    return response.end(
      isScript ? script : '<!doctype html><title>t</title><body><script type="module" src="/main.js"></script>',
    )
  })
  const context = await newContext(browser)
  const open = async (): Promise<Page> => {
    const tab = await context.newPage()
    tab.on('pageerror', (error) => errors.push(String(error)))
    await tab.goto(site)
    await tab.locator('b').waitFor()
    return tab
  }
  return { api, errors, open }
}

const order = (tab: Page) => tab.evaluate(() => (globalThis as unknown as { order(): Promise<string> }).order())
/** The badge, and what is listed. */
const shown = async (tab: Page) => [await tab.locator('b').innerText(), ...(await tab.locator('p').allInnerTexts())]

test('each framework of the page is tried', () => {
  expect(sections.map((text) => text.split('\n')[0])).toEqual(Object.keys(MOUNTED))
})

test.each(Object.keys(MOUNTED))(
  '%s: what waits and what is a dead letter shows in every tab, and is sent by a click',
  async (name) => {
    const { api, errors, open } = await site(name)
    const [here, there] = [await open(), await open()]
    await eventually(() => shown(here)).toEqual(['0'])
    expect(await order(here)).toBe('strict')
    for (const tab of [here, there])
      await eventually(() => shown(tab)).toEqual(['1', expect.stringMatching(/^\/api\/orders waits\s*Retry now$/)])
    await eventually(() => api.hits).toBe(1)
    api.status = 200
    await there.getByRole('button', { name: 'Retry now' }).click()
    for (const tab of [here, there]) await eventually(() => shown(tab)).toEqual(['0'])
    expect(api.hits).toBe(2)

    api.status = 404
    await order(here)
    for (const tab of [here, there])
      await eventually(() => shown(tab)).toEqual([
        '0',
        expect.stringMatching(/^\/api\/orders dead letter\s*Retry now$/),
      ])
    api.status = 200
    await there.getByRole('button', { name: 'Retry now' }).click()
    for (const tab of [here, there]) await eventually(() => shown(tab)).toEqual(['0'])
    expect(api.hits).toBe(4)
    expect(errors).toEqual([])
  },
)
