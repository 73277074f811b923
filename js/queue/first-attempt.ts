/** A caller's own first attempt. It needs no core, unless an option has it wait for one. */

import {
  type AttemptClock,
  attempt,
  deliver,
  type Finished,
  firstPlan,
  isTransient,
  markOnce,
  mayPass,
} from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import { orKept } from '../call/deferred.ts'
import type { Parting } from '../call/leaving.ts'
import { assertNotAborted, orAbort } from '../platform/abort.ts'
import type { QueueContext } from '../runner/context.ts'
import type { TaskManager } from '../runner/manager.ts'
import type { Loader } from './core-loader.ts'
import { assertOwn, whenSwitched } from './switching.ts'

/** Makes the first attempt of a call, as plain fetch would, and hands the call to the core where that fails. */
export async function firstAttempt(call: Call, parting: Parting, host: QueueContext, core: Loader): Promise<unknown> {
  const { settings, now, counts } = host
  const { durable, persist, limitFirstAttempts } = settings
  const createdAt = now()
  if (call.whose) call.principal = await call.whose
  const { plain, options } = call
  const { detach, orderKey, expiresAt = createdAt } = options
  const signal = detach ? null : call.signal
  host.checks?.plain(call, host)
  if (!plain || orderKey !== undefined) {
    // in an order, too late to be sent, without its key, within limits, or to be stored first: not sent before the core was asked
    const waits = limitFirstAttempts || (durable && persist === 'before-send')
    const asks = orderKey !== undefined || expiresAt < createdAt || call.key === '' || waits
    const opened = asks ? await openFor(call, host, core) : core.opened
    const asked = opened?.admission.beforeSending(call, createdAt)
    const early = asked && (await asked)
    if (early) {
      call.leave?.(false)
      return early.answer
    }
  }
  const overlay = settings.sign ? await core.signed(call) : null
  while (host.switching) await whenSwitched(call, host, host.switching)
  assertOwn(call, host)
  call.nth = ++counts.attempts
  const isDeferred = options.mode === 'defer'
  const plan = firstPlan(call, isDeferred ? null : signal, overlay, createdAt + call.waitMs - now())
  const { controller } = plan
  const clock: AttemptClock = host.patient?.(call, createdAt) ?? settings.clock
  const send = () => attempt(call, plan, clock, now)
  const sending = host.watched ? host.watched(call, plan, send) : send()
  if (isDeferred) {
    const own = { sending, controller }
    parting.controller = controller
    const keep = async () => (await openFor(call, host, core))?.admission.keepUnderWay(call, own, createdAt)
    const kept = await orKept(call, sending, settings.clock, keep)
    if (kept) return kept.answer
  }
  parting.isPatient = isDeferred || !!plain
  const finished = await sending
  parting.last = finished
  parting.isPatient = false
  call.leave?.(true)
  if (!finished.answer) {
    if (signal?.aborted) core.opened?.admission.left(call, finished.startedAt)
    assertNotAborted(signal)
  } else if (!plain && finished.status < 400) counts.firstAttemptSucceeded++
  if (plain || !mayPass(call, finished, settings)) {
    observe(call, finished, host, core)
    return deliver(finished, markOnce(call, finished))
  }
  const stop = core.opened ? undefined : finished.answer?.readAhead?.(settings.clock, controller)
  // at once: what was handed over while it loaded starts in the same turn
  if (!core.opened) core.open().then((manager) => manager?.admission.heard(call, finished))
  const manager = await orAbort(signal, openFor(call, host, core))
    .catch((error) => {
      // its caller may have it by now
      if (!call.isLeft) finished.answer?.discard()
      throw error
    })
    .finally(stop)
  parting.isTaken = !!manager
  return manager
    ? manager.admission.afterFailure(call, finished, createdAt)
    : deliver(finished, { reason: 'core_unavailable' })
}

async function openFor(call: Call, host: QueueContext, core: Loader): Promise<TaskManager | undefined> {
  if (call.whose) call.principal = await call.whose.known
  const manager = await core.open()
  // given before the checks had come: before it becomes a task
  if (manager) host.checks?.early?.(call, host)
  return manager
}

/** Has the core hear of an attempt that makes no task; of one that ends while it still loads, as soon as it is there. */
function observe(call: Call, finished: Finished, { settings: { durable, preload } }: QueueContext, core: Loader): void {
  const tell = (manager: TaskManager | undefined) => manager?.admission.sentOnce(call, finished)
  if (core.opened) tell(core.opened)
  else {
    const opens = isTransient(call, finished) || (preload !== 'never' && durable && !core.failure)
    ;(opens ? core.open() : core.starting)?.then(tell)
  }
}
