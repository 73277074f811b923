/** Sends reports when the page is closed, where the browser has Background Sync, and opens the page without a network. */
import { RetryQueue, registerBackgroundSync } from '/redrive/service-worker.js'

registerBackgroundSync(new RetryQueue({ name: 'trail' })) // where the API wants a token: with `credentials`

addEventListener('fetch', (event) => {
  const { request } = event
  if (request.method === 'GET' && !request.url.includes('/api/')) event.respondWith(newestOrKept(request))
})

async function newestOrKept(request) {
  const cache = await caches.open('trail')
  try {
    const response = await fetch(request)
    if (response.ok) await cache.put(request, response.clone())
    return response
  } catch (error) {
    const kept = await cache.match(request)
    if (kept) return kept
    throw error
  }
}
