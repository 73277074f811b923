/** The canary's scenario in a page: the store is the browser's, and Node is asked to look at its files. */
import type { RetryQueueOptions } from '../../../js/index.ts'
import type { Canaries } from '../../js/canaries.ts'
import { flows } from '../../js/canary-flows.ts'
import { Scenario, type Told } from '../../js/canary-scenario.ts'

/** What Node gives the page. */
interface Outside {
  /** Keeps what lies on the disk now. */
  canarySnapshot(when: string): Promise<void>
  canaryServerIs(state: 'up' | 'down'): Promise<void>
}

export interface CanaryPage {
  readonly flows: readonly string[]
  /** Says what went wrong, or null. */
  readonly run: (flow: string) => Promise<string | null>
  /** What was made and told since it was asked last. */
  readonly drain: () => {
    readonly told: readonly Told[]
    readonly all: Canaries['all']
    readonly sent: Canaries['all']
  }
  readonly end: () => Promise<void>
}
declare global {
  var canary: CanaryPage
}

const outside = globalThis as unknown as Outside

class PageScenario extends Scenario {
  protected readonly axiosAdapter = 'xhr'

  get port(): number {
    return Number(location.port)
  }

  protected device(): RetryQueueOptions {
    const origins = ['127.0.0.2', '127.0.0.3'].map((host) => `http://${host}:${this.port}`)
    return { durable: true, allowMemory: true, principal: 'ann', idempotency: { origins } }
  }

  snapshot(when: string): Promise<void> {
    return outside.canarySnapshot(when)
  }

  serverIs(state: 'up' | 'down'): Promise<void> {
    return outside.canaryServerIs(state)
  }

  protected async until(read: () => Promise<unknown>, wanted: unknown): Promise<void> {
    while ((await read()) !== wanted) await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const scenario = new PageScenario()
let drained = { told: 0, canaries: 0 }

globalThis.canary = {
  flows: Object.keys(flows),
  run: async (flow) =>
    (await flows[flow]?.(scenario).then(
      () => null,
      (error: Error) => `${error.name}: ${error.message}\n${error.stack}`,
    )) ?? null,
  drain() {
    const { told, canaries } = scenario
    const all = canaries.all.slice(drained.canaries)
    const fresh = { told: told.slice(drained.told), all, sent: all.filter((canary) => canaries.sent.has(canary)) }
    drained = { told: told.length, canaries: canaries.all.length }
    return fresh
  },
  end: () => scenario.end(),
}
