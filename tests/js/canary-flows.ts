/** The flows of the scenario: each sends requests through a queue in a way of its own. */

import { RetryQueue } from '../../js/index.ts'
import { SHAPES } from './canaries.ts'
import { MARKERS, type Scenario } from './canary-scenario.ts'

/** Withheld by its name, with a value that has no form of its own in most shapes. */
const BY_NAME = 'x-acme-secret'

type Flow = (scenario: Scenario) => Promise<void>

/** Fresh secrets for every header that is not stored; `arrive`: they have to get to the server. */
const credentialsOf =
  ({ canaries }: Scenario, flow: string, arrive = true) =>
  ({ withheldHeaders }: { readonly withheldHeaders: readonly string[] }): Record<string, string> =>
    Object.fromEntries(
      withheldHeaders.map((name) => {
        const slot = `${flow}: credentials() for ${name}`
        return [name, arrive ? canaries.makeSent(slot) : canaries.make(slot)]
      }),
    )

/** Its own secrets quoted, as a transport might; then fetch as it is. */
const failsFirst =
  (quote: (headers: Headers, url: string) => string, seen = new Set<string>()): typeof fetch =>
  async (input, init) => {
    const url = String(input)
    const { pathname } = new URL(url)
    if (!pathname.startsWith('/throws/') || seen.has(pathname)) return fetch(input, init)
    seen.add(pathname)
    throw Object.assign(new TypeError(quote(new Headers(init?.headers), url)), { cause: new Error(url) })
  }

export const flows: Record<string, Flow> = {
  'enqueue, and every way to call fetch': async (s) => {
    const queue = await s.queue()
    await s.outcome(queue, await s.enqueue(queue, s.url('ok'), s.init('enqueue')))
    await queue.fetch(s.url('flaky'), s.init('await'))
    await queue.fetch(s.url('reset'), s.init('lost connection'))
    const deferred = await queue.fetch(s.url('flaky'), { ...s.init('defer'), redrive: { mode: 'defer' } })
    await s.outcome(queue, ((await deferred.json()) as { taskId: string }).taskId)
    await queue.fetch(s.url('hop'), s.init('redirect'))
    await s.outcome(queue, await s.enqueue(queue, s.url('away'), s.init('redirect away')))
    await s.close(queue)
  },

  'before-send': async (s) => {
    const queue = await s.queue({
      persist: 'before-send',
      credentials: s.everywhere(credentialsOf(s, 'before-send, again')),
    })
    await queue.fetch(s.url('flaky'), s.unsent('before-send'))
    await s.close(queue)
  },

  'dead letter, export, redrive': async (s) => {
    const queue = await s.queue({ credentials: s.everywhere(credentialsOf(s, 'dead letter')) })
    await queue.fetch(s.url('down'), s.init('dead letter'))
    const taskId = await s.enqueue(queue, s.url('down'), s.unsent('enqueued dead letter'))
    await s.outcome(queue, taskId)
    await s.look(queue)
    await s.snapshot('with dead letters')
    await s.serverIs('up')
    s.tell('redriven', await queue.deadLetters.redrive(taskId))
    await s.outcome(queue, taskId)
    await queue.deadLetters.redriveAll()
    await queue.idle()
    await s.serverIs('down')
    await s.close(queue)
  },

  'cancel, abort, conflict': async (s) => {
    const queue = await s.queue()
    const waits = await s.enqueue(queue, s.url('later'), s.init('cancelled while it waits'))
    await s.status(queue, waits, 'PENDING', 1)
    await queue.cancel(waits)
    queue.resume()
    const runs = await s.enqueue(queue, s.url('hang'), s.unsent('cancelled in flight'))
    await s.status(queue, runs, 'IN_FLIGHT', 1)
    await queue.cancel(runs)
    await s.outcome(queue, runs)
    const controller = new AbortController()
    const aborted = queue.fetch(s.url('hang'), {
      ...s.unsent('aborted'),
      signal: controller.signal,
    })
    controller.abort(new Error(s.canaries.make('reason of an abort', 'words')))
    await aborted.catch(() => {})
    queue.pause()
    const same = { redrive: { idempotencyKey: 'one-key' } }
    const kept = await s.enqueue(queue, s.url('ok'), { ...s.unsent('first of a key'), ...same } as RequestInit)
    await s.refused(s.enqueue(queue, s.url('ok'), { ...s.unsent('second of a key'), ...same } as RequestInit))
    await queue.cancel(kept)
    await s.close(queue)
  },

  'another principal, and back': async (s) => {
    const queue = await s.queue()
    queue.pause()
    const taskId = await s.enqueue(queue, s.url('ok'), s.init('left behind'))
    await queue.setPrincipal('ben')
    queue.resume()
    await s.outcome(queue, await s.enqueue(queue, s.url('ok'), s.init('the other')))
    await s.look(queue)
    await queue.setPrincipal('ann')
    await s.outcome(queue, taskId)
    queue.pause()
    await s.enqueue(queue, s.url('ok'), s.unsent('purged'))
    await s.snapshot('before a purge')
    await queue.setPrincipal('ben', { purge: true })
    await s.close(queue)
  },

  restart: async (s) => {
    const first = await s.queue()
    first.pause()
    const taskId = await s.enqueue(first, s.url('flaky'), s.unsent('before a restart'))
    const parks = await s.enqueue(first, s.url('refused'), s.unsent('refused for good'))
    await s.close(first)
    const second = await s.queue({ credentials: s.everywhere(credentialsOf(s, 'restart')) })
    await s.outcome(second, taskId)
    await s.status(second, parks, 'PENDING', 0)
    await s.close(second)
  },

  'URL secrets stay in memory': async (s) => {
    const queue = await s.queue({ retryBudget: false })
    await queue.fetch(s.url('flaky', s.secrets('URL')), s.init('URL'))
    for (const path of s.paths('path')) await queue.fetch(s.url('flaky', path), s.init('path'))
    for (const path of s.paths('dead path')) {
      await s.outcome(queue, await s.enqueue(queue, s.url('down', path), s.init('dead path')))
    }
    await s.outcome(queue, await s.enqueue(queue, s.url('down', s.secrets('dead URL')), s.init('dead URL')))
    const unknown = { 'x-acme': s.canaries.makeSent('on no list') }
    await queue.fetch(s.url('flaky'), { method: 'POST', headers: unknown })
    await queue.fetch(s.url('flaky'), { ...s.init('sensitive'), redrive: { sensitive: true } })
    await s.refused(queue.fetch(`http://kim:${s.canaries.make('user info', 'hex')}@127.0.0.1:${s.port}/ok`))
    await s.close(queue)
  },

  'URL secrets are stripped': async (s) => {
    const sanitize = {
      urlSecrets: 'strip',
      denyHeaders: ['x-tenant-*'],
      persistHeaders: ['x-acme-*', '*-key'],
    } as const
    const first = await s.queue({ sanitize })
    const request = s.init('strip')
    request.headers['x-tenant-pin'] = s.canaries.makeSent('denied by option', 'words')
    request.headers['x-acme-api-key'] = s.canaries.makeSent('denied in spite of an option', 'words')
    await first.fetch(s.url('flaky', s.secrets('stripped')), request)
    for (const path of s.paths('stripped path')) await first.fetch(s.url('flaky', path), s.init('stripped path'))
    first.pause()
    const taskId = await s.enqueue(first, s.url('ok', s.secrets('stripped before a restart', true)), s.unsent('strip'))
    await s.close(first)
    const second = await s.queue({ sanitize, credentials: s.everywhere(credentialsOf(s, 'strip')) })
    await s.outcome(second, taskId)
    await s.close(second)
  },

  axios: async (s) => {
    const queue = await s.queue()
    const api = s.axios(queue)
    const secret = (slot: string) => s.canaries.makeSent(`axios: ${slot}`, 'base64url')
    const data = { said: MARKERS.body }
    await api.post(s.url('flaky'), data, { auth: { username: 'kim', password: secret('auth') } })
    await api.post(s.url('flaky').replace('//', `//kim:${secret('user info')}@`), data)
    await api.post(s.url('flaky'), data, { headers: { ...s.init('axios').headers } })
    await api.post(s.url('flaky'), data, { params: { api_key: secret('params') } })
    await api.post(s.url('down').replace('//', `//kim:${secret('dead user info')}@`), data).catch(() => {})
    await s.close(queue)
  },

  'fetch fails with secrets in its words': async (s) => {
    const quotes: Record<string, (headers: Headers, url: string) => string> = {
      'all headers': (headers) => `cannot send ${[...headers].map(([name, value]) => `${name}: ${value}`).join(', ')}`,
      'a header': (headers) => `cannot send ${headers.get(BY_NAME)}`,
      URL: (_, url) => `no route to ${url}`,
      query: (_, url) => `bad query ${new URL(url).search}`,
      parameter: (_, url) => `bad token ${new URL(url).searchParams.get('token')}`,
    }
    // whatever its form, it is found here by what stands around it
    const inOtherWords: typeof quotes = {
      'all headers, percent-encoded': (headers) =>
        `cannot send ${[...headers].map((pair) => pair.map(encodeURIComponent).join('=')).join('&')}`,
      'credentials, decoded': (headers) => {
        const [, encoded = ''] = /^Basic (.*)$/.exec(headers.get('authorization') ?? '') ?? []
        return `no such user: ${atob(encoded)}`
      },
      'a body': (headers) => `answered {"error":"late","access_token":"${headers.get(BY_NAME)}"}`,
      'a connection': (headers) => `connect redis://kim:${headers.get(BY_NAME)}@cache.test failed`,
    }
    for (const [what, quote] of Object.entries({ ...quotes, ...inOtherWords })) {
      for (const shape of what in quotes ? (['hex', 'words', 'jwt'] as const) : (['words'] as const)) {
        const flow = `error that quotes ${what}`
        const queue = await s.queue({ fetch: failsFirst(quote) })
        const request = s.init(flow)
        request.headers[BY_NAME] = s.canaries.makeSent(`${flow}: ${BY_NAME}`, shape)
        request.headers.authorization ??= s.canaries.makeSent(`${flow}: authorization`, 'basic')
        await s.outcome(queue, await s.enqueue(queue, s.url('throws'), request))
        await s.outcome(queue, await s.enqueue(queue, s.url('throws', s.secrets(flow)), s.init(flow)))
        await queue.fetch(s.url('throws'), s.init(flow))
        await s.close(queue)
      }
    }
  },

  'fetch and beforeAttempt() fail with what credentials() gave in their words': async (s) => {
    for (const shape of SHAPES) {
      let given = ''
      const queue = await s.queue({
        fetch: failsFirst((headers) => `cannot send ${headers.get(BY_NAME)}`),
        credentials: s.everywhere((request) => {
          given = s.canaries.make('credentials() quoted', shape)
          return { ...credentialsOf(s, 'quoted', false)(request), [BY_NAME]: given }
        }),
        beforeAttempt: () => {
          throw new Error(`rejected: ${given}`)
        },
      })
      await s.outcome(queue, await s.enqueue(queue, s.url('throws'), s.unsent(`hooks, ${shape}`)))
      await s.close(queue)
    }
  },

  'credentials() fails with secrets in its words': async (s) => {
    for (const shape of SHAPES) {
      let failed = false
      const queue = await s.queue({
        credentials: s.everywhere((request) => {
          if (failed) return credentialsOf(s, 'after an error')(request)
          failed = true
          const fresh = s.canaries.make('error of credentials()', shape)
          throw new Error(`the vault does not know ${fresh}`, { cause: new Error(fresh) })
        }),
      })
      await s.outcome(queue, await s.enqueue(queue, s.url('ok'), s.unsent(`hooks, ${shape}`)))
      await s.close(queue)
    }
  },

  'credentials() gives what cannot be sent': async (s) => {
    const queue = await s.queue({
      credentials: s.everywhere(() => ({ 'x-broken': `${s.canaries.make('unsendable', 'hex')}\nx` })),
    })
    await s.outcome(queue, await s.enqueue(queue, s.url('ok'), s.unsent('unsendable')))
    await s.refused(
      Promise.resolve().then(() => new RetryQueue({ credentials: s.canaries.make('option', 'hex') as never })),
    )
    await s.close(queue)
  },
}
