// One tenant whose target works, among thousands whose targets fail.
import { orLess } from '../smoke.mjs'
import { asTenant, openConfig } from './config.mjs'
import { lateIn, pastAll, summary } from './lateness.mjs'
import { openService } from './service.mjs'
import { poster, taskText } from './tasks.mjs'

const CONNECTIONS = 20
const LEAD_MS = orLess(5_000, 1_000)
/** Each of the failing tasks comes back so soon for as long as the bench lasts. */
const AGAIN = { strategy: 'fixed', initialDelayMs: 10_000, jitterType: 'FULL', maxAttempts: 1_000 }

/**
 * `tenants - 1` tenants with a task each, to one of the servers at `down`, which always fail; then `perSecond` tasks of the good one
 * become due at `origin`. `redisBusy`: the share of that time for which Redis used its processor.
 */
export async function tenants({ redis, target, origin, down }, openStore, { tenants, perSecond, seconds }) {
  const config = openConfig([origin, ...down])
  const { headers, flags } = config
  const service = await openService(openStore, { flags, headers })
  const client = poster(service.url, CONNECTIONS, headers)
  await target.ask('begin')
  await client.all(tenants - 1, (at) => [
    taskText(down[at % down.length], at, { policy: AGAIN }),
    asTenant(`tenant-${at}`),
  ])
  const count = perSecond * seconds
  const firstAt = Date.now() + LEAD_MS
  const dueAt = Array.from({ length: count }, (_, at) => Math.round(firstAt + (at * 1_000) / perSecond))
  const failedBefore = await failedAt(target)
  const [begunAt, usedBefore] = [performance.now(), await redis.cpuMicros()]
  await client.all(count, (at) => [taskText(origin, at, { deliverAt: dueAt[at] }), asTenant('good')])
  await pastAll(target, count)
  const redisBusy = ((await redis.cpuMicros()) - usedBefore) / 1_000 / (performance.now() - begunAt)
  const late = lateIn(await target.ask('arrivals'), dueAt)
  const failed = (await failedAt(target)) - failedBefore
  const { counts } = await service.call('GET', '/stats')
  await client.close()
  await service.close()
  config.close()
  return { ...summary(late), waiting: counts.pending + counts.inFlight, failedASecond: failed / seconds, redisBusy }
}

async function failedAt(target) {
  const { requests, successes } = await target.ask('counts')
  return requests - successes
}
