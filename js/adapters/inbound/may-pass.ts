/** How a handler has failed, by its error: whether that may pass, and how a task's first attempt tells it. */

import { PASSING_CODE } from '../../call/network-code.ts'
import { type Failure, HandlerError } from './handler-run.ts'

/** The parts of an error that libraries agree on, and those of `fetch`, whose cause has the code. */
interface ErrorParts {
  readonly name?: unknown
  readonly status?: unknown
  readonly statusCode?: unknown
  readonly code?: unknown
  readonly headers?: unknown
  readonly cause?: ErrorParts
}

const partsOf = (error: unknown): ErrorParts => (typeof error === 'object' && error !== null ? error : {})
const statusIn = ({ status, statusCode }: ErrorParts): unknown => status ?? statusCode
const isPassing = ({ code, name }: ErrorParts): boolean =>
  (typeof code === 'string' && PASSING_CODE.test(code)) || name === 'TimeoutError'

/** Whether an error may pass: its status is one of `codes`, or without a status it is one of the network. */
export function mayPass(error: unknown, codes: readonly number[]): boolean {
  const given = partsOf(error)
  const status = statusIn(given)
  if (status !== undefined) return codes.includes(status as number)
  return isPassing(given) || isPassing(partsOf(given.cause))
}

/** The failure as the first attempt has it: an answer where the policy knows its status, and else an error of the network. */
export function failureOf(error: unknown, codes: readonly number[]): Failure {
  const given = partsOf(error)
  const status = statusIn(given)
  if (codes.includes(status as number)) return { status: status as number, retryAfter: retryAfterOf(given.headers) }
  const words = [given.code, partsOf(given.cause).code, given.name].find((word) => typeof word === 'string')
  // a word, and no text, which might quote a value
  return { error: new HandlerError(/^[\w-]{1,64}$/.test(String(words)) ? String(words) : 'an error without a code') }
}

/** That of an error as `http-errors` and its like have it. */
function retryAfterOf(headers: unknown): string | null {
  if (headers instanceof Headers) return headers.get('retry-after')
  const [, value] = Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === 'retry-after') ?? []
  return value === undefined ? null : String(value)
}

/** The status in place of one that a replay's policy does not try again: the error may pass, whatever the error handler makes of it. */
export function statusOfReplay(status: number, codes: readonly number[]): number {
  if (status < 500 || codes.includes(status)) return status
  return codes.includes(503) ? 503 : (codes.find((code) => code >= 500) ?? status)
}
