/** What judges are judged with: a lease and a request, each as if all had gone well, but for what is given. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Visit } from '../servers/start.mjs'
import { FOREVER } from './checks.ts'
import { type Evidence, judge } from './judge.ts'
import type { LeaseSpan } from './log.ts'

export const lease = (token: number, from: number, given: Partial<LeaseSpan> = {}): LeaseSpan => ({
  taskId: 't1',
  token,
  life: '0.1',
  from,
  lane: 'http://a',
  until: from + 1_000,
  settlingAt: from + 500,
  successAt: FOREVER,
  endedAt: FOREVER,
  answer: 'applied',
  waitsUntil: undefined,
  delayMs: undefined,
  isRefunded: false,
  ...given,
})

/** `by`: which life and lease it was sent under, or what else says who sent it. */
export const visit = (by: number | string, startedAt: number, given: Partial<Visit> = {}): Visit => ({
  intent: 'one',
  attempt: typeof by === 'number' ? by : 1,
  via: 'enqueue',
  by: typeof by === 'number' ? `0.1 ${by}` : by,
  method: 'POST',
  key: 'k',
  outcome: 'done',
  status: 200,
  startedAt,
  endedAt: startedAt + 400,
  retryAfterMs: null,
  ...given,
})

export const row = { intent: 'one', taskId: 't1', status: 'SUCCEEDED', attemptNumber: 1 }
export const COUNTS = { pending: 0, inFlight: 0, succeeded: 1, exhausted: 0, cancelled: 0, purged: 0 }

/** The labels of what an evidence breaks. */
export const brokenIn = (evidence: Evidence): string[] =>
  judge(evidence)
    .filter(({ ok }) => !ok)
    .map(({ label }) => label)

/** The judge is judged: what it must notice, each by itself, and what it must let pass. Facts are given beside those of `base`. */
export function judged<Facts>(
  broken: (given: Facts, base?: Facts) => readonly string[],
  notices: readonly (readonly [label: string, given: Facts, base?: Facts])[],
  passes: readonly (readonly [what: string, given: Facts, base?: Facts])[],
): void {
  describe('what it notices', () => {
    for (const [label, given, base] of notices) test(label, () => expect(broken(given, base)).toContain(label))
  })
  describe('what it lets pass', () => {
    for (const [what, given, base] of passes) test(what, () => expect(broken(given, base)).toEqual([]))
  })
}

/** A program under tests/ to its end. */
export async function finish(path: string, args: readonly string[]): Promise<{ code: number; output: string }> {
  const program = fileURLToPath(new URL(`../${path}`, import.meta.url))
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGTERM'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk))
  const [code] = await once(child, 'close')
  return { code: code as number, output }
}
