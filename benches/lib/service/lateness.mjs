// How late a task that is due is claimed, by the service's own measure, and how late it reaches its target, on the clock of the machine.
import { median, quantile } from '../measure.mjs'
import { orLess } from '../smoke.mjs'
import { openService } from './service.mjs'
import { poster, taskText } from './tasks.mjs'

const CONNECTIONS = 10
/** Sent before anything is measured: code is compiled, connections are made. */
const WARM_UP = orLess(2_000, 10)
/** All are posted before the first is due, and at leisure: what a POST waits for behind others is no matter of this bench. */
const LEAD_MS = orLess(10_000, 1_000)
const POSTS_A_SECOND = 200

/**
 * `count` tasks due over `spreadMs`. `leadMs`: how long before the first was due the last was posted. `claimed`: the share that was claimed in
 * the millisecond in which it was due, and within 5 ms.
 */
export async function lateness({ target, origin }, openStore, { count, spreadMs }) {
  const service = await openService(openStore)
  const client = poster(service.url, CONNECTIONS)
  await target.ask('begin')
  await client.all(WARM_UP, (at) => [taskText(origin, at)])
  await pastAll(target, WARM_UP)
  await target.ask('begin')
  const firstAt = Date.now() + LEAD_MS
  const dueAt = Array.from({ length: count }, (_, at) => Math.round(firstAt + (at * spreadMs) / count))
  await client.paced(count, POSTS_A_SECOND, (at) => [taskText(origin, at, { deliverAt: dueAt[at] })])
  const postedAt = Date.now()
  await client.close()
  const before = await claimedIn(service)
  await pastAll(target, count)
  const after = await claimedIn(service)
  const late = lateIn(await target.ask('arrivals'), dueAt)
  await service.close()
  const share = (le) => (after(le) - before(le)) / (after('+Inf') - before('+Inf'))
  return { ...summary(late), leadMs: firstAt - postedAt, claimed: { atOnce: share('0.0005'), within5: share('0.005') } }
}

/** How many tasks were claimed within so many seconds of their due time: whole milliseconds, so that within half of one means in the first. */
async function claimedIn({ url }) {
  const text = await (await fetch(`${url}/metrics`)).text()
  return (le) => {
    const line = `redrive_lateness_seconds_bucket{le="${le}"} `
    const at = text.indexOf(line)
    if (at < 0) throw new Error(`/metrics has no ${line}`)
    return Number.parseInt(text.slice(at + line.length), 10)
  }
}

/** Resolves once so many requests have succeeded. */
export async function pastAll(target, count) {
  for (let done = 0; done < count; ) done = await target.ask('past', done)
}

/** How late each request came; paths end with the place of its task in `dueAt`. */
export const lateIn = (arrivals, dueAt) => arrivals.map(([path, at]) => at - dueAt[Number(path.split('/').at(-1))])

export const summary = (values) => ({
  count: values.length,
  p50: median(values),
  p99: quantile(values, 0.99),
  most: Math.max(...values),
})
