/** The waits of axios-retry, for its users to name. The queue waits for longer where the server says so: the core reads that by itself. */

import type { AxiosError } from 'axios'
import { systemClock } from '../../platform/clock.ts'
import { type Draw, hostDraw } from '../../platform/random.ts'

/** The share of its wait that `exponentialDelay` may add. */
const SPREAD = 0.2

let draw: Draw | undefined

/** The milliseconds that `Retry-After` names, as a number of seconds or a date; 0: none that can be read. */
export function retryAfter(error?: AxiosError): number {
  const header: unknown = error?.response?.headers['retry-after']
  if (!header) return 0
  const seconds = Number(header)
  const ms = seconds ? seconds * 1_000 : Date.parse(String(header)) - systemClock.now()
  return Math.max(0, ms || 0)
}

/** 200 ms, 400 ms, 800 ms and so on, or what `Retry-After` says where that is longer, and up to a fifth more. */
export function exponentialDelay(retryNumber = 0, error?: AxiosError, delayFactor = 100): number {
  const ms = Math.max(2 ** retryNumber * delayFactor, retryAfter(error))
  draw ??= hostDraw()
  return ms + (ms * SPREAD * draw()) / 2 ** 32
}

/** `delayFactor` times the number of the retry, or what `Retry-After` says where that is longer. */
export function linearDelay(delayFactor = 100): (retryNumber: number, error: AxiosError | undefined) => number {
  return (retryNumber = 0, error = undefined) => Math.max(retryNumber * delayFactor, retryAfter(error))
}
