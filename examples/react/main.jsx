/** What waits, in this tab and in all others: a queue is a store outside of React and says when tasks have changed. */
import { useActionState, useEffect, useState, useSyncExternalStore } from 'react'
import { createRoot } from 'react-dom/client'
import { RetryQueue } from 'redrive'

const api = new URL('/api/orders/', location.href) // may be of another origin, if its CORS headers allow the key
const idempotency = { origins: [api.origin] } // the origins that may get the key; the page's own always may
const queue = new RetryQueue({ durable: true, principal: null, idempotency }) // where users log in: the id of the user
const live = { 'Send all now': () => queue.flush(), Cancel: (id) => queue.cancel(id) }
const dead = { 'Send again': (id) => queue.deadLetters.redrive(id), Delete: (id) => queue.deadLetters.purge(id) }
const words = { PENDING: 'Waiting', IN_FLIGHT: 'Sending', EXHAUSTED: 'Dead letter' }

// no attempt is planned for a task that had a credential which may not be stored, or whose credential was refused
const isParked = ({ status, nextAttemptAt }) => status === 'PENDING' && nextAttemptAt === null

function nextOf({ status, attemptNumber, nextAttemptAt, reason }, now) {
  if (status === 'EXHAUSTED') return `Given up: ${reason}`
  if (nextAttemptAt === null) return status === 'IN_FLIGHT' ? `Attempt ${attemptNumber}` : ''
  // one that is due may still wait for the network, or for a server that has failed: queue.explain(taskId) says it
  return nextAttemptAt > now ? `Next at ${new Date(nextAttemptAt).toLocaleTimeString()}` : 'Next: now'
}

async function order(_, form) {
  const what = form.get('what')
  const redrive = { meta: { what } } // shown with the task, never sent
  try {
    await queue.enqueue(new URL(crypto.randomUUID(), api), { method: 'POST', body: form, redrive })
    return { what: 'Green tea' } // stored: the form is free for the next order
  } catch ({ message }) {
    return { what, message } // not stored: the form keeps what the user has entered
  }
}

const Row = ({ task, now }) => (
  <li data-status={task.status}>
    <b>{task.meta.what}</b> · <output>{isParked(task) ? 'Waits for credentials' : words[task.status]}</output>
    <small>{nextOf(task, now)}</small>
    {Object.entries(task.status === 'EXHAUSTED' ? dead : live).map(([word, act]) => (
      <button key={word} type="button" onClick={() => act(task.taskId)}>
        {word}
      </button>
    ))}
  </li>
)

function App() {
  const [{ tasks, sent }, show] = useState({ tasks: [], sent: 0 })
  const [now, tick] = useState(Date.now)
  const [{ what, message }, submit] = useActionState(order, { what: 'Green tea' })
  const stats = useSyncExternalStore(queue.subscribe, queue.snapshot) // the same object until a task changes
  useEffect(() => {
    const lists = Promise.all([queue.list({ active: true }), queue.deadLetters.list()])
    lists.then((pages) => show({ tasks: pages.flatMap((page) => page.tasks), sent: stats.succeeded }))
  }, [stats])
  const waits = tasks.length > 0
  useEffect(() => {
    const timer = waits ? setInterval(() => tick(Date.now()), 1_000) : undefined
    return () => clearInterval(timer)
  }, [waits])
  return (
    <form action={submit}>
      <input name="what" required aria-label="What" defaultValue={what} />
      <button type="submit">Order</button>
      {message && <p role="alert">{message}</p>}
      <ol>
        {tasks.map((task) => (
          <Row key={task.taskId} task={task} now={now} />
        ))}
      </ol>
      <p>{`${waits ? '' : 'Nothing waits. '}This tab has sent ${sent}.`}</p>
    </form>
  )
}
createRoot(document.querySelector('main')).render(<App />)
