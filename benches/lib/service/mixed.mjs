// How long single tasks of a calm tenant wait, minute after minute, while fifty others do at once whatever they may: targets that are slow, that
// fail or whose names lead nowhere, bodies made to cost much, and lists of all that there is. For some minutes the store is full.
import { setTimeout as sleep } from 'node:timers/promises'
import { orLess } from '../smoke.mjs'
import { asTenant, openConfig } from './config.mjs'
import { pastAll, summary } from './lateness.mjs'
import { openService } from './service.mjs'
import { poster, taskText } from './tasks.mjs'

const CONNECTIONS = 10
const TENANTS = orLess(50, 5)
const NAMES = orLess(200, 5)
const BATCH = 20
/** Sent before anything is measured: code is compiled, connections are made. */
const WARM_UP = orLess(500, 10)
/** Each hostile tenant reaches this: its new tasks are refused then, and go on being sent here. */
const QUOTA = orLess(2_000, 50)
/** The part of all minutes in which the store has no room. */
const [FULL_FROM, FULL_TO] = [0.5, 0.8]
const PAUSES = { batches: 100, bodies: 500, lists: 200 }
/** Attempts that fail at once, so that there are dead letters to list. */
const ONCE = { policy: { maxAttempts: 1 } }
const BODY = `{"a":[${Array.from({ length: orLess(15_000, 100) }, () => '9007199254740993').join()}]}`
const LISTS = ['/retry-tasks?limit=1000', '/retry-tasks?limit=1000&policyId=none', '/dead-letters?limit=1000', '/stats']

/** A row for each minute: of the calm tenant's first attempts, and how many answers of each status the others had meanwhile. */
export async function mixed({ target, origin, down }, openStore, { slow, perSecond, minutes, minuteMs }) {
  const dead = Array.from({ length: NAMES }, (_, n) => `http://dead-${n}.invalid`)
  const targets = [...slow, ...down, ...dead]
  const config = openConfig([origin, ...targets])
  const { headers } = config
  const flags = [...config.flags, '--tenant-capacity', `${QUOTA}`]
  const service = await openService(openStore, { flags, headers })
  let refused = 0
  const client = poster(service.url, CONNECTIONS, { ...headers, ...asTenant('calm') }, () => refused++)
  await target.ask('begin')
  await client.all(WARM_UP, (at) => [taskText(origin, `warm/${at}`)])
  await pastAll(target, WARM_UP)
  const answers = new Map()
  let isOver = false
  const ask = async (tenant, path, body) => {
    const json = body !== undefined && { method: 'POST', body }
    const all = { ...headers, ...asTenant(`tenant-${tenant}`), ...(json && { 'content-type': 'application/json' }) }
    const answer = await fetch(service.url + path, { ...json, headers: all })
    await answer.arrayBuffer()
    answers.set(answer.status, (answers.get(answer.status) ?? 0) + 1)
  }
  const loop = async (pauseMs, act) => {
    for (let at = 0; !isOver; at++) {
      await act(at % TENANTS, at)
      await sleep(pauseMs)
    }
  }
  const storms = [
    loop(PAUSES.batches, (tenant, at) => {
      const task = (i) => taskText(targets[(at * BATCH + i) % targets.length], `flood/${at}-${i}`, i % 2 ? ONCE : {})
      return ask(tenant, '/retry-tasks/batch', `{"tasks":[${Array.from({ length: BATCH }, (_, i) => task(i)).join()}]}`)
    }),
    loop(PAUSES.bodies, (tenant) => ask(tenant, '/plan', BODY)),
    loop(PAUSES.lists, (tenant, at) => ask(tenant, LISTS[at % LISTS.length])),
  ]
  const rows = []
  const count = Math.ceil((perSecond * minuteMs) / 1_000)
  let taken = 0
  for (let minute = 0; minute < minutes; minute++) {
    const handedAt = []
    answers.clear()
    const before = refused
    const isFull = minute >= minutes * FULL_FROM && minute < minutes * FULL_TO && (await service.store.fill())
    if (!isFull) await service.store.free()
    await client.paced(count, perSecond, (i) => {
      handedAt[i] = performance.timeOrigin + performance.now()
      return [taskText(origin, `single/${minute * count + i}`)]
    })
    const waits = []
    taken += count - (refused - before)
    for (const [path, at] of await target.ask('singles', taken)) {
      const i = Number(path.split('/').at(-1)) - minute * count
      if (i >= 0) waits.push(at - handedAt[i])
    }
    const { counts } = await service.call('GET', '/stats')
    const row = {
      ...summary(waits),
      ...{ isFull, refused: refused - before },
      left: counts.pending + counts.inFlight,
      dead: counts.exhausted,
      answers: new Map(answers),
    }
    rows.push(row)
    // an hour is long to wait for all of them
    const full = isFull ? `, the store is full, ${row.refused} of ${count} calm tasks refused` : ''
    console.log(`minute ${minute + 1}: p99 ${Math.round(row.p99)} ms, ${row.left} tasks wait${full}`)
  }
  isOver = true
  await Promise.all(storms)
  await client.close()
  await service.close()
  config.close()
  return rows
}
