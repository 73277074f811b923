/**
 * Questions to the lab and its answers: numbers for plots and their tables. `npm run sim:spread`, `sim crowd` and
 * `sim storm` print the same ones for the same seed.
 *
 * A policy comes as the row that `policyFields(resolvePolicy(policy))` makes of it, so that the element reads options once.
 */

export interface LabEngine {
  /** The rows of the comparison, in the order of `npm run sim:spread`. */
  frontier(request: FrontierRequest, options?: LabCall<readonly FrontierRow[]>): Promise<FrontierAnswer>
  /** When the tasks of a crowd come back that fail together and go on failing. */
  crowd(request: CrowdRequest, options?: LabCall): Promise<CrowdAnswer>
  /** A server that is down for a while, and what becomes of it and its clients. */
  outage(request: OutageRequest, options?: LabCall<OutageAnswer>): Promise<OutageAnswer>
  /** Ends the Worker. What is under way rejects with an `AbortError`, and so does all that is asked later. */
  close(): void
}

/**
 * A request rejects with the reason of `signal`; with an `AbortError` where a later request of its kind took its place; with a
 * `RangeError` or `TypeError` that names the field, before anything runs; with a `RedriveError` where the module cannot run.
 */
export interface LabCall<P = never> {
  readonly signal?: AbortSignal
  /** Share in [0, 1], which never falls, and what is known so far. */
  readonly onProgress?: (share: number, partial?: P) => void
}

export interface CrowdRequest {
  /** A policy of at least two attempts. */
  readonly fields: Float64Array
  /** 1 to 1,000,000 */
  readonly jobs: number
  /** 1 to 25; a policy with fewer makes as many as it has. */
  readonly retries: number
  /** 0 to 2^53 - 1 */
  readonly seed: number
  /** Device pixels of the picture, 1 to 8,192. */
  readonly width: number
  /** Device pixels of the picture, 1 to 8,192. */
  readonly height: number
  /** Times are given instead of a picture where `jobs * retries` are so many at most, 0 to 2,000,000. */
  readonly dotsMax: number
}

/** One retry of all tasks. Times count from the moment at which all failed. */
export interface RetryFigures {
  /** From 1. */
  readonly retry: number
  readonly firstMs: number
  readonly meanMs: number
  readonly lastMs: number
  /** The wait before it. */
  readonly meanWaitMs: number
  /** Standard deviation of that wait over its mean. */
  readonly waitCv: number
}

export interface CrowdAnswer {
  /** The latest arrival; the time that the picture spans. The bins end earlier: at `bins.length * binMs`. */
  readonly endMs: number
  /** Task by task, `jobs * retries`; null: too many. */
  readonly times: Float64Array | null
  /**
   * width * height, row by row from the top: 0 or the number of a retry. A task's row is its index over `jobs` of the height, a retry's
   * column its time's share of `endMs`; of several in one place the last drawn shows, task by task. null where times are given.
   */
  readonly raster: Uint8Array | null
  /** One for each retry that the policy makes: a row of `times` has `retries.length` numbers. */
  readonly retries: readonly RetryFigures[]
  /** The mean of `waitCv` over retries 2 and later. */
  readonly waitCv: number
  /** Share of the bins without a retry. */
  readonly idle: number
  /** The fullest bin over the mean. */
  readonly peak: number
  readonly peakCount: number
  readonly meanCount: number
  readonly binMs: number
  /**
   * Variation of the load in log time over six octaves, by a crowd of as many tasks, 100,000 at most, with 24 retries; null: the
   * curve does not double there.
   */
  readonly loadCv: number | null
  /** The counts of all 200 bins, from the failure to the moment at which half the tasks have made their last retry. */
  readonly bins: Float64Array
}

export interface FrontierRequest {
  /** A policy to be compared with the strategies, or null. */
  readonly fields: Float64Array | null
  /** How many crowds of 100 tasks each row is the mean of, 1 to 1,000. */
  readonly crowds: number
  /** The first crowd's; each further one has the next, 0 to 2^53 - 1. */
  readonly seed: number
}

export interface FrontierRow {
  /** Empty for a policy of one's own. */
  readonly name: string
  readonly waitCv: number
  readonly idle: number
  readonly peak: number
  readonly loadCv: number | null
  /** How long after an outage of an hour a task comes back, in hours; Infinity: it has no attempt left by then. */
  readonly lagMean: number
  readonly lagWorst: number
}

export interface FrontierAnswer {
  readonly rows: readonly FrontierRow[]
  /** The row of `fields`; null also where that policy makes one attempt only. */
  readonly own: FrontierRow | null
}

export interface OutageRequest {
  /** The policy of each client; its `attemptTimeoutMs` counts as the 1,000 ms after which the clients of the model give up. */
  readonly fields: Float64Array
  /** 1 to 20,000, each with a queue of its own: 15 KB. More than 2,000 are tabs, whose ramp is that of many. */
  readonly clients: number
  /** Requests that the server can answer in a second, 10 to 10,000. */
  readonly capacityPerSecond: number
  /** New calls as a share of that, 0.01 to 0.99. */
  readonly load: number
  /** Whole seconds, in ms: 1,000 to 600,000. */
  readonly outageMs: number
  /** The work that the server takes on before it refuses: 1.5 s of it, longer than clients wait, or 0.3 s. */
  readonly backlog: 'deep' | 'short'
  /** The answer of a server that is down: none, or a 503 at once. */
  readonly outage: 'hanging' | 'refusing'
  /**
   * `enqueued`: the queue keeps each call until it ends. `awaited`: its caller waits for the answer, at the door while a circuit is open, and leaves after
   * 30 s.
   */
  readonly calls: 'enqueued' | 'awaited'
  /** `shipped`: breaker, ramp and budget, as the package has them. */
  readonly gates: 'none' | 'budget' | 'breaker' | 'breaker-budget' | 'shipped'
  readonly seed: number
}

export interface OutageAnswer {
  /** Per second from the start of the warm-up. */
  readonly calls: Uint32Array
  readonly requests: Uint32Array
  readonly answered: Uint32Array
  /** Calls without an answer at the end of the second. */
  readonly open: Uint32Array
  readonly downAtS: number
  readonly backAtS: number
  /** From the server's return until no more calls are open than one in a hundred of those the outage left; null: not so far. */
  readonly drainedS: number | null
  /** From the server's return until the last call of the outage had its end; null: not so far. */
  readonly lastS: number | null
  /** Requests from the return until `drainedS`, over the calls made since the outage began. */
  readonly amplification: number
  /** Requests in the outage over the calls made in it. */
  readonly askedInVain: number
  /** Calls that ended without an answer. */
  readonly lost: number
  readonly totalCalls: number
  /** The server stays down under its own clients' retries. False while the storm goes on. */
  readonly collapsed: boolean
  /** The least that `drainedS` can be: the calls of the outage, by what the server can do beyond the new ones. */
  readonly idealS: number
}
