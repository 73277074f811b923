/**
 * Keeps the promises of `signal` and `waitMs`: a caller who aborts, or whose time is up, learns it whatever its call waits for inside the queue.
 * The work goes on until it next looks whether its caller is there: it then ends, without sending or keeping anything.
 */

import { RedriveError } from '../api/errors.ts'
import { whenAborted } from '../platform/abort.ts'
import { type Clock, MAX_TIMER_MS } from '../platform/clock.ts'
import { deliver, type Finished } from './attempt.ts'
import type { Call } from './call.ts'
import { cancelBody } from './read-body.ts'

/** So much longer than `waitMs`: other parts end a call then, too, and know more about it. */
const GRACE_MS = 30

/** The things to be ended, and to be given, when a caller leaves before its call is a task. */
export interface Parting {
  /** Ends what the caller's signal does not: the first attempt of a deferred call, or the reading of a body. */
  controller?: AbortController
  /** The first attempt, once it has ended. */
  last?: Finished
  /** That attempt is waited for, however long it takes. */
  isPatient?: boolean
  /** The core has the attempt: others may wait for its answer, too. */
  isTaken?: boolean
}

/** `work`, for as long as its caller waits: until an abort, and for `ms` at most; undefined: any time. */
export function whileThere<T>(
  call: Pick<Call, 'method' | 'origin' | 'options' | 'signal' | 'isLeft'>,
  clock: Clock,
  ms: number | undefined,
  work: Promise<T>,
  parting: Parting = {},
): Promise<T> {
  const { signal } = call
  let disarm: (() => void) | undefined
  let unlisten: (() => void) | undefined
  let given: unknown
  const told = new Promise<T>((resolve, reject) => {
    const leave = (reason: unknown) => {
      call.isLeft = true
      parting.controller?.abort(reason)
    }
    const onTime = () => {
      if (parting.isPatient) return
      const error = new RedriveError('WAIT_EXCEEDED', `${call.method} ${call.origin}: its waitMs is over`)
      leave(error)
      const give = async () => {
        const last = deliver(parting.last ?? { answer: null, error }, { reason: 'wait_exceeded' })
        given = last
        return last as T
      }
      resolve(give())
    }
    const onAbort = () => {
      const reason: unknown = signal?.reason
      if (!call.options.detach) {
        leave(reason)
        if (!parting.isTaken) parting.last?.answer?.discard()
      }
      reject(reason)
    }
    work
      .then((late) => {
        resolve(late)
        // a stream that has no reader any more gives its connection back
        if ((call.isLeft || signal?.aborted) && late !== given)
          cancelBody((late as Partial<Response> | undefined)?.body)
      })
      .catch(reject)
    if (ms !== undefined && ms < MAX_TIMER_MS) disarm = clock.after(ms + GRACE_MS, onTime)
    // last: what is no signal throws
    if (signal) unlisten = whenAborted(signal, onAbort)
  })
  const end = () => {
    disarm?.()
    unlisten?.()
  }
  told.then(end, end)
  return told
}
