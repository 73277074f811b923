/**
 * Why an object can take no task at all: its options are wrong, or the class that is bound is another. Without being asked it would
 * say so in the first outage only, when its tasks are lost for it. So each isolate asks once, with the first call that may be handed over.
 */

import { RedriveError } from '../api/errors.ts'
import { type Clock, within } from '../platform/clock.ts'
import { type ObjectFault, type RedriveNamespace, stubOf } from './namespace.ts'

/** An object that takes longer is asked again with the next call. */
const ANSWER_MS = 4_500
/** A Worker that makes its binding anew for each request asks no more often. */
const MOST_ASKED = 16
const WRONG_CLASS =
  "the object that is bound does not take tasks: bind a class that is, or extends, RedriveObject of 'redrive/cloudflare'"

const asked = new WeakSet<RedriveNamespace>()
let askedTimes = 0

/** The fault of the object of this name, where it has not been asked for yet. Never rejects. */
export async function askForFault(
  namespace: RedriveNamespace,
  name: string,
  clock: Clock,
): Promise<ObjectFault | undefined> {
  if (asked.has(namespace) || askedTimes >= MOST_ASKED) return undefined
  asked.add(namespace)
  askedTimes++
  const verified = async () => stubOf(namespace, name).verify()
  try {
    return await within(clock, ANSWER_MS, `the object '${name}'`, verified())
  } catch (error) {
    const fault = wrongClass(error)
    // it could not be reached, which says nothing about it
    if (!fault) asked.delete(namespace)
    return fault
  }
}

/** The fault of an object that is of another class, which no repeat mends; undefined: the error says something else. */
export function wrongClass(error: unknown): RedriveError | undefined {
  const isWrong = error instanceof TypeError && /does not implement|not a function/.test(error.message)
  return isWrong ? new RedriveError('BINDING_INVALID', WRONG_CLASS, { cause: error }) : undefined
}
