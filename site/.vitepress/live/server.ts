// The server of the live page: a function in the place of fetch, so that no request leaves the page. It fails as a browser's own fetch
// does, with the message of Chromium: ky tells a lost connection by it.

export type Mode = 'on' | 'off' | '503'

/** `failed`: anything but a 200, an abort included. */
export type Watch = (url: string, event: 'sent' | 'answered' | 'failed') => void

const LATENCY_MS = 300
const REFUSED_MS = 60

export class LiveServer {
  mode: Mode = 'on'

  /** A fetch to this server, whose requests are reported to `watch`. */
  fetchFor(watch: Watch): typeof fetch {
    return async (input, init) => {
      const { url, signal } = new Request(input, init)
      watch(url, 'sent')
      try {
        const response = await this.#answer(signal)
        watch(url, response.ok ? 'answered' : 'failed')
        return response
      } catch (error) {
        watch(url, 'failed')
        throw error
      }
    }
  }

  async #answer(signal: AbortSignal): Promise<Response> {
    const { mode } = this
    await pause(mode === 'off' ? REFUSED_MS : LATENCY_MS, signal)
    if (mode === 'off') throw new TypeError('Failed to fetch')
    if (mode === '503') return new Response(null, { status: 503, statusText: 'Service Unavailable' })
    return new Response(null, { status: 200, statusText: 'OK' })
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    setTimeout(resolve, ms)
  })
}
