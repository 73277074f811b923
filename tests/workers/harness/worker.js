/**
 * A Worker as its users write one, and beside it what only a test needs: calls and orders that come from outside, and an
 * object whose storage can be broken, which can be aborted, and which writes down what its alarms came to.
 */
import { DurableObject } from 'cloudflare:workers'
import { objectName, RedriveObject, withRetry, workerFetch } from 'redrive/cloudflare'
import { rig, storyOf } from './rig.js'

const HMAC = { name: 'HMAC', hash: 'SHA-256' }

export class Outbox extends RedriveObject {
  #storage

  constructor(ctx, env) {
    const storage = rig(ctx)
    super(ctx, env)
    this.#storage = storage
  }

  options = {
    ...this.env.OBJECT,
    ...(this.env.TOKEN === undefined ? {} : { credentials: this.#forItsOrigin() }),
    ...(this.env.SIGN === undefined ? {} : { sign: signer(this.env.SIGN) }),
    onRun: async (run) => {
      storyOf(this.ctx).runs.push({ ...run, error: run.error && String(run.error) })
      storyOf(this.ctx).mayFail('onRun')
    },
    onDegraded: (report) => storyOf(this.ctx).degraded.push(report),
    onExhausted: ({ error }) => storyOf(this.ctx).dead.push(error.message),
  }

  /** The origin that the object is for is the first word of its name. */
  #forItsOrigin() {
    const [origin] = this.ctx.id.name.split(' ')
    return { [origin]: () => ({ authorization: this.env.TOKEN, ...this.env.CREDENTIALS }) }
  }

  async alarm(info) {
    const story = storyOf(this.ctx)
    story.begin()
    let threw = null
    try {
      await super.alarm(info)
    } catch (error) {
      threw = String(error)
      throw error
    } finally {
      story.end()
      story.alarms.push({ threw, stands: (await this.#storage.getAlarm()) !== null })
    }
  }

  /** What became of it in this process. */
  async look() {
    const { runs, alarms, degraded, dead } = storyOf(this.ctx)
    return { runs, alarms, degraded, dead, alarmAt: await this.#storage.getAlarm(), bornAt: this.bornAt }
  }

  bornAt = Date.now()

  /** The alarm that stands rings now. Says whether one stood. */
  async hurry() {
    if ((await this.#storage.getAlarm()) === null) return false
    await this.#storage.setAlarm(Date.now())
    return true
  }

  /** Rings for nothing: nobody has set this alarm. */
  async ring() {
    await this.#storage.setAlarm(Date.now())
  }

  /** Of the calls of storage that are named in `calls`, the next `after` work and `times` fail: in each of `alarms` alarms, or now. */
  breaks(plan) {
    storyOf(this.ctx).breaks(plan)
  }

  abort() {
    this.ctx.abort('aborted by the test')
  }

  rows(query, ...values) {
    return this.ctx.storage.sql.exec(query, ...values).toArray()
  }
}

/** Bound by mistake: an object of another program. */
export class Other extends DurableObject {
  hello() {
    return 'hello'
  }
}

/** Its migration names it among `new_classes`, so that it has no SQLite. */
export class Plain extends RedriveObject {}

/** Its field reads a variable that is not there. */
export class Throwing extends RedriveObject {
  options = { credentials: { [new URL(this.env.NOTHING).origin]: () => ({}) } }
}

/** Never says whether it has the task. */
export class Silent extends DurableObject {
  verify() {}

  enqueue() {
    return new Promise(() => {})
  }
}

/** Takes its time. */
export class Late extends RedriveObject {
  async enqueue(tasks) {
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    return super.enqueue(tasks)
  }
}

let losses = 0

/** Has its first tasks on the disk, and is killed before it can say so. */
export class Lossy extends RedriveObject {
  async enqueue(tasks) {
    const taken = await super.enqueue(tasks)
    if (losses++ < 3) this.ctx.abort('aborted by the test')
    return taken
  }
}

/** As Standard Webhooks defines it, but for milliseconds. */
function signer(secret) {
  const bytes = new TextEncoder()
  return async ({ headers, body }) => {
    const id = headers.get('webhook-id')
    const key = await crypto.subtle.importKey('raw', bytes.encode(secret), HMAC, false, ['sign'])
    const timestamp = String(Date.now())
    const signed = new Blob([`${id}.${timestamp}.`, body])
    const signature = new Uint8Array(await crypto.subtle.sign('HMAC', key, await signed.arrayBuffer()))
    return { 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature.toBase64()}` }
  }
}

let ofModule

const told = (error) => ({ name: error?.name, code: error?.code, message: String(error?.message ?? error) })

async function answer(work) {
  const response = await work()
  const { status, redirected } = response
  return { status, redirected, headers: Object.fromEntries(response.headers), body: await response.text() }
}

/** All of `calls` through one fetch, each with its answer or its error. */
async function call({ calls, options: { token, secret, ...options } = {}, queue = 'REDRIVE' }, env, ctx) {
  const give = () => ({ authorization: token })
  const origins = calls.map(({ url }) => [new URL(url).origin, give])
  const credentials = token === undefined ? {} : { credentials: Object.fromEntries(origins) }
  const signs = secret === undefined ? {} : { sign: signer(secret) }
  const degraded = []
  const onDegraded = (report) => degraded.push(report)
  let kept = 0
  const waitUntil = (promise) => {
    kept++
    ctx.waitUntil(promise)
  }
  try {
    const retrying = workerFetch({
      queue: env[queue],
      ctx: { waitUntil },
      onDegraded,
      ...credentials,
      ...signs,
      ...options,
    })
    const work = []
    const send = async ({ url, init: given, as, after, abortMs }) => {
      if (after !== undefined) await work[after]
      const init = abortMs === undefined ? given : { ...given, signal: AbortSignal.timeout(abortMs) }
      if (as === 'enqueue') return { receipt: await retrying.enqueue(url, init) }
      if (as === 'proxied') return answer(() => retrying(url, new Request('http://caller.test/', init)))
      if (as === 'inherited') return answer(() => retrying(url, Object.create(init)))
      return answer(() => retrying(as === 'request' ? new Request(url, init) : url, init))
    }
    for (const each of calls) work.push(send(each).catch((error) => ({ error: told(error) })))
    return { answers: await Promise.all(work), degraded, kept }
  } catch (error) {
    return { answers: [], degraded, kept, refused: told(error) }
  }
}

async function order({ queue = 'REDRIVE', principal, origin, shard, name, method, args = [] }, env) {
  const id = env[queue].idFromName(name ?? objectName(principal ?? null, origin, shard))
  try {
    return { value: (await env[queue].get(id)[method](...args)) ?? null }
  } catch (error) {
    return { error: told(error) }
  }
}

/** What is said of handlers that no Worker has. */
function wraps() {
  class Handlers {
    fetch() {}
  }
  return [{}, new Handlers()].map((handlers) => {
    try {
      return Object.keys(withRetry(handlers))
    } catch (error) {
      return told(error)
    }
  })
}

export default withRetry(
  {
    async fetch(request, env, ctx, fetch) {
      const { pathname } = new URL(request.url)
      if (pathname === '/call') return Response.json(await call(await request.json(), env, ctx))
      if (pathname === '/name') {
        const { principal, origin, shard } = await request.json()
        return Response.json({ value: objectName(principal, origin, shard) })
      }
      if (pathname === '/module-fetch') {
        ofModule ??= workerFetch({ queue: env.REDRIVE, ctx })
        const work = () => ofModule(`${env.API}/api/orders?intent=module`, { method: 'POST', body: '{}' })
        const { again } = await request.json()
        if (again) await work()
        if (again) await new Promise((resolve) => setTimeout(resolve, again))
        return Response.json(await answer(work).catch((error) => ({ error: told(error) })))
      }
      if (pathname === '/wraps') return Response.json(wraps())
      if (pathname === '/order') return Response.json(await order(await request.json(), env))
      return fetch(`${env.API}/api/orders?intent=${pathname.slice(1)}`, { method: 'POST', body: '{}' })
    },
    async scheduled(event, env, _, fetch) {
      await fetch(`${env.API}/api/orders?intent=scheduled`, {
        method: 'POST',
        body: JSON.stringify({ cron: event.cron }),
      })
    },
    async queue(batch, env, _, fetch) {
      for (const { body, ...message } of batch.messages) {
        await fetch(`${env.API}/api/orders?intent=${body}`, { method: 'POST', body: '{}' })
        message.ack?.()
      }
    },
  },
  (env) => ({ ...env.WORKER }),
)
