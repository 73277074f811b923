/** What judges are judged with: a lease and a request, each as if all had gone well, but for what is given. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Visit } from '../servers/start.mjs'
import { FOREVER } from './checks.ts'
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

/** A program under tests/ to its end. */
export async function finish(path: string, args: readonly string[]): Promise<{ code: number; output: string }> {
  const program = fileURLToPath(new URL(`../${path}`, import.meta.url))
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk))
  const [code] = await once(child, 'close')
  return { code: code as number, output }
}
