/** A site's service worker as Workbox's documentation has it: what cannot be sent is queued. On the day of the change only its import is another one. */
import { BackgroundSyncPlugin } from 'workbox-background-sync/BackgroundSyncPlugin.js'

interface Scope {
  skipWaiting(): Promise<void>
  readonly clients: { claim(): Promise<void> }
}
interface WorkerEvent extends Event {
  readonly request: Request
  waitUntil(work: Promise<unknown>): void
  respondWith(answer: Promise<Response>): void
}

const scope = globalThis as unknown as Scope
const plugin = new BackgroundSyncPlugin('orders', { maxRetentionTime: 24 * 60 })

globalThis.addEventListener('install', (event) => (event as WorkerEvent).waitUntil(scope.skipWaiting()))
globalThis.addEventListener('activate', (event) => (event as WorkerEvent).waitUntil(scope.clients.claim()))
globalThis.addEventListener('fetch', (event) => {
  const { request } = event as WorkerEvent
  if (request.method === 'POST') (event as WorkerEvent).respondWith(send(request))
})

async function send(request: Request): Promise<Response> {
  try {
    return await fetch(request.clone())
  } catch {
    await plugin.fetchDidFail?.({ request } as never)
    return new Response(null, { status: 202 })
  }
}
