// How long single tasks of one tenant wait while another hands over thousands at once, to targets that are slow.
import { orLess } from '../smoke.mjs'
import { asTenant, openConfig } from './config.mjs'
import { pastAll, summary } from './lateness.mjs'
import { openService } from './service.mjs'
import { poster, taskText } from './tasks.mjs'

const CONNECTIONS = 10
const FLOOD_CONNECTIONS = 4
const BATCH = orLess(100, 10)
/** Sent before anything is measured: code is compiled, connections are made. */
const WARM_UP = orLess(500, 10)
const now = () => performance.timeOrigin + performance.now()

/**
 * Single tasks of a tenant to `origin`, `perSecond` of them for `seconds`. From their beginning on another, or `by` others, hand over up to `flood` tasks, to
 * the servers at `slow` in turns, for as long as the single ones come. `handing`: of those that came meanwhile; `tookMs`: how long that was, for `handed`
 * tasks. `left`: tasks of the flood that waited at the end.
 */
export async function flooded({ target }, openStore, { flood, slow, origin, perSecond, seconds, by = 1 }) {
  const config = openConfig([...new Set([origin, ...slow])])
  const { headers } = config
  const service = await openService(openStore, { flags: config.flags, headers })
  const client = poster(service.url, CONNECTIONS, { ...headers, ...asTenant('single') })
  await target.ask('begin')
  await client.all(WARM_UP, (at) => [taskText(origin, `warm/${at}`)])
  await pastAll(target, WARM_UP)

  const senders = Array.from({ length: by }, (_, n) => ({ ...headers, ...asTenant(`flood${n}`) }))
  const batches = Array.from({ length: flood / BATCH }, (_, batch) => ({
    headers: senders[batch % by],
    body: batchOf(slow, Math.floor(batch / by), batch),
  }))
  const count = perSecond * seconds
  const handedAt = []
  await target.ask('begin')
  const from = now()
  const flooding = handOver(service.url, batches)
  await client.paced(count, perSecond, (at) => {
    handedAt[at] = now()
    return [taskText(origin, `single/${at}`)]
  })
  flooding.stop()
  const { handed, until } = await flooding.over
  const { counts } = await service.call('GET', '/stats')
  const arrivals = await firstOf(target, count)
  const waits = arrivals.map((at, i) => at - handedAt[i])
  await client.close()
  await service.close()
  config.close()
  return {
    ...summary(waits),
    handing: summary(waits.filter((_, i) => handedAt[i] < until)),
    ...{ tookMs: until - from, handed, left: counts.pending + counts.inFlight },
  }
}

/** When each of the single tasks came for the first time, once all have. */
async function firstOf(target, count) {
  const firsts = []
  for (const [path, at] of await target.ask('singles', count)) firsts[Number(path.split('/').at(-1))] = at
  return firsts
}

/** `nth`: of its sender, who goes round all targets. */
function batchOf(slow, nth, batch) {
  const texts = Array.from({ length: BATCH }, (_, i) =>
    taskText(slow[(nth * BATCH + i) % slow.length], `flood/${batch * BATCH + i}`),
  )
  return `{"tasks":[${texts.join(',')}]}`
}

/** `stop`: no batch begins from then on. `over`: how many tasks were taken, and when the last was. */
function handOver(url, batches) {
  const left = batches.values()
  let handed = 0
  let isStopped = false
  const run = async () => {
    while (!isStopped) {
      const { value, done } = left.next()
      if (done) return
      const answer = await fetch(`${url}/retry-tasks/batch`, {
        ...{ method: 'POST', body: value.body },
        headers: { ...value.headers, 'content-type': 'application/json' },
      })
      const { outcomes } = await answer.json()
      const refused = outcomes?.find(({ status }) => status !== 201)
      if (!outcomes || refused) throw new Error(`a batch was refused: ${answer.status} ${JSON.stringify(refused)}`)
      handed += outcomes.length
    }
  }
  return {
    stop() {
      isStopped = true
    },
    over: Promise.all(Array.from({ length: FLOOD_CONNECTIONS }, run)).then(() => ({ handed, until: now() })),
  }
}
