/**
 * Metrics of a queue for Prometheus: as text where there is no library for it, or in a register of prom-client. Both print the
 * same metrics. Nothing of prom-client is imported; the user passes its register.
 */

import { check, fn, follow, int, kind, object, type Rules } from '../options/check.ts'
import { internalsOf } from '../queue/internals.ts'
import type { RetryQueue } from '../queue/queue.ts'
import { type Family, familiesOf } from './prometheus/families.ts'
import { type Labels, Names } from './prometheus/series.ts'
import { Watch } from './prometheus/watch.ts'

export interface MetricsOptions {
  /**
   * Put on every series, beside what Prometheus itself knows of where they came from. Names of letters, digits and `_`;
   * not `outcome`, `policy`, `origin`, `le` or `queue`. @default none
   */
  readonly labels?: Readonly<Record<string, string>>
  /**
   * Origins with a series of their own. Of more, those whose breaker is not closed come first, then those with the most
   * tasks; the rest are `origin="other"`, which shows the worst of them. 1 to 10,000. @default 50
   */
  readonly maxOrigins?: number
  /** Policies with a series of their own, the queue's own first; all that come later are `policy="other"`. 1 to 1,000. @default 20 */
  readonly maxPolicies?: number
}

/** A register of prom-client, as far as it is used here. */
export interface MetricsRegister {
  registerMetric(metric: never): void
  removeSingleMetric(name: string): void
  getSingleMetric(name: string): unknown
}

export interface RegisterOptions extends MetricsOptions {
  /** The register whose `metrics()` shows them: prom-client's own `register`, or a `Registry` of yours. */
  readonly register: MetricsRegister
}

/** Queues that are counted. */
export interface Counted {
  /**
   * Counts one more, together with those of its name if an array was given, else with the first. Returns what takes it
   * off; its counts stay. RangeError where it is counted here already.
   */
  add(queue: RetryQueue): () => void
  /** Ends it all. */
  detach(): void
}

export interface QueueMetrics extends Counted {
  /** All metrics as they are now, in Prometheus' text format 0.0.4. */
  text(): string
  /** The `Content-Type` to answer with. */
  readonly contentType: string
}

const RULES: Rules<MetricsOptions> = { labels: object, maxOrigins: int(1, 10_000), maxPolicies: int(1, 1_000) }
const TAKEN = ['outcome', 'policy', 'origin', 'le', 'queue']
/** Names of queues with series of their own. */
const MAX_QUEUES = 100
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/**
 * The metrics of a queue as text, for a Worker or a server without prom-client. It counts from now on. Given an array, which
 * may be empty, each series says by `queue="<name>"` whose it is; beyond 100 names they are `other`. TypeError and RangeError name the option.
 *
 * ```ts
 * const metrics = metricsOf(queue)
 * // GET /metrics
 * new Response(metrics.text(), { headers: { 'content-type': metrics.contentType } })
 * ```
 */
export function metricsOf(queues: RetryQueue | readonly RetryQueue[], options: MetricsOptions = {}): QueueMetrics {
  check('metricsOf', options, RULES)
  const { families, add, detach } = counted('metricsOf', queues, options)
  return { text: () => families.map(exposed).join(''), contentType: CONTENT_TYPE, add, detach }
}

/**
 * Puts the same metrics into a register of prom-client; `detach()` takes them out. RangeError where the register has
 * metrics of these names already: one call takes all the queues it is to show, and `add` those that come later.
 *
 * ```ts
 * import { register } from 'prom-client'
 * registerMetrics(queue, { register })
 * ```
 */
export function registerMetrics(queues: RetryQueue | readonly RetryQueue[], options: RegisterOptions): Counted {
  check('registerMetrics', options, { ...RULES, register: object })
  const { register } = options
  follow('registerMetrics.register', register, kind('object', 'a Registry of prom-client'))
  follow('registerMetrics.register.registerMetric', register.registerMetric, fn)
  const { families, add, detach } = counted('registerMetrics', queues, options)
  const taken = families.find(({ name }) => register.getSingleMetric(name))
  if (taken) {
    detach()
    const remedy = 'give one call all the queues, or each its own Registry'
    throw new RangeError(`registerMetrics.register: ${taken.name} is in it already; ${remedy}`)
  }
  const metrics = families.map(asMetric)
  for (const metric of metrics) register.registerMetric(metric as never)
  return {
    add,
    detach() {
      detach()
      for (const metric of metrics) {
        // OpenMetrics has prom-client rename them; it still keeps them by the first name
        if (register.getSingleMetric(metric.key) === metric) register.removeSingleMetric(metric.key)
      }
    },
  }
}

function counted(
  what: string,
  given: RetryQueue | readonly RetryQueue[],
  options: MetricsOptions,
): Counted & { readonly families: readonly Family[] } {
  const { labels = {}, maxOrigins = 50, maxPolicies = 20 } = options
  for (const [name, value] of Object.entries(labels)) {
    follow(`${what}.labels.${name}`, value, kind('string'))
    if (TAKEN.includes(name) || !/^[a-z_]\w*$/i.test(name) || name.startsWith('__')) {
      throw new RangeError(`${what}.labels.${name}: expected another name, of letters, digits and _`)
    }
  }
  const byName = Array.isArray(given)
  const watches = new Map<string, Watch>()
  const names = new Names(MAX_QUEUES)
  const add = (queue: RetryQueue): (() => void) => {
    internalsOf(queue, `${what}(queue)`)
    const name = byName ? names.of(queue.name) : ''
    const watch = watches.get(name) ?? new Watch(byName ? { ...labels, queue: name } : labels, maxPolicies, maxOrigins)
    const off = watch.add(queue)
    watches.set(name, watch)
    return off
  }
  const detach = () => {
    for (const watch of watches.values()) watch.detach()
  }
  const queues: readonly RetryQueue[] = byName ? given : [given]
  for (const queue of queues) add(queue)
  return { families: familiesOf(() => watches.values()), add, detach }
}

/** One family in the text format; without a sample only what it is. */
function exposed({ name, help, type, samples }: Family): string {
  const lines = samples().map((sample) => `${sample.name}${labelled(sample.labels)} ${numeral(sample.value)}\n`)
  return `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

function labelled(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value).replaceAll('"', '\\"')}"`)
  return pairs.length > 0 ? `{${pairs.join(',')}}` : ''
}

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')

const numeral = (value: number): string => String(value).replace('Infinity', '+Inf').replace('-+', '-')

/** The form in which prom-client asks its own metrics. */
function asMetric({ name, help, type, aggregator, samples }: Family) {
  const metric = {
    key: name,
    name,
    help,
    type,
    aggregator,
    async get() {
      const values = samples().map((sample) => ({
        labels: { ...sample.labels },
        value: sample.value,
        // of a counter it makes its own, which OpenMetrics has otherwise
        ...(type === 'histogram' ? { metricName: sample.name } : {}),
      }))
      return { name: metric.name, help, type, aggregator, values }
    },
    /** Counters never go back; the queue's are its life's. */
    reset() {},
  }
  return metric
}
