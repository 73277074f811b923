/**
 * `node tests/faults/service/run.ts`: processes of `redrive serve` that share a store, killed, stopped and drained while clients post to them
 * and targets and receivers of callbacks fail. Exit code 0 only if nothing that was acknowledged is lost, each end was told that was to be, no
 * answer was cut by a process that was told to end, and nothing took effect twice.
 */

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RedisServer, startServer } from '../../redis/servers.ts'
import type { Check } from '../checks.ts'
import { inFolder } from '../frame.ts'
import { judge } from '../judge.ts'
import { conclude, main, type Say, speaker, TELL_MS, wait, within } from '../runner.ts'
import { Clients } from './clients.ts'
import { gather, readCounts, type Story } from './evidence.ts'
import type { Sample } from './facts.ts'
import { farewellRun } from './farewell-run.ts'
import { figuresOf } from './figures.ts'
import { Fleet } from './fleet.ts'
import { noteIn } from './history.ts'
import { type Intent, intentsOf } from './intents.ts'
import { ofService } from './laws.ts'
import { isMutant } from './mutants.ts'
import { Operator } from './operator.ts'
import {
  ATTEMPT_MS,
  CONCURRENCY,
  DRAIN_MS,
  help,
  LEASE_MS,
  type Options,
  PER_ORIGIN,
  RETRY_AFTER_S,
  readOptions,
} from './options.ts'
import { type Blow, planOf, planWords } from './plan.ts'
import { leftAlone } from './quiet.ts'
import { Receiver } from './receiver.ts'
import { lifeBehind } from './sender.ts'
import { type SigningKeys, signingKeysIn } from './signing.ts'
import { Target } from './target.ts'

const LOOK_MS = 25
const SAMPLE_MS = 400
/** No process that may be struck is there for so long at most: the machine has other work. */
const READY_WITHIN_MS = 60_000
/** Processes that have to answer when one of them is struck. */
const LEAST_READY = 2
/** Two leases, the longest wait of a curve, of a target and of a breaker, and a target that hangs; and as much for a machine with other work. */
const MAY_STAND_STILL_MS: number = 2 * (2 * LEASE_MS + 600 + RETRY_AFTER_S * 1_000 + 4_000 + ATTEMPT_MS)

async function run(options: Options): Promise<void> {
  const say = speaker()
  const leaves = 'The store, and what each process and all clients wrote down'
  await inFolder({ name: 'faults', breaks: options.breaks, leaves }, (folder) => runIn(folder, options, say))
  if (options.farewells > 0) await farewellRun(options, say)
}

async function runIn(folder: string, options: Options, say: Say): Promise<readonly Check[]> {
  const startedAt = Date.now()
  const { store, tasks, processes, seed, breaks } = options
  const plan = planOf(options)
  say(`seed ${seed}: ${tasks} tasks, ${processes} processes on ${store}, ${plan.length} blows`)
  process.stdout.write(`${planWords(plan).join('\n')}\n`)
  const note = noteIn(folder)
  const redis = store === 'redis' ? await startServer({ appendonly: true, appendfsync: 'always' }) : undefined
  const keys = signingKeysIn(folder)
  const fleet = new Fleet({
    folder: logsIn(folder),
    args: argsOf(folder, redis, keys),
    env: keys.env,
    note,
    mutant: isMutant(breaks) ? breaks : undefined,
  })
  const intents = intentsOf(tasks, seed)
  const lifeOf = (port: number, serverPort: number) => lifeBehind(port, serverPort, fleet.pids)
  const target = await new Target({ seed, intents, note, lifeOf, forgetsKeys: breaks === 'no-key' }).start()
  const receiver = await new Receiver({ seed, intents, keys, note, lifeOf }).start()
  const addresses = { targets: target.urls, hooks: receiver.urls.join() }
  const clients = new Clients({ fleet, intents, addresses, seed, note })
  const operator = new Operator({ fleet, targets: target.urls, seed, note })
  const samples: Sample[] = []
  try {
    for (let place = 0; place < processes; place++) fleet.start(place)
    await fleet.whenReady(processes)
    operator.begin()
    await strike(plan, { options, fleet, clients, operator, intents, redis, samples, say })
    await operator.end()
    const field = { fleet, clients, operator, receiver, intents, say }
    const first = await leftAlone(field)
    const redriven = first.drained && first.isTold ? await operator.redriveAll() : 0
    say(`${redriven} dead letters put back`)
    const then = redriven > 0 ? await leftAlone(field) : first
    await clients.end()
    const story: Story = {
      ...{ options, intents, fleet, clients, operator, target, receiver, samples },
      quiet: [first.quiet],
      drained: first.drained && then.drained,
      stoodStillMs: Math.max(first.stoodStillMs, then.stoodStillMs),
      mayStandStillMs: MAY_STAND_STILL_MS,
      tookMs: Date.now() - startedAt,
    }
    const { facts, index } = await gather(story)
    await fleet.close()
    return conclude(figuresOf(story, facts(), index), judge(ofService(facts())))
  } finally {
    await fleet.end()
    await Promise.all([target.close(), receiver.close()])
    await redis?.end()
  }
}

/** Attempts are lost with processes here, and the receiver fails often. */
const CALLBACK_POLICY = {
  ...{ policyId: 'callbacks', maxAttempts: 40, strategy: 'exponential', initialDelayMs: 100, maxDelayMs: 400 },
  ...{ jitterType: 'FULL', attemptTimeoutMs: ATTEMPT_MS, retryableStatusCodes: 'broad' },
}

function logsIn(folder: string): string {
  const logs = join(folder, 'processes')
  mkdirSync(logs)
  return logs
}

/** The command line that users have, with short leases. Without tokens it is dev mode, where targets may be on this machine. */
function argsOf(folder: string, redis: RedisServer | undefined, keys: SigningKeys): readonly string[] {
  const policies = join(folder, 'policies.json')
  writeFileSync(policies, JSON.stringify([CALLBACK_POLICY]))
  const store = redis ? redis.url : `sqlite:${join(folder, 'tasks.db')}`
  const times = { lease: LEASE_MS, drain: DRAIN_MS, 'attempt-timeout': ATTEMPT_MS }
  const limits = { concurrency: CONCURRENCY, 'concurrency-per-origin': PER_ORIGIN }
  const set = { store, 'log-format': 'json', ...times, ...limits, policies, signing: keys.file }
  return Object.entries(set).flatMap(([name, value]) => [`--${name}`, `${value}`])
}

interface Field {
  readonly options: Options
  readonly fleet: Fleet
  readonly clients: Clients
  readonly operator: Operator
  readonly intents: readonly Intent[]
  readonly redis: RedisServer | undefined
  readonly samples: Sample[]
  readonly say: Say
}

/** Tasks come in as the blows fall, so that there is work under each of them however fast the machine is. */
async function strike(plan: readonly Blow[], field: Field): Promise<void> {
  const { options, clients, fleet, say } = field
  let [fallen, isOver] = [0, false]
  const giving = (async () => {
    let toldAt = 0
    while (!isOver) {
      // the first tenth comes at once
      clients.give(0.1 + (0.9 * fallen) / Math.max(1, plan.length))
      await wait(LOOK_MS)
      if (Date.now() < toldAt + TELL_MS) continue
      toldAt = Date.now()
      say(`${clients.acknowledged} of ${options.tasks} tasks acknowledged, ${fallen} of ${plan.length} blows`)
    }
  })()
  const sampling = (async () => {
    while (!isOver) {
      await wait(SAMPLE_MS)
      await sample(field)
    }
  })()
  try {
    for (const blow of plan) {
      await wait(blow.afterMs)
      // one that starts is not struck, and not all that there are
      const isReady = await within(READY_WITHIN_MS, () => fleet.ready.length >= LEAST_READY)
      if (!isReady) throw new Error(`no ${LEAST_READY} processes were ready within ${READY_WITHIN_MS} ms`)
      await fall(blow, field)
      fallen++
    }
  } finally {
    isOver = true
    await Promise.all([giving, sampling])
  }
  clients.give(1)
}

async function fall({ kind, pick, forMs }: Blow, { fleet, redis, options }: Field): Promise<void> {
  if (kind === 'kill') fleet.kill(pick)
  else if (kind === 'stop') fleet.stop(pick, forMs)
  else if (kind === 'drain') fleet.drain(pick)
  else if (redis) {
    const ends = fleet.strikeRedis()
    await redis.kill()
    if (options.breaks === 'no-file') rmSync(join(redis.folder, 'appendonlydir'), { recursive: true, force: true })
    await wait(forMs)
    await redis.start()
    ends()
  }
}

async function sample({ fleet, clients, operator, intents, samples }: Field): Promise<void> {
  const { acknowledged } = clients
  try {
    const { pending, inFlight, succeeded, exhausted, cancelled, purged } = await readCounts(fleet)
    const total = pending + inFlight + succeeded + exhausted + cancelled + purged
    const wished = intents.slice(0, clients.asked).filter(({ callback }) => callback).length
    const redrives = [...operator.redriven.values()].reduce((sum, times) => sum + times, 0)
    // a task that was given up may succeed late, which is another end
    samples.push({ acknowledged, asked: clients.asked, ends: 2 * (wished + redrives), total })
  } catch {
    // the process that was asked is gone, or its store is; what it has counted is seen later
  }
}

await main('faults', { help, read: readOptions }, run)
