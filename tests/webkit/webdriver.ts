/**
 * A real WebKit, by the WebDriver protocol: plain HTTP and JSON (https://www.w3.org/TR/webdriver2/), and of it only what
 * the main path needs. Each session has a profile of its own, which ends with it: nothing here outlives the browser.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { Engine, Tab } from '../browser/engines.ts'
import { freePort } from '../servers/free-port.ts'

type Call = <T = unknown>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) => Promise<T>

/** What it runs in the page; promises are waited for. */
const script = (expression: string): string =>
  `const done = arguments[0]
   Promise.resolve().then(() => (${expression})).then((value) => done({ value }), (error) => done({ error: String(error) }))`

export async function launchWebKit(): Promise<Engine & { readonly version: string }> {
  const binary = process.env.WEBKIT_PATH
  if (!binary) throw new Error('no WebKit: WEBKIT_PATH names none. `npm test -- webkit` installs one and sets it')
  const children: ChildProcess[] = []
  const stop = async (): Promise<void> => {
    for (const child of children.reverse()) if (child.exitCode === null && child.kill()) await once(child, 'exit')
  }
  try {
    const screen = spawn('Xvfb', ['-displayfd', '1', '-screen', '0', '1280x800x24', '-nolisten', 'tcp'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    children.push(screen)
    const port = await freePort()
    const env = { ...process.env, DISPLAY: `:${await firstLine(screen.stdout)}` }
    const options = ['--host=127.0.0.1', `--port=${port}`]
    children.push(spawn('WebKitWebDriver', options, { env, stdio: 'ignore' }))
    const call = caller(`http://127.0.0.1:${port}`)
    await listening(call)
    const { sessionId, capabilities } = await call<Session>('POST', '/session', {
      capabilities: { alwaysMatch: { 'webkitgtk:browserOptions': { binary, args: ['--automation'] } } },
    })
    const inSession: Call = (method, path, body) => call(method, `/session/${sessionId}${path}`, body)
    await inSession('POST', '/timeouts', { script: 60_000 })
    return {
      ...tabs(inSession, await inSession('GET', '/window')),
      version: capabilities.browserVersion,
      async close() {
        await inSession('DELETE', '')
        await stop()
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
}

interface Session {
  readonly sessionId: string
  readonly capabilities: { readonly browserVersion: string }
}

/** A session does one thing at a time, in the window that was named last; `first` stays, since without one it can do nothing. */
function tabs(call: Call, first: string): Pick<Engine, 'open'> {
  let before: Promise<unknown> = Promise.resolve()
  const within = <T>(handle: string, work: () => Promise<T>): Promise<T> => {
    const result = before.then(() => call('POST', '/window', { handle })).then(work)
    before = result.catch(() => {})
    return result
  }
  return {
    async open(url): Promise<Tab> {
      // a window and not a tab: one that is behind others is hidden, and its timers are slow
      const { handle } = await within(first, () =>
        call<{ readonly handle: string }>('POST', '/window/new', { type: 'window' }),
      )
      let isOpen = true
      await within(handle, () => call('POST', '/url', { url }))
      return {
        async run<T>(expression: string) {
          const body = { script: script(expression), args: [] }
          const said = await within(handle, () => call<{ value: T; error?: string }>('POST', '/execute/async', body))
          if (said.error !== undefined) throw new Error(`${expression}: ${said.error}`)
          return said.value
        },
        reload: () => within(handle, () => call('POST', '/refresh', {})),
        async close() {
          if (isOpen) await within(handle, () => call('DELETE', '/window'))
          isOpen = false
        },
      }
    },
  }
}

const caller =
  (url: string): Call =>
  async <T>(method: string, path: string, body?: object) => {
    const response = await fetch(url + path, { method, ...(body && { body: JSON.stringify(body) }) })
    const { value } = (await response.json()) as { readonly value: T & { error?: string; message?: string } }
    if (!response.ok) throw new Error(`${method} ${path}: ${value.error}: ${value.message}`)
    return value
  }

async function listening(call: Call): Promise<void> {
  for (const until = Date.now() + 20_000; ; await new Promise((wait) => setTimeout(wait, 20))) {
    const answer = await call('GET', '/status').catch((error: unknown) => error)
    if (!(answer instanceof Error)) return
    if (Date.now() > until) throw new Error('WebKitWebDriver does not listen', { cause: answer })
  }
}

async function firstLine(stream: Readable): Promise<string> {
  const [line] = await once(createInterface({ input: stream }), 'line')
  return String(line)
}
