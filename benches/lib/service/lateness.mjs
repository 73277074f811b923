// How late a task that is due reaches its target, on the clock of the machine.
import { median, quantile } from '../measure.mjs'
import { openService } from './service.mjs'
import { poster, taskText } from './tasks.mjs'

const CONNECTIONS = 10
/** All are posted before the first is due. */
const LEAD_MS = 3_000

/** `count` tasks due over `spreadMs`. */
export async function lateness({ target, origin }, openStore, { count, spreadMs }) {
  const service = await openService(openStore)
  await target.ask('begin')
  const client = poster(service.url, CONNECTIONS)
  const firstAt = Date.now() + LEAD_MS
  const dueAt = Array.from({ length: count }, (_, at) => Math.round(firstAt + (at * spreadMs) / count))
  await client.all(count, (at) => [taskText(origin, at, { deliverAt: dueAt[at] })])
  const postedAt = Date.now()
  await client.close()
  for (let done = 0; done < count; ) done = await target.ask('past', done)
  const late = lateIn(await target.ask('arrivals'), dueAt)
  await service.close()
  return { ...summary(late), leadMs: firstAt - postedAt }
}

/** How late each request came; paths end with the place of its task in `dueAt`. */
export const lateIn = (arrivals, dueAt) => arrivals.map(([path, at]) => at - dueAt[Number(path.split('/').at(-1))])

export const summary = (values) => ({
  count: values.length,
  p50: median(values),
  p99: quantile(values, 0.99),
  most: Math.max(...values),
})
