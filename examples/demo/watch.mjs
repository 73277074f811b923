/**
 * Follows the orders of `--service` from outside: the shop says which requests came and how each ended, the service which tasks are
 * over.
 */

const lookMs = 150
/** After so long without a change the story would never end. */
const stalledMs = 30_000

/** How a request is drawn, by what the shop says of it; all others had an answer, and failed. */
const bricks = {
  done: 'done',
  slow: 'done',
  repeated: 'done',
  reset_before: 'lost',
  reset_after: 'lost',
  caller_gone: 'lost',
}
const states = { SUCCEEDED: 'done', EXHAUSTED: 'dead', CANCELLED: 'dead' }

export class Watch {
  /** Orders that the service has accepted. */
  placed = new Set()
  /** All requests that the shop has seen, the earliest first. */
  visits = []
  #statuses = []
  #api
  #server
  #board

  constructor({ api, server, board }) {
    this.#api = api
    this.#server = server
    this.#board = board
  }

  /** Requests without an answer yet. */
  get flying() {
    return this.visits.filter(({ endedAt }) => endedAt === null).length
  }

  /** Orders of which the shop says that they are done. */
  get done() {
    return new Set(this.visits.filter(({ outcome }) => bricks[outcome] === 'done').map(({ intent }) => intent)).size
  }

  /** Tasks of which the service says that they have succeeded. */
  get succeeded() {
    return this.#statuses.filter((status) => status === 'SUCCEEDED').length
  }

  get isOver() {
    return this.#statuses.filter((status) => status in states).length === this.#board.calls.length
  }

  /** Requests that lost their caller, or came again although they were answered; each with the next one of its order. */
  get repeated() {
    const last = this.visits.filter(({ outcome }) => outcome === 'caller_gone' || bricks[outcome] === 'done')
    const pairs = last.map((visit) => [
      visit,
      this.visits.find(({ intent, attempt }) => intent === visit.intent && attempt === visit.attempt + 1),
    ])
    return pairs.filter(([{ outcome }, next]) => next || outcome === 'caller_gone')
  }

  /** Asks both, and draws what they say. */
  async look() {
    const [{ visits }, { tasks }] = await Promise.all([
      this.#server.report({ visits: true }),
      this.#api.call('GET', '/retry-tasks?limit=1000'),
    ])
    this.visits = visits
    this.#statuses = tasks.map(({ status }) => status)
    const statusOf = new Map(tasks.map(({ idempotencyKey, status }) => [idempotencyKey, status]))
    const piles = Map.groupBy(visits, ({ intent }) => intent)
    for (const intent of this.placed) {
      const pile = (piles.get(intent) ?? []).map(brickOf)
      const open = pile.at(-1) === 'flying' ? 'flying' : 'waiting'
      this.#board.seen(intent, pile, states[statusOf.get(intent)] ?? open)
    }
  }

  /** Looks until `isTrue`. Rejects when nothing has changed for too long. */
  async until(isTrue) {
    let before = ''
    for (let since = Date.now(); ; await new Promise((resolve) => setTimeout(resolve, lookMs))) {
      await this.look()
      if (isTrue(this)) return
      const now = JSON.stringify(this.#board.counts())
      if (now !== before) since = Date.now()
      before = now
      if (Date.now() - since > stalledMs) throw new Error(`nothing has changed for ${stalledMs / 1_000} s`)
    }
  }
}

const brickOf = ({ outcome, endedAt }) => (endedAt === null ? 'flying' : (bricks[outcome] ?? 'failed'))
