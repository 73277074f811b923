// The registry and the pauses in Redis: what is lost on the way, what is waited for, and what they cost.
import { Redis } from 'ioredis'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Hint } from '../../../js/api/store.ts'
import { startReplicated } from '../../redis/servers.ts'
import { type CallFault, SyncPort, syncConnection } from '../../redis/sync-port.ts'
import { eventually } from '../eventually.ts'
import { claimOf, idOf, newTask } from '../store-contract/kit.ts'
import { alone, open } from './ports-setup.ts'

let stores = 0

/** A store, and a way to lose the answer of its next call of a script. */
async function lossy(name = `settings-${++stores}`) {
  let next: CallFault | undefined
  const called = (command: string): CallFault | undefined => {
    if (command !== 'FCALL') return undefined
    const fault = next
    next = undefined
    return fault
  }
  const store = open({ client: new SyncPort(await syncConnection(), { called }), name })
  await store.counts()
  // the library is known to the server from now on
  await store.registry?.write('warm', name)
  return {
    name,
    store,
    registry: of(store.registry),
    pauses: of(store.pauses),
    fail: (fault: CallFault) => {
      next = fault
    },
  }
}

function of<T>(part: T | undefined): T {
  if (!part) throw new Error('a store in Redis has it')
  return part
}

test.each(['fail-before', 'fail-after'] as const)(
  'S14 a write whose connection breaks (%s) is done once, and knows its own work',
  async (fault) => {
    const { registry, fail } = await lossy()
    fail(fault)
    expect(await registry.write('a', 1, 0)).toBe('written')
    fail(fault)
    expect(await registry.write('a', 2, 2)).toBe('written')
    expect(await registry.read({ prefix: 'a' })).toEqual({ version: 3, entries: [{ name: 'a', value: 2, version: 3 }] })
    fail(fault)
    expect(await registry.write('a', null, 3)).toBe('written')
    expect(await registry.read({ prefix: 'a' })).toEqual({ version: 4, entries: [] })
  },
)

test('S14 what another process wrote is not taken for its own, though it is the same', async () => {
  const { registry, name } = await lossy()
  const other = await lossy(name)
  expect(await registry.write('op', 'taken', 0)).toBe('written')
  other.fail('fail-after')
  expect(await other.registry.write('op', 'taken', 0)).toBe('changed')
  await registry.write('op', null)
  other.fail('fail-after')
  expect(await other.registry.write('op', null, 2)).toBe('changed')
})

test('a pause whose answer is lost holds, and once lifted is there no more', async () => {
  const { store, pauses, fail } = await lossy()
  await store.enqueue([newTask(1)])
  fail('fail-after')
  await pauses.put({ id: 'p', at: 0 })
  const claim = async () => (await store.turn({ owner: 'ann', settle: [], renew: [], claim: claimOf() })).claimed
  expect(await claim()).toEqual([])
  fail('fail-after')
  await pauses.lift('p')
  expect(await pauses.list()).toEqual([])
  expect(await claim()).toHaveLength(1)
})

test('names that are those of the store’s own fields, or hold signs of patterns, are names as any other', async () => {
  const { registry } = await lossy()
  for (const name of ['v', 'e', 'ev', '%a', 'a b', 'é']) expect(await registry.write(name, name, 0)).toBe('written')
  for (const [prefix, name] of [
    ['v', 'v'],
    ['%', '%a'],
    ['é', 'é'],
  ] as const) {
    expect((await registry.read({ prefix })).entries?.map(({ value }) => value)).toEqual([name])
  }
})

test('S7 principals are told apart whatever they are called: a scope is never a part of another', async () => {
  const { store, pauses } = await lossy()
  const principals = [null, '', 'a', 'a b', ' a', 'https://api.test', 'l', '%']
  await store.enqueue(principals.map((principal, i) => newTask(i, { principal })))
  for (const principal of principals) {
    for (const scope of [{ principal }, { principal, origin: 'https://api.test' }]) {
      await pauses.put({ id: 'p', at: 0, ...scope })
      for (const [i, other] of principals.entries()) {
        const claim = claimOf({ principal: other, limit: 0 })
        const { lanes } = await store.turn({ owner: 'ann', settle: [], renew: [], claim })
        expect(lanes.length, `${idOf(i)} beside ${JSON.stringify(scope)}`).toBe(other === principal ? 0 : 1)
      }
    }
  }
})

test('S1 a write and a pause wait for the replicas that an enqueue waits for', async () => {
  const { primary, replica, end } = await startReplicated()
  onTestFinished(end)
  const storeOf = (ackTimeoutMs: number) =>
    open({ client: new Redis(primary.port, { lazyConnect: true }), subscriber: null, replicas: 1, ackTimeoutMs })
  const store = storeOf(30_000)
  expect(await store.registry?.write('a', 1)).toBe('written')
  await store.pauses?.put({ id: 'p', at: 0 })
  await replica.kill()
  const hasty = storeOf(100)
  for (const work of [hasty.registry?.write('a', 2), hasty.pauses?.put({ id: 'q', at: 0 }), hasty.pauses?.lift('p')]) {
    const message = expect.stringContaining('0 of 1 replicas')
    await expect(work).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE', message })
  }
})

test('L1 another process hears that a pause was lifted, or that one in its place holds less', async () => {
  const server = await alone()
  const storeOf = () => open({ client: new Redis(server.port, { lazyConnect: true }) })
  const [here, there] = [storeOf(), storeOf()]
  const heard: Hint['kind'][] = []
  there.subscribe?.(({ kind }) => heard.push(kind))
  // it has begun to hear
  await eventually(() => here.cancel(idOf(1)).then(() => server.ask('PUBSUB', 'SHARDCHANNELS'))).toHaveLength(1)
  await here.pauses?.put({ id: 'p', at: 0 })
  await here.pauses?.put({ id: 'p', origin: 'https://api.test', at: 0 })
  await eventually(() => heard).toEqual(['due'])
  await here.pauses?.lift('p')
  await eventually(() => heard).toEqual(['due', 'due'])
})

test('a look at the registry where nothing has changed reads one field, and a claim without pauses none of them', async () => {
  const server = await alone()
  const store = open({ client: new Redis(server.port, { lazyConnect: true }), subscriber: null })
  const { registry, pauses } = store
  await store.enqueue([newTask(1)])
  await registry?.write('a', 'x'.repeat(1_000))
  /** Commands that scripts gave, but those that each of them begins with. */
  const commandsOf = async (work: () => Promise<unknown> | undefined): Promise<readonly string[]> => {
    await work()
    await server.ask('CONFIG', 'RESETSTAT')
    await work()
    const stats = await server.info('commandstats')
    return Object.keys(stats).map((name) => name.replace('cmdstat_', ''))
  }
  expect(await commandsOf(() => registry?.read({ prefix: '', since: 1 }))).not.toContain('hgetall')
  expect(await commandsOf(() => registry?.read({ prefix: '', since: 0 }))).toContain('hgetall')
  const claim = claimOf({ limit: 0 })
  const turn = () => store.turn({ owner: 'ann', settle: [], renew: [], claim })
  const callsOfHvals = async (): Promise<string | undefined> => {
    await server.ask('CONFIG', 'RESETSTAT')
    await turn()
    return (await server.info('commandstats')).cmdstat_hvals?.replace(/,.*/, '')
  }
  expect(await callsOfHvals()).toBe('calls=1') // the lanes
  await pauses?.put({ id: 'p', origin: 'https://other.test', at: 0 })
  expect(await callsOfHvals()).toBe('calls=2')
  await pauses?.lift('p')
  expect(await callsOfHvals()).toBe('calls=1')
})

test('its clock is the server’s, wherever that of the process stands, and tasks are due by it', async () => {
  const store = open({ client: new SyncPort(await syncConnection()), name: `settings-${++stores}`, everyone: true })
  const from = Date.now()
  const real = Date.now.bind(Date)
  const clock = vi.spyOn(Date, 'now')
  onTestFinished(() => clock.mockRestore())
  for (const [n, skewMs] of [30_000, -30_000].entries()) {
    clock.mockImplementation(() => real() + skewMs)
    await store.enqueue([newTask(n + 1)])
    const { dueAt } = (await store.get(idOf(n + 1))) ?? {}
    for (const at of [await store.now?.(), dueAt]) {
      expect(at).toBeGreaterThanOrEqual(from)
      expect(at).toBeLessThan(from + 10_000)
    }
  }
})
