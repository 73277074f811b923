/**
 * The flaky API over HTTP.
 *
 *   any method  /api/*    does the work of one intent (`intent` in the query or the JSON body), or fails as decided
 *   GET         /report   what was seen, as JSON; `?visits=1` with every single visit
 *   GET         /next     is answered as soon as the next visit has been: who wants to strike right then waits for it
 *   POST        /config   changes faults from now on;  POST /reset forgets what was seen
 *
 * Apart from its faults it is a good server: a key is honoured (one effect, the same answer again), another request
 * under the same key is 422, and cross-origin pages may read what they need in order to behave. With `honoursKeys: false`
 * it does the work each time it is asked, which is what judges must notice. Who sent a request may be said in `X-Attempt`.
 */
import { createServer } from 'node:http'
import { decide, faultConfig, faultKinds } from './faults.mjs'
import { Ledger } from './ledger.mjs'
import { staticFiles } from './static.mjs'

const maxBodyBytes = 4 * 1024 * 1024
const injectedKinds = Object.keys(faultKinds)
const now = () => performance.timeOrigin + performance.now()

export function flakyServer({ faults = {}, mounts = {}, honoursKeys = true } = {}) {
  let config = faultConfig(faults)
  let ledger = new Ledger({ honoursKeys })
  const serveFile = staticFiles(mounts)
  const waiting = []

  const server = createServer((request, response) => {
    route(request, response).catch((error) =>
      sendJson(response, error.status ?? 500, { error: String(error.message ?? error) }),
    )
  })
  // A browser resends by itself what is reset on a connection it has used before. Resets here are to be
  // answered by the client under test, so no connection is used twice.
  server.keepAliveTimeout = 1
  server.maxRequestsPerSocket = 1
  return server

  async function route(request, response) {
    const url = new URL(request.url, 'http://server')
    cors(request, response)
    if (url.pathname.startsWith('/api/'))
      return request.method === 'OPTIONS' ? preflight(response) : visit(request, response, url)
    if (request.method === 'OPTIONS') return sendJson(response, 204)
    if (url.pathname === '/report')
      return sendJson(response, 200, ledger.report(injectedKinds, { visits: url.searchParams.has('visits') }))
    if (url.pathname === '/next') return void waiting.push(response)
    if (request.method === 'POST' && url.pathname === '/config') {
      config = faultConfig(parseJson(await readBody(request)), config)
      return sendJson(response, 200, config)
    }
    if (request.method === 'POST' && url.pathname === '/reset') {
      ledger = new Ledger({ honoursKeys })
      return sendJson(response, 200, {})
    }
    if (request.method === 'GET' && (await serveFile(url, response))) return
    sendJson(response, 404, { error: `nothing at ${url.pathname}` })
  }

  function preflight(response) {
    ledger.preflights += 1
    sendJson(response, 204)
  }

  async function visit(request, response, url) {
    const [book, faults] = [ledger, config]
    const visit = book.arrive(now())
    // Ends a visit whose caller went away; after an answer this finds it ended already.
    response.once('close', () => book.end(visit, now(), 'caller_gone'))
    const body = await readBody(request)
    const { intent, via } = identity(url, body)
    const { 'idempotency-key': key = null, 'x-attempt': by = null } = request.headers
    book.identify(visit, { intent, via, by, method: request.method, key })
    const plan = decide(faults, intent, visit.attempt, book.faultsOf(intent))
    const answer = answerTo(book, visit, plan, fingerprint(request, body), faults.retryAfterS)

    await new Promise((resolve) => setTimeout(resolve, plan.latencyMs))
    if (visit.endedAt !== null) return
    book.end(visit, now(), answer.outcome, answer.status, answer.retryAfterMs)
    if (answer.status === null) request.socket.resetAndDestroy()
    else sendJson(response, answer.status, answer.body, answer.headers)
    for (const next of waiting.splice(0)) sendJson(next, 200, {})
  }
}

/** Does the work, unless the plan fails before it, and says what the caller will be told. `status: null`: a reset. */
function answerTo(book, visit, { kind, slow }, fingerprint, retryAfterS) {
  const fault = kind === null ? null : faultKinds[kind]
  if (fault) book.countFault(visit.intent)
  const work = (effect) => ({ intent: visit.intent, effect })
  const done = fault === null || fault.effect ? book.perform(visit, fingerprint, work) : null
  const pause = fault?.retryAfter === true
  const base = { outcome: kind, retryAfterMs: pause ? retryAfterS * 1000 : null, headers: {} }
  if (fault)
    return {
      ...base,
      status: fault.status,
      body: { error: kind },
      headers: pause ? { 'retry-after': retryAfterS } : {},
    }
  if (done.conflict)
    return { ...base, status: 422, outcome: 'conflict', body: { error: 'this key belongs to another request' } }
  if (!done.repeated) return { ...base, status: 200, outcome: slow ? 'slow' : 'done', body: done.answer }
  return { ...base, status: 200, outcome: 'repeated', body: done.answer, headers: { 'idempotency-replayed': 'true' } }
}

/** The intent from the query, else from a JSON body; a request without one counts as an intent of its own path. */
function identity(url, body) {
  const fromBody = body.length > 0 && body[0] === 0x7b ? parseJson(body) : {}
  return {
    intent: String(url.searchParams.get('intent') ?? fromBody.intent ?? url.pathname),
    via: url.searchParams.get('via') ?? fromBody.via ?? null,
  }
}

function fingerprint(request, body) {
  return `${request.method} ${request.url}\n${body.toString('latin1')}`
}

function cors(request, response) {
  if (request.headers.origin === undefined) return
  response.setHeader('access-control-allow-origin', request.headers.origin)
  response.setHeader('vary', 'origin')
  response.setHeader('access-control-allow-methods', 'GET, HEAD, POST, PUT, PATCH, DELETE')
  response.setHeader('access-control-allow-headers', 'content-type, idempotency-key, authorization, x-request-id')
  response.setHeader('access-control-expose-headers', 'retry-after, date, idempotency-replayed')
  response.setHeader('access-control-max-age', '600')
}

async function readBody(request) {
  const chunks = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > maxBodyBytes) throw Object.assign(new Error(`more than ${maxBodyBytes} bytes`), { status: 413 })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function parseJson(bytes) {
  try {
    return JSON.parse(bytes.toString('utf8') || '{}')
  } catch {
    throw Object.assign(new Error('the body is not JSON'), { status: 400 })
  }
}

function sendJson(response, status, value, headers = {}) {
  if (response.headersSent || response.destroyed) return
  if (value === undefined) return response.writeHead(status).end()
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
}
