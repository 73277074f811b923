/** A report is kept on this device the moment it is sent, and delivered once there is a connection: now, or next week. */
import { RetryQueue } from 'redrive'
import { registerBackgroundSync } from 'redrive/background-sync'

const queue = new RetryQueue({
  name: 'trail',
  durable: true,
  principal: null, // no user in particular. Where users log in: their id, and `setPrincipal` when another user does
  policy: { keyTtlMs: 7 * 24 * 3_600_000 }, // the server remembers the key of a report for a week
})
const element = (id) => document.getElementById(id)
const actions = {
  withdraw: (taskId) => queue.cancel(taskId),
  again: (taskId) => queue.deadLetters.redrive(taskId, { acceptDuplicateRisk: true }), // one too many does no harm
  remove: (taskId) => queue.deadLetters.purge(taskId),
}

async function show() {
  element('offline').hidden = navigator.onLine
  element('reports').dataset.network = navigator.onLine ? 'on' : 'off'
  const tasks = (await queue.list({ limit: 1_000 })).tasks.filter(({ status }) => status !== 'CANCELLED')
  const shown = new Set(tasks.map(({ taskId }) => taskId))
  for (const item of [...element('reports').children]) if (!shown.has(item.id)) item.remove()
  for (const task of tasks) showReport(task)
  const delivered = tasks.filter(({ status }) => status === 'SUCCEEDED')
  element('empty').hidden = tasks.length > 0
  element('summary').textContent = tasks.length > 0 ? `${delivered.length} of ${tasks.length} delivered` : ''
}

function showReport({ taskId, status, reason = '', targetUrl, createdAt }) {
  const item = element(taskId) ?? element('report').content.firstElementChild.cloneNode(true)
  Object.assign(item.dataset, { status, reason }) // form.css has the words and buttons for these
  if (item.isConnected) return
  const written = new Date(createdAt).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' })
  item.querySelector('.place').textContent = new URL(targetUrl).searchParams.get('place')
  item.querySelector('.written').textContent = `Written ${written}`
  element('reports').prepend(Object.assign(item, { id: taskId }))
  queue.result(taskId).then(show, show) // it may end in another tab, or in the service worker
}

element('form').onsubmit = async (event) => {
  event.preventDefault()
  element('refused').textContent = ''
  const body = new FormData(element('form'))
  const address = `/api/reports?place=${encodeURIComponent(body.get('place'))}`
  const refuse = ({ message }) => element('refused').append(`Not kept: ${message}`)
  element('fields').disabled = true
  await queue.enqueue(address, { method: 'POST', body }).then(() => element('form').reset(), refuse)
  element('fields').disabled = false
  event.submitter?.focus()
}
element('reports').onclick = ({ target }) => actions[target.name]?.(target.closest('li').id).then(show)
for (const name of ['queued', 'attempt', 'retry', 'succeeded', 'exhausted', 'cancelled']) queue.on(name, show)
for (const name of ['online', 'offline', 'focus']) addEventListener(name, show)
queue.on('degraded', ({ code }) => code === 'storage_unavailable' && element('unkept').removeAttribute('hidden'))
await show()
registerBackgroundSync(queue)
await navigator.serviceWorker?.register('service-worker.js', { type: 'module' }) // opens this page without a network
const used = performance.getEntriesByType('resource').map(({ name }) => name)
await globalThis.caches?.open('trail').then((cache) => cache.addAll([location.pathname, ...used]))
