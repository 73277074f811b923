/** Asks for the signature of an attempt, a caller's own first one included. */

import type { Sign } from '../api/sign.ts'
import { type Clock, within } from '../platform/clock.ts'
import { utf8 } from '../platform/utf8.ts'
import type { Call } from './call.ts'
import { answeredOf } from './fetch-repeat.ts'
import { FetchTransport } from './fetch-transport.ts'
import { hookHeaders } from './hook-headers.ts'
import { type BodyContent, laidOver } from './transport.ts'

/** Longest time that the hook may take. */
const SIGN_MS = 5_000

/** The headers to lay over those of the call: `overlay`, and the signature. Rejects with what the hook has thrown. */
export async function signed(
  sign: Sign,
  call: Call,
  { overlay, signal, clock }: { readonly overlay: Headers | null; readonly signal: AbortSignal; readonly clock: Clock },
  limitMs: number = SIGN_MS,
): Promise<Headers> {
  const { transport } = call
  const asked = async () => {
    const isFetch = transport instanceof FetchTransport
    const next = (isFetch ? undefined : await transport.ready?.()) ?? call
    const { seeOther } = answeredOf(call)
    const isGet = seeOther !== undefined
    const { method, url } = isGet ? { method: 'GET', url: seeOther } : next
    const content = isFetch ? transport.sendable.init.body : await transport.body()
    const body = bytesOf(isGet ? null : ((content ?? null) as BodyContent))
    return sign({ method, url, headers: laidOver(next.headers, overlay), body, signal })
  }
  const given = await within(clock, limitMs, 'sign()', asked())
  return laidOver(overlay ?? new Headers(), hookHeaders(given, 'sign()', 'unsigned'))
}

/** Asks for the signature of a caller's own first attempt. */
export const signedFirst = (sign: Sign, call: Call, clock: Clock): Promise<Headers> =>
  signed(
    sign,
    call,
    { overlay: null, signal: call.signal ?? new AbortController().signal, clock },
    // its caller waits no longer for the hook than for an answer
    Math.min(SIGN_MS, Math.max(1, call.waitMs)),
  )

/** A copy: the hook must not change what is sent. */
const bytesOf = (content: BodyContent): Uint8Array =>
  typeof content === 'string' ? utf8(content) : new Uint8Array(content ?? [])
