// One of several processes that keep calling: a queue with the defaults of the package, `perSecond` calls, each deferred, so
// that what fails for now is the queue's. Says how it stands four times a second.
import { RetryQueue } from '../../pkg/index.js'

const { url, name, perSecond } = JSON.parse(process.argv[2])
const queue = new RetryQueue({ name })
const startedAt = performance.now()
let calls = 0
let answered = 0
let loading = true

queue.on('circuit', ({ to }) => {
  process.send({ kind: 'circuit', name, to })
})

async function call() {
  const init = { method: 'POST', body: '{}', redrive: { mode: 'defer' } }
  const response = await queue.fetch(`${url}/${name}/${calls++}`, init).catch(() => undefined)
  if (response?.status === 200) answered++
  await response?.arrayBuffer()
}

/** Makes all calls that are due by now: a timer that fires late makes up for the difference. */
const pace = setInterval(() => {
  const owed = ((performance.now() - startedAt) / 1_000) * perSecond
  while (loading && calls < owed) void call()
}, 5)

const standing = () => {
  const { depth, attempts, exhausted, deadLetters } = queue.stats()
  return { calls, depth, attempts, exhausted, deadLetters }
}
const telling = setInterval(() => process.send({ kind: 'standing', name, ...standing() }), 250)

process.on('message', async () => {
  loading = false
  clearInterval(pace)
  await queue.idle()
  clearInterval(telling)
  process.send({ kind: 'end', name, answered, ...standing(), succeeded: queue.stats().succeeded })
  await queue.close()
})
process.on('disconnect', () => process.exit(0))
