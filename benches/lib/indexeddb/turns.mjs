// What a runner asks of the store again and again: settle what ended, claim as many anew.
import { claimOf, delivered } from '../tasks.mjs'
import { openStore } from './redrive.mjs'
import { newRequest, taskFor } from './requests.mjs'

const EACH = 3
const OWNER = 'bench'
let store
let claimed = []

/** Milliseconds of each of `count` turns. Between them, and not timed, as many tasks come in as go out: the number that waits is the same at each. */
export async function turns(count) {
  store ??= openStore()
  const took = []
  for (let i = 0; i < count; i++) {
    await store.enqueue(Array.from({ length: EACH }, () => taskFor(newRequest())))
    const step = { owner: OWNER, settle: delivered(claimed), renew: [], claim: claimOf({ limit: EACH }) }
    const start = performance.now()
    const turn = await store.turn(step)
    const ms = performance.now() - start
    if (turn.claimed.length !== EACH) throw new Error(`claimed ${turn.claimed.length} tasks`)
    if (step.settle.length === EACH) took.push(ms)
    claimed = turn.claimed
  }
  return took
}
