/**
 * The REST API as one function from a request to an answer. It adds up what the rows of the route table say: who may ask, what comes in, what goes
 * out. Every refusal is a problem, every answer has the id of its request, and nothing of a request reaches the log but names and numbers.
 */

import { Hono } from 'hono'
import { hostDraw, utf8, uuid4, uuid7Maker } from 'redrive/internal'
import { Places } from '../places.ts'
import { checkAccept } from './accept.ts'
import type { ApiContext } from './context.ts'
import type { Exchange, Reply, Services } from './exchange.ts'
import { INSPECTOR_HEADERS, INSPECTOR_PATH, inspectorReply } from './inspector.ts'
import { openapiDocument } from './openapi.ts'
import { checkHost, checkOrigin, isAtAddress, isOwnPage, isPreflight, preflightResponse, putCors } from './origins.ts'
import { pathOf } from './path.ts'
import { Policies } from './policies.ts'
import { newRequestId, Problem, problemOf, problemResponse } from './problem.ts'
import { Rates } from './rates.ts'
import { readBody, readQuery } from './read-request.ts'
import type { Route } from './route.ts'
import { routes } from './routes.ts'
import { storeClock } from './store-clock.ts'
import { type Caller, demand, isAllowed, openCaller, Tokens } from './tokens.ts'

export interface Api {
  /** Answers a request; never rejects. `peer`: the other end of its connection. */
  fetch(request: Request, peer?: { readonly remoteAddress?: string }): Promise<Response>
  /** The OpenAPI 3.1 document. */
  openapi(): object
}

/** A request under way: what its answer and its line in the log need, wherever it ends. */
interface Course {
  readonly id: string
  route: string
  caller: Caller | undefined
  problem: Problem | undefined
  fields: Readonly<Record<string, string>>
}

/** Requests under way, and those of them that wait for the end of a task: of 1,000 connections others are left. */
const [MOST_REQUESTS, MOST_WAITS] = [800, 400]

/** The parts that the handlers share, and those that they have no use for. */
interface Server extends Services {
  readonly tokens: Tokens
  readonly rates: Rates
  readonly requests: Places<string>
}

type Env = { Bindings: { readonly course: Course } }

export function makeApi(context: ApiContext): Api {
  const draw = hostDraw()
  const nextId = uuid7Maker(draw)
  let document: object | undefined
  const openapi = (): object => {
    document ??= openapiDocument(context.version)
    return document
  }
  let bytes: Uint8Array<ArrayBuffer> | undefined
  const openapiBytes = (): Uint8Array<ArrayBuffer> => {
    bytes ??= utf8(JSON.stringify(openapi()))
    return bytes
  }
  const server: Server = {
    context,
    tokens: new Tokens(() => context.clock.now()),
    rates: new Rates(() => context.clock.monotonic()),
    requests: new Places(MOST_REQUESTS),
    waits: new Places(MOST_WAITS),
    policies: new Policies(context.store.registry, context.clock, () => context.settings()),
    storeNow: storeClock(context),
    newId: () => nextId(context.clock.now()),
    newKey: () => uuid4(draw),
    openapiBytes,
  }
  const app = appOf(server)
  return {
    openapi,
    async fetch(request, peer) {
      const began = context.clock.monotonic()
      const course: Course = {
        id: newRequestId(draw),
        route: '',
        caller: undefined,
        problem: undefined,
        fields: {},
      }
      const response = await answer(request, course, context, app)
      const ms = Math.max(0, context.clock.monotonic() - began)
      const { id, route, caller, problem } = course
      const { method } = request
      const { status } = response
      context.onRequest?.({ route, method, status, ms })
      context.log({
        event: 'request',
        requestId: id,
        method,
        route,
        status,
        ms: Math.round(ms * 1_000) / 1_000,
        ...(caller && caller.name !== '' && { token: caller.name }),
        ...(caller && caller.tenant !== null && { tenant: caller.tenant }),
        ...(problem && { problem: problem.type }),
        ...(peer?.remoteAddress !== undefined && { remoteAddress: peer.remoteAddress }),
      })
      return response
    },
  }
}

/** Probes ask by whatever address they know, and learn nothing that a page could use. */
const isProbe = (request: Request): boolean =>
  (request.method === 'GET' || request.method === 'HEAD') && /^\/(?:healthz|readyz)$/.test(pathOf(request))

/** Scrapers find pods by their addresses. A name that was made to lead here is never an address. */
const isScrape = (request: Request): boolean =>
  (request.method === 'GET' || request.method === 'HEAD') && pathOf(request) === '/metrics' && isAtAddress(request)

async function answer(request: Request, course: Course, context: ApiContext, app: Hono<Env>): Promise<Response> {
  let origin: string | null = null
  let response: Response
  try {
    const settings = context.settings()
    if (!isProbe(request) && !isScrape(request)) checkHost(request, settings)
    if (!context.inspector || !isOwnPage(request)) origin = checkOrigin(request, settings)
    if (isPreflight(request, origin)) response = preflightResponse(['GET', 'POST', 'PUT', 'DELETE'])
    else response = await app.fetch(request, { course })
  } catch (error) {
    response = refusal(error, course, context)
  }
  const { headers } = response
  for (const [name, value] of Object.entries(course.fields)) headers.set(name, value)
  headers.set('redrive-request-id', course.id)
  headers.set('x-content-type-options', 'nosniff')
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-store')
  putCors(headers, origin)
  // a process that stops keeps no connection
  if (context.state.isDraining()) headers.set('connection', 'close')
  return response
}

function appOf(server: Server): Hono<Env> {
  const { context } = server
  const app = new Hono<Env>({ strict: true, getPath: pathOf })
  const byPath = new Map<string, Route[]>()
  for (const row of routes) byPath.set(row.path, [...(byPath.get(row.path) ?? []), row])
  for (const [path, rows] of byPath) {
    const pattern = path.replace(/\{(\w+)\}/g, (_, name: string) => `:${name}${SHAPES.get(name) ?? ''}`)
    for (const row of rows) {
      app.on(row.method, pattern, async (c) => {
        c.env.course.route = path
        const reply = await serve(row, c.req.raw, c.req.param() as Record<string, string>, c.env.course, server)
        return responseOf(c.req.raw.method === 'HEAD' ? await withoutStream(reply) : reply)
      })
    }
    const methods = rows.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    app.all(pattern, (c) => {
      c.env.course.route = path
      const allow = methods.join(', ')
      throw new Problem('method-not-allowed', `${path} takes ${allow}`, {}, { allow })
    })
  }
  const { inspector } = context
  if (inspector) {
    app.all(`${INSPECTOR_PATH}/*`, (c) => {
      const { course } = c.env
      course.route = INSPECTOR_PATH
      course.fields = INSPECTOR_HEADERS
      return responseOf(inspectorReply(inspector, c.req.raw))
    })
  }
  app.notFound(() => {
    throw new Problem('not-found', 'there is nothing at this path: GET /openapi.json has all that there is')
  })
  app.onError((error, c) => refusal(error, c.env.course, context))
  return app
}

/** A segment that cannot be the name of anything is no path at all. */
const SHAPES: ReadonlyMap<string, string> = new Map([
  ['taskId', '{[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}}'],
  ['policyId', '{[A-Za-z0-9_.~-]{1,64}}'],
  ['operationId', '{[A-Za-z0-9_.~-]{1,128}}'],
  ['pauseId', '{[A-Za-z0-9_.~-]{1,128}}'],
])

async function serve(
  row: Route,
  request: Request,
  params: Record<string, string>,
  course: Course,
  server: Server,
): Promise<Reply> {
  const isOpen = row.scope === null || row.isOpen?.(server.context.settings())
  const caller = isOpen ? openCaller() : admit(server, request, row, course)
  course.caller = caller
  const leave = isOpen ? () => {} : placeOf(server, caller)
  try {
    return await handle(row, request, params, course, server)
  } finally {
    leave()
  }
}

/** A place for a request of a token, where another one's may need some, too. Throws where it has its share. */
function placeOf({ context, requests }: Server, { id }: Caller): () => void {
  if ((context.tokens()?.length ?? 0) < 2) return () => {}
  const leave = requests.take(id)
  if (leave) return leave
  const detail = 'this token has its share of the requests that are under way at once; let some of them end'
  throw new Problem('rate-limited', detail, {}, { 'retry-after': '1' })
}

async function handle(
  row: Route,
  request: Request,
  params: Record<string, string>,
  course: Course,
  server: Server,
): Promise<Reply> {
  const { tokens: _, rates, requests: __, ...services } = server
  const { context } = services
  const settings = context.settings()
  const { headers, signal } = request
  const { caller = openCaller() } = course
  const isWrite = row.method !== 'GET' && !row.isRead
  if (isWrite && context.state.isDraining()) {
    throw new Problem(
      'draining',
      'the service is stopping and takes nothing new; another process, or this one once it is back, does',
    )
  }
  checkAccept(headers, TYPES.get(row) ?? [])
  const query = readQuery(row, new URL(request.url).searchParams)
  const { body, text } = await readBody(row, request, settings, context)
  const exchange: Exchange = {
    ...services,
    settings,
    requestId: course.id,
    caller,
    params,
    query,
    body,
    text,
    headers,
    stream: row.bytes === undefined ? null : request.body,
    signal,
    charge: (more) => {
      course.fields = rates.charge(caller.id, settings.rate, more)
    },
    stillMay: () => {
      try {
        const now = server.tokens.callerOf(headers, context.tokens())
        const isSame = now.id === caller.id && now.tenant === caller.tenant && now.seesAll === caller.seesAll
        return isSame && (row.scope === null || isAllowed(now, row.scope))
      } catch (error) {
        if (error instanceof Problem) return false
        throw error
      }
    },
  }
  return row.handle(exchange)
}

/** Throws where the request may not be made: by whom, or how often. */
function admit({ context, tokens, rates }: Server, { headers }: Request, { scope }: Route, course: Course): Caller {
  const caller = tokens.callerOf(headers, context.tokens())
  course.caller = caller
  course.fields = rates.take(caller.id, context.settings().rate)
  if (scope) demand(caller, scope)
  return caller
}

/** The content types of what a route answers with. */
const TYPES: ReadonlyMap<Route, readonly string[]> = new Map(
  routes.map((row) => [
    row,
    [
      ...new Set(
        Object.values(row.answers).flatMap(
          ({ schema, contentType }) => contentType ?? (schema ? 'application/json' : []),
        ),
      ),
    ],
  ]),
)

/** No body goes out, so nothing of a stream is to be made, and none is to be listened to. */
async function withoutStream({ body, ...reply }: Reply): Promise<Reply> {
  if (!(body instanceof ReadableStream)) return body === undefined ? reply : { ...reply, body }
  await body.cancel()
  return reply
}

function responseOf({ status, json, body, headers }: Reply): Response {
  if (json === undefined) return new Response(body ?? null, { status, headers: new Headers(headers) })
  return new Response(JSON.stringify(json), {
    status,
    headers: new Headers({ 'content-type': 'application/json', ...headers }),
  })
}

function refusal(error: unknown, course: Course, context: ApiContext): Response {
  const problem = problemOf(error)
  course.problem = problem
  if (problem.status >= 500 && problem !== error) {
    const message = context.sanitizer.message(error)
    context.log({ event: 'error', requestId: course.id, problem: problem.type, message })
  }
  return problemResponse(problem, course.id)
}
