/** The API that these Workers call: what it fails with, and where one intent is. */

import { beforeEach } from 'vitest'
import { duringTests } from '../during.ts'
import { only } from '../servers/faults.mjs'
import { type FaultKind, type FaultOptions, type FlakyReport, type FlakyServer, startFlaky } from '../servers/start.mjs'

const calm: FaultOptions = { share: 0, latencyMs: [0, 1], slowShare: 0, slowMs: 0 }

/** Every intent fails so often in this way, then it works. */
export const failing = (times: number, kind: FaultKind = 'unavailable'): FaultOptions => ({
  ...calm,
  share: times > 0 ? 1 : 0,
  maxFaults: times,
  weights: only(kind),
})

export interface Api {
  readonly url: string
  readonly server: FlakyServer
  orders(intent: string): string
  fails(times: number, kind?: FaultKind): Promise<void>
  /** What it saw of one intent. */
  saw(intent: string): Promise<FlakyReport['perIntent'][number] | undefined>
}

/** One for all tests of a file, calm and empty before each. */
export function apiDuringTests(): Api {
  const server = duringTests(() => startFlaky({ faults: calm }))
  beforeEach(async () => {
    await server.reset()
    await server.configure(failing(0))
  })
  return {
    get url() {
      return server.url
    },
    server,
    orders: (intent) => `${server.url}/api/orders?intent=${intent}`,
    fails: async (times, kind) => void (await server.configure(failing(times, kind))),
    saw: async (intent) => (await server.report()).perIntent.find((each) => each.intent === intent),
  }
}

/** Waits that a test can live with. */
export const quick = {
  policyId: 'default',
  strategy: 'fixed',
  initialDelayMs: 20,
  jitterType: 'NONE',
  maxAttempts: 10,
} as const
/** Nothing that keeps a task from its next attempt but its own wait. */
export const noGates = { breaker: false, retryBudget: false } as const
/** A Worker that tries again here, whatever its other calls have met. */
export const patient = { policy: quick, retryBudget: false } as const
/** The first attempt is the only one in the Worker, which makes it whatever its other calls have met. */
export const atOnce = { ...patient, inlineAttempts: 1 } as const

export const order = (intent: string): Readonly<Record<string, unknown>> => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-correlation-id': `c-${intent}` },
  body: JSON.stringify({ intent }),
})

/** The 202 of a call that was handed over. */
export const taskOf = ({ body }: { readonly body: string }): string => JSON.parse(body).taskId
