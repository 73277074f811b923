/** A page that makes no queue by itself: a test says which, since some of their options are functions. */
import { RetryQueue } from '/pkg/index.js'

const degraded = []
const ended = []

function open(options) {
  const policy = { strategy: 'fixed', initialDelayMs: 20, jitterType: 'NONE', ...options?.policy }
  const queue = new RetryQueue({ ...options, policy })
  queue.on('degraded', ({ code, message }) => degraded.push({ code, message }))
  for (const name of ['succeeded', 'exhausted', 'cancelled']) {
    queue.on(name, ({ task }) => ended.push({ taskId: task.taskId, status: task.status, reason: task.reason }))
  }
  lab.queue = queue
  return queue
}

/** Text of so many letters that cannot be compressed much: browsers do, and zeros would fill no quota. */
function noise(length) {
  let text = ''
  while (text.length < length) text += btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(3_000))))
  return text.slice(0, length)
}

/** What a request to a database comes to. */
function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}

globalThis.lab = { RetryQueue, open, degraded, ended, noise, done }
