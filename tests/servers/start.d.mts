export type FaultKind =
  | 'unavailable'
  | 'unavailable_retry_after'
  | 'too_many_requests'
  | 'reset_before'
  | 'reset_after'
  | 'refused'

export interface FaultOptions {
  readonly seed?: number
  readonly share?: number
  readonly weights?: Partial<Record<FaultKind, number>>
  readonly maxFaults?: number
  readonly retryAfterS?: number
  readonly latencyMs?: readonly [least: number, most: number]
  readonly slowShare?: number
  readonly slowMs?: number
}

export interface Visit {
  readonly intent: string
  readonly attempt: number
  readonly via: string | null
  /** What the header `X-Attempt` said. */
  readonly by: string | null
  readonly method: string
  readonly key: string | null
  readonly outcome: string | null
  readonly status: number | null
  readonly startedAt: number
  readonly endedAt: number | null
  readonly retryAfterMs: number | null
}

export interface Spread {
  readonly min: number
  readonly max: number
  readonly notOne: readonly string[]
}

export interface FlakyReport {
  readonly intents: number
  readonly attempts: number
  readonly retries: number
  readonly preflights: number
  readonly injected: {
    readonly total: number
    readonly share: number
    readonly byKind: Partial<Record<FaultKind, number>>
  }
  readonly outcomes: Readonly<Record<string, number>>
  readonly keysPerIntent: Spread
  readonly effectsPerIntent: Spread
  readonly keylessWrites: number
  readonly retryAfter: {
    readonly sent: number
    readonly undercut: number
    readonly worstUndercutMs: number
    readonly duringPause: number
  }
  readonly afterDone: number
  readonly inFlight: {
    readonly max: number
    readonly queueMax: number
    readonly placesMax: number
    readonly retriesMax: number
  }
  readonly perIntent: readonly {
    readonly intent: string
    readonly attempts: number
    readonly writes: boolean
    readonly effects: number
    readonly keys: readonly string[]
    readonly undercutMs: readonly number[]
    readonly outcomes: readonly string[]
  }[]
  readonly visits?: readonly Visit[]
}

export interface FlakyServer {
  readonly url: string
  report(detail?: { readonly visits?: boolean }): Promise<FlakyReport>
  /** Resolves right after the next answer, or reset, of the API. */
  nextAnswer(): Promise<unknown>
  configure(faults: FaultOptions): Promise<FaultOptions>
  reset(): Promise<unknown>
  close(): Promise<void>
}

export function startFlaky(options?: {
  readonly faults?: FaultOptions
  readonly mounts?: Readonly<Record<string, string>>
  readonly port?: number
  readonly honoursKeys?: boolean
}): Promise<FlakyServer>
