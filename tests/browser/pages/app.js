/**
 * What both pages share: a queue made from the page's query, a note of everything it complains about, and the two ways
 * of sending work. `?options=` is the RetryQueue's options as JSON, `?api=` the server's origin where it is not the page's.
 */
import { RetryQueue } from '/pkg/index.js'

const query = new URL(location.href).searchParams
export const api = `${query.get('api') ?? location.origin}/api/orders`
export const queue = new RetryQueue(JSON.parse(query.get('options') ?? '{}'))

const degraded = []
const succeeded = []
queue.on('degraded', ({ code, message }) => degraded.push({ code, message }))
queue.on('succeeded', ({ task }) => succeeded.push({ taskId: task.taskId, attemptNumber: task.attemptNumber }))

/** @param call sends one intent as a caller would, at number `at`, and resolves to the answer's JSON. */
export function expose(call) {
  globalThis.app = { queue, api, degraded, succeeded, call, run: (counts) => run(call, counts) }
}

/** Everything at once. Every caller must get the answer to its own intent, every task must end as SUCCEEDED. */
async function run(call, { called, enqueued }) {
  const answers = names('call', called).map(async (intent, at) => {
    const answer = await call(intent, at)
    if (answer.intent !== intent) throw new Error(`${intent} was given the answer to ${answer.intent}`)
  })
  const outcomes = names('enqueue', enqueued).map(async (intent) => {
    const { taskId } = await queue.enqueue(api, order(intent, 'enqueue'))
    const { task } = await queue.result(taskId)
    if (task.status !== 'SUCCEEDED') throw new Error(`${intent} ended ${task.status} ${task.reason ?? ''}`)
  })
  const settled = await Promise.allSettled([...answers, ...outcomes])
  await queue.idle()
  return settled.filter(({ status }) => status === 'rejected').map(({ reason }) => String(reason))
}

/** Same URL for all, the intent in the body: a cross-origin page then asks permission once and not per order. */
export function order(intent, via) {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ intent, via }) }
}

function names(prefix, count) {
  return Array.from({ length: count }, (_, at) => `${prefix}-${at + 1}`)
}
