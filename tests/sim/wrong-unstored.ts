/** What may be wrong with calls that no store has, on purpose, each in one way: what the checks are there to notice. */

import { StoreLoop } from '../../js/durable/store-loop.ts'
import { Admission } from '../../js/runner/admission.ts'
import { claiming, type Wrong } from './wrong.ts'
import { does } from './wrong-code.ts'

export const WRONG_UNSTORED: readonly Wrong[] = [
  {
    what: 'tasks in memory leave their room to stored ones',
    breaks: 'S7',
    breaking: claiming(() => ({ limit: 99, bounds: [] })),
  },
  {
    what: 'a wait that no stored task was asked for stays in its process',
    breaks: 'S9',
    breaking: does(StoreLoop.prototype, 'holdLane', () => {}),
  },
  {
    what: 'a call of an order is sent at once',
    breaks: 'S19',
    breaking: does(Admission.prototype, 'beforeSending', () => undefined),
  },
]
