import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { openapiDocument } from '../../../../js/service/api/openapi.ts'
import { PROBLEMS, problemUri } from '../../../../js/service/api/problem.ts'
import { problemsOf } from '../../../../js/service/api/route.ts'
import { endpointRows, routes } from '../../../../js/service/api/routes.ts'
import { setup } from './setup.ts'

interface Media {
  readonly schema: object
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
}

interface Response {
  readonly description: string
  readonly headers: Readonly<Record<string, object>>
  readonly content?: Readonly<Record<string, Media>>
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  readonly security: readonly object[]
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required: boolean
    readonly schema: object
  }[]
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, Response>>
}

interface Document {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}

const document = openapiDocument('0.4.0') as Document

/** A schema of the document, with what it refers to in it, as zod reads it. */
const readable = (schema: object): z.ZodType => z.fromJSONSchema({ ...inlined(schema) } as z.core.JSONSchema.JSONSchema)

function inlined(part: unknown): object {
  if (Array.isArray(part)) return part.map(inlined)
  if (typeof part !== 'object' || part === null) return part as never
  const { $ref } = part as { readonly $ref?: string }
  if ($ref !== undefined) return inlined(document.components.schemas[$ref.replace('#/components/schemas/', '')])
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, inlined(value)]))
}

const operations = routes.map(
  (row) => [row, document.paths[row.path]?.[row.method.toLowerCase()] as Operation] as const,
)

test('the document is what is served, and every route is in it', async () => {
  const { api, ask } = await setup({ sends: false })
  expect((await ask('GET', '/openapi.json')).json).toEqual(JSON.parse(JSON.stringify(api.openapi())))
  expect(document.openapi).toBe('3.1.0')
  const count = Object.values(document.paths).flatMap((path) => Object.keys(path)).length
  expect(count).toBe(routes.length)
  expect(new Set(routes.map(({ operationId }) => operationId)).size).toBe(routes.length)
})

test('the document is written as JSON once', async () => {
  const { ask } = await setup({ sends: false })
  const stringify = vi.spyOn(JSON, 'stringify')
  onTestFinished(() => stringify.mockRestore())
  const first = await ask('GET', '/openapi.json')
  expect((await ask('GET', '/openapi.json')).json).toEqual(first.json)
  expect(stringify.mock.calls.filter(([value]) => value?.openapi !== undefined)).toHaveLength(1)
})

test.for(operations.map(([row, operation]) => [row.operationId, row, operation] as const))(
  '%s says all of its answers, and its examples are right',
  ([, row, operation]) => {
    expect(operation).toMatchObject({ operationId: row.operationId, tags: [row.tag] })
    for (const text of [operation.summary, operation.description]) expect(text.length).toBeGreaterThan(10)
    expect(operation.security).toEqual(row.scope === null ? [] : [{ token: [] }])
    const statuses = [...Object.keys(row.answers), ...problemsOf(row).map((type) => String(PROBLEMS[type].status))]
    expect(Object.keys(operation.responses).sort()).toEqual([...new Set(statuses)].sort())
    const media: Media[] = Object.values(operation.requestBody?.content ?? {})
    for (const { description, headers, content } of Object.values(operation.responses)) {
      expect(description).not.toBe('')
      expect(headers).toHaveProperty('redrive-request-id')
      media.push(...Object.values(content ?? {}))
    }
    for (const { schema, examples = {} } of media) {
      for (const { value } of Object.values(examples)) {
        expect([value, readable(schema).safeParse(value).error?.issues]).toEqual([value, undefined])
      }
    }
    const inPath = [...row.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    const required = (operation.parameters ?? []).filter((each) => each.in === 'path' && each.required)
    expect(required.map(({ name }) => name)).toEqual(inPath)
  },
)

test('every JSON that comes in or goes out has an example, and those of the table pass its schemas', () => {
  for (const [row, operation] of operations) {
    for (const [status, { content = {} }] of Object.entries(operation.responses)) {
      for (const [type, { examples }] of Object.entries(content)) {
        if (/json$/.test(type)) expect([row.operationId, status, Object.keys(examples ?? {}).length]).not.toContain(0)
      }
    }
    if (row.body) {
      const { examples = {} } = operation.requestBody?.content['application/json'] ?? {}
      expect([row.operationId, Object.keys(examples).length]).not.toContain(0)
      for (const { value } of Object.values(examples)) expect(row.body.safeParse(value).success).toBe(true)
    }
    for (const { schema, example } of Object.values(row.answers)) {
      const shown = example ?? schema?.meta()?.example
      if (schema && shown !== undefined) expect(schema.safeParse(shown).error?.issues).toBeUndefined()
    }
  }
})

test('the examples of tasks that the document gives are taken as they are', async () => {
  const { ask } = await setup({ sends: false })
  const { content = {} } = document.paths['/retry-tasks']?.post?.requestBody ?? {}
  const { examples = {} } = content['application/json'] ?? {}
  expect(Object.keys(examples)).toHaveLength(3)
  for (const { value } of Object.values(examples)) {
    expect((await ask('POST', '/retry-tasks', { body: value })).status).toBe(201)
  }
})

test('problems have one title each, and a name that is a URN', () => {
  const kinds = Object.entries(PROBLEMS)
  expect(new Set(kinds.map(([, { title }]) => title)).size).toBe(kinds.length)
  expect(problemUri('not-found')).toBe('urn:redrive:problem:not-found')
  for (const [type] of kinds) expect(type).toMatch(/^[a-z-]+$/)
})

test('the rows of the documentation are those of the table', () => {
  const rows = endpointRows()
  expect(rows).toHaveLength(routes.length)
  expect(rows).toContainEqual({
    method: 'DELETE',
    path: '/retry-tasks/{taskId}',
    tag: 'Tasks',
    summary: 'Cancels a task',
    scope: 'tasks:write',
    answers: [
      { status: 200, description: 'It is cancelled' },
      { status: 202, description: 'An attempt is under way: its end was asked for' },
    ],
    problems: [
      { status: 404, type: 'not-found' },
      { status: 409, type: 'already-ended' },
    ],
  })
})

test('the document and the service agree about what an origin is', async () => {
  const { ask } = await setup({ sends: false })
  const parameters = document.paths['/dead-letters']?.get?.parameters ?? []
  const schema = readable(parameters.find(({ name }) => name === 'origin')?.schema ?? {})
  const judged = async (origin: string) => {
    const { status } = await ask('GET', `/dead-letters?origin=${encodeURIComponent(origin)}`)
    return [origin, schema.safeParse(origin).success, status]
  }
  const good =
    'http://a.test http://a.test:443 https://a.test:80 https://a.test:1 https://a.test:65535 https://a.test:10080 ' +
    'http://127.0.0.1:8080 http://[::1]:59999 https://xn--bcher-kva.test'
  for (const origin of good.split(' ')) expect(await judged(origin)).toEqual([origin, true, 200])
  const bad =
    'http://a.test:80 https://a.test:443 http://[::1]:80 https://a.test:65536 http://[::1]:90521 https://a.test:099 ' +
    'https://a.test: https://a.test/ https://A.test https://u@a.test ftp://a.test'
  for (const origin of bad.split(' ')) expect(await judged(origin)).toEqual([origin, false, 400])
})
