// The picture of a run: what the server saw, what the queues held, what their breakers did, over one axis of time.
import { band, grouped, label, legend, limit, line, n, panel, picture, scale } from '../lib/plot.mjs'

const STATES = { CLOSED: 'closed', HALF_OPEN: 'half', OPEN: 'open' }
const series = {
  seen: 'orange',
  done: 'green',
  sent: 'grey',
  depth: 'blue',
  closed: 'pale',
  half: 'yellow',
  open: 'red',
}
/** Rates are taken over so many samples: a second. */
const SPAN = 4
const ROW = 16

/** @param {Awaited<ReturnType<typeof import('./run.mjs').outage>>} run */
export function chart({ samples, circuits, capacity, downAt, upAt, drainedAt, options, summary }) {
  const { clients, load, downS } = options
  const endAt = samples.at(-1).at
  const x = scale(endAt)
  const rates = ratesOf(samples)
  const highest = (rows, ...keys) => rows.reduce((most, row) => Math.max(most, ...keys.map((key) => row[key])), 1)
  const busiest = Math.max(capacity, highest(rates, 'seen', 'attempts'))
  const traffic = panel({ top: 84, height: 170, most: niceOver(busiest), title: 'Requests a second' })
  const backlog = panel({ top: 308, height: 120, most: niceOver(highest(samples, 'depth')), title: 'Tasks held' })
  const breakers = panel({ top: 482, height: clients * ROW, title: 'Breaker of each process', ticks: [] })
  const over = (rows, { y }, key) => rows.map((row) => [x(row.at), y(row[key])])
  const bottom = breakers.top + breakers.height
  const drained = [traffic, backlog, breakers].map(({ top, height }) => `M${n(x(drainedAt))} ${top}v${height}`).join('')
  const title = `A server that is down for ${downS} s`
  return picture({
    height: bottom + 66,
    title,
    heading: `${title}, and ${clients} processes that keep calling`,
    note: `${grouped(summary.calls)} calls, ${summary.amplification.toFixed(2)} requests for each, ${summary.lost} lost`,
    desc: `${clients} processes keep calling at ${Math.round(load * 100)} % of what the server can do. Requests a second, tasks held and breakers, before, during and after an outage of ${downS} seconds.`,
    series,
    parts: [
      ...[traffic, backlog, breakers].map(({ frame }) => frame),
      ...[traffic, backlog].map((each) => band(each, x(downAt), x(upAt))),
      limit(traffic, capacity),
      label(x(0) + 6, traffic.y(capacity) - 6, 'what the server can do', { as: 'soft' }),
      line('sent thin', over(rates, traffic, 'attempts')),
      line('seen', over(rates, traffic, 'seen')),
      line('done', over(rates, traffic, 'succeeded')),
      legend(traffic.top - 10, [
        ['done', 'succeeded'],
        ['seen', 'reached the server'],
        ['sent', 'sent'],
      ]),
      line('depth', over(samples, backlog, 'depth'), backlog),
      ...Array.from({ length: clients }, (_, client) => {
        const own = circuits.filter((change) => change.client === client)
        return states(client + 1, own, x, endAt, breakers.top + client * ROW)
      }),
      legend(breakers.top - 10, [
        ['closed', 'closed'],
        ['half', 'half-open'],
        ['open', 'open'],
      ]),
      drainedAt === null ? '' : `<path class="edge" d="${drained}"/>`,
      seconds(x, bottom + 18, endAt),
      label(x((downAt + upAt) / 2), bottom + 42, 'down', { anchor: 'middle', as: 'word open strong' }),
      drainedAt === null
        ? ''
        : label(x(drainedAt), bottom + 42, `backlog gone ${Math.round(drainedAt - upAt)} s after it is back`, {
            anchor: drainedAt > endAt * 0.7 ? 'end' : 'start',
          }),
    ],
  })
}

/** The arrivals over the second before each sample. */
function ratesOf(samples) {
  return samples.map(({ at }, i) => {
    // the first second has none before it: it is shown as a whole
    const [before, sample] = [samples[Math.max(0, i - SPAN)], samples[Math.max(i, SPAN)] ?? samples.at(-1)]
    const over = (key) => (sample.at > before.at ? (sample[key] - before[key]) / (sample.at - before.at) : 0)
    return { at, seen: over('seen'), succeeded: over('succeeded'), attempts: over('attempts') }
  })
}

/** The next of 1, 1.5, 2, 2.5 .. times a power of ten. */
function niceOver(value) {
  const unit = 10 ** Math.floor(Math.log10(value))
  return unit * ([1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((step) => step * unit >= value * 1.05) ?? 10)
}

/** The row of a process. A breaker that is half-open for the blink of a probe stays visible. */
function states(number, changes, x, endAt, top) {
  const rects = [{ at: 0, to: 'CLOSED' }, ...changes].map(({ at, to }, i) => {
    const from = x(Math.min(Math.max(at, 0), endAt))
    const until = x(Math.min(changes[i]?.at ?? endAt, endAt))
    const width = Math.max(until - from, to === 'HALF_OPEN' ? 2 : 0)
    const rect = `<rect class="mark ${STATES[to]}" x="${n(from)}" y="${top + 1}" width="${n(width)}" height="${ROW - 2}"/>`
    return { to, rect }
  })
  // on top of what follows them
  rects.sort((a, b) => Number(a.to === 'HALF_OPEN') - Number(b.to === 'HALF_OPEN'))
  return rects.map(({ rect }) => rect).join('') + label(x(0) - 8, top + 12, number, { anchor: 'end', as: 'soft' })
}

function seconds(x, y, endAt) {
  const step = [1, 2, 5, 10, 20, 30, 60].find((each) => endAt / each <= 14) ?? 120
  const ticks = Array.from({ length: Math.floor(endAt / step) + 1 }, (_, i) => i * step)
  return ticks.map((at) => label(x(at), y, at === 0 ? '0 s' : at, { anchor: 'middle', as: 'soft' })).join('')
}
