/** A browser without Background Sync: everything is there all the same, says so, and is in nobody's way. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../js/eventually.ts'
import type { Engine, Tab } from './engines.ts'
import { syncSite } from './sync-site.ts'

/** `worker`: its script, and how it is loaded. */
export function withoutSync(name: string, launch: () => Promise<Engine>, worker: string): void {
  describe(name, () => {
    const site = syncSite()

    let engine: Engine
    let tab: Tab
    beforeAll(async () => {
      engine = await launch()
      tab = await engine.open(`${site.url}/pages/sync-page.html?${worker}&asks`)
    })
    afterAll(() => engine?.close())

    test('a page is told that nobody will wake its worker, and sends by itself', async () => {
      await eventually(() => tab.run('globalThis.syncPage !== undefined')).toBe(true)
      expect(await tab.run('syncPage.supported')).toBe(false)
      const status = await tab.run(`syncPage.queue.enqueue('/api/orders', { method: 'POST', body: 'by the page' })
        .then(({ taskId }) => syncPage.queue.result(taskId)).then(({ task }) => task.status)`)
      expect(status).toBe('SUCCEEDED')
      expect(site.seen.map(({ body }) => body)).toEqual(['by the page'])
      expect(await tab.run('syncPage.degraded')).toEqual([])
    })

    test('in the worker, too; its core and its store open there', async () => {
      expect(await tab.run('syncPage.active')).toBe('active')
      const said = await tab.run(`navigator.serviceWorker.ready.then(({ active }) => new Promise((resolve) => {
        const { port1, port2 } = new MessageChannel()
        port1.onmessage = ({ data }) => resolve(data)
        active.postMessage('open', [port2])
      }))`)
      expect(said).toEqual({ supported: false, degraded: [] })
    })
  })
}
