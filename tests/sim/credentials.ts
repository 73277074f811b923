/** What a process gives its queue as `credentials`: a secret of each origin's own, at times slowly, and at times an error that quotes it. */

import type { Credentials, CredentialsRequest } from '../../js/index.ts'
import { canary } from './canaries.ts'
import type { Gate } from './gate.ts'
import { BARE, ORIGINS, SERVED } from './scenario.ts'
import type { VirtualTime } from './time.ts'

const SLOW_EVERY = 2
const SLOW_MS = 3_000
const FAILS_EVERY = 16

/**
 * A header that says when an attempt of a queue's own began at the earliest, and how wrong its clock was then: a credential is the first that it asks
 * for. A question that waited for the end of another is for attempts that began while that one was open.
 */
export const ASKED_AT = 'x-asked-at'

/** The header that goes with each attempt of a queue's own to `origin`; null: none does. */
export const authorizationOf = (origin: string, principal: string | null): string | null =>
  origin === BARE ? null : `Bearer ${canary(origin, `${principal}`)}`

export function credentialsOf(owner: string, time: VirtualTime, gate: Gate, offsetMs: () => number): Credentials {
  let asked = 0
  const lastTo = new Map<string, { at: number; over?: number }>()
  const giver = (origin: string) => (request: CredentialsRequest) => give(origin, request)
  const give = (origin: string, { principal, withheldHeaders }: CredentialsRequest) =>
    new Promise<HeadersInit>((resolve, reject) => {
      const withheld = Object.fromEntries(withheldHeaders.map((name) => [name, canary(origin, 'again')]))
      const whose = `${origin} ${principal}`
      const before = lastTo.get(whose)
      const question: { at: number; over?: number } = { at: time.elapsed }
      lastTo.set(whose, question)
      const headers = {
        ...withheld,
        [ASKED_AT]: `${before?.over === time.elapsed ? before.at : time.elapsed} ${offsetMs()}`,
        authorization: authorizationOf(origin, principal) ?? '',
      }
      const drawn = hash(`${owner} ${++asked}`)
      const fails = drawn % FAILS_EVERY === 0
      const end = () => {
        question.over = time.elapsed
        if (fails) reject(new Error(`no luck with ${headers.authorization}`))
        else resolve(headers)
      }
      const isSlow = (drawn >>> 4) % SLOW_EVERY === 0
      time.after(isSlow ? SLOW_MS : 0, () => gate.enter(end))
    })
  const entries = [...ORIGINS, SERVED].filter((origin) => origin !== BARE)
  return Object.fromEntries(entries.map((origin) => [origin, giver(origin)]))
}

export function hash(text: string): number {
  let sum = 2166136261
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 16777619)
  return sum >>> 0
}
