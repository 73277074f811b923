/**
 * One tab with a queue as an app would have it, told from outside what to enqueue and what to call. What it has to say goes
 * to the console, which the run listens to: that works without a network, and on the way back from another page.
 * `?options=`: the queue's options as JSON; `?break=`: what is wrong on purpose.
 */
import { RetryQueue } from '/pkg/index.js'

const query = new URL(location.href).searchParams
const breaks = query.get('break')
const { name, ...options } = JSON.parse(query.get('options') ?? '{}')
/** This document, from its load until it is gone. */
const life = crypto.randomUUID().slice(0, 8)
const tell = (what, words = {}) => console.debug(`told ${JSON.stringify({ what, life, ...words })}`)
const intentOf = ({ targetUrl }) => new URL(targetUrl).searchParams.get('intent')

addEventListener('error', ({ message }) => tell('uncaught', { message }))
addEventListener('unhandledrejection', ({ reason }) => tell('uncaught', { message: String(reason) }))
addEventListener('pageshow', ({ persisted }) => persisted && tell('back'))

const queue = new RetryQueue({
  name,
  ...options,
  ...(breaks === 'no-store' ? { durable: false } : {}),
  ...(breaks === 'no-limit' ? { concurrency: 50 } : {}),
  // which document made an attempt, and of which task: the server writes it down
  credentials: { self: ({ taskId, attemptNumber }) => ({ 'x-attempt': `${life} ${taskId} ${attemptNumber}` }) },
  fetch: (input, init) => {
    const headers = new Headers(init?.headers)
    if (!headers.has('x-attempt')) headers.set('x-attempt', `${life} first`)
    return fetch(input, { ...init, headers })
  },
})
let inMemory = breaks === 'no-store' ? false : undefined
queue.on('degraded', ({ code, message }) => {
  if (code === 'storage_unavailable') inMemory = true
  tell('degraded', { message: `${code}: ${message}` })
})
queue.on('queued', ({ task }) => {
  const durability = inMemory ? 'memory' : 'strict'
  tell('queued', { intent: intentOf(task), taskId: task.taskId, durability, dueAt: task.nextAttemptAt })
})
queue.on('retry', ({ task }) => tell('waits', { intent: intentOf(task), dueAt: task.nextAttemptAt }))

/** A page of Chromium that is frozen between the headers and the body of an answer never hears of that body, by plain fetch either. */
const BODY_MS = 5_000

/** undefined: it does not come. Firefox breaks it off in a page that is led away, that of plain fetch too, before the page hears that it is left. */
async function bodyOf(response) {
  let timer
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, BODY_MS)
  })
  try {
    return await Promise.race([response.json(), late])
  } catch (error) {
    if (error.name === 'AbortError') return undefined
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** Each settles once, and says with what. */
async function call(target, init, intent) {
  try {
    const response = await queue.fetch(target, init)
    const { reason } = response.redrive ?? {}
    const body = await bodyOf(response)
    const { intent: of = null, taskId = null } = body ?? {}
    tell('settled', { intent, with: response.status, of, taskId, reason, hasNoBody: body === undefined })
  } catch (error) {
    const { reason } = error.redrive ?? {}
    tell('settled', { intent, with: error.name, of: null, message: String(error), reason })
  }
}

async function enqueue(target, init, intent) {
  try {
    const { taskId, durability } = await queue.enqueue(target, init)
    tell('accepted', { intent, taskId, durability: breaks === 'no-store' ? 'strict' : durability })
  } catch (error) {
    tell('refused', { intent, message: String(error) })
  }
}

/** What to do: `via` is enqueue, await or defer. Nobody waits for it here. */
globalThis.give = ({ intent, via, key, task = {} }) => {
  const redrive = { ...task, ...(key === undefined ? {} : { idempotencyKey: key }) }
  if (via !== 'enqueue') Object.assign(redrive, { mode: via, waitMs: 600_000 })
  const target = `${location.origin}/api/orders?intent=${intent}&via=${via}`
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"pieces":1}', redrive }
  if (via === 'enqueue') void enqueue(target, init, intent)
  else void call(target, init, intent)
}

/** The store's own counters; `all`: what is in it, task by task, and which of them the queue shows as dead letters. */
globalThis.look = async (all) => {
  const { indexedDbStore } = await import('/pkg/indexeddb.js')
  const store = indexedDbStore({ name })
  const counts = await store.counts()
  const rows = []
  const deadLetters = []
  for (let cursor, more = all; more; more = cursor !== undefined) {
    const page = await store.list({ limit: 500, cursor })
    rows.push(...page.tasks.map((task) => ({ ...task, intent: intentOf(task) })))
    cursor = page.cursor
  }
  for (let cursor, more = all; more; more = cursor !== undefined) {
    const page = await queue.deadLetters.list({ limit: 500, cursor, allPrincipals: true })
    deadLetters.push(...page.tasks.map(({ taskId }) => taskId))
    cursor = page.cursor
  }
  await store.close()
  const shown = rows.map(({ intent, taskId, status, reason, attemptNumber }) => ({
    intent,
    taskId,
    status,
    reason,
    attemptNumber,
  }))
  return { counts, rows: shown, deadLetters }
}

/** Locks by their holders, as the browser names them. */
globalThis.held = async () =>
  (await navigator.locks.query()).held.map(({ name: lock, clientId }) => ({ lock, clientId }))

/** What a queue that waits for nothing must not have: see `quiet.ts`. */
globalThis.rest = async () => {
  const { held, pending } = await navigator.locks.query()
  const locks = [...held, ...pending].map(({ name: lock, mode }) => `${lock} (${mode})`)
  return { timers: probe.alive(), locks, transactions: globalThis.transactions }
}

const client = await navigator.locks.request(`who is ${life}`, async ({ name: mine }) => {
  return (await held()).find(({ lock }) => lock === mine)?.clientId
})
await queue.ready
tell('ready', { client })
