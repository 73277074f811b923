/**
 * The configuration file: `redrive.config.json`, or `redrive.config.mjs` whose default export is the same object. It is read whole before
 * anything is opened, and a key that is unknown is refused: a setting that was misspelt would otherwise be a default.
 */

import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { JITTERS, STRATEGIES } from 'redrive/internal'
import type { AnyTable } from './flag.ts'
import { FLAGS } from './flags.ts'
import { reasonOf, UsageError } from './io.ts'
import { faultIn } from './json-fault.ts'
import type { JsonSchema } from './kinds.ts'
import { suggestion } from './nearest.ts'
import type { FileValues } from './read-flags.ts'

const NAMES = ['redrive.config.json', 'redrive.config.mjs'] as const

/** The file that `named` names, or the one in `cwd`. undefined: there is none. Throws a UsageError for one that cannot be read. */
export async function readConfig(cwd: string, named: string | undefined): Promise<FileValues | undefined> {
  const path = named === undefined ? found(cwd) : resolve(cwd, named)
  if (path === undefined) return undefined
  const name = named ?? basename(path)
  const values = /\.[cm]?js$/.test(path) ? await exported(path, name) : parsed(path, name)
  if (typeof values !== 'object' || values === null || Array.isArray(values)) {
    throw new UsageError(`${name}: expected an object with settings, such as { "store": "sqlite:redrive.db" }`)
  }
  const keys = keysInFile()
  for (const key of Object.keys(values)) {
    if (key !== '$schema' && !keys.includes(key)) {
      throw new UsageError(`${name}, ${key}: no such setting; ${suggestion(key, keys)}`)
    }
  }
  return { name, values: values as Readonly<Record<string, unknown>> }
}

const keysInFile = (): string[] =>
  Object.entries(FLAGS as AnyTable)
    .filter(([, { inFile }]) => inFile !== false)
    .map(([key]) => key)

function found(cwd: string): string | undefined {
  const there = NAMES.map((name) => resolve(cwd, name)).filter((path) => existsSync(path))
  if (there.length < 2) return there[0]
  throw new UsageError(`${NAMES.join(' and ')} are both here; keep one, or name one with --config`)
}

/** JSON that its user has written. `name` is what errors call it. */
export function parsed(path: string, name: string): unknown {
  const text = textOf(path, name).replace(/^\ufeff/, '')
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError(`${name}: not JSON (${faultIn(text)})`)
  }
}

function textOf(path: string, name: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(`${name}: cannot be read (${reasonOf(error)})`)
  }
}

async function exported(path: string, name: string): Promise<unknown> {
  try {
    // a module is loaded once for each address: one that has changed needs another
    const version = statSync(path).mtimeMs
    const module: { readonly default?: unknown } = await import(`${pathToFileURL(path).href}?v=${version}`)
    return module.default
  } catch (error) {
    throw new UsageError(`${name}: cannot be loaded (${reasonOf(error)})`)
  }
}

const TOKEN_SCHEMA: JsonSchema = {
  type: 'object',
  required: ['sha256', 'scopes'],
  additionalProperties: false,
  properties: {
    sha256: { type: 'string', pattern: '^[0-9a-fA-F]{64}$' },
    tenant: { type: ['string', 'null'] },
    scopes: {
      type: 'array',
      minItems: 1,
      items: { enum: ['tasks:read', 'tasks:write', 'policies:write', 'admin', 'metrics'] },
    },
    name: { type: 'string' },
    expiresAt: { type: ['integer', 'string'] },
  },
}

const MS: JsonSchema = { type: 'integer', minimum: 0 }
const POLICY_SCHEMA: JsonSchema = {
  type: 'object',
  required: ['policyId'],
  additionalProperties: false,
  properties: {
    policyId: { type: 'string' },
    strategy: { enum: STRATEGIES },
    maxAttempts: { type: 'integer', minimum: 1, maximum: 1_000_000 },
    initialDelayMs: MS,
    multiplier: { type: 'number', minimum: 1, maximum: 100 },
    maxDelayMs: MS,
    jitterType: { enum: JITTERS },
    jitterRatio: { type: 'number', minimum: 0, maximum: 1 },
    freshJitter: { type: 'number', minimum: 0, maximum: 0.5 },
    stepMs: MS,
    baseMs: MS,
    exponent: { type: 'number', minimum: 0, maximum: 8 },
    jitterMs: MS,
    delaysMs: { type: 'array', minItems: 1, maxItems: 1_000, items: MS },
    totalBudgetMs: MS,
    retryableStatusCodes: {
      anyOf: [{ const: 'broad' }, { type: 'array', items: { type: 'integer', minimum: 200, maximum: 599 } }],
    },
    expect: {
      type: 'object',
      additionalProperties: false,
      properties: {
        status: { type: 'array', items: { type: 'integer', minimum: 200, maximum: 399 } },
        contentType: { type: 'string' },
      },
    },
    retryNetworkErrors: { type: 'boolean' },
    retryTimeouts: { type: 'boolean' },
    attemptTimeoutMs: MS,
    estimatedCallMs: MS,
    maxRetryAfterMs: MS,
    keyTtlMs: { type: 'integer', minimum: 1 },
  },
}

const FROM: JsonSchema = { type: 'string', pattern: '^(env|file|exec):.+' }
const TENANTS: JsonSchema = {
  anyOf: [{ const: '*' }, { type: 'array', items: { type: ['string', 'null'], minLength: 1 } }],
}

const CREDENTIAL_SCHEMA: JsonSchema = {
  type: 'object',
  required: ['origins', 'headers'],
  additionalProperties: false,
  properties: {
    origins: { type: 'array', minItems: 1, items: { type: 'string', pattern: '^https?://' } },
    tenants: TENANTS,
    headers: {
      type: 'object',
      minProperties: 1,
      additionalProperties: {
        type: 'object',
        required: ['from'],
        additionalProperties: false,
        properties: { from: FROM, prefix: { type: 'string' } },
      },
    },
  },
}

const SIGNING_SCHEMA: JsonSchema = {
  type: 'object',
  required: ['keys'],
  additionalProperties: false,
  properties: {
    keys: {
      type: 'array',
      minItems: 1,
      items: { type: 'object', required: ['from'], additionalProperties: false, properties: { from: FROM } },
    },
    tenants: TENANTS,
  },
}

const BODY_SOURCE_SCHEMA: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  properties: { tenants: TENANTS },
}

const MOST = 1_000_000

const LIMIT_SCHEMA: JsonSchema = {
  type: 'object',
  minProperties: 1,
  additionalProperties: false,
  properties: {
    concurrency: { type: 'integer', minimum: 1, maximum: MOST },
    perSecond: { type: 'number', exclusiveMinimum: 0, maximum: MOST },
    burst: { type: 'integer', minimum: 1, maximum: MOST },
    sharedBy: { enum: ['origin', 'tenant'] },
  },
}

const TENANT_SCHEMA: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    capacity: { type: 'integer', minimum: 1, maximum: MOST },
    capacityBytes: { type: 'integer', minimum: 0 },
    targets: { type: 'array', items: { type: 'string', minLength: 1 } },
  },
}

/** The JSON Schema of the configuration file. */
export function schemaOfConfig(): JsonSchema {
  const settings = Object.entries(FLAGS as AnyTable)
    .filter(([, { inFile }]) => inFile !== false)
    .map(([key, { kind, help, default: standard }]) => [
      key,
      { description: help, ...kind.schema, ...(standard !== undefined && { default: standard }) },
    ])
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Configuration of redrive serve',
    type: 'object',
    additionalProperties: false,
    properties: { $schema: { type: 'string' }, ...Object.fromEntries(settings) },
    $defs: {
      token: TOKEN_SCHEMA,
      policy: POLICY_SCHEMA,
      credential: CREDENTIAL_SCHEMA,
      signing: SIGNING_SCHEMA,
      limit: LIMIT_SCHEMA,
      tenant: TENANT_SCHEMA,
      bodySource: BODY_SOURCE_SCHEMA,
    },
  }
}
