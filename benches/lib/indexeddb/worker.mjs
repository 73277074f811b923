// Workbox where it belongs: in a service worker, with a registration that it asks for a sync after each request.
import { timed } from './requests.mjs'
import { workboxPeer } from './workbox.mjs'

const peer = workboxPeer()

addEventListener('install', () => skipWaiting())
addEventListener('message', ({ data: { count, atOnce }, ports: [port] }) => {
  timed(peer, count, atOnce).then(
    (ms) => port.postMessage({ ms }),
    (error) => port.postMessage({ error: String(error) }),
  )
})
