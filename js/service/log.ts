/** The log of a service: one line an entry, JSON for machines, text for people. */

import type { Clock } from 'redrive'
import type { ServiceLogEntry } from './service-options.ts'

const RANKS = { debug: 0, info: 1, warn: 2, error: 3 } as const

export interface LogOptions {
  readonly level: keyof typeof RANKS
  readonly format: 'json' | 'text'
  write(line: string): void
  /** Epoch ms. */
  now(): number
}

/** Requests of probes and scrapers come each second, and say nothing while they are answered. */
const isRoutine = ({ event, route, status }: ServiceLogEntry): boolean =>
  event === 'request' && ['/healthz', '/readyz', '/metrics'].includes(String(route)) && status === 200

export function makeLog({ level, format, write, now }: LogOptions): (entry: ServiceLogEntry) => void {
  return (entry) => {
    const rank = isRoutine(entry) ? RANKS.debug : RANKS[entry.level]
    if (rank < RANKS[level]) return
    const at = new Date(now()).toISOString()
    write(format === 'json' ? `${JSON.stringify({ at, ...entry })}\n` : `${textOf(at, entry)}\n`)
  }
}

function textOf(at: string, { level, event, ...fields }: ServiceLogEntry): string {
  const mark = level === 'info' || level === 'debug' ? '' : `${level.toUpperCase()} `
  const words = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : `${name}=${quoted(value)}`,
  )
  return `${at.slice(11, 23)} ${mark}${event} ${words.join(' ')}`.trimEnd()
}

/** Line ends in a value would begin a line that was never logged. */
function quoted(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined')
  return /^[\w./:@{}*+-]+$/.test(text) ? text : JSON.stringify(text)
}

type Report = (name: string, message: string) => void

/** Tells one thing of a name once a minute: a thousand attempts in that time fail for the same cause. */
export function oncePerMinute(clock: Clock, tell: Report): Report {
  const lastAt = new Map<string, number>()
  return (name, why) => {
    const now = clock.monotonic()
    const key = `${name} ${why}`
    const last = lastAt.get(key)
    if (last !== undefined && now - last < 60_000) return
    if (lastAt.size > 1_000) lastAt.clear()
    lastAt.set(key, now)
    tell(name, why)
  }
}
