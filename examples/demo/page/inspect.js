/** The queue of the demo in `<redrive-inspector>`: orders are placed at once, and more when asked for. It lives as long as the page. */
import { RetryQueue } from '/pkg/index.js'
import '/ui/ui.js'
import { Board } from '../board.js'
import { inspected, intentNames, placeOrders } from '../calls.js'

const element = (id) => document.getElementById(id)
const given = new URL(location.href).searchParams
const seed = Number(given.get('seed') ?? '22')
element('calls').value = given.get('calls') ?? '60'

const queue = new RetryQueue(inspected.queueOptions)
queue.on('degraded', ({ message }) => say('broken', message))
document.querySelector('redrive-inspector').queue = queue

let placed = 0
let isAway = false

element('controls').addEventListener('submit', (event) => {
  event.preventDefault()
  place(Number(element('calls').value))
})
element('server').addEventListener('click', () => {
  tellServer(!isAway).catch(tellOfFailure)
})
// a page that was loaded again finds the server as the one before left it
tellServer(false).then(() => place(Number(element('calls').value)), tellOfFailure)

function place(calls) {
  const names = intentNames(calls, placed + 1)
  placed += calls
  say('running', `${placed} orders, four a second.`)
  placeOrders(queue, location.origin, new Board(names), inspected.betweenCallsMs).catch(tellOfFailure)
}

async function tellServer(goesAway) {
  const faults = goesAway ? inspected.outage : { ...inspected.serverFaults, seed }
  const response = await fetch('/config', { method: 'POST', body: JSON.stringify(faults) })
  if (!response.ok) throw new Error(`/config answered ${response.status}`)
  isAway = goesAway
  element('server').textContent = isAway ? 'Bring the server back' : 'Take the server down'
  say(
    'running',
    isAway
      ? 'The server is down: it answers 503 to everything.'
      : 'The server is there again, and fails half of the time.',
  )
}

function tellOfFailure(error) {
  say('broken', `The demo could not go on: ${error.message}\nIs its server still running?`)
}

function say(state, text) {
  element('status').dataset.state = state
  element('status').textContent = text
}
