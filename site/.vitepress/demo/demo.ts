// The demo of the home page: a queue as any page has it, with its own IndexedDB, and the orders in it as rows. Imported when the reader
// wants it, since it brings the core and the store.
import { type AttemptLog, RetryQueue, type RetryTask } from 'redrive'
import { DemoServer, type Report } from './server.ts'

export interface Row {
  readonly taskId: string
  readonly order: number
  readonly key: string
  readonly status: RetryTask['status']
  /** Of the attempts that have ended: whether each succeeded. */
  readonly attempts: readonly boolean[]
  /** Epoch ms; null while in flight or ended. */
  readonly nextAttemptAt: number | null
  /** The last thing that the queue says about it. */
  readonly words: string
}

export interface View {
  readonly rows: readonly Row[]
  readonly report: Report
}

const NAME = 'site-demo'
const isOpen = ({ status }: RetryTask): boolean => status === 'PENDING' || status === 'IN_FLIGHT'
const orderOf = ({ meta }: RetryTask): number => Number(meta?.order ?? 0)
const succeeded = ({ responseStatus }: AttemptLog): boolean => responseStatus !== null && responseStatus < 400

export class Demo {
  readonly #queue = new RetryQueue({
    name: NAME,
    durable: true,
    principal: 'visitor',
    policy: { initialDelayMs: 1_000, multiplier: 1.5, maxDelayMs: 6_000 },
  })
  readonly #server: DemoServer
  readonly #show: (view: View) => void
  #isShowing = false
  #isStale = false
  #isOver = false

  private constructor(server: DemoServer, show: (view: View) => void, fail: (message: string) => void) {
    this.#server = server
    this.#show = show
    this.#queue.on('degraded', ({ message }) => fail(message))
    this.#queue.subscribe(() => void this.refresh().catch((error: Error) => fail(error.message)))
  }

  /** Opens the queue with whatever an earlier page has left, and shows it from now on. */
  static async open(base: string, show: (view: View) => void, fail: (message: string) => void): Promise<Demo> {
    const demo = new Demo(await DemoServer.start(base), show, fail)
    await demo.refresh()
    return demo
  }

  async send(): Promise<void> {
    const { tasks } = await this.#queue.list()
    const order = Math.max(0, ...tasks.map(orderOf)) + 1
    await this.#queue.enqueue(this.#server.ordersUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ order }),
      redrive: { meta: { order } },
    })
  }

  async setAway(away: boolean): Promise<void> {
    await this.#server.setAway(away)
    await this.refresh()
  }

  async flush(): Promise<void> {
    await this.#queue.flush()
  }

  /** Reads the queue and the server anew. Changes that come meanwhile are shown after. */
  async refresh(): Promise<void> {
    this.#isStale = true
    if (this.#isShowing || this.#isOver) return
    this.#isShowing = true
    try {
      while (this.#isStale && !this.#isOver) {
        this.#isStale = false
        this.#show(await this.#view())
      }
    } finally {
      this.#isShowing = false
    }
  }

  async #view(): Promise<View> {
    const [{ tasks }, report] = await Promise.all([this.#queue.list(), this.#server.report()])
    const rows = await Promise.all(tasks.map((task) => this.#row(task)))
    return { rows: rows.sort((one, other) => other.order - one.order), report }
  }

  async #row(task: RetryTask): Promise<Row> {
    const [{ attempts }, decisions] = await Promise.all([
      this.#queue.attempts(task.taskId),
      this.#queue.explain(task.taskId),
    ])
    return {
      taskId: task.taskId,
      order: orderOf(task),
      key: task.idempotencyKey ?? '',
      status: task.status,
      attempts: attempts.map(succeeded),
      nextAttemptAt: isOpen(task) ? task.nextAttemptAt : null,
      words: decisions.at(-1)?.text ?? '',
    }
  }

  /** Leaves nothing of the demo in this browser. */
  async forget(): Promise<void> {
    this.#isOver = true
    await this.#queue.setPrincipal(null, { purge: true })
    await this.#queue.close()
    await new Promise<void>((resolve) => {
      const request = indexedDB.deleteDatabase(`redrive-${NAME}`)
      // another tab of the demo may hold it open: its tasks are gone, and the browser deletes it when that tab is closed
      request.onsuccess = request.onerror = request.onblocked = () => resolve()
    })
    await this.#server.remove()
  }
}
