/** The metrics, for both ways of printing them: names, meanings, and where their numbers come from. */

import type { Sample } from './series.ts'
import type { Watch } from './watch.ts'

export interface Family {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** How the workers of a cluster are put together. */
  readonly aggregator: 'sum' | 'max' | 'min'
  samples(): Sample[]
}

type Kind = Omit<Family, 'samples' | 'aggregator'> & {
  readonly aggregator?: Family['aggregator']
  of(watch: Watch, name: string): Iterable<Sample>
}

const one = (watch: Watch, name: string, value: number): Sample[] => [{ name, labels: watch.base, value }]

const KINDS: readonly Kind[] = [
  {
    name: 'retry_attempts_total',
    help: 'Requests sent, first attempts included, by how they ended.',
    type: 'counter',
    of: (watch, name) => watch.attempts.samples(name, watch.base),
  },
  {
    name: 'retry_retries_total',
    help: "Those of them that were sent after a task's first one.",
    type: 'counter',
    of: (watch, name) => watch.retries.samples(name, watch.base),
  },
  {
    name: 'retry_attempt_duration_seconds',
    help: 'From sending a request to the headers of its response, or to its failure.',
    type: 'histogram',
    of: (watch, name) => watch.durations.samples(name, watch.base),
  },
  {
    name: 'retry_task_age_seconds',
    help: 'From the call to the end of its task.',
    type: 'histogram',
    of: (watch, name) => watch.ages.samples(name, watch.base),
  },
  {
    name: 'retry_queue_depth',
    help: 'Tasks waiting or in flight.',
    type: 'gauge',
    of: (watch, name) => one(watch, name, watch.sum('depth')),
  },
  {
    name: 'retry_queue_capacity',
    help: 'The most tasks the queue holds.',
    type: 'gauge',
    of: (watch, name) => one(watch, name, watch.sum('capacity')),
  },
  {
    name: 'retry_dead_letters',
    help: 'Tasks that were given up and are kept.',
    type: 'gauge',
    of: (watch, name) => one(watch, name, watch.sum('deadLetters')),
  },
  {
    name: 'retry_circuit_state',
    help: 'The breaker of an origin: 0 closed, 1 half-open, 2 open.',
    type: 'gauge',
    aggregator: 'max',
    of: (watch, name) => byOrigin(watch, name, ({ state }) => state),
  },
  {
    name: 'retry_budget_tokens',
    help: 'What is left of the retry budget of an origin; none where it has no budget.',
    type: 'gauge',
    aggregator: 'min',
    of: (watch, name) => byOrigin(watch, name, ({ tokens }) => tokens),
  },
]

function byOrigin(watch: Watch, name: string, read: (row: Watch['origins'][number]) => number): Sample[] {
  const rows = watch.origins.map((row) => ({
    name,
    labels: { ...watch.base, origin: row.origin },
    value: read(row),
  }))
  // endless tokens are no budget
  return rows.filter(({ value }) => Number.isFinite(value))
}

/** `watches`: those there are when it is asked. */
export function familiesOf(watches: () => Iterable<Watch>): readonly Family[] {
  return KINDS.map(({ of, aggregator = 'sum', name, ...kind }) => ({
    ...kind,
    name,
    aggregator,
    samples: () => [...watches()].flatMap((watch) => [...of(watch, name)]),
  }))
}
