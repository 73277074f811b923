/** A page with an inspector and whatever it looks at: the tests say which. Nothing but text is read from it, as a screen reader would. */
import { RetryQueue } from '/pkg/index.js'
import { mountInspector } from '/ui/ui.js'
import { InspectorError, queueSource, serviceSource } from '/ui/ui-sources.js'

const violations = []
document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
  violations.push(`${violatedDirective} ${blockedURI}`),
)
const errors = []
addEventListener('error', ({ message }) => errors.push(message))
addEventListener('unhandledrejection', ({ reason }) => errors.push(String(reason)))

/** An inspector in the page; the properties are set before it is connected. */
function put(properties = {}, attributes = {}) {
  const element = document.createElement('redrive-inspector')
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  Object.assign(element, properties)
  document.querySelector('main').append(element)
  stage.element = element
  return element
}

/** The text that is seen, each piece apart from the next. */
const text = (root = stage.element) => (root?.shadowRoot ?? root)?.textContent.replace(/\s+/g, ' ').trim() ?? ''

/** Presses the button of this name, if it is there. */
function press(name) {
  for (const button of stage.element.shadowRoot.querySelectorAll('button')) if (text(button) === name) button.click()
}

const ID = (n) => `0199a3b4-6c58-7000-8a4f-${n.toString(16).padStart(12, '0')}`
const STATUSES = ['PENDING', 'PENDING', 'PENDING', 'IN_FLIGHT', 'EXHAUSTED', 'SUCCEEDED']

function fakeTask(n, now) {
  const status = STATUSES[n % STATUSES.length]
  return {
    taskId: ID(n),
    idempotencyKey: `order-${n}`,
    targetUrl: `https://${['api', 'pay', 'mail'][n % 3]}.example.com/v1/orders/${n}?expand=lines`,
    method: ['POST', 'PUT', 'GET'][n % 3],
    headers: { 'content-type': 'application/json' },
    withheldHeaders: ['authorization'],
    bodyRef: 'inline',
    policyId: 'default',
    principal: n % 2 ? 'ada' : null,
    attemptNumber: n % 5,
    nextAttemptAt: status === 'PENDING' ? now + (n % 90) * 1000 : null,
    createdAt: now - 60_000 - n * 10,
    status,
    ...(status === 'EXHAUSTED' && { reason: 'max_attempts' }),
  }
}

/** Everything in memory, and every failure at will: what cannot be had for certain from a real queue. */
function fakeSource({ count = 60, tasks, can, delayMs = 0, hang = false, ...overview } = {}) {
  const now = Date.now()
  const all = tasks ?? Array.from({ length: count }, (_, n) => fakeTask(n, now))
  const every = ['cancel', 'due', 'redrive', 'purge', 'pause', 'resume', 'flush', 'redriveAll', 'purgeAll']
  const fake = {
    name: 'orders',
    all,
    can: can ?? Object.fromEntries(every.map((type) => [type, true])),
    fail: undefined,
    failAct: undefined,
    hang,
    done: [],
    asked: 0,
    async pass() {
      fake.asked++
      if (fake.hang) await new Promise(() => {})
      if (delayMs) await new Promise((resolve) => setTimeout(resolve, delayMs))
      if (fake.fail) throw fake.fail
    },
    async overview() {
      await fake.pass()
      const of = (status) => all.filter((task) => task.status === status).length
      const counts = { PENDING: of('PENDING'), IN_FLIGHT: of('IN_FLIGHT'), EXHAUSTED: of('EXHAUSTED') }
      const inTime = (ms) => Date.now() + ms
      const nothing = { heldUntilAt: null, inFlight: 1, pending: 20, retryBudget: 10 }
      return {
        depth: counts.PENDING + counts.IN_FLIGHT,
        inFlight: counts.IN_FLIGHT,
        deadLetters: counts.EXHAUSTED,
        capacity: 100_000,
        nextAttemptAt: inTime(4_000),
        succeeded: 1_200 + fake.asked * 3,
        exhausted: counts.EXHAUSTED,
        counts,
        warnings: [],
        origins:
          all.length === 0
            ? []
            : [
                { ...nothing, origin: 'https://api.example.com', circuit: 'CLOSED', nextAttemptAt: inTime(4_000) },
                {
                  ...nothing,
                  origin: 'https://pay.example.com',
                  circuit: 'OPEN',
                  gate: 'circuit-open',
                  gateUntilAt: inTime(12_000),
                  retryBudget: 0,
                },
                {
                  ...nothing,
                  origin: 'https://mail.example.com',
                  circuit: 'HALF_OPEN',
                  heldUntilAt: inTime(75_000),
                  paused: true,
                },
              ],
        ...overview,
      }
    },
    async list({ status, origin, limit, cursor = '0' }) {
      await fake.pass()
      const fitting = all.filter(
        (task) => (!status || task.status === status) && (!origin || task.targetUrl.startsWith(`${origin}/`)),
      )
      const from = Number(cursor)
      const to = from + limit
      return { tasks: fitting.slice(from, to), ...(to < fitting.length && { cursor: `${to}` }) }
    },
    async task(taskId) {
      await fake.pass()
      const task = all.find((each) => each.taskId === taskId)
      return task && { task, attempts: fakeAttempts(task), decisions: fakeDecisions(task) }
    },
    async act(act) {
      if (fake.failAct) throw fake.failAct
      const { signal, onProgress, ...rest } = act
      fake.done.push(rest)
      if (act.type === 'redriveAll') {
        for (let done = 0; done < 10 && !signal.aborted; done++) {
          onProgress(done, 10)
          await new Promise((resolve) => setTimeout(resolve, fake.pace ?? 5))
        }
        return signal.aborted ? 'stopped' : '10 tasks put back'
      }
      return `${act.type} is done`
    },
  }
  return fake
}

function fakeAttempts(task) {
  const first = task.createdAt + 20
  const log = (n, startedAt, rest) => ({
    taskId: task.taskId,
    attemptNumber: n,
    startedAt,
    durationMs: 40 * n,
    responseStatus: 503,
    errorMessage: null,
    decision: '503',
    kind: 'retry',
    ...rest,
  })
  return [
    log(1, first, { data: { curveMs: 1_000, delayMs: 1_000 } }),
    log(2, first + 1_040, {
      responseStatus: null,
      errorMessage: 'connect ECONNREFUSED',
      data: { curveMs: 2_000, delayMs: 2_000 },
    }),
    log(3, first + 3_120, { data: { curveMs: 4_000, delayMs: 21_000, serverDelayMs: 20_000, spreadMs: 1_000 } }),
    log(4, first + 24_240, {
      responseStatus: null,
      kind: 'released',
      decision: 'not sent, there is no network',
      data: { cause: 'offline' },
    }),
    ...(task.status === 'SUCCEEDED' ? [log(4, first + 30_000, { responseStatus: 201, kind: 'succeeded' })] : []),
  ]
}

function fakeDecisions(task) {
  const at = task.createdAt
  const decisions = [
    { at, kind: 'queued', text: `${task.method} ${task.targetUrl.split('?')[0]}, policy 'default', with a key` },
    { at: at + 20, kind: 'attempt', text: 'attempt 1 was sent' },
    { at: at + 60, kind: 'retry', text: '503; next in 1 s' },
    { at: at + 3_300, kind: 'retry', text: '503, Retry-After 20 s; next in 21 s (the curve alone: 4 s)' },
  ]
  if (task.status === 'PENDING') {
    const until = Date.now() + 40_000
    decisions.push({
      at: Date.now(),
      kind: 'waits',
      text: "waits for its origin's circuit breaker, which is open",
      data: { gate: 'circuit-open', until },
    })
  }
  return decisions
}

/** A queue that shares its tasks with the other tabs, with short waits. */
function openQueue(name, options) {
  const policy = { strategy: 'fixed', initialDelayMs: 300, jitterType: 'NONE', maxAttempts: 200 }
  stage.queue = new RetryQueue({ name, durable: true, principal: 'ann', policy, ...options })
  return stage.queue
}

/** What `get`, `explain` and `stats` say of a task and of its origin, and the inspector that has it open does not. */
async function unsaid(taskId) {
  const { queue } = stage
  const [task, decisions] = await Promise.all([queue.get(taskId), queue.explain(taskId)])
  const shown = text()
  const words = [
    task.taskId,
    task.idempotencyKey,
    task.targetUrl,
    `attempt ${task.attemptNumber}`,
    ...decisions.flatMap((each) => [each.kind, each.text]),
    `Waiting ${queue.stats().depth - queue.stats().inFlight}`,
  ]
  return words.filter((each) => !shown.includes(each.replace(/\s+/g, ' ')))
}

globalThis.stage = {
  mountInspector,
  InspectorError,
  queueSource,
  serviceSource,
  RetryQueue,
  put,
  text,
  fakeSource,
  fakeTask,
  ID,
  openQueue,
  unsaid,
  press,
  violations,
  errors,
  element: undefined,
}
