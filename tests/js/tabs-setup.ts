/** Tabs of one browser in virtual time: a store that they share, locks that end with their tab, and one principal for all. */

import { onTestFinished, vi } from 'vitest'
import type { Claim, Hint, Step, TaskStore } from '../../js/api/store.ts'
import { RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import type { EngineSource } from '../../js/queue/core-loader.ts'
import { RetryQueue as Queue } from '../../js/queue/queue.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { type FakeClock, fakeClock, type ScriptedServer, scriptedServer } from '../../js/testing.ts'
import { type Held, Locks } from '../sim/locks.ts'
import { withMethods } from './durable-setup.ts'
import { closeNow, deferred, Events, type HitsAfter, hitsOf, PLAIN_CURVE } from './setup.ts'

export interface Tab {
  readonly queue: Queue
  readonly events: Events
  /** Turns that its queue has asked for. */
  readonly steps: readonly Step[]
  /** Calls of whatever kind. */
  readonly calls: readonly string[]
  /** Whether its store cannot say who is there. */
  failsToSay: boolean
  /** Whether nothing at all can be had of its store. */
  isCut: boolean
  /** Its turns are made, and answered once what is returned is called. */
  holdUp(): () => void
  /** From one moment to the next it is gone: its locks are free, and nothing of it is heard any more. */
  crash(): void
}

export interface Browser {
  readonly clock: FakeClock
  readonly server: ScriptedServer
  readonly store: TaskStore
  /** No tab can ask who is there, or say so. */
  isDown: boolean
  /** It has no locks for logins: they count for a time, and no tab hears that theirs is gone. */
  isLockless: boolean
  /** The store knows no principal any more, as where the browser has cleared it, and all tabs look. */
  forgetPrincipal(): void
  /** Names of the locks that are held or asked for. */
  locks(): readonly string[]
  /** `isDeaf`: hints do not reach it. `isCut`: it has no store from the beginning. */
  open(
    options?: RetryQueueOptions & { readonly isDeaf?: boolean; readonly isCut?: boolean },
    source?: EngineSource,
  ): Promise<Tab>
  close(tab: Tab): Promise<void>
  readonly hitsAfter: HitsAfter
}

const HOME = 'home '
/** Methods that promise nothing. */
const AT_ONCE: ReadonlySet<unknown> = new Set(['configure', 'subscribe', 'suspend'])

/** Reaches all other channels of its name in this test. */
class Channel {
  static open = new Set<Channel>()
  readonly name: string
  onmessage: ((event: { readonly data: unknown }) => void) | undefined

  constructor(name: string) {
    this.name = name
    Channel.open.add(this)
  }

  postMessage(data: unknown): void {
    for (const other of Channel.open) {
      if (other === this || other.name !== this.name) continue
      queueMicrotask(() => Channel.open.has(other) && other.onmessage?.({ data }))
    }
  }

  close(): void {
    Channel.open.delete(this)
  }
}

/** Begins to open a tab, whose chunks arrive when they are let. */
export async function openLate(
  { open, clock }: Browser,
  options: Parameters<Browser['open']>[0],
): Promise<{ readonly opening: Promise<Tab>; readonly arrive: () => void }> {
  const { promise: arrived, resolve: arrive } = deferred()
  const opening = open(options, async () => {
    await arrived
    return import('../../js/queue/chunk.ts')
  })
  await clock.advance(1_000)
  return { opening, arrive }
}

/** The page of the tabs opened from here on: what happens to it, all of them hear. */
export function page(): { happens(event: string): void } {
  const document = Object.assign(new EventTarget(), { hidden: false })
  vi.stubGlobal('document', document)
  vi.stubGlobal('BroadcastChannel', Channel)
  onTestFinished(() => {
    vi.unstubAllGlobals()
    Channel.open.clear()
  })
  return { happens: (event) => document.dispatchEvent(new Event(event)) }
}

export function browser(): Browser {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const server = scriptedServer({ clock })
  const locks = new Locks()
  const listeners = new Set<(hint: Hint) => void>()
  const tell = (kind: Hint['kind']) => {
    for (const listener of [...listeners]) queueMicrotask(() => listener({ kind }))
  }
  const logins = new Map<string, { readonly tab: object; readonly until: number }>()
  const loginForMs = () => Math.max(0, ...[...logins.values()].map(({ until }) => until - clock.now()))
  const letGo = (tab: object) => {
    locks.end(tab)
    if (device.isLockless) return
    const own = [...logins].filter(([, each]) => each.tab === tab)
    for (const [login] of own) logins.delete(login)
    if (own.length > 0) tell('principal')
  }
  let principal: string | null | undefined
  let since = Number.NEGATIVE_INFINITY
  let seed = 100n

  const storeOf = (
    tab: { failsToSay: boolean; isCut: boolean },
    steps: Step[],
    calls: string[],
    isGone: () => boolean,
    late: () => Promise<void>,
  ): TaskStore => {
    let lead: Held | undefined
    const homes = new Map<string, Held>()
    const reached = (): Promise<void> | undefined => {
      if (device.isDown || tab.isCut) throw new Error('the disk is away')
      return isGone() ? new Promise(() => {}) : undefined
    }
    const own: Partial<TaskStore> = {
      graceMs: 75_000,
      turn: async (step) => {
        steps.push(step)
        const isOther = principal !== undefined && step.claim?.principal !== principal
        const refused = step.claim !== null && (isOther || loginForMs() > 0)
        const claim: Claim | null = refused ? null : step.claim
        const turn = await store.turn({ ...step, claim })
        await late()
        return refused ? { ...turn, isForeign: true } : turn
      },
      leader: {
        want(whose, granted) {
          lead?.release()
          lead = locks.request(tab, `leader ${whose}`, granted)
        },
        resign() {
          lead?.release()
        },
      },
      homes: {
        areHeard: true,
        holdHome: async (owner, forMs) => {
          if (forMs > 0 && locks.holder(HOME + owner) === tab) return
          if (forMs > 0)
            homes.set(
              owner,
              locks.request(tab, HOME + owner, () => {}),
            )
          else {
            homes.get(owner)?.release()
            tell('due')
          }
        },
        live: async () =>
          locks
            .names()
            .filter((name) => name.startsWith(HOME))
            .map((name) => name.slice(HOME.length)),
      },
      principals: {
        current: async () => {
          await reached()
          if (tab.failsToSay) throw new Error('the disk is away')
          const forMs = loginForMs()
          return forMs > 0 ? { principal, loginForMs: forMs } : { principal }
        },
        switchTo: async (next, declared, login = '') => {
          await reached()
          const { since: at, now } = declared()
          const hasEnded = logins.delete(login)
          const isYounger = since <= at || since > now
          if (isYounger) since = at
          if (!hasEnded && (!isYounger || next === principal)) return
          if (isYounger) principal = next
          tell('principal')
        },
        logIn: async (login, forMs) => {
          await reached()
          const isNew = !logins.has(login)
          logins.set(login, { tab, until: device.isLockless ? clock.now() + forMs : Number.POSITIVE_INFINITY })
          if (isNew) tell('principal')
        },
      },
      suspend: () => letGo(tab),
      subscribe(listener) {
        const hear = (hint: Hint) => {
          if (!isGone()) listener(hint)
        }
        const unsubscribe = store.subscribe(hear)
        listeners.add(hear)
        return () => {
          unsubscribe()
          listeners.delete(hear)
        }
      },
    }
    const whole = withMethods(store, own)
    return new Proxy<TaskStore>(whole, {
      get(_, name) {
        const value: unknown = Reflect.get(whole, name)
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          calls.push(String(name))
          if (tab.isCut && !AT_ONCE.has(name)) return Promise.reject(new Error('the disk is away'))
          // nobody is there any more who could be answered
          return isGone() ? new Promise(() => {}) : value(...args)
        }
      },
    })
  }

  const device: Browser = {
    clock,
    server,
    store,
    isDown: false,
    isLockless: false,
    forgetPrincipal() {
      principal = undefined
      since = Number.NEGATIVE_INFINITY
      tell('principal')
    },
    locks: () => locks.names(),
    async open({ isDeaf = false, isCut = false, ...options } = {}, source = undefined) {
      const events = new Events()
      const identity = { failsToSay: false, isCut }
      const steps: Step[] = []
      const calls: string[] = []
      let gone = false
      let late = Promise.resolve()
      const fetch: typeof globalThis.fetch = async (input, init) => {
        const answer = server.fetch(input, init)
        return gone ? new Promise(() => {}) : answer
      }
      const policy = { ...PLAIN_CURVE, ...options.policy }
      const given = {
        clock,
        fetch,
        store: withMethods(
          storeOf(
            identity,
            steps,
            calls,
            () => gone,
            () => late,
          ),
          isDeaf ? { subscribe: () => () => {} } : {},
        ),
        principal: null,
        seed: ++seed,
        ...options,
        policy,
      }
      const queue = source ? new Queue(given, source) : new RetryQueue(given)
      events.listen(queue)
      onTestFinished(() => (gone ? undefined : closeNow(queue, clock)))
      await queue.ready
      await clock.settle()
      return Object.assign(identity, {
        queue,
        events,
        steps,
        calls,
        holdUp() {
          let release = (): void => {}
          late = new Promise((resolve) => {
            release = resolve
          })
          return release
        },
        crash() {
          gone = true
          letGo(identity)
          tell('due')
        },
      })
    },
    close: ({ queue }) => closeNow(queue, clock),
    hitsAfter: hitsOf(clock, server),
  }
  return device
}
