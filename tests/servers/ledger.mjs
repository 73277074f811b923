/**
 * What the server saw.
 *
 * The promises of a retrying client can only be checked from the other end of the wire, so this keeps every visit
 * and judges from the visits alone. Times are the server's own. A visit begins when its request line arrives and ends
 * just before the answer is handed to the socket: a client cannot react to an answer earlier than that, so two visits
 * that overlap here did overlap, and a gap measured here is never longer than the one the client kept.
 *
 * What it cannot see, and does not pretend to: whether a first attempt came from a caller or from a queue (the client
 * says so, `via`), and when a client has read an answer (a request may be on its way while a pause is announced).
 */

/** A client that counts whole milliseconds may be early by a part of one. */
const clockGrainMs = 1
/** What arrives this soon after a pause was announced may have been on its way already. */
const transitMs = 150
const doneOutcomes = new Set(['done', 'repeated'])
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

export class Ledger {
  #visits = []
  #attempts = new Map()
  #faults = new Map()
  #answers = new Map()
  #effects = new Map()
  #honoursKeys
  preflights = 0

  constructor({ honoursKeys = true } = {}) {
    this.#honoursKeys = honoursKeys
  }

  /** A request line has arrived; whose it is becomes known when its body has. */
  arrive(now) {
    const visit = { intent: null, attempt: 0, via: null, by: null, method: '', key: null }
    Object.assign(visit, { outcome: null, status: null, startedAt: now, endedAt: null, retryAfterMs: null })
    this.#visits.push(visit)
    return visit
  }

  identify(visit, { intent, via, by, method, key }) {
    const attempt = (this.#attempts.get(intent) ?? 0) + 1
    this.#attempts.set(intent, attempt)
    Object.assign(visit, { intent, attempt, via, by, method, key })
  }

  faultsOf(intent) {
    return this.#faults.get(intent) ?? 0
  }

  countFault(intent) {
    this.#faults.set(intent, this.faultsOf(intent) + 1)
  }

  /** Does the work once per key and keeps the answer; without a key it can only do it again. */
  perform(visit, fingerprint, work) {
    if (safeMethods.has(visit.method)) return { answer: work(0), repeated: false }
    const stored = visit.key === null || !this.#honoursKeys ? undefined : this.#answers.get(visit.key)
    if (stored && stored.fingerprint !== fingerprint) return { conflict: true }
    if (stored) return { answer: stored.answer, repeated: true }
    const effect = (this.#effects.get(visit.intent) ?? 0) + 1
    this.#effects.set(visit.intent, effect)
    const answer = work(effect)
    if (visit.key !== null) this.#answers.set(visit.key, { fingerprint, answer })
    return { answer, repeated: false }
  }

  /** To be called just before the answer leaves. A visit ends once: what comes later is the socket closing. */
  end(visit, now, outcome, status = null, retryAfterMs = null) {
    if (visit.endedAt === null) Object.assign(visit, { endedAt: now, outcome, status, retryAfterMs })
  }

  report(injectedKinds, { visits = false } = {}) {
    const seen = this.#visits.filter((visit) => visit.intent !== null)
    const intents = this.#byIntent(seen)
    const injected = seen.filter((visit) => injectedKinds.includes(visit.outcome))
    const asked = seen.filter((visit) => visit.retryAfterMs !== null)
    const undercut = intents.flatMap((intent) => intent.undercutMs)
    const writing = intents.filter((intent) => intent.writes)
    const fromQueue = seen.filter(queueMade)
    const doneAt = doneTimes(seen)
    return {
      intents: intents.length,
      attempts: seen.length,
      retries: seen.filter((visit) => visit.attempt > 1).length,
      preflights: this.preflights,
      injected: {
        total: injected.length,
        share: seen.length === 0 ? 0 : injected.length / seen.length,
        byKind: countBy(injected, (visit) => visit.outcome),
      },
      outcomes: countBy(seen, (visit) => visit.outcome ?? 'open'),
      keysPerIntent: spread(writing, (intent) => intent.keys.length),
      effectsPerIntent: spread(writing, (intent) => intent.effects),
      keylessWrites: seen.filter((visit) => visit.key === null && !safeMethods.has(visit.method)).length,
      retryAfter: {
        sent: asked.length,
        /** The same intent came again before its own pause was over. */
        undercut: undercut.length,
        worstUndercutMs: Math.max(0, ...undercut),
        /** Anything the queue sent while some answer had asked for a pause. */
        duringPause: fromQueue.filter((visit) => asked.some((pause) => insidePause(visit, pause))).length,
      },
      /** Sent for an intent that some answer had said was done. */
      afterDone: fromQueue.filter(({ intent, startedAt }) => startedAt >= doneAt.get(intent)).length,
      inFlight: {
        max: mostAtOnce(seen),
        queueMax: mostAtOnce(fromQueue),
        /** The same, without what was sent, or went on, for an intent that some answer had said was done. */
        placesMax: mostAtOnce(asPlaces(fromQueue, doneAt)),
        retriesMax: mostAtOnce(seen.filter((visit) => visit.attempt > 1)),
      },
      perIntent: intents,
      ...(visits ? { visits: seen } : {}),
    }
  }

  #byIntent(seen) {
    const groups = new Map()
    for (const visit of seen) {
      const group = groups.get(visit.intent)
      if (group) group.push(visit)
      else groups.set(visit.intent, [visit])
    }
    return Array.from(groups, ([intent, visits]) => ({
      intent,
      attempts: visits.length,
      writes: visits.some((visit) => !safeMethods.has(visit.method)),
      effects: this.#effects.get(intent) ?? 0,
      keys: [...new Set(visits.map((visit) => visit.key).filter((key) => key !== null))],
      undercutMs: undercuts(visits),
      outcomes: visits.map((visit) => visit.outcome ?? 'open'),
    }))
  }
}

/** What the queue itself sends: every retry, and first attempts that the client says were enqueued. */
function queueMade(visit) {
  return visit.attempt > 1 || visit.via === 'enqueue'
}

function insidePause(visit, pause) {
  const from = pause.endedAt + transitMs
  return visit.startedAt > from && visit.startedAt < pause.endedAt + pause.retryAfterMs - clockGrainMs
}

/** By how much each visit came before the end of the pause that the visit before it was told to make. */
function undercuts(visits) {
  return visits.flatMap((visit, at) => {
    const before = visits[at - 1]
    if (!before || before.retryAfterMs === null) return []
    const early = before.endedAt + before.retryAfterMs - visit.startedAt
    return early > clockGrainMs ? [early] : []
  })
}

/** When an answer first said that an intent is done, for those of which one did. */
function doneTimes(visits) {
  const times = new Map()
  for (const { intent, outcome, endedAt } of visits) {
    if (doneOutcomes.has(outcome)) times.set(intent, Math.min(endedAt, times.get(intent) ?? endedAt))
  }
  return times
}

/**
 * Visits as they take places of a queue. A success counts however late a process tells the store of it, and then it frees the place
 * of an attempt that another process has begun meanwhile (S4), which goes on until that one hears of it.
 */
function asPlaces(visits, doneAt) {
  return visits.map(({ intent, startedAt, endedAt }) => ({
    startedAt,
    endedAt: Math.max(
      startedAt,
      Math.min(endedAt ?? Number.POSITIVE_INFINITY, doneAt.get(intent) ?? Number.POSITIVE_INFINITY),
    ),
  }))
}

/** The most visits open at one moment; at equal times an end counts before a start. */
function mostAtOnce(visits) {
  const steps = visits.flatMap((visit) => [
    { at: visit.startedAt, by: 1 },
    { at: visit.endedAt ?? Number.POSITIVE_INFINITY, by: -1 },
  ])
  steps.sort((a, b) => a.at - b.at || a.by - b.by)
  let open = 0
  let most = 0
  for (const step of steps) {
    open += step.by
    most = Math.max(most, open)
  }
  return most
}

/** Least, most, and who is not at 1: the number every intent should have. */
function spread(intents, count) {
  const counts = intents.map(count)
  return {
    min: counts.length === 0 ? 0 : Math.min(...counts),
    max: Math.max(0, ...counts),
    notOne: intents.filter((_, at) => counts[at] !== 1).map(({ intent }) => intent),
  }
}

function countBy(list, key) {
  const counts = {}
  for (const item of list) counts[key(item)] = (counts[key(item)] ?? 0) + 1
  return counts
}
