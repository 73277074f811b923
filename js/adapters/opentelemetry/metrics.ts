/**
 * The queue in numbers: each attempt in a histogram by the semantic conventions, the rest read from `stats()` at each
 * collection. The number of series is bounded: an origin has its own while there are few.
 */

import type { Attributes, BatchObservableResult, Histogram, Meter, Observable } from '@opentelemetry/api'
import type { CircuitState } from '../../api/task.ts'
import type { Finished } from '../../call/attempt.ts'
import type { Call } from '../../call/call.ts'
import type { RetryQueue } from '../../queue/queue.ts'
import { answerAttributes, methodOf, type Server, serverOf } from './span.ts'

/** The semantic conventions' advice for `http.client.request.duration`. */
const BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
/** The worse the higher. */
const CIRCUIT: Readonly<Record<CircuitState, number>> = { CLOSED: 0, HALF_OPEN: 1, OPEN: 2 }
const OTHER: Server = { 'server.address': 'other' }

export class Metrics {
  readonly #queue: RetryQueue
  readonly #meter: Meter
  readonly #maxOrigins: number
  readonly #servers = new Map<string, Server>()
  readonly #duration: Histogram
  readonly #depth: Observable
  readonly #capacity: Observable
  readonly #deadLetters: Observable
  readonly #tasks: Observable
  readonly #circuit: Observable
  readonly #observed: Observable[]
  readonly #observe = (result: BatchObservableResult): void => this.#read(result)

  constructor(queue: RetryQueue, meter: Meter, maxOrigins: number) {
    this.#queue = queue
    this.#meter = meter
    this.#maxOrigins = maxOrigins
    this.#duration = meter.createHistogram('http.client.request.duration', {
      description: 'Duration of HTTP client requests, to the headers of the answer.',
      unit: 's',
      advice: { explicitBucketBoundaries: BUCKETS_S },
    })
    const gauge = (name: string, description: string, unit = '{task}') =>
      meter.createObservableGauge(name, { description, unit })
    this.#depth = gauge('redrive.queue.depth', 'Tasks that wait or are in flight.')
    this.#capacity = gauge('redrive.queue.capacity', 'Tasks that the queue can hold.')
    this.#deadLetters = gauge('redrive.dead_letters', 'Tasks that were given up and are kept.')
    this.#circuit = gauge('redrive.circuit.state', 'Circuit breaker: 0 closed, 1 half-open, 2 open.', '1')
    this.#tasks = meter.createObservableCounter('redrive.tasks', {
      description: 'Tasks that ended here, by how.',
      unit: '{task}',
    })
    this.#observed = [this.#depth, this.#capacity, this.#deadLetters, this.#tasks, this.#circuit]
    meter.addBatchObservableCallback(this.#observe, this.#observed)
  }

  attempt(call: Call, finished: Finished): void {
    this.#duration.record(finished.durationMs / 1_000, {
      'http.request.method': methodOf(call),
      ...this.#serverOf(call.origin),
      ...answerAttributes(finished),
    })
  }

  end(): void {
    this.#meter.removeBatchObservableCallback(this.#observe, this.#observed)
  }

  #read(result: BatchObservableResult): void {
    const stats = this.#queue.stats({ allPrincipals: true })
    const queue: Attributes = { 'redrive.queue': this.#queue.name }
    result.observe(this.#depth, stats.depth, queue)
    result.observe(this.#capacity, stats.capacity, queue)
    result.observe(this.#deadLetters, stats.deadLetters, queue)
    for (const outcome of ['succeeded', 'exhausted', 'cancelled'] as const) {
      result.observe(this.#tasks, stats[outcome], { ...queue, 'redrive.outcome': outcome })
    }
    // of those that share a series the worst
    const worst = new Map<Server, number>()
    for (const [origin, { circuit }] of Object.entries(stats.origins)) {
      const server = this.#serverOf(origin)
      worst.set(server, Math.max(worst.get(server) ?? 0, CIRCUIT[circuit]))
    }
    for (const [server, state] of worst) result.observe(this.#circuit, state, { ...queue, ...server })
  }

  #serverOf(origin: string): Server {
    const known = this.#servers.get(origin)
    if (known) return known
    if (this.#servers.size >= this.#maxOrigins) return OTHER
    const server = serverOf(origin)
    this.#servers.set(origin, server)
    return server
  }
}
