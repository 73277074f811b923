/** The state of the lab as one value, and as the fragment of a link that opens the same again. Links come from strangers, so each part is read with doubt. */

import { presets } from 'redrive'
import type { RetryPolicy } from 'redrive/core'

export const VIEWS = ['curve', 'crowd', 'frontier', 'outage'] as const
export type View = (typeof VIEWS)[number]

export const BACKLOGS = ['deep', 'short'] as const
export const OUTAGES = ['hanging', 'refusing'] as const
export const CALLS = ['enqueued', 'awaited'] as const
export const GATES = ['shipped', 'breaker-budget', 'breaker', 'budget', 'none'] as const

export interface OutageState {
  readonly clients: number
  /** Requests that the server can do in a second. */
  readonly capacity: number
  /** New calls, as a share of the capacity. */
  readonly load: number
  readonly outageMs: number
  readonly backlog: (typeof BACKLOGS)[number]
  readonly outage: (typeof OUTAGES)[number]
  readonly calls: (typeof CALLS)[number]
  readonly gates: (typeof GATES)[number]
}

export interface LabState {
  readonly view: View
  readonly policy: Partial<RetryPolicy>
  /** Laid over it, to compare. */
  readonly versus: Partial<RetryPolicy> | null
  /** A Retry-After as a server would send it; '': none. */
  readonly retryAfter: string
  readonly jobs: number
  readonly seed: number
  readonly outage: OutageState
}

export const FIRST_STATE: LabState = {
  view: 'curve',
  policy: presets.interactive,
  versus: null,
  retryAfter: '',
  jobs: 100,
  seed: 1,
  outage: {
    clients: 200,
    capacity: 1_000,
    load: 0.7,
    outageMs: 60_000,
    backlog: 'deep',
    outage: 'hanging',
    calls: 'enqueued',
    gates: 'shipped',
  },
}

/** The bounds of the numbers; the engine has the same. */
export const LIMITS = {
  jobs: [1, 1_000_000],
  seed: [0, 4_294_967_295],
  clients: [1, 20_000],
  capacity: [50, 5_000],
  load: [0.05, 0.95],
  outageMs: [1_000, 600_000],
} as const

const PREFIX = '#redrive-curve?'

/** The fragment of a link to `state`: what is as at first is left out. */
export function fragmentOf(state: LabState): string {
  const { policy, versus, outage, ...rest } = state
  const pairs: [string, unknown][] = [
    ['policy', policy],
    ['versus', versus],
    ...Object.entries(rest),
    ...Object.entries(outage),
  ]
  const first: Record<string, unknown> = { ...FIRST_STATE, ...FIRST_STATE.outage, outage: FIRST_STATE.outage.outage }
  const said = pairs.filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(first[name]))
  const texts = said.map(([name, value]) => [name, typeof value === 'object' ? JSON.stringify(value) : String(value)])
  return PREFIX + new URLSearchParams(texts as [string, string][])
}

/** The state of a fragment; null: another program made it. What cannot be read stays as it is at first. */
export function stateOf(fragment: string): LabState | null {
  if (!fragment.startsWith(PREFIX)) return null
  const given = new URLSearchParams(fragment.slice(PREFIX.length))
  const number = (name: keyof typeof LIMITS, otherwise: number): number => {
    const text = given.get(name)
    const value = text === null || text === '' ? Number.NaN : Number(text)
    const [least, most] = LIMITS[name]
    return value >= least && value <= most ? value : otherwise
  }
  const word = <T extends string>(name: string, words: readonly T[], otherwise: T): T =>
    words.find((each) => each === given.get(name)) ?? otherwise
  const { outage, ...first } = FIRST_STATE
  return {
    view: word('view', VIEWS, first.view),
    policy: policyIn(given.get('policy')) ?? first.policy,
    versus: policyIn(given.get('versus')),
    retryAfter: (given.get('retryAfter') ?? '').slice(0, 100),
    jobs: Math.round(number('jobs', first.jobs)),
    seed: Math.round(number('seed', first.seed)),
    outage: {
      clients: Math.round(number('clients', outage.clients)),
      capacity: Math.round(number('capacity', outage.capacity)),
      load: number('load', outage.load),
      outageMs: Math.round(number('outageMs', outage.outageMs)),
      backlog: word('backlog', BACKLOGS, outage.backlog),
      outage: word('outage', OUTAGES, outage.outage),
      calls: word('calls', CALLS, outage.calls),
      gates: word('gates', GATES, outage.gates),
    },
  }
}

/** An object, or null. Whether it is a sound policy is for the core to say. */
function policyIn(text: string | null): Partial<RetryPolicy> | null {
  if (text === null || text.length > 10_000) return null
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null
  } catch {
    // a link that was cut, or written by hand: the lab opens with its own policy
    return null
  }
}
