// A cluster moves the slot of a store to another node, key by key, while calls come in: each is done whole on one node, or says why not.
import { expect, onTestFinished, test } from 'vitest'
import { type RedisServer, startCluster } from '../../redis/servers.ts'
import { claimOf, newTask, TERMS } from '../store-contract/kit.ts'
import { CLUSTER_CLIENTS, open } from './ports-setup.ts'

const LONG_MS = 120_000

/** A slot on its way from one node to another. */
class Move {
  readonly #nodes: readonly RedisServer[]
  readonly #slot: number
  readonly #from: RedisServer
  readonly #to: RedisServer

  constructor(nodes: readonly RedisServer[], slot: number, from: RedisServer, to: RedisServer) {
    this.#nodes = nodes
    this.#slot = slot
    this.#from = from
    this.#to = to
  }

  async begin(): Promise<void> {
    const [from, to] = [await this.#from.ask('CLUSTER', 'MYID'), await this.#to.ask('CLUSTER', 'MYID')]
    await this.#to.ask('CLUSTER', 'SETSLOT', this.#slot, 'IMPORTING', String(from))
    await this.#from.ask('CLUSTER', 'SETSLOT', this.#slot, 'MIGRATING', String(to))
  }

  /** Moves so many of its keys; how many were there. */
  async keys(most: number): Promise<number> {
    const keys = (await this.#from.ask('CLUSTER', 'GETKEYSINSLOT', this.#slot, most)) as readonly unknown[]
    if (keys.length > 0) {
      const { port } = this.#to
      await this.#from.ask('MIGRATE', '127.0.0.1', port, '', 0, 5_000, 'KEYS', ...keys.map(String))
    }
    return keys.length
  }

  async end(): Promise<void> {
    const to = String(await this.#to.ask('CLUSTER', 'MYID'))
    for (const node of [this.#to, this.#from, ...this.#nodes])
      await node.ask('CLUSTER', 'SETSLOT', this.#slot, 'NODE', to)
  }
}

test.each(CLUSTER_CLIENTS)(
  'S1 nothing is lost while the slot of a store moves, with %s',
  { timeout: LONG_MS },
  async (_, of) => {
    const cluster = await startCluster()
    onTestFinished(() => cluster.end())
    const store = open({ client: of(cluster.nodes), name: 'orders' })
    store.configure?.(TERMS, () => {})
    await store.enqueue(Array.from({ length: 20 }, (_, i) => newTask(i)))

    const key = '{redrive:orders}:m'
    const from = await cluster.ownerOf(key)
    const to = cluster.nodes.find((node) => node !== from) as RedisServer
    const move = new Move(cluster.nodes, Number(await from.ask('CLUSTER', 'KEYSLOT', key)), from, to)
    await move.begin()
    expect(await move.keys(4)).toBe(4)
    // its keys are on two nodes: no script can have them all
    const message = expect.stringMatching(/'orders' in Redis: the slot of the store is being moved/)
    await expect(store.enqueue([newTask(100)])).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE', message })
    const asked = store.enqueue([newTask(101)])
    while ((await move.keys(100)) > 0);
    await move.end()

    expect(await asked).toMatchObject([{ outcome: 'stored' }])
    expect(await store.counts()).toMatchObject({ pending: 21 })
    const claim = claimOf({ limit: 50, total: 50, perLane: 50 })
    const { claimed } = await store.turn({ owner: 'ann', settle: [], renew: [], claim })
    expect(new Set(claimed.map(({ task }) => task.taskId)).size).toBe(21)
    expect(Number(await to.ask('EXISTS', key))).toBe(1)
  },
)
