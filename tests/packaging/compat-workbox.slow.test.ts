// The snippets of docs/compat-workbox.md, each as a service worker of the package as it is published, bundled as a user does it.
import { expect, test } from 'vitest'
import { launch } from '../browser/chromium.ts'
import { duringTests } from '../during.ts'
import { heard, served } from './browser.ts'
import { consumer } from './consumer.ts'
import { blocksOf, docs } from './snippets.ts'
import { tries } from './tries.ts'

const printed = blocksOf(docs('compat-workbox.md'), 'js')
/** The loop of Workbox's documentation. */
const withOnSync = `import { Queue } from 'redrive/compat/workbox'

const queue = new Queue('reports', {
  async onSync({ queue }) {
    for (let entry = await queue.shiftRequest(); entry; entry = await queue.shiftRequest()) {
      try {
        await fetch(entry.request.clone())
      } catch (error) {
        await queue.unshiftRequest(entry)
        throw error
      }
    }
  },
})`
const snippets = [...printed, withOnSync]
const html = '<!doctype html><meta charset="utf-8"><title>t</title>'

test('there are two, and each is run', () => {
  expect(printed).toHaveLength(2)
})

const browser = duringTests(() => launch())

async function stores(which: number): Promise<void> {
  const code = `${snippets[which]}
    self.addEventListener('message', async ({ data, ports: [reply] }) => {
      await queue.pushRequest({ request: new Request(data, { method: 'POST', body: 'by hand' }) })
      reply.postMessage(await queue.size())
    })`
  const project = consumer({ 'dist/index.html': html, 'sw.js': code })
  const site = await served(project, { entryPoints: ['sw.js'], splitting: false, format: 'iife' })
  const { page: tab } = await heard(browser, site)
  await tab.evaluate(() =>
    navigator.serviceWorker.register('/sw.js').then(() => navigator.serviceWorker.ready.then(() => {})),
  )
  // a port on which nothing listens: no answer at all
  const nowhere = 'http://127.0.0.1:9/reports'
  if (which === 0) {
    await tab.reload()
    const post = (url: string) => fetch(url, { method: 'POST', body: 'by the page' }).then((answer) => answer.status)
    expect(await tab.evaluate(post, nowhere)).toBe(202)
  }
  const size = await tab.evaluate(
    (url) =>
      new Promise((resolve) => {
        const { port1, port2 } = new MessageChannel()
        port1.onmessage = ({ data }) => resolve(data)
        void navigator.serviceWorker.ready.then(({ active }) => active?.postMessage(url, [port2]))
      }),
    nowhere,
  )
  expect(size).toBe(which === 0 ? 2 : 1)
}

const ways = ['a Queue', 'a Queue with options of redrive', 'a Queue with its own onSync']
for (const [which, way] of ways.entries()) {
  tries('Chromium', `redrive/compat/workbox: ${way}, in a service worker`, () => stores(which))
}
