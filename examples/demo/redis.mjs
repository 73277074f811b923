/**
 * `npm run demo -- --redis`: four processes share a queue in a Redis that is started for this alone. Two of the processes are
 * killed on the way, and then Redis itself, which is started again in its folder. Nothing that was accepted may be lost, and nothing done twice.
 */
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { redisServer } from '../../scripts/setup/redis.mjs'
import { startServer } from '../../tests/redis/servers.ts'
import { Keeper, Told } from './keeper.mjs'
import { tidyAtExit } from './tidy.mjs'

const program = fileURLToPath(new URL('./shared.mjs', import.meta.url))
const libraries = ['node-redis', 'ioredis', 'node-redis', 'ioredis']
const lookMs = 50
/** Orders still come in when Redis is killed. */
const betweenCallsMs = 150
/** Redis is left dead for so long that it can be seen. */
const awayMs = 1_000
/** Events are heard at once, but the last ones of a killed process are not: Redis is asked so often. */
const askMs = 1_000
/** After so long without a change the story would never end. */
const stalledMs = 30_000

/** The path of a redis-server. Rejects where there is none and none can be installed, and says how to get one. */
export async function findRedis() {
  const path = await redisServer().catch((error) => {
    throw new Error(`${error.message.trim()}\n${howToGetOne}`)
  })
  if (path) return path
  throw new Error(`there is no redis-server on this machine.\n${howToGetOne}`)
}

const howToGetOne = `  --redis starts a Redis of its own, 7.0 or later. One of these gives it the program:
    apt-get install redis-server      Debian and Ubuntu
    brew install redis                macOS
    REDIS_PATH=/path/to/redis-server npm run demo -- --redis`

/** Places an order per call of the board, and kills; resolves to how many orders are done. `binary`: a redis-server. */
export async function placeAndKillRedis({ server, board, note, sayAtEnd, showPause, binary }) {
  const redis = await startServer({ binary, appendonly: true })
  const stopTidying = tidyAtExit(() => rmSync(redis.folder, { recursive: true, force: true }))
  const crew = new Crew(board, { url: server.url, redisUrl: redis.url })
  showPause(() => crew.pauseLeftMs)
  try {
    const story = async () => {
      await crew.ready()
      const placed = crew.placeAll()
      await untilEffects(server, board.calls.length * 0.2)
      await killTwo(crew, note)
      await untilEffects(server, board.calls.length * 0.4)
      await killRedis(crew, redis, note, sayAtEnd)
      await placed
      return crew.untilDone()
    }
    const done = await Promise.race([story(), crew.untilStalled()])
    await crew.close()
    return done
  } finally {
    await crew.kill()
    await redis.end()
    stopTidying()
  }
}

/** One with each client: two others begin in their place, and the two that live go on. */
async function killTwo(crew, note) {
  const done = crew.doneText
  const killedAt = Date.now()
  await crew.replace(0, 1)
  note(`✗ killed: SIGKILL to two of the four processes, with ${done}`, 'red')
  const { leaseMs } = await crew.ready()
  const lease = `what was in flight waits until its leases run out (${leaseMs / 1000} s here, 30 s as a rule)`
  note(`✓ two others started ${seconds(Date.now() - killedAt)} s later; ${lease}`, 'green')
}

async function killRedis(crew, redis, note, sayAtEnd) {
  const accepted = [...crew.accepted]
  const done = crew.doneText
  const killedAt = Date.now()
  await redis.kill()
  note(`✗ killed: SIGKILL to Redis, with ${done} and ${accepted.length} accepted`, 'red')
  await pause(awayMs)
  await redis.start()
  const { all, waiting, leased } = await crew.find()
  const lost = accepted.filter((intent) => !all.includes(intent))
  if (lost.length > 0) throw new Error(`Redis has lost accepted orders: ${lost.join(', ')}`)
  const away = seconds(Date.now() - killedAt)
  note(
    `✓ Redis answers again ${away} s later, with what its append-only file has: ${waiting + leased} tasks to do`,
    'green',
  )
  sayAtEnd(
    `Four processes shared a queue in Redis, two through node-redis and two through ioredis. Two of them were killed, and then Redis itself. It answered again after ${away} s, and had all ${accepted.length} orders that it had accepted before.`,
  )
}

async function untilEffects(server, least) {
  for (let effects = 0; effects < least; await pause(lookMs)) {
    const { perIntent } = await server.report()
    effects = perIntent.filter((intent) => intent.effects > 0).length
  }
}

/** The processes that share the queue. */
class Crew {
  accepted = new Set()
  #board
  #options
  #told = new Told()
  #stopFollowing
  #keepers = []
  /** Order -> the process that has it in flight. */
  #flownBy = new Map()
  #turn = 0
  #lastWords = ''
  #isOver = false

  constructor(board, options) {
    this.#board = board
    this.#options = options
    this.#stopFollowing = board.follow(this.#told)
    for (const at of libraries.keys()) this.#start(at)
  }

  get doneText() {
    return `${this.#board.counts().done} of ${this.#board.calls.length} orders done`
  }

  get pauseLeftMs() {
    return Math.max(0, ...this.#keepers.map(({ pauseEndsAt }) => pauseEndsAt - Date.now()))
  }

  /** Resolves when every process is there, with what the last has said. */
  async ready() {
    const said = await Promise.all(this.#keepers.map((keeper) => keeper.ready))
    return said.at(-1)
  }

  /** An order goes to one process after another until one accepts it. */
  async placeAll() {
    const orders = this.#board.calls.map(async ({ intent }, at) => {
      await pause(at * betweenCallsMs)
      this.#board.sent(intent)
      while (!(await this.#next().place(intent))) await pause(lookMs)
      this.accepted.add(intent)
    })
    await Promise.all(orders)
  }

  /** Kills these, and starts others in their place. */
  async replace(...places) {
    const killed = places.map((at) => this.#keepers[at])
    await Promise.all(killed.map((keeper) => keeper.kill()))
    this.#board.interrupt(({ intent }) => killed.includes(this.#flownBy.get(intent)))
    for (const at of places) this.#start(at)
  }

  /** What is in Redis; the last words of a killed process may not have been heard. */
  async find() {
    for (;;) {
      const found = await this.#next().find()
      for (const intent of found?.done ?? []) this.#board.ended(intent, true)
      if (found) return found
      await pause(lookMs)
    }
  }

  /** Resolves to how many orders are done, when none is left. */
  async untilDone() {
    for (let nextAskAt = Date.now() + askMs; ; await pause(lookMs)) {
      if (this.#keepers.some(({ gone }) => gone)) throw new Error('a queue process ended by itself')
      const { planned, waiting, flying } = this.#board.counts()
      if (planned + waiting + flying > 0 && Date.now() < nextAskAt) continue
      const found = await this.find()
      if (found.waiting + found.leased === 0) return found.done.length
      nextAskAt = Date.now() + askMs
    }
  }

  /** Rejects when nothing has changed for too long. */
  async untilStalled() {
    let before = ''
    for (let since = Date.now(); !this.#isOver; await pause(askMs)) {
      const now = JSON.stringify(this.#board.counts())
      if (now !== before) since = Date.now()
      before = now
      if (Date.now() - since > stalledMs)
        throw new Error(`nothing has changed for ${stalledMs / 1_000} s. ${this.#lastWords}`)
    }
  }

  async close() {
    this.#isOver = true
    await Promise.all(this.#keepers.map((keeper) => keeper.close()))
  }

  async kill() {
    this.#isOver = true
    this.#stopFollowing()
    await Promise.all(this.#keepers.map((keeper) => keeper.kill()))
  }

  #next() {
    this.#turn += 1
    return this.#keepers[this.#turn % this.#keepers.length]
  }

  #start(at) {
    const tell = (event, payload) => {
      if (event === 'degraded') {
        this.#lastWords = payload
        return
      }
      const intent = new URL(payload.task.targetUrl).searchParams.get('intent')
      if (event === 'attempt') this.#flownBy.set(intent, this.#keepers[at])
      this.#told.tell(event, payload)
    }
    this.#keepers[at] = new Keeper(program, { ...this.#options, library: libraries[at] }, { tell })
  }
}

const seconds = (ms) => (ms / 1000).toFixed(1)
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
