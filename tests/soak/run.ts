/**
 * `npm run soak`: four processes on one SQLite file, 200 tasks a second, every fifth attempt fails, for 15 minutes. Says over time
 * what they need and how late they are; exit code 0 only if all was delivered once and, in a run of two minutes or more, nothing grew.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { storeFile } from '../faults/built.ts'
import { atMost, none } from '../faults/checks.ts'
import { conclude, main, speaker, wait, within } from '../faults/runner.ts'
import { quantile } from '../faults/takeover.ts'
import { areFlat, JUDGED_FROM_SECONDS, type Window } from './flat.ts'
import type { Asks, MemberOptions, Told } from './member.ts'
import { help, type Options, readOptions } from './options.ts'
import { type SoakServer, startServer } from './server.ts'

const WINDOWS = 30
const DRAIN_MS = 60_000
const MIB = 2 ** 20

class Member {
  readonly child: ChildProcess
  readonly #asked: ((told: Told) => void)[] = []

  constructor(options: MemberOptions) {
    const program = fileURLToPath(new URL('./member.ts', import.meta.url))
    this.child = spawn(process.execPath, [program, JSON.stringify(options)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.child.on('message', (told: Told) => this.#asked.shift()?.(told))
    // one that ends by itself leaves nothing to wait for
    this.child.once('exit', () => {
      for (const answer of this.#asked)
        answer({ what: 'stopped', rss: 0, accepted: 0, failures: ['it ended by itself'] })
    })
  }

  next(): Promise<Told> {
    return new Promise((resolve) => this.#asked.push(resolve))
  }

  ask(asks: Asks): Promise<Told> {
    const answer = asks === 'begin' ? Promise.resolve({} as Told) : this.next()
    this.child.send(asks)
    return answer
  }

  async close(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const gone = once(this.child, 'exit')
    this.child.disconnect()
    await gone
  }
}

async function run(options: Options): Promise<void> {
  const { seconds, perSecond, failing, processes, seed } = options
  const say = speaker()
  const folder = mkdtempSync(join(tmpdir(), 'redrive-soak-'))
  const server = await startServer(failing, seed)
  const members = Array.from({ length: processes }, (_, from) => {
    return new Member({ url: server.url, folder, from, step: processes, perSecond: perSecond / processes })
  })
  try {
    await Promise.all(members.map((member) => member.next()))
    say(`${processes} processes, ${perSecond} tasks a second, ${failing} % of attempts fail, ${seconds} s`)
    for (const member of members) void member.ask('begin')
    const windows = await watch(options, members, server, storeFile(folder))
    const stopped = await Promise.all(members.map((member) => member.ask('stop')))
    const accepted = stopped.reduce((sum, told) => sum + told.accepted, 0)
    const isDrained = await within(DRAIN_MS, () => server.done >= accepted)
    await Promise.all(members.map((member) => member.close()))
    conclude(
      [
        ['tasks accepted', accepted, ''],
        ['  delivered', server.done, isDrained ? '' : `not all within ${DRAIN_MS / 1_000} s after the last`],
        ['files left beside the store', sizeOf(`${storeFile(folder)}-owners`) === 0 ? 0 : 'a folder', ''],
      ],
      [
        none(
          'failures',
          stopped.flatMap(({ failures }) => failures),
        ),
        atMost('lost', accepted - Math.min(accepted, server.done), 0),
        atMost('done twice', server.twice, 0),
        atMost('sent before they were due', server.early, 0),
        ...(seconds >= JUDGED_FROM_SECONDS ? areFlat(windows) : []),
      ],
    )
  } finally {
    await Promise.all(members.map((member) => member.close()))
    server.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function watch(
  { seconds }: Options,
  members: readonly Member[],
  server: SoakServer,
  file: string,
): Promise<readonly Window[]> {
  const everyMs = Math.max(1_000, (seconds * 1_000) / WINDOWS)
  const windows: Window[] = []
  const startedAt = Date.now()
  say(['seconds', 'RSS MiB', 'file MiB', 'log MiB', 'done/s', 'first p99', 'late p50', 'late p99', 'late most'])
  for (let n = 1; n * everyMs <= seconds * 1_000; n++) {
    await wait(Math.max(0, startedAt + n * everyMs - Date.now()))
    const told = await Promise.all(members.map((member) => member.ask('tell')))
    const { begun, late, done } = server.take()
    const [first, after] = [begun, late].map((list) => list.sort((a, b) => a - b)) as [number[], number[]]
    const window: Window = {
      at: (n * everyMs) / 1_000,
      rss: told.reduce((sum, { rss }) => sum + rss, 0) / MIB,
      file: sizeOf(file) / MIB,
      log: sizeOf(`${file}-wal`) / MIB,
      perSecond: (done * 1_000) / everyMs,
      begun: quantile(first, 0.99),
      late50: quantile(after, 0.5),
      late99: quantile(after, 0.99),
      lateMost: after.at(-1) ?? 0,
    }
    windows.push(window)
    const { at, rss, log, perSecond, late50, late99, lateMost } = window
    say(
      [at, rss, window.file, log, perSecond, window.begun, late50, late99, lateMost].map((each) =>
        each.toFixed(each < 10 ? 1 : 0),
      ),
    )
  }
  return windows
}

const say = (cells: readonly string[]): void => {
  process.stdout.write(`${cells.map((cell) => cell.padStart(10)).join('')}\n`)
}

function sizeOf(file: string): number {
  try {
    return statSync(file).size
  } catch {
    return 0
  }
}

await main('soak', { help, read: readOptions }, run)
