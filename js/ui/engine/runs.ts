/** A request at work in the module: begun, continued slice by slice, asked for what is known, freed. */

import type { Lab, LabCrowd, LabFrontier, LabOutage } from './lab.ts'
import type {
  CrowdAnswer,
  CrowdRequest,
  FrontierAnswer,
  FrontierRequest,
  FrontierRow,
  OutageAnswer,
  OutageRequest,
  RetryFigures,
} from './model.ts'
import type { AnswerOf, Asked, Kind, PartialOf } from './protocol.ts'

export interface Run {
  /** Goes on for so many ms, or one or two more; true: it is done. */
  advance(clock: Performance, ms: number): boolean
  /** In [0, 1]; may fall. */
  share(): number
  /** The part of the answer that is known, where there is more of it than the last time. */
  partial(): PartialOf<Kind> | undefined
  answer(): AnswerOf<Kind>
  free(): void
}

/** Begins what is asked for; throws what `Lab.start` throws. */
export function startRun(lab: Lab, asked: Asked): Run {
  if (asked.kind === 'crowd') return crowd(lab, asked.request)
  if (asked.kind === 'frontier') return frontier(lab, asked.request)
  return outage(lab, asked.request)
}

const orNull = (number: number): number | null => (Number.isNaN(number) ? null : number)

/** So many numbers of a list that the module gave by name and in this order. */
function numbers<N extends number>(list: Float64Array, count: N): Tuple<N> {
  if (list.length !== count) throw new TypeError(`expected ${count} figures of the module, got ${list.length}`)
  return [...list] as Tuple<N>
}
type Tuple<N extends number, T extends readonly number[] = []> = T['length'] extends N ? T : Tuple<N, [...T, number]>

function crowd(lab: Lab, { fields, jobs, retries, seed, width, height, dotsMax }: CrowdRequest): Run {
  const hasTimes = jobs * retries <= dotsMax
  const size = hasTimes ? ([0, 0] as const) : ([width, height] as const)
  const run: LabCrowd = lab.start((glue) => new glue.LabCrowd(fields, jobs, retries, seed, ...size))
  const answer = (): CrowdAnswer => {
    const [endMs, waitCv, idle, peak, peakCount, meanCount, binMs, loadCv] = numbers(run.figures(), 8)
    return {
      endMs,
      times: hasTimes ? run.times() : null,
      raster: hasTimes ? null : run.raster(),
      retries: retriesOf(run.retries()),
      waitCv,
      idle,
      peak,
      peakCount,
      meanCount,
      binMs,
      loadCv: orNull(loadCv),
      bins: run.bins(),
    }
  }
  return {
    advance: (clock, ms) => lab.ask(() => run.advance(clock, ms)),
    share: () => lab.ask(() => run.share()),
    partial: () => undefined,
    answer: () => lab.ask(answer),
    free: () => lab.end(run),
  }
}

function retriesOf(list: Float64Array): RetryFigures[] {
  return Array.from({ length: list.length / 5 }, (_, i) => {
    const [firstMs, meanMs, lastMs, meanWaitMs, waitCv] = numbers(list.subarray(i * 5, i * 5 + 5), 5)
    return { retry: i + 1, firstMs, meanMs, lastMs, meanWaitMs, waitCv }
  })
}

function frontier(lab: Lab, { fields, crowds, seed }: FrontierRequest): Run {
  const run: LabFrontier = lab.start((glue) => new glue.LabFrontier(fields ?? new Float64Array(), crowds, seed))
  const rows: FrontierRow[] = []
  let told = 0
  /** Adds the rows that are done by now. */
  const read = () => {
    for (let i = rows.length; i < run.rows(); i++) {
      const [waitCv, idle, peak, loadCv, lagMean, lagWorst] = numbers(run.figures(i), 6)
      rows.push({ name: run.name(i), waitCv, idle, peak, loadCv: orNull(loadCv), lagMean, lagWorst })
    }
    return rows.filter(({ name }) => name !== '')
  }
  const answer = (): FrontierAnswer => ({ rows: read(), own: rows.find(({ name }) => name === '') ?? null })
  return {
    advance: (clock, ms) => lab.ask(() => run.advance(clock, ms)),
    share: () => lab.ask(() => run.share()),
    partial: () => {
      const known = lab.ask(read)
      if (known.length === told) return undefined
      told = known.length
      return known
    },
    answer: () => lab.ask(answer),
    free: () => lab.end(run),
  }
}

/** In the module's order, which `sim storm --gates` has too. */
const GATES: readonly OutageRequest['gates'][] = ['none', 'budget', 'breaker', 'breaker-budget', 'shipped']

function outage(lab: Lab, request: OutageRequest): Run {
  const { fields, clients, capacityPerSecond, load, outageMs, seed } = request
  const run: LabOutage = lab.start(
    (glue) =>
      new glue.LabOutage(
        fields,
        clients,
        capacityPerSecond,
        load,
        outageMs,
        request.backlog === 'short',
        request.outage === 'refusing',
        request.calls === 'awaited',
        GATES.indexOf(request.gates),
        seed,
      ),
  )
  const answer = (): OutageAnswer => {
    const [downAtS, backAtS, drainedS, lastS, amplification, askedInVain, lost, totalCalls, collapsed, idealS] =
      numbers(run.figures(), 10)
    return {
      calls: run.calls(),
      requests: run.requests(),
      answered: run.answered(),
      open: run.open(),
      downAtS,
      backAtS,
      drainedS: orNull(drainedS),
      lastS: orNull(lastS),
      amplification,
      askedInVain,
      lost,
      totalCalls,
      collapsed: collapsed === 1,
      idealS,
    }
  }
  return {
    advance: (clock, ms) => lab.ask(() => run.advance(clock, ms)),
    share: () => lab.ask(() => run.share()),
    partial: () => lab.ask(answer),
    answer: () => lab.ask(answer),
    free: () => lab.end(run),
  }
}
