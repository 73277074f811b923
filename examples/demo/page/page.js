/** The demo in a browser: the same calls, the same board, the same verdict as in the terminal. */
import { RetryQueue } from '/pkg/index.js'
import { Board, pauseLeftMs } from '../board.js'
import { intentNames, placeOrders, queueOptions, serverFaults } from '../calls.js'
import { figures, judge } from '../verdict.js'
import { Skyline } from './skyline.js'

const element = (id) => document.getElementById(id)
const skyline = new Skyline(element('skyline'))
const given = new URL(location.href).searchParams
element('seed').value = given.get('seed') ?? '22'
element('calls').value = given.get('calls') ?? '60'

showEmpty()
element('calls').addEventListener('input', showEmpty)
element('controls').addEventListener('submit', (event) => {
  event.preventDefault()
  run(Number(element('calls').value), Number(element('seed').value)).catch((error) => {
    status('broken', `The demo could not go on: ${error.message}\nIs its server still running?`)
  })
})

async function run(calls, seed) {
  busy(true)
  element('account').hidden = true
  status('running', `Placing ${calls} orders.`)
  const queue = new RetryQueue(queueOptions)
  queue.on('degraded', ({ message }) => status('broken', message))
  try {
    await tell('/reset', {})
    await tell('/config', { ...serverFaults, seed })
    const accepted = await place(queue, calls)
    const report = await (await fetch('/report')).json()
    conclude(report, judge(report, { calls, accepted, concurrency: queueOptions.concurrency }))
  } finally {
    await queue.close()
    busy(false)
  }
}

async function place(queue, calls) {
  const board = new Board(intentNames(calls), { changed: (call) => skyline.update(call) })
  const startedAt = Date.now()
  const draw = () => showCounters(board.counts(), Date.now() - startedAt, pauseLeftMs(queue))
  skyline.clear(board.calls)
  board.follow(queue)
  draw()
  const timer = setInterval(draw, 100)
  try {
    const accepted = await placeOrders(queue, location.origin, board)
    await queue.idle()
    return accepted
  } finally {
    clearInterval(timer)
    draw()
  }
}

async function tell(path, value) {
  const response = await fetch(path, { method: 'POST', body: JSON.stringify(value) })
  if (!response.ok) throw new Error(`${path} answered ${response.status}`)
}

function showEmpty() {
  const calls = Math.min(300, Math.max(1, Number(element('calls').value) || 1))
  const board = new Board(intentNames(calls))
  skyline.clear(board.calls)
  showCounters(board.counts(), 0)
}

function showCounters(counts, elapsedMs, pauseMs = 0) {
  const items = [
    ['planned', counts.planned, 'to come'],
    ['flying', counts.flying, 'in flight'],
    ['waiting', counts.waiting, 'waiting'],
    ['done', counts.done, 'done'],
    ['dead', counts.dead, 'given up'],
    ['attempts', counts.attempts, 'attempts'],
    ['elapsed', seconds(elapsedMs), 'seconds'],
    ['pause', seconds(pauseMs), 'pause left'],
  ]
  element('counters').replaceChildren(
    ...items.map(([name, value, label]) => {
      const item = document.createElement('li')
      item.dataset.count = name
      item.classList.toggle('some', value > 0)
      const number = document.createElement('b')
      number.textContent = String(value)
      item.append(number, label)
      return item
    }),
  )
  skyline.describe(
    `${counts.done} done, ${counts.waiting} waiting, ${counts.flying} in flight, ${counts.dead} given up, ${counts.planned} to come`,
  )
}

function conclude(report, { ok, checks, offenders }) {
  fill(
    'checks',
    checks.map((check) => [check.ok ? '' : 'broken', check.label, check.found, check.wanted]),
  )
  fill(
    'figures',
    figures(report).map(([label, value]) => [label.startsWith(' ') ? 'part' : '', label.trim(), value]),
  )
  element('account').hidden = false
  if (ok)
    return status(
      'held',
      `${report.intents} orders, ${report.intents} effects, ${report.injected.total} failures on the way.`,
    )
  const failed = checks
    .filter((check) => !check.ok)
    .map(({ label, found, wanted }) => `${label}: expected ${wanted}, got ${found}`)
  status(
    'broken',
    [...failed, ...(offenders.length > 0 ? [`look at: ${offenders.slice(0, 8).join(', ')}`] : [])].join('\n'),
  )
}

function seconds(ms) {
  return (ms / 1000).toFixed(1)
}

function fill(id, rows) {
  element(id).tBodies[0].replaceChildren(
    ...rows.map(([kind, label, ...values]) => {
      const row = document.createElement('tr')
      row.className = kind
      const head = Object.assign(document.createElement('th'), { scope: 'row', textContent: label })
      row.append(
        head,
        ...values.map((value) => Object.assign(document.createElement('td'), { textContent: String(value) })),
      )
      return row
    }),
  )
}

function busy(yes) {
  element('run').disabled = yes
  element('run').textContent = yes ? 'Placing them' : 'Place the orders'
}

function status(state, text) {
  element('status').dataset.state = state
  element('status').textContent = text
}
