/** A process of `redrive serve`, as its parent sees it: started, asked over HTTP, killed. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('../../pkg-service/cli.js', import.meta.url))

export class Serving {
  url = ''
  gone = false
  #child
  #exited
  #ready
  #lastWords = ''

  /** `words`: flags of `redrive serve`. */
  constructor(...words) {
    const args = [program, 'serve', '--port', '0', '--log-format', 'json', ...words]
    this.#child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#exited = once(this.#child, 'exit').then(() => {
      this.gone = true
    })
    this.#child.stderr.on('data', (text) => {
      this.#lastWords = `${this.#lastWords}${text}`.slice(-1_000)
    })
    this.#ready = this.#listen()
    // the callers that await it look at it; a kill may come first
    this.#ready.catch(() => {})
  }

  get ready() {
    return this.#ready
  }

  /** The answer of the API as JSON. An answer that is a problem rejects with its own words. */
  async call(method, path, json) {
    const body = json === undefined ? {} : { headers: jsonType, body: JSON.stringify(json) }
    const response = await fetch(this.url + path, { method, ...body })
    const value = await response.json()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${value.detail ?? value.title}`)
    return value
  }

  kill() {
    this.#child.kill('SIGKILL')
    return this.#exited
  }

  /** Lets it end what it has begun. */
  stop() {
    this.#child.kill('SIGTERM')
    return this.#exited
  }

  /** Every line of its log is read: a pipe that is full would stop it. */
  #listen() {
    const lines = createInterface({ input: this.#child.stdout })
    return new Promise((resolve, reject) => {
      lines.on('line', (line) => {
        const { event, url } = JSON.parse(line)
        if (event === 'listening') this.url = url
        if (event === 'ready') resolve()
      })
      this.#exited.then(() => reject(new Error(`redrive serve ended before it was ready. ${this.#lastWords}`)))
    })
  }
}

const jsonType = { 'content-type': 'application/json' }

/** The line for a shell that asks the same. */
export function curlLine(url, json) {
  const quoted = JSON.stringify(json).replaceAll("'", "'\\''")
  return `curl -s ${url} -H 'content-type: application/json' -d '${quoted}'`
}
