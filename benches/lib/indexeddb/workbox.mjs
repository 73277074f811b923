// workbox-background-sync, in its service worker and in a page.
import { Queue } from 'workbox-background-sync/Queue.js'

/** What a service worker would be handed. */
export const requestOf = ({ url, init }) => new Request(url, init)

/** Workbox asks its registration for a sync after each request. A page has none of its own, and is not asked for any. */
export function workboxPeer(onSync = () => {}) {
  globalThis.registration ??= {}
  const queue = new Queue('bench', { onSync })
  const one = (request) => queue.pushRequest({ request })
  return { queue, prepare: requestOf, one, many: (list) => Promise.all(list.map(one)) }
}
