/**
 * A process of the service is told to end while clients post to it over connections that they keep, some as fast as they can, and some now and
 * then. Each request has to get a whole answer, or to find no connection before anything of it was sent; and whatever was accepted has to be
 * there when another process opens the store.
 */

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chance } from '../options.ts'
import { wait } from '../runner.ts'
import { agentFor, ask, type Told } from './ask.ts'
import type { TaskRow } from './facts.ts'
import { Fleet, type Life } from './fleet.ts'

/** Posters, each with one request on its way at a time. */
const POSTERS = 16
/** Those that wait after each answer, with a connection of their own: it is idle when the process is told to end. */
const RESTING = 4
const REST_MS = 1_200
/** Longer than the process may take to end: no client gives up by itself. */
const PATIENCE_MS = 30_000
/** A task that comes due long after the run: nothing is sent. */
const LATER_MS = 3_600_000

export interface Farewell {
  /** Life of the process that was told to end, and how that went. */
  readonly code: number | null
  readonly signal: string | null
  readonly tookMs: number
  readonly requests: number
  /** Tasks of answers 201. */
  readonly accepted: readonly string[]
  /** Requests that got no whole answer, although they were sent: when, from the signal on, and why. */
  readonly cut: readonly string[]
  /** Answers that are neither 201 nor 'later', or that no client can read. */
  readonly strange: readonly string[]
  /** Requests that were told that the process stops. */
  readonly draining: number
  /** Accepted tasks that the next process does not know. */
  readonly lost: readonly string[]
}

export interface FarewellOptions {
  readonly folder: string
  readonly store: string
  /** From the first accepted task to the signal. */
  readonly afterMs: number
  readonly mutant?: string | undefined
}

export async function farewell({ folder, store, afterMs, mutant }: FarewellOptions): Promise<Farewell> {
  mkdirSync(folder, { recursive: true })
  const args = ['--store', store, '--log-format', 'json', '--drain', '5s']
  const fleet = new Fleet({ folder, args, mutant })
  const seen: { told: Told; at: number }[] = []
  try {
    fleet.start(0)
    await fleet.whenReady(1)
    const [life] = fleet.ready
    if (!life) throw new Error('no process is ready')
    let signalledAt = Number.POSITIVE_INFINITY
    const hear = (told: Told) => seen.push({ told, at: Date.now() })
    const random = chance(afterMs)
    const posters = [
      ...numbers(0, POSTERS).map((number) => post(life, number, { hear })),
      ...numbers(POSTERS, RESTING).map(async (number) => {
        const agent = agentFor()
        await post({ ...life, agent }, number, { hear, rest: () => wait(random() * REST_MS) })
        agent.destroy()
      }),
    ]
    await wait(afterMs)
    signalledAt = Date.now()
    await Promise.all([fleet.close(), ...posters])
    const [exit] = fleet.exits
    const accepted = seen.flatMap(({ told }) => taskIn(told) ?? [])
    return {
      ...{ code: exit?.code ?? null, signal: exit?.signal ?? null, tookMs: exit?.tookMs ?? 0 },
      ...{ requests: seen.length, accepted },
      cut: seen.flatMap(({ told, at }) => (told.kind === 'cut' ? [`${at - signalledAt} ms: ${told.message}`] : [])),
      strange: seen.flatMap(({ told }) => (isStrange(told) ? [JSON.stringify(told)] : [])),
      draining: seen.filter(({ told }) => told.kind === 'answered' && told.status === 503).length,
      lost: await missing(accepted, { folder, args }),
    }
  } finally {
    await fleet.end()
  }
}

const numbers = (from: number, count: number): readonly number[] => Array.from({ length: count }, (_, i) => from + i)

/** One request after the other, until a connection is refused. */
async function post(
  { url, agent }: Life,
  number: number,
  { hear, rest }: { readonly hear: (told: Told) => void; readonly rest?: () => Promise<void> },
): Promise<void> {
  for (let i = 0; ; i++) {
    const headers = { 'idempotency-key': `key-${number}-${i}` }
    const body = { targetUrl: 'http://127.0.0.1:9/work', json: { number, i }, delayMs: LATER_MS }
    const told = await ask(url, { method: 'POST', path: '/retry-tasks', headers, body }, agent, PATIENCE_MS)
    hear(told)
    if (told.kind !== 'answered') return
    await rest?.()
  }
}

function taskIn(told: Told): string | undefined {
  if (told.kind !== 'answered' || told.status !== 201) return undefined
  return (told.json as { readonly taskId: string }).taskId
}

function isStrange(told: Told): boolean {
  if (told.kind !== 'answered') return told.kind === 'late'
  const { taskId, type } = (told.json ?? {}) as { readonly taskId?: string; readonly type?: string }
  if (told.status === 201) return taskId === undefined
  return told.status !== 503 || type !== 'urn:redrive:problem:draining'
}

/** Asks a process that has just opened the store. */
async function missing(
  tasks: readonly string[],
  options: ConstructorParameters<typeof Fleet>[0],
): Promise<readonly string[]> {
  const fleet = new Fleet(options)
  try {
    fleet.start(1)
    await fleet.whenReady(1)
    const [life] = fleet.ready
    if (!life) throw new Error('no process is ready')
    const there = new Set<string>()
    for (let cursor = ''; ; ) {
      const path = `/retry-tasks?limit=1000${cursor && `&cursor=${encodeURIComponent(cursor)}`}`
      const told = await ask(life.url, { method: 'GET', path }, life.agent, PATIENCE_MS)
      if (told.kind !== 'answered' || told.status !== 200) throw new Error(`GET ${path}: ${JSON.stringify(told)}`)
      const page = told.json as { readonly tasks: readonly TaskRow[]; readonly cursor?: string }
      for (const { taskId } of page.tasks) there.add(taskId)
      if (page.cursor === undefined) return tasks.filter((id) => !there.has(id))
      cursor = page.cursor
    }
  } finally {
    await fleet.close()
    await fleet.end()
  }
}

export const storeIn = (folder: string): string => `sqlite:${join(folder, 'tasks.db')}`
