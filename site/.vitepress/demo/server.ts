// The demo's server as its page sees it: a service worker that answers under `demo-api/`.

/** What the server has seen. */
export interface Report {
  readonly away: boolean
  /** Those that reached it. */
  readonly requests: number
  readonly orders: number
  /** Requests for an order that it had already: none of them was a second order. */
  readonly repeats: number
}

export class DemoServer {
  readonly #base: string

  private constructor(base: string) {
    this.#base = base
  }

  /** Starts the server under the site's address, and waits until it answers this page. */
  static async start(base: string): Promise<DemoServer> {
    const workers = navigator.serviceWorker as ServiceWorkerContainer | undefined
    if (workers === undefined) {
      throw new Error(
        'The demo needs a service worker, which plays the server. This browser has none here: in a private window, or without TLS.',
      )
    }
    await workers.register(`${base}demo-server.js`, { scope: base })
    const { active } = await workers.ready
    if (workers.controller === null) {
      const controlled = new Promise((resolve) => workers.addEventListener('controllerchange', resolve, { once: true }))
      active?.postMessage('claim')
      await controlled
    }
    return new DemoServer(base)
  }

  get ordersUrl(): string {
    return `${this.#base}demo-api/orders`
  }

  async report(): Promise<Report> {
    return (await fetch(`${this.#base}demo-api/report`)).json() as Promise<Report>
  }

  async setAway(away: boolean): Promise<Report> {
    const init = { method: 'PUT', body: JSON.stringify({ away }) }
    return (await fetch(`${this.#base}demo-api/away`, init)).json() as Promise<Report>
  }

  /** Removes the service worker and all that it knows. */
  async remove(): Promise<void> {
    await fetch(`${this.#base}demo-api/forget`, { method: 'POST' })
    const registration = await navigator.serviceWorker.getRegistration(this.#base)
    await registration?.unregister()
  }
}
