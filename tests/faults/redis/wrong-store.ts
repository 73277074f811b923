/** Stores that are wrong on purpose, in what they do and not in what they say. */

import type { Step, TaskStore } from '../../../js/api/store.ts'
import type { Break } from './options.ts'

export function wrongStore(store: TaskStore, breaks: Break | undefined): TaskStore {
  const wrong = breaks === undefined ? undefined : WRONG[breaks]
  if (!wrong) return store
  return Object.defineProperties({} as TaskStore, {
    ...Object.getOwnPropertyDescriptors(store),
    turn: { value: (step: Step) => store.turn(wrong(step)) },
  })
}

const MANY = 1_000

const WRONG: Partial<Record<Break, (step: Step) => Step>> = {
  'no-limit': (step) => ({
    ...step,
    claim: step.claim && { ...step.claim, total: MANY, perLane: MANY },
  }),
  'no-wait': (step) => ({
    ...step,
    settle: step.settle.map((settlement) =>
      settlement.next.kind === 'retry' ? { ...settlement, next: { ...settlement.next, delayMs: 0 } } : settlement,
    ),
  }),
}
