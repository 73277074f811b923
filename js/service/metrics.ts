/**
 * The numbers of a service for Prometheus: those of its queue, of its API, of its store and of what it refused to send to. Only routes,
 * methods, statuses, codes and rules are labels: no URL, no key, no id (S12).
 */

import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { RetryQueue } from 'redrive'
import { registerMetrics } from 'redrive/prometheus'
import type { AnsweredRequest } from './api/context.ts'
import type { CallbackOutcome } from './callbacks.ts'
import type { Filling } from './fullness.ts'
import type { StoreWatch } from './watched-store.ts'

/** Seconds: a store answers in less than a millisecond, a route in a few. */
const STORE_SECONDS = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5]
/**
 * Seconds. Stores count whole milliseconds, so the first bucket is what was claimed in the very millisecond in which it was due. On an idle
 * machine a task starts a few milliseconds late, and behind a limit or a hold much later.
 */
const LATE_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 5, 60]
const CLAIMED = [0, 1, 2, 4, 8, 16, 32, 64]
const HTTP_SECONDS = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60]

export class ServiceMetrics implements Omit<StoreWatch, 'untold'> {
  readonly #register = new Registry()
  readonly #requests: Counter
  readonly #durations: Histogram
  readonly #calls: Histogram
  readonly #errors: Counter
  readonly #claimed: Histogram
  readonly #lateness: Histogram
  readonly #refused: Counter
  readonly #callbacks: Counter
  readonly #untold: Gauge
  readonly #untoldIn: number[] = []
  readonly #used: Gauge
  readonly #limit: Gauge

  constructor(version: string) {
    const registers = [this.#register]
    const route = ['route', 'method', 'status']
    this.#requests = new Counter({
      name: 'redrive_http_requests_total',
      help: 'Requests answered.',
      labelNames: route,
      registers,
    })
    this.#durations = new Histogram({
      name: 'redrive_http_request_duration_seconds',
      help: 'From the headers of a request to the headers of its answer.',
      labelNames: ['route', 'method'],
      buckets: HTTP_SECONDS,
      registers,
    })
    this.#calls = new Histogram({
      name: 'redrive_store_call_duration_seconds',
      help: 'From a call of the store to its answer.',
      labelNames: ['call'],
      buckets: STORE_SECONDS,
      registers,
    })
    this.#errors = new Counter({
      name: 'redrive_store_errors_total',
      help: 'Calls of the store that failed.',
      labelNames: ['call', 'code'],
      registers,
    })
    this.#claimed = new Histogram({
      name: 'redrive_turn_claimed',
      help: 'Tasks that a turn of the store has claimed, of turns that had room.',
      buckets: CLAIMED,
      registers,
    })
    this.#lateness = new Histogram({
      name: 'redrive_lateness_seconds',
      help: 'From when the wait of a task was over to its claim: by what the machine, limits, holds and orders make it late.',
      buckets: LATE_SECONDS,
      registers,
    })
    this.#refused = new Counter({
      name: 'redrive_target_refused_total',
      help: 'Targets that were refused, when a task came or when it was to be sent, by the rule.',
      labelNames: ['rule'],
      registers,
    })
    this.#callbacks = new Counter({
      name: 'redrive_callbacks_total',
      help: 'Ends of tasks that were to be reported: stored as a callback, not wanted by it, not reported yet for want of room, or unreadable.',
      labelNames: ['outcome'],
      registers,
    })
    this.#untold = new Gauge({
      name: 'redrive_untold',
      help: 'Ends of tasks that are to be reported, as the last turn or look has counted them.',
      registers,
    })
    const filling = { labelNames: ['partition', 'resource'], registers }
    this.#used = new Gauge({
      name: 'redrive_store_used',
      help: 'What is used of a store, as of the last look: tasks held, body_bytes, ended_tasks, disk_bytes or memory_bytes.',
      ...filling,
    })
    this.#limit = new Gauge({
      name: 'redrive_store_limit',
      help: 'Where new tasks are refused, of what redrive_store_used counts. Ended tasks have none: they give way.',
      ...filling,
    })
    const build = new Gauge({
      name: 'redrive_build_info',
      help: 'The version that runs.',
      labelNames: ['version'],
      registers,
    })
    build.set({ version }, 1)
  }

  /** Adds the families of the queues. Of several each series says whose it is. */
  watch(queues: readonly RetryQueue[]): void {
    const [only] = queues
    registerMetrics(queues.length === 1 && only ? only : queues, { register: this.#register })
  }

  answered({ route, method, status, ms }: AnsweredRequest): void {
    // a route that there is none of has no name, and strangers choose methods
    const known = route === '' ? 'none' : route
    const verb = route === '' ? 'other' : method
    this.#requests.inc({ route: known, method: verb, status: String(status) })
    this.#durations.observe({ route: known, method: verb }, ms / 1_000)
  }

  storeCalled(call: string, ms: number, code: string | undefined): void {
    this.#calls.observe({ call }, ms / 1_000)
    if (code !== undefined) this.#errors.inc({ call, code })
  }

  claimed(lateMs: readonly number[]): void {
    this.#claimed.observe(lateMs.length)
    for (const ms of lateMs) this.#lateness.observe(ms / 1_000)
  }

  /** `n`: the number of the store, from 0 on. */
  untold(n: number, count: number): void {
    this.#untoldIn[n] = count
    this.#untold.set(this.#untoldIn.reduce((sum, one) => sum + one, 0))
  }

  /** In all stores, after a look. */
  leftUntold(count: number): void {
    this.#untoldIn.fill(0)
    this.untold(0, count)
  }

  filled(n: number, { resource, used, limit }: Filling): void {
    const labels = { partition: String(n), resource }
    this.#used.set(labels, used)
    if (limit === undefined) this.#limit.remove(labels)
    else this.#limit.set(labels, limit)
  }

  told(outcome: CallbackOutcome): void {
    this.#callbacks.inc({ outcome })
  }

  refused(rule: string): void {
    this.#refused.inc({ rule })
  }

  /** Prometheus' text format 0.0.4. */
  text(): Promise<string> {
    return this.#register.metrics()
  }
}
