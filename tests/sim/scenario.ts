/**
 * What happens in a world, as data: a seed becomes a list of steps once, and from then on chance has no say, so a step can
 * be left out and the rest stays as it was.
 */

import type { Delay, Part } from './loading.ts'

/** 'redis': in a real server; 'tabs': in memory, dressed as a browser's; 'indexeddb': the browser's own, with tabs just the same. */
export type StoreKind = 'memory' | 'sqlite' | 'redis' | 'tabs' | 'indexeddb'

export interface Scenario {
  readonly seed: number
  readonly store: StoreKind
  /** false: no process hears of another but by looking; in a browser: but by locks. */
  readonly hints: boolean
  readonly concurrency: number
  readonly perOrigin: number
  /** @default 10_000 */
  readonly capacity?: number
  /** Secrets of URLs are taken off what is stored. @default false: what has one stays in memory */
  readonly strips?: boolean
  /** Attempts of each process to each origin. @default no limit */
  readonly rate?: Rate
  /** Callers' own first attempts count in the limits and in the rate. @default false */
  readonly limitsFirst?: boolean
  /** Processes have hooks, which calls may have say something. @default false */
  readonly hooks?: boolean
  /** Each process lives to the end and keeps time: what a server asks of it nothing excuses. @default false */
  readonly isSteady?: boolean
  readonly processes: readonly ProcessSpec[]
  readonly steps: readonly Step[]
}

export interface Rate {
  readonly perSecond: number
  readonly burst: number
}

export interface ProcessSpec {
  readonly persist: 'on-failure' | 'before-send'
  /** How wrong its clock is. */
  readonly offsetMs: number
  readonly principal: Principal
}

export type Principal = 'ann' | 'ben'
export const PRINCIPALS: readonly Principal[] = ['ann', 'ben']
/** One that no credentials are given for. */
export const BARE = 'https://e.test'
export const ORIGINS: readonly string[] = ['https://a.test', 'https://b.test', 'https://c.test', BARE]
/** One that only the finale uses, and that always works. */
export const SERVED = 'https://d.test'

export interface CallSpec {
  /** What the caller wants done once. */
  readonly intent: string
  readonly origin: string
  readonly method: 'POST' | 'PUT' | 'GET'
  readonly key?: string
  readonly orderKey?: string
  readonly priority?: number
  readonly policyId: string
  /** Where its caller puts a secret: a header that is denied, one that is on no list, or the URL. */
  readonly secret?: 'denied' | 'unknown' | 'url'
  readonly sensitive?: boolean
  /** What its URL has the hooks of each process say. */
  readonly says?: Says
  /** A 401 to its first attempt is answered with fresh credentials. */
  readonly refreshes?: boolean
}

/** `shouldRetry` says false: always, or from the second attempt on; or always true; `delay` gives nothing, or 7 s. */
export type Says = 'ends' | 'ends later' | 'insists' | 'hurries' | 'lingers'

/** How the server treats one request. */
export interface Answer {
  readonly status: number
  readonly latencyMs: number
  readonly retryAfterS?: number
  /** Nothing is left of a quota for so long: of all that is asked of it, or of one partition. */
  readonly limit?: { readonly seconds: number; readonly isPartition: boolean }
  /** The work is done, whatever the answer says. @default a status below 400 */
  readonly works?: boolean
  /** The connection breaks instead of the answer. */
  readonly lost?: boolean
  /** It sends the caller on, to its own origin or to another. */
  readonly redirect?: 'within' | 'beyond'
}

export type StoreFault = 'fail-before' | 'fail-after' | 'delay-before' | 'delay-after' | 'crash-before' | 'crash-after'

export type Act =
  | { readonly do: 'enqueue'; readonly p: number; readonly call: CallSpec }
  | {
      readonly do: 'fetch'
      readonly p: number
      readonly call: CallSpec
      readonly mode: 'await' | 'defer'
      readonly waitMs: number
      readonly detach?: boolean
      readonly abortAfterMs?: number
    }
  | { readonly do: 'cancel' | 'redrive' | 'look'; readonly p: number; readonly pick: number }
  | { readonly do: 'flush' | 'open' | 'crash' | 'purgeDead'; readonly p: number }
  | { readonly do: 'pause' | 'resume'; readonly p: number; readonly origin?: string }
  | { readonly do: 'principal'; readonly p: number; readonly principal: Principal; readonly purge: boolean }
  /** It takes so long, and changes the principal if it does not fail. */
  | {
      readonly do: 'login'
      readonly p: number
      readonly principal: Principal
      readonly forMs: number
      readonly fails: boolean
    }
  | { readonly do: 'close'; readonly p: number; readonly drainMs: number }
  | { readonly do: 'freeze'; readonly p: number; readonly forMs: number }
  | { readonly do: 'clock'; readonly p: number; readonly byMs: number }
  | { readonly do: 'storeClock'; readonly byMs: number }
  /** The store is away for all: calls fail, or arrive when it is back. */
  | { readonly do: 'silence'; readonly forMs: number; readonly hangs: boolean }
  /** A tab is looked at no more, or again. */
  | { readonly do: 'hide' | 'show'; readonly p: number }
  /** A tab is frozen, and told so before; 'cached': it is left, and kept for the way back. `backFirst`: told that it is back before anything else comes. */
  | { readonly do: 'suspend' | 'cached'; readonly p: number; readonly forMs: number; readonly backFirst: boolean }
  /** A tab is left or closed, and runs on for a moment. */
  | { readonly do: 'leave'; readonly p: number; readonly lingerMs: number }
  /** All tabs; `told` false: the browser notices nothing. */
  | { readonly do: 'network'; readonly online: boolean; readonly told: boolean }
  /** Of the machine, with all that is on it. */
  | { readonly do: 'sleep'; readonly forMs: number }
  /** The next `calls` calls of this process to its store. */
  | {
      readonly do: 'storeFault'
      readonly p: number
      readonly fault: StoreFault
      readonly calls: number
      readonly ms: number
    }
  /** What this process loads of a part for so long: see `Loading`. */
  | ({ readonly do: 'loading'; readonly p: number; readonly part: Part; readonly forMs: number } & Delay)
  /** The next `count` hints to this process come late, or with `ms` 0 never. */
  | { readonly do: 'hints'; readonly p: number; readonly count: number; readonly ms: number }
  /** The next requests to this origin. */
  | { readonly do: 'answers'; readonly origin: string; readonly answers: readonly Answer[] }
  /** All requests to this origin for so long. */
  | { readonly do: 'outage'; readonly origin: string; readonly forMs: number; readonly answer: Answer }

export type Step = { readonly at: number } & Act
