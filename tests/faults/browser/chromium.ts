/**
 * A Chromium as a user has it: its own profile, its own process group, no flag that keeps hidden tabs awake or pages out of the
 * back/forward cache. Playwright sets such flags, so this starts the browser by itself.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { quiet } from '../../browser/chromium.ts'
import type { Browser, Ear, Start, Tab } from './browser.ts'
import { Cdp } from './cdp.ts'

const MOST_ASKED = 50
const ASK_AGAIN_MS = 20
const NO_NETWORK = { latency: 0, downloadThroughput: -1, uploadThroughput: -1 }

interface Console {
  readonly args: readonly { readonly value?: unknown }[]
}

export const startChromium: Start = async (profile, signal) => {
  const path = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
  if (!existsSync(path)) throw new Error(`no Chromium at ${path}: set CHROMIUM_PATH, or apt-get install chromium`)
  const args = [...quiet, '--remote-debugging-pipe', `--user-data-dir=${profile}`, 'about:blank']
  const child = spawn(path, args, { detached: true, stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] })
  const kill = () => {
    // it may have ended by itself
    if (child.exitCode === null && child.signalCode === null && child.pid) process.kill(-child.pid, 'SIGKILL')
  }
  const gone = once(child, 'close').then(() => {})
  signal.addEventListener('abort', kill)
  const cdp = new Cdp(child.stdio[3] as Writable, child.stdio[4] as Readable)
  await cdp.send('Browser.getVersion')
  const sessions = new Set<string>()
  let offline = false
  const unplug = (session: string) => cdp.send('Network.emulateNetworkConditions', { offline, ...NO_NETWORK }, session)

  return {
    async open(ear, { script, alone }) {
      const kind = alone ? { newWindow: true } : { background: true }
      const { targetId } = await cdp.send<{ targetId: string }>('Target.createTarget', { url: 'about:blank', ...kind })
      const { sessionId } = await cdp.send<{ sessionId: string }>('Target.attachToTarget', { targetId, flatten: true })
      const send = <T>(method: string, params = {}) => patiently(() => cdp.send<T>(method, params, sessionId))
      sessions.add(sessionId)
      const crashed = new Promise<void>((resolve) => {
        cdp.listen(sessionId, (method, params) => {
          if (method === 'Inspector.targetCrashed') resolve()
          hear(ear, method, params)
        })
      })
      await Promise.all([
        send('Page.enable'),
        send('Runtime.enable'),
        send('Page.addScriptToEvaluateOnNewDocument', { source: script }),
        offline && unplug(sessionId),
      ])
      return {
        ...tabOf(send),
        async close() {
          sessions.delete(sessionId)
          await cdp.send('Target.closeTarget', { targetId })
        },
        async crash() {
          // never answered: its answer is the crash
          send('Page.crash').catch(() => {})
          await Promise.race([crashed, gone])
        },
      }
    },
    async offline(on) {
      offline = on
      await Promise.all([...sessions].map(unplug))
    },
    kill,
    async close() {
      await Promise.all([cdp.send('Browser.close'), gone])
    },
    gone,
  } satisfies Browser
}

/** While one page of a tab takes another's place, the tools say for a moment that there is none. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (let left = MOST_ASKED; ; left--) {
    try {
      return await ask()
    } catch (error) {
      if (left === 0 || !(error as Error).message.includes('Not attached to an active page')) throw error
      await wait(ASK_AGAIN_MS)
    }
  }
}

function hear(ear: Ear, method: string, params: Console): void {
  if (method === 'Runtime.consoleAPICalled') ear.said(String(params.args[0]?.value))
  else if (method === 'Inspector.targetCrashed') ear.crashed()
}

type Send = <T>(method: string, params?: Readonly<Record<string, unknown>>) => Promise<T>

function tabOf(send: Send): Omit<Tab, 'close'> {
  const lifecycle = (state: 'frozen' | 'active') => send('Page.setWebLifecycleState', { state })
  return {
    async run<T>(expression: string) {
      const asked = { expression, awaitPromise: true, returnByValue: true }
      const { result, exceptionDetails } = await send<{
        readonly result: { readonly value: T; readonly description?: string }
        readonly exceptionDetails?: unknown
      }>('Runtime.evaluate', asked)
      if (exceptionDetails) throw new Error(`${expression}: ${result.description}`)
      return result.value
    },
    async load(url) {
      await send('Page.navigate', { url })
    },
    async back() {
      const history = await send<{ currentIndex: number; entries: { id: number }[] }>('Page.getNavigationHistory')
      const entryId = history.entries[history.currentIndex - 1]?.id
      await send('Page.navigateToHistoryEntry', { entryId })
    },
    async show() {
      await send('Page.bringToFront')
    },
    async freeze() {
      await lifecycle('frozen')
    },
    async thaw() {
      await lifecycle('active')
    },
  }
}
