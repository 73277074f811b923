/** Axios with the app's own interceptors. They, and the caller, see one call, however many attempts it takes. */
import axios from 'axios'
import { RetryQueue } from 'redrive'
import { attachToAxios } from 'redrive/axios'

const queue = new RetryQueue()
const api = axios.create({ baseURL: '/api', timeout: 10_000 })
attachToAxios(api, queue)

const words = { IN_FLIGHT: 'Sending', PENDING: 'Waiting', SUCCEEDED: 'Booked', EXHAUSTED: 'Failed' }
const [form, bookings, template] = document.querySelectorAll('form, ol, template')

api.interceptors.request.use((config) => {
  config.headers.set('x-request-id', crypto.randomUUID()) // the same on every attempt, since it runs once
  return config
})
api.interceptors.response.use(({ config, status }) => show(config.url, 'SUCCEEDED', status))

form.onsubmit = (event) => {
  event.preventDefault()
  const id = `/bookings/${crypto.randomUUID()}`
  bookings.prepend(template.content.cloneNode(true))
  Object.assign(bookings.firstElementChild, { id }).querySelector('b').textContent = form.what.value
  show(id, 'IN_FLIGHT')
  api.postForm(id, form).catch(({ response, message }) => show(id, 'EXHAUSTED', response?.status ?? message))
}

for (const name of ['queued', 'attempt', 'retry', 'exhausted', 'succeeded'])
  queue.on(name, async ({ task: { taskId, targetUrl, status } }) => {
    const log = show(new URL(targetUrl).pathname.slice('/api'.length), status)
    log.textContent = (await queue.attempts(taskId)).attempts.map(({ decision }) => decision).join('\n')
  })

function show(id, status, answer = '') {
  const booking = document.getElementById(id)
  booking.dataset.status = status
  booking.querySelector('output').textContent = `${words[status]} ${answer}`
  return booking.querySelector('small')
}
