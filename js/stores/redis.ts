/**
 * redrive/redis: tasks in a Redis or Valkey that many processes and machines share. All who open a store of one `name` are one queue:
 * limits, orders, keys and counts hold over all of them.
 *
 * Each method is one script inside the server, or a few where thousands of tasks may be concerned; each is atomic. The time is the
 * server's. How much of what was accepted survives is a matter of how the server is set up: see docs/redis.md.
 */

import type { StoreRoom, TaskStore } from '../api/store.ts'
import type { Durability } from '../api/task.ts'
import { check, flag, follow, int, objectLike, pattern, type Rules } from '../options/check.ts'
import type { RetentionOptions } from '../options/retention.ts'
import type { Clock } from '../platform/clock.ts'
import { assertStorable } from './engine/sound.ts'
import { checkDue, checkGiven, checkList, checkPurge } from './filters.ts'
import { broadcastOn } from './redis/broadcast.ts'
import { portOf, reopening } from './redis/client.ts'
import * as control from './redis/control.ts'
import { EnqueueGroup } from './redis/enqueue.ts'
import { translated } from './redis/failures.ts'
import * as reads from './redis/reads.ts'
import { type Durably, pausesOf, registryOf } from './redis/registry.ts'
import { messagesOf } from './redis/scripts.ts'
import { ACK_TIMEOUT_MS, Server } from './redis/server.ts'
import { Session } from './redis/session.ts'
import { turn } from './redis/turn.ts'
import { resolveTerms, TERMS_RULES } from './store-options.ts'

export type { RedisPort } from './redis/port.ts'

export interface RedisStoreOptions {
  /** A client of node-redis 5 or later (`createClient`, `createCluster`, `createSentinel`), of ioredis 5 or later (`Redis`, `Cluster`) or iovalkey, or a `RedisPort`. It stays its user's: the store never closes it. */
  readonly client: unknown
  /** A connection of its own on which the store hears other processes; null: none, and work of others is found every `idleCheckMs`. @default a duplicate of `client` */
  readonly subscriber?: unknown
  /** All stores of one name share their tasks: one for each tenant, policy or origin is how the work is spread over the nodes of a cluster. 1 to 64 letters, digits, '.', '_' and '-'. @default 'default' */
  readonly name?: string
  /** An `enqueue` resolves once the server has synced its append-only file to disk (WAITAOF, from Redis 7.2 and Valkey 7.2 on). @default false */
  readonly fsync?: boolean
  /** An `enqueue` resolves once so many replicas have it (WAIT). 0 to 16. @default 0 */
  readonly replicas?: number
  /** How long `fsync` and `replicas` are waited for; then the call rejects, and its tasks may be stored. 1 to 60,000. @default 2_000 */
  readonly ackTimeoutMs?: number
  /** Uses a server that may evict keys, and with them tasks: for tests and caches. @default false */
  readonly allowEviction?: boolean
  /** How often a queue looks for work of others of which it has not heard. 10 to 3,600,000. @default 5_000 */
  readonly idleCheckMs?: number
  /** For tests: its time counts, and not the server's. See `redrive/testing`. @default the server's time */
  readonly clock?: Clock
  /** Tasks pending, in flight or dead letters, until a queue says otherwise. 1 to 1,000,000. @default 10_000 */
  readonly capacity?: number
  /** Their bodies, in bytes. @default 50 MiB */
  readonly capacityBytes?: number
  /** How long tasks that have ended are kept, until a queue says otherwise. @default `{}` */
  readonly retention?: RetentionOptions
  /**
   * Lanes of all principals take turns in one line, and each claim is for all of them: for a service that sends for many. A store whose
   * tasks stand in the other way of the two rejects with `STORAGE_OTHER_LINE`. @default false
   */
  readonly everyone?: true
}

const RULES: Rules<RedisStoreOptions> = {
  ...TERMS_RULES,
  client: { expected: 'a client' },
  subscriber: { expected: 'a client or null' },
  name: pattern("1 to 64 letters, digits, '.', '_' and '-'", /^[\w.-]{1,64}$/),
  fsync: flag,
  replicas: int(0, 16),
  ackTimeoutMs: int(1, 60_000),
  allowEviction: flag,
  idleCheckMs: int(10, 3_600_000),
  everyone: flag,
}

type Ends = Parameters<Required<TaskStore>['told']>[0]

const ANSWER_MS = 10_000
/** How often its settings are looked at while turns are made. */
const LOOK_MS = 15_000

const unsaid = (name: string, error: unknown): string =>
  `the store '${name}' in Redis: its processes do not hear each other's events (${String(error)})`

/** A store in Redis. Nothing is sent before it is used. */
export function redisStore(options: RedisStoreOptions): TaskStore {
  check('redisStore', options, RULES, objectLike('{ client: createClient() }'))
  const { client, subscriber, name = 'default', idleCheckMs = 5_000 } = options
  follow('redisStore.name', name, RULES.name)
  const { clock, terms } = resolveTerms('redisStore', options)
  const port = reopening(() => portOf(client, subscriber))
  const server = new Server(name, port, options)
  const session: Session = new Session({
    name,
    port,
    clock,
    ownTime: options.clock !== undefined,
    terms,
    everyone: options.everyone === true,
    answerMs: ANSWER_MS + (server.confirms ? (options.ackTimeoutMs ?? ACK_TIMEOUT_MS) : 0),
    async open() {
      await server.open(session.report)
      if (session.isHeard) server.hear(session)
    },
  })
  // who waits for a disk or for replicas keeps its connection waiting
  const apart = server.confirms ? reopening(() => portOf(client, null)) : port
  const group = new EnqueueGroup(session, apart, () => session.inTime(server.confirm(apart)))
  const durably: Durably = async (...command) => {
    const said = await session.commandOn(apart, ...command)
    await session.inTime(server.confirm(apart))
    return said
  }
  const broadcast = options.everyone
    ? broadcastOn({
        port,
        channel: messagesOf(name),
        clock,
        failed: (error) => session.report?.('storage_unavailable', unsaid(name, error)),
      })
    : undefined
  const room = async (): Promise<StoreRoom> => {
    try {
      return await session.inTime(server.room(session.report))
    } catch (error) {
      throw translated(error, name)
    }
  }
  let lookAt = clock.monotonic() + LOOK_MS
  const look = (): void => {
    if (clock.monotonic() < lookAt) return
    lookAt = clock.monotonic() + LOOK_MS
    room().catch(() => {}) // the turn reports a server that does not answer
  }
  return {
    get durability(): Durability {
      return server.durability
    },
    idleCheckMs,
    ...(options.everyone && { everyone: true }),
    ...(broadcast && { broadcast }),
    configure(wanted, report) {
      session.terms = { ...wanted, retention: { ...wanted.retention } }
      if (report) session.report = report
    },
    async enqueue(tasks, lease) {
      assertStorable(tasks)
      return tasks.length === 0 ? [] : group.add(tasks, lease)
    },
    turn: (step) => {
      look()
      return turn(session, step)
    },
    cancel: (...given) => control.cancel(session, ...given),
    redrive: (taskIds, how) => control.redrive(session, taskIds, how),
    flush: (lane) => control.flush(session, lane),
    unpark: async (filter) => {
      checkGiven('unpark', filter, 'principal', 'lane')
      return control.unpark(session, filter)
    },
    due: async (taskIds, inMs) => {
      checkDue(inMs)
      return control.due(session, taskIds, inMs)
    },
    purge: async (filter) => control.purge(session, checkPurge('purge', filter)),
    purgeAll: () => control.purge(session, {}),
    body: (taskId) => reads.body(session, taskId),
    find: (key, principal) => reads.find(session, key, principal),
    get: (taskId) => reads.get(session, taskId),
    list: async (filter) => {
      checkList(filter)
      return reads.list(session, filter)
    },
    attempts: (taskId, page) => reads.attempts(session, taskId, page),
    history: (taskId, most) => reads.history(session, taskId, most),
    now: () => reads.now(session),
    room,
    counts: () => reads.counts(session),
    countsOf: (principal) => reads.countsOf(session, principal),
    unreadable: (page) => reads.unreadable(session, page),
    subscribe: (listener) => server.listen(session, listener),
    homes: {
      holdHome: async (owner, forMs) => void (await session.command('home', owner, String(forMs))),
      live: async () => ((await session.command('homes')) as readonly { toString(): string }[]).map(String).sort(),
    },
    ...(options.everyone && {
      untold: (limit: number, taskIds?: readonly string[]) => reads.untold(session, limit, taskIds),
      told: (ends: Ends) => control.told(session, ends),
    }),
    registry: registryOf(session, durably),
    pauses: pausesOf(session, durably),
    async close() {
      await group.idle()
      await server.close()
      session.reopen()
      session.giveUp()
      const close = () => Promise.all([port.close(), apart.close()])
      await close()
      // a call that was under way may have made one more connection, which would keep its process
      await session.idle()
      await close()
    },
  }
}
