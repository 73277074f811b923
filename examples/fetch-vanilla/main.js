/** Plain fetch calls. A request with a transient failure is sent again, and the caller gets the last answer. */
import { RetryQueue } from 'redrive'
import { wrapFetch } from 'redrive/fetch'

const queue = new RetryQueue()
const fetch = wrapFetch(queue)

const words = { IN_FLIGHT: 'Sending', PENDING: 'Waiting', SUCCEEDED: 'Sent', EXHAUSTED: 'Failed' }
const [form, orders, template] = document.querySelectorAll('form, ol, template')

form.onsubmit = (event) => {
  event.preventDefault()
  const id = crypto.randomUUID()
  orders.prepend(template.content.cloneNode(true))
  Object.assign(orders.firstElementChild, { id }).querySelector('b').textContent = form.what.value
  show(id, 'IN_FLIGHT')
  const ended = (answer) => show(id, answer.ok ? 'SUCCEEDED' : 'EXHAUSTED', answer.status ?? answer.message)
  fetch(`/api/orders/${id}`, { method: 'POST', body: new FormData(form) }).then(ended, ended)
}

// a call that is taken at once has no events: there was nothing to do
for (const name of ['queued', 'attempt', 'retry', 'succeeded', 'exhausted'])
  queue.on(name, async ({ task: { taskId, targetUrl, status } }) => {
    const log = show(targetUrl.split('/').at(-1), status)
    log.textContent = (await queue.attempts(taskId)).attempts.map(({ decision }) => decision).join('\n')
  })

function show(id, status, answer = '') {
  const order = document.getElementById(id)
  order.dataset.status = status
  order.querySelector('output').textContent = `${words[status]} ${answer}`
  return order.querySelector('small')
}
