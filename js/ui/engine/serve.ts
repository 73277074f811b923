/**
 * The computing end of the lab: runs what is asked for in slices, between which messages are heard, so that a request can be
 * taken back or overtaken. One of each kind runs at a time, and a later one takes the place of the one before: the user has
 * moved the slider on, and will not look at what was asked before.
 */

import { errorText, nextTurn, POLICY_FIELDS } from 'redrive/internal'
import { instantiateLab, type Lab } from './lab.ts'
import type { Asked, Fault, FromLab, Kind, LabPort, ToLab } from './protocol.ts'
import { type Run, startRun } from './runs.ts'

/** A slice and its last piece take less than 20 ms. */
const SLICE_MS = 12

interface Active {
  readonly id: number
  readonly asked: Asked
  run?: Run
  share: number
}

export interface ServeOptions {
  readonly clock?: Pick<Performance, 'now'>
  readonly instantiate?: () => Promise<Lab>
}

/** Serves the requests that come through `port`, for as long as it is open. */
export function serve(
  port: LabPort<FromLab, ToLab>,
  { clock = performance, instantiate = instantiateLab }: ServeOptions = {},
): void {
  /** By kind, the one whose turn it is first. */
  const active = new Map<Kind, Active>()
  let isWorking = false

  const leave = (one: Active): void => {
    active.delete(one.asked.kind)
    one.run?.free()
  }

  const begin = ({ id, ...asked }: ToLab & { readonly type: 'run' }): void => {
    const before = active.get(asked.kind)
    if (before) {
      leave(before)
      port.postMessage({ type: 'superseded', id: before.id }, [])
    }
    active.set(asked.kind, { id, asked, share: 0 })
    if (!isWorking) void work()
  }

  const work = async (): Promise<void> => {
    isWorking = true
    for (let [one] = active.values(); one; [one] = active.values()) {
      await turn(one)
      await nextTurn()
    }
    isWorking = false
  }

  const turn = async (one: Active): Promise<void> => {
    const isLeft = () => active.get(one.asked.kind) !== one
    try {
      if (!one.run) {
        const lab = await instantiate().catch((error) => error as Error)
        if (isLeft()) return
        if (lab instanceof Error) return fail(one, { fault: 'unavailable', message: errorText(lab) })
        one.run = startRun(lab, one.asked)
      }
      slice(one, one.run)
    } catch (error) {
      fail(one, faultOf(error, one.asked))
    }
  }

  const fail = (one: Active, fault: Fault): void => {
    leave(one)
    port.postMessage({ type: 'failed', id: one.id, ...fault }, [])
  }

  const slice = (one: Active, run: Run): void => {
    // a duck of a clock has all that is asked of one
    if (run.advance(clock as Performance, SLICE_MS)) {
      const answer = run.answer()
      leave(one)
      port.postMessage({ type: 'answer', id: one.id, answer }, buffersOf(answer))
      return
    }
    // to the end of the line
    active.delete(one.asked.kind)
    active.set(one.asked.kind, one)
    one.share = Math.max(one.share, run.share())
    const partial = run.partial()
    const { id, share } = one
    port.postMessage(
      partial ? { type: 'progress', id, share, partial } : { type: 'progress', id, share },
      buffersOf(partial),
    )
  }

  port.onmessage = ({ data }) => {
    if (data.type === 'run') return begin(data)
    for (const one of active.values()) if (one.id === data.id) leave(one)
  }
  port.postMessage({ type: 'ready' }, [])
}

/** Lists of numbers cross without a copy. */
const buffersOf = (answer: object = {}): Transferable[] =>
  Object.values(answer).flatMap((value) => (ArrayBuffer.isView(value) ? [value.buffer as ArrayBuffer] : []))

function faultOf(error: unknown, { kind, request }: Asked): Fault {
  // the module's own word: the option of the policy that it does not take
  if ((error as Error).constructor !== Error) return { fault: 'stopped', message: errorText(error) }
  const option = (error as Error).message
  const got = request.fields?.[(POLICY_FIELDS as readonly string[]).indexOf(option)]
  const why = `${kind}.fields: expected a row that policyFields(resolvePolicy(policy)) makes, got one whose ${option} cannot be`
  return { fault: 'range', message: got === undefined ? why : `${why} ${got}` }
}
