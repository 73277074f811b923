/** The OpenAPI 3.1 document, made of the route table: it cannot say what is not served. */

import { OpenAPIHono, type z } from '@hono/zod-openapi'
import { POLICY_ID, TENANT_SHAPE } from '../shapes.ts'
import { LINES_TYPE } from './accept.ts'
import { PROBLEM_JSON, PROBLEMS, type ProblemType, problemUri } from './problem.ts'
import { type Answer, type HeaderIn, problemsOf, type Route } from './route.ts'
import { routes } from './routes.ts'
import { problemOut } from './schemas/service.ts'
import { TASK_ID } from './schemas/words.ts'

const ABOUT = `Requests that are made until they succeed.

A task is a request with a policy: it is stored, sent, and sent again after a failure that may pass. One key goes with all attempts, from the client through to the target.

Errors are problem details (RFC 9457) whose \`type\` never changes. Times are epoch milliseconds, durations end in \`Ms\`. Unknown fields are refused.`

const ABOUT_LINES = 'One element of the list a line, as JSON'

const TAGS = [
  { name: 'Tasks', description: 'Requests that were enqueued' },
  { name: 'Policies', description: 'When to try again, and when to stop' },
  { name: 'Dead letters', description: 'Tasks that were given up, and operations on many of them' },
  { name: 'Control', description: 'Pauses, flushes, numbers' },
  { name: 'Events', description: 'What happens, as it happens' },
  { name: 'Service', description: 'What the service says about itself' },
]

const REQUEST_ID = {
  description: 'The id of the request, for the log',
  schema: { type: 'string' as const, examples: ['req-8f2c0d19a4b7e653'] },
}
/** An SPDX expression, which OpenAPI 3.1 takes and the types of 3.0 do not. */
const LICENSE = { name: 'MIT OR Apache-2.0', identifier: 'MIT OR Apache-2.0' }
const CONTACT = { name: 'redrive', url: 'https://github.com/redrive-dev/redrive' }

interface Header {
  readonly description: string
  readonly schema: { readonly type: 'string' }
}

const headersOf = (given: Readonly<Record<string, string>>): Record<string, Header> =>
  Object.fromEntries(
    Object.entries(given).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
  )

const RATE = headersOf({
  ratelimit: 'What is left of the quota: draft-ietf-httpapi-ratelimit-headers',
  'ratelimit-policy': 'The quota',
})

const WITH_RETRY: ReadonlySet<number> = new Set([429, 503])
const RETRY_AFTER = headersOf({ 'retry-after': 'Seconds until it may be tried again' })

/** The metadata that a schema has been given. */
const exampleOf = ({ schema, example }: Answer): unknown => example ?? (schema?.meta()?.example as unknown)

function successOf(answer: Answer, isLimited: boolean): object {
  const { description, schema, contentType = 'application/json', headers = {} } = answer
  const example = exampleOf(answer)
  const shape = schema ?? (contentType === '*/*' ? {} : { type: 'string' as const })
  const hasBody = schema !== undefined || answer.contentType !== undefined
  return {
    description,
    headers: { 'redrive-request-id': REQUEST_ID, ...headersOf(headers), ...(isLimited && RATE) },
    ...(hasBody && {
      content: {
        [contentType]: { schema: shape, ...(example !== undefined && { examples: { one: { value: example } } }) },
      },
    }),
  }
}

/** One answer for each status: its examples are the types that have it. */
function failuresOf(row: Route): Record<number, object> {
  const byStatus = new Map<number, ProblemType[]>()
  for (const type of problemsOf(row)) {
    const { status } = PROBLEMS[type]
    byStatus.set(status, [...(byStatus.get(status) ?? []), type])
  }
  const answers = [...byStatus].map(([status, types]): [number, object] => [
    status,
    {
      description: types.map((type) => PROBLEMS[type].title).join('; '),
      headers: {
        'redrive-request-id': REQUEST_ID,
        ...(WITH_RETRY.has(status) && RETRY_AFTER),
        ...(status === 429 && RATE),
        ...(status === 401 && headersOf({ 'www-authenticate': 'Bearer' })),
      },
      content: {
        [PROBLEM_JSON]: {
          schema: problemOut,
          examples: Object.fromEntries(types.map((type) => [type, { value: exampleProblem(type) }])),
        },
      },
    },
  ])
  return Object.fromEntries(answers)
}

function exampleProblem(type: ProblemType): object {
  const { status, title } = PROBLEMS[type]
  const detail = `${title}: what happened, and what to do`
  return { type: problemUri(type), title, status, detail, instance: 'req-8f2c0d19a4b7e653' }
}

const PARAMETERS: Readonly<
  Record<string, { readonly description: string; readonly example: string; readonly schema: object }>
> = {
  taskId: { description: 'The id of a task', example: TASK_ID, schema: { type: 'string', format: 'uuid' } },
  policyId: {
    description: 'The name of a policy',
    example: 'invoices',
    schema: { type: 'string', pattern: POLICY_ID.source },
  },
  operationId: { description: 'The id of an operation', example: 'redrive-6b86b273-1', schema: { type: 'string' } },
  pauseId: { description: 'The id of a pause', example: 'pause-9f86d081884c7d65', schema: { type: 'string' } },
}

function parametersOf({ path, headersIn = [], scope }: Route): object[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    ...PARAMETERS[name],
  }))
  const tenant = {
    name: 'Redrive-Tenant',
    description: 'For an admin token without a tenant: the one to act for',
    example: 'acme',
    pattern: TENANT_SHAPE.source,
  }
  const given: readonly HeaderIn[] = scope === null ? headersIn : [...headersIn, tenant]
  const inHeader = given.map(({ pattern, ...each }) => ({
    ...each,
    in: 'header',
    required: false,
    schema: { type: 'string', ...(pattern !== undefined && { pattern }) },
  }))
  return [...inPath, ...inHeader]
}

/** The whole document. `version`: of the service. */
export function openapiDocument(version: string): object {
  const app = new OpenAPIHono()
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', {
    type: 'http',
    scheme: 'bearer',
    description:
      'A token of the service, `rd_…`. Scopes: tasks:read, tasks:write, policies:write, metrics; admin includes them all.',
  })
  for (const row of routes) app.openAPIRegistry.registerPath(pathOf(row))
  const { webhooks: _, ...document } = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'redrive',
      version,
      description: ABOUT,
      contact: CONTACT,
      license: LICENSE as { name: string },
    },
    servers: [{ url: '/', description: 'This service' }],
    tags: TAGS,
  })
  return withParameters(document as unknown as OpenDocument)
}

type RouteConfig = Parameters<OpenAPIHono['openAPIRegistry']['registerPath']>[0]

function pathOf(row: Route): RouteConfig {
  const {
    method,
    path,
    operationId,
    tag,
    summary,
    description,
    scope,
    query,
    body,
    isBodyOptional,
    examples,
    answers,
  } = row
  const example = body?.meta()?.example as unknown
  const shown = examples ?? (example === undefined ? undefined : { one: example })
  const values = shown && Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, { value }]))
  const successes = Object.entries(answers).map(([status, answer]) => [status, successOf(answer, scope !== null)])
  return {
    method: method.toLowerCase() as 'get',
    path,
    operationId,
    tags: [tag],
    summary,
    description,
    security: scope === null ? [] : [{ token: [] }],
    request: {
      ...(query && { query: query as never }),
      ...(row.bytes !== undefined && {
        body: {
          // one of no bytes is a body, too
          required: false,
          content: {
            'application/octet-stream': { schema: { type: 'string', format: 'binary', description: row.bytes } },
          },
        },
      }),
      ...(body && {
        body: {
          required: !isBodyOptional,
          content: {
            'application/json': { schema: body as z.ZodType, ...(values && { examples: values }) },
            ...(row.lines && { [LINES_TYPE]: { schema: { type: 'string', description: ABOUT_LINES } } }),
          },
        },
      }),
    },
    responses: { ...failuresOf(row), ...Object.fromEntries(successes) },
  } as RouteConfig
}

interface OpenDocument {
  readonly paths: Record<string, Record<string, { parameters?: object[] }>>
}

/** Those of paths and headers are no matter of a schema: what breaks them is no 422. */
function withParameters(document: OpenDocument): object {
  for (const row of routes) {
    const operation = document.paths[row.path]?.[row.method.toLowerCase()]
    if (!operation) throw new Error(`openapi: ${row.method} ${row.path} is not in the document`)
    operation.parameters = [...parametersOf(row), ...(operation.parameters ?? [])]
  }
  return document
}
