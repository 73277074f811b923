/** Brings together what is judged after a run: from the store, from the server, and from what callers and processes wrote down. */

import type { TaskStore } from '../../../js/api/store.ts'
import type { FlakyServer } from '../../servers/start.mjs'
import { tally } from '../checks.ts'
import type { Crew } from '../crew.ts'
import { degradedFigure, effectsOf, type Figure, listed, readStore, requestFigures, words } from '../evidence.ts'
import { readSpans } from '../log.ts'
import { MAX_ATTEMPTS } from '../queue-process.ts'
import type { Callers } from './callers.ts'
import type { RedisFacts } from './laws.ts'
import type { Nemesis } from './nemesis.ts'
import type { Fsync } from './options.ts'
import type { Servers } from './servers.ts'

type Told = Pick<
  RedisFacts,
  'samples' | 'redriven' | 'drained' | 'stoodStillMs' | 'mayStandStillMs' | 'limit' | 'limitPerLane'
>

export interface Story extends Told {
  readonly crew: Crew
  readonly callers: Callers
  readonly servers: Servers
  readonly nemesis: Nemesis
  readonly store: TaskStore
  readonly folder: string
  readonly tookMs: number
  readonly fsync: Fsync
}

export async function gather(
  story: Story,
  server: FlakyServer,
): Promise<{ readonly facts: RedisFacts; readonly figures: readonly Figure[] }> {
  const { crew, callers, servers, nemesis, store, folder, fsync } = story
  const report = await server.report({ visits: true })
  const { visits = [], inFlight } = report
  const leases = readSpans(folder, crew.killed)
  const accepted = callers.calls.filter(({ request, outcome }) => request.kind === 'new' && outcome === 'accepted')
  const held = await readStore(store, new Map(accepted.map(({ request, taskId = '' }) => [request.intent, taskId])))
  const { found, rows } = held
  const dead = await listed(store, { status: 'EXHAUSTED' })
  const promised = fsync === 'always' ? 'strict' : 'relaxed'
  const facts: RedisFacts = {
    ...story,
    calls: callers.calls,
    leases,
    visits,
    effects: effectsOf(report),
    ...held,
    deadLetters: dead.map(({ taskId }) => taskId),
    deaths: crew.deaths,
    degraded: [...crew.degraded.keys()],
    maxAttempts: MAX_ATTEMPTS,
    durabilities: nemesis.count('failover') > 0 ? [promised, 'replicated'] : [promised],
    lags: servers.lags,
    full: nemesis.troubles.filter(({ kind }) => kind === 'memory'),
  }
  const told = (outcome: string) => callers.calls.filter((call) => call.outcome === outcome)
  const codes = tally([...told('unknown'), ...told('refused')].map(({ code = 'killed' }) => code))
  const settled = (answer: string | undefined) => leases.filter((lease) => lease.answer === answer).length
  const troubles = tally(nemesis.troubles.map(({ kind }) => kind))
  const longest = Math.max(
    0,
    ...callers.calls
      .filter(({ code, outcome }) => outcome === 'accepted' || code)
      .map(({ askedAt, endedAt }) => endedAt - askedAt),
  )
  const { connections, broken, doubled, lost } = servers.front.counted
  const figures: Figure[] = [
    ['requests to processes', callers.calls.length, 'asking again included'],
    ['tasks acknowledged', accepted.length, 'each written down outside'],
    ['  of which the store has none', accepted.length - found.size, 'kept in memory, or not written or copied in time'],
    ['refused, or not known', told('unknown').length + told('refused').length, words(codes)],
    ['  the longest wait for an answer, ms', longest, ''],
    ['processes killed', crew.kills, `${crew.lives} started`],
    ['  at the worst of moments', crew.aimed, 'written to the store, its caller not told yet'],
    ['frozen past their leases', crew.freezes, ''],
    ['Redis killed', nemesis.count('kill'), fsync],
    ['failovers', nemesis.count('failover'), ''],
    ['troubles', nemesis.troubles.length, words(troubles)],
    ['connections', connections, `${broken} broken in an answer, ${lost} lost, ${doubled} scripts doubled`],
    ...requestFigures(report),
    ['most at once at the server', inFlight.max, 'those that outlived a lease included'],
    ['leases given', leases.length, 'that reached a process'],
    ['  never settled', settled(undefined), ''],
    ['  settled too late', settled('stale'), 'changed nothing'],
    ['  settled before', settled('repeated'), 'and the answer lost'],
    ['dead letters', dead.length, `${story.redriven.size} were put back`],
    ['most attempts of a task', Math.max(0, ...rows.map(({ attemptNumber }) => attemptNumber)), ''],
    degradedFigure(crew.degraded),
    [
      'seconds',
      (story.tookMs / 1_000).toFixed(1),
      `${Math.round(story.stoodStillMs)} ms without a move after the blows`,
    ],
  ]
  return { facts, figures }
}
