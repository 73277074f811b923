/** A message is kept in the browser before it is sent: by this page, by the service worker, or by the next page. */
import { RetryQueue } from 'redrive'
import { registerBackgroundSync } from 'redrive/background-sync'

const queue = new RetryQueue({ name: 'messages', durable: true, principal: null }) // null: of no user in particular
registerBackgroundSync(queue)
navigator.serviceWorker?.register('service-worker.js', { type: 'module' })

const words = { IN_FLIGHT: 'Sending', PENDING: 'Waiting', SUCCEEDED: 'Sent', EXHAUSTED: 'Dead letter' }
const [form, messages, template] = document.querySelectorAll('form, ol, template')

form.onsubmit = (event) => {
  event.preventDefault()
  const url = `/api/messages/${crypto.randomUUID()}?what=${encodeURIComponent(form.what.value)}`
  queue.enqueue(url, { method: 'POST', body: new FormData(form) }).catch(({ message }) => alert(message))
}

for (const name of ['queued', 'attempt', 'retry', 'succeeded', 'exhausted']) queue.on(name, ({ task }) => show(task))
for (const task of (await queue.list()).tasks) show(task)

async function show({ taskId, targetUrl }) {
  if (!document.getElementById(taskId)) {
    messages.prepend(template.content.cloneNode(true))
    Object.assign(messages.firstElementChild, { id: taskId })
    queue.result(taskId).then(({ task }) => show(task)) // it may end in another tab, or in the service worker
  }
  const message = document.getElementById(taskId)
  message.querySelector('b').textContent = new URL(targetUrl).searchParams.get('what')
  const [{ status }, { attempts }] = await Promise.all([queue.get(taskId), queue.attempts(taskId)])
  message.dataset.status = status
  message.querySelector('output').textContent = words[status]
  message.querySelector('small').textContent = attempts.map(({ decision }) => decision).join('\n')
}
