/**
 * Why an object can take no task at all: its options are wrong, or the class that is bound is another. Without being asked it would
 * say so in the first outage only, when its tasks are lost for it. So each isolate asks once, with the first call that may move to it.
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
    const fault = classFault(error)
    // it could not be reached, which says nothing about it
    if (!fault) asked.delete(namespace)
    return fault
  }
}

/** The fault of an object that is of another class, or of one that throws when it is made, which no repeat mends; undefined: the error says something else. */
export function classFault(error: unknown): RedriveError | undefined {
  const { name, message } = error as Error
  // what the platform itself throws is a plain Error
  if (!/^(Type|Range|Reference)Error$/.test(name)) return undefined
  if (/does not implement|not a function/.test(message)) {
    return new RedriveError('BINDING_INVALID', WRONG_CLASS, { cause: error })
  }
  const what = `its fields or its constructor throw a ${name}: see its log`
  return new RedriveError('OBJECT_MISCONFIGURED', what, { cause: error })
}
