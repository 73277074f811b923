// How late a task that is due reaches its target, on the clock of the machine.
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

/** `count` tasks due over `spreadMs`. `leadMs`: how long before the first was due the last was posted. */
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
  await pastAll(target, count)
  const late = lateIn(await target.ask('arrivals'), dueAt)
  await service.close()
  return { ...summary(late), leadMs: firstAt - postedAt }
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
