// The server of the home page's demo, in a service worker: the page's queue sends it real requests, by the browser's own fetch. It fails in
// turn, so that each visitor sees the same: the first order is met with a 503, the answer to the second is lost on its way back, the third
// succeeds. An order that was tried before succeeds, unless the server is down, and idempotency keys are honoured. What it knows
// outlives it, as a server's database does: a browser ends an idle service worker after half a minute.
const CACHE = 'redrive-demo-server'
const LATENCY_MS = 450
const FIRST_ANSWERS = ['busy', 'lost', 'done']

const scope = new URL(self.registration.scope)
const api = new URL('demo-api/', scope)
const stateKey = new URL('demo-api/state', scope).href

addEventListener('install', () => self.skipWaiting())
addEventListener('activate', (event) => event.waitUntil(self.clients.claim()))
// a page that was reloaded past the cache has no service worker until it is claimed
addEventListener('message', (event) => event.data === 'claim' && event.waitUntil(self.clients.claim()))

addEventListener('fetch', (event) => {
  if (event.request.url.startsWith(api.href)) event.respondWith(answer(event.request))
})

/** `tries`: attempts at each key, those included that did not arrive. `orders`: how often each was asked for. */
const emptyState = () => ({ away: false, requests: 0, fresh: 0, tries: {}, orders: {} })

/** One change of what the server knows after another. */
let last = Promise.resolve()
let isForgotten = false
function change(work) {
  const next = last.then(async () => {
    if (isForgotten) return work(emptyState())
    const cache = await caches.open(CACHE)
    const state = (await (await cache.match(stateKey))?.json()) ?? emptyState()
    const result = work(state)
    await cache.put(stateKey, Response.json(state))
    return result
  })
  last = next.catch(() => {}) // the request that asked for it has the error
  return next
}

function report({ away, requests, orders }) {
  const counts = Object.values(orders)
  return { away, requests, orders: counts.length, repeats: counts.reduce((sum, { asked }) => sum + asked - 1, 0) }
}

async function answer(request) {
  const path = request.url.slice(api.href.length)
  if (path === 'report') return Response.json(await change(report))
  if (path === 'away') {
    const { away } = await request.json()
    return Response.json(await change((state) => report(Object.assign(state, { away }))))
  }
  if (path === 'forget') return forget()
  if (path === 'orders' && request.method === 'POST') return receive(request)
  return Response.json({ error: `nothing at ${path}` }, { status: 404 })
}

/** From here on nothing is kept: a request may still be on its way. */
async function forget() {
  await change(() => {
    isForgotten = true
  })
  await caches.delete(CACHE)
  return Response.json({})
}

async function receive(request) {
  const key = request.headers.get('idempotency-key')
  if (key === null) return Response.json({ error: 'an order needs an Idempotency-Key' }, { status: 400 })
  await new Promise((resolve) => setTimeout(resolve, LATENCY_MS))
  const outcome = await change((state) => meet(state, key))
  if (outcome === 'away' || outcome === 'lost') return Response.error()
  if (outcome === 'busy') return Response.json({ error: 'busy' }, { status: 503, headers: { 'retry-after': '2' } })
  return Response.json({ key }, { status: 201 })
}

/** What an attempt comes to, and what the server knows after it. */
function meet(state, key) {
  const isFirst = state.tries[key] === undefined
  state.tries[key] = (state.tries[key] ?? 0) + 1
  if (state.away) return 'away'
  state.requests++
  const outcome = isFirst ? FIRST_ANSWERS[state.fresh++ % FIRST_ANSWERS.length] : 'done'
  if (outcome === 'busy') return outcome
  state.orders[key] ??= { asked: 0 }
  state.orders[key].asked++
  return outcome
}
