/**
 * The course of each call, by the queue's events: a pile of bricks per call, one brick per attempt.
 * Terminal and page draw the same piles; neither knows how they come about.
 *
 * Bricks: `flying` (no answer yet), `failed` (an answer that says try again), `lost` (no answer at all), `done`, `dead`.
 * States: `planned`, `flying`, `waiting`, `done`, `dead`.
 */
export class Board {
  #byIntent = new Map()
  #changed

  /** `enqueued`: all calls are, and not only one in three. */
  constructor(intents, { changed = () => {}, enqueued = false } = {}) {
    this.#changed = changed
    this.calls = intents.map((intent, at) => {
      const via = enqueued || at % 3 === 2 ? 'enqueue' : 'fetch'
      return { intent, via, state: 'planned', bricks: [], waitMs: 0 }
    })
    for (const call of this.calls) this.#byIntent.set(call.intent, call)
  }

  /** Follows a queue; the returned function stops that. */
  follow(queue) {
    const stops = [
      queue.on('queued', ({ task }) => {
        this.#tell(task, (call) => (task.attemptNumber === 0 ? putOff(call) : this.#firstFailed(queue, task, call)))
      }),
      queue.on('attempt', ({ task }) => this.#tell(task, (call) => takeOff(call))),
      queue.on('retry', ({ task, delayMs, log }) => {
        this.#tell(task, (call) => land(call, log.responseStatus === null ? 'lost' : 'failed', 'waiting', delayMs))
      }),
      queue.on('exhausted', ({ task }) => this.#tell(task, (call) => land(call, 'dead', 'dead'))),
      queue.on('cancelled', ({ task }) => this.#tell(task, (call) => land(call, 'dead', 'dead'))),
      queue.on('succeeded', ({ task }) => this.#tell(task, (call) => land(call, 'done', 'done'))),
    ]
    return () => {
      for (const stop of stops) stop()
    }
  }

  /** A fetched call is on its way at once, an enqueued one waits for its turn. */
  sent(intent) {
    const call = this.#byIntent.get(intent)
    if (call.via === 'fetch') takeOff(call)
    else Object.assign(call, { state: 'waiting', waitMs: 0 })
    this.#changed(call)
  }

  /** The caller has its answer. A call whose first attempt succeeds raises no event, so this may be all there is. */
  ended(intent, accepted) {
    const call = this.#byIntent.get(intent)
    land(call, accepted ? 'done' : 'dead', accepted ? 'done' : 'dead')
    this.#changed(call)
  }

  /** The process of the queue is gone: what it had in flight gets no answer. `isIts`: of several processes, the calls of the one. */
  interrupt(isIts = () => true) {
    for (const call of this.calls) {
      if (call.state !== 'flying' || !isIts(call)) continue
      land(call, 'lost', 'waiting')
      this.#changed(call)
    }
  }

  /** All that has happened to a call, as others have seen it. */
  seen(intent, bricks, state) {
    const call = this.#byIntent.get(intent)
    Object.assign(call, { bricks, state })
    this.#changed(call)
  }

  counts() {
    const counts = { planned: 0, waiting: 0, flying: 0, done: 0, dead: 0, attempts: 0, bricks: 0 }
    for (const { state, bricks } of this.calls) {
      counts[state] += 1
      counts.attempts += bricks.length
      counts.bricks = Math.max(counts.bricks, bricks.length)
    }
    return counts
  }

  /** The caller's own attempt has failed and become a task; how it failed stands in the task's log. */
  async #firstFailed(queue, task, call) {
    land(call, 'failed', 'waiting', Math.max(0, task.nextAttemptAt - Date.now()))
    const { attempts } = await queue.attempts(task.taskId)
    if (attempts[0]?.responseStatus !== null) return
    call.bricks[0] = 'lost'
    this.#changed(call)
  }

  #tell(task, change) {
    const call = this.#byIntent.get(new URL(task.targetUrl).searchParams.get('intent'))
    if (!call) return
    change(call)
    this.#changed(call)
  }
}

/** How much longer the queue keeps the pause that the server has asked for, in ms; 0: there is none. */
export function pauseLeftMs(queue) {
  const ends = Object.values(queue.stats().origins).map(({ heldUntilAt }) => heldUntilAt ?? 0)
  return Math.max(0, Math.max(0, ...ends) - Date.now())
}

function takeOff(call) {
  if (call.bricks.at(-1) !== 'flying') call.bricks.push('flying')
  call.state = 'flying'
}

/** Nothing was sent after all: the server has asked all clients for a pause. */
function putOff(call) {
  if (call.bricks.at(-1) === 'flying') call.bricks.pop()
  Object.assign(call, { state: 'waiting', waitMs: 0 })
}

function land(call, brick, state, waitMs = 0) {
  if (call.state === 'done' || call.state === 'dead') return
  if (call.bricks.at(-1) === 'flying') call.bricks[call.bricks.length - 1] = brick
  else if (brick === 'dead') call.bricks.push(brick)
  Object.assign(call, { state, waitMs })
}
