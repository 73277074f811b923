import axios, { type AxiosRequestConfig } from 'axios'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { attachToAxios } from '../../js/adapters/axios.ts'
import type { AcceptedBody } from '../../js/api/methods.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { ADAPTERS, failure, keysOf, setup, startServer } from './axios-setup.ts'

describe.each(ADAPTERS)('what a call carries, with the %s adapter', (adapter) => {
  test('one key a call, on every attempt of it', async () => {
    const { server, api } = await setup(adapter, { answers: [503, 503, 200, 503] })
    await api.post('/orders', {})
    await api.post('/orders', {})
    const [first, , , second] = keysOf(server)
    expect(first).toMatch(/^[\w-]{22,}$/)
    expect(second).not.toBe(first)
    expect(keysOf(server)).toEqual([first, first, first, second, second])
  })

  test.each([
    ['of the call', { redrive: { idempotencyKey: 'option' }, headers: { 'idempotency-key': 'header' } }, 'option'],
    ['in a header', { headers: { 'idempotency-key': 'header' } }, 'header'],
  ])('a key %s is taken', async (_, config, key) => {
    const { server, api } = await setup(adapter, { answers: [503] })
    await api.post('/', {}, config)
    expect(keysOf(server)).toEqual([key, key])
  })

  test('the header and its format are those of the queue', async () => {
    const { server, api } = await setup(adapter, { idempotency: { header: 'X-Once', format: 'sf-string' } })
    server.reply(503)
    await api.post('/', {}, { redrive: { idempotencyKey: 'a"b' } })
    expect(server.requests.map((request) => request.headers['x-once'])).toEqual(['"a\\"b"', '"a\\"b"'])
  })

  test('POST is not tried again where the key was refused or switched off', async () => {
    const refused = await setup(adapter)
    refused.server.reply(503).reply(503)
    await failure(refused.api.post('/', {}, { headers: { 'Idempotency-Key': false as unknown as string } }))
    expect(keysOf(refused.server)).toEqual([undefined])

    const off = await setup(adapter, { idempotency: false })
    off.server.reply(503).reply(503)
    await failure(off.api.post('/', {}))
    expect(keysOf(off.server)).toEqual([undefined])
    await failure(off.api.post('/', {}, { redrive: { idempotent: true, policy: { maxAttempts: 1 } } }))
    expect(off.server.hits).toBe(2)
  })

  test.each<[what: string, config: AxiosRequestConfig, withheld: readonly string[], cookie?: string, page?: string]>([
    ['to the origin of the page', {}, ['x-xsrf-token']],
    ['of names of its own', { xsrfCookieName: 'ck', xsrfHeaderName: 'X-Ck' }, ['x-ck'], 'a=1; ck=t'],
    ['to another origin', {}, [], 'XSRF-TOKEN=t', 'https://app.test/'],
    [
      'to another origin that is to have it',
      { withXSRFToken: true },
      ['x-xsrf-token'],
      'XSRF-TOKEN=t',
      'https://app.test/',
    ],
    ['that is not to have it', { withXSRFToken: () => false }, []],
    ['without the cookie', {}, [], 'NO-XSRF-TOKEN=t'],
  ])(
    'in a page, the token that axios itself adds to a call is withheld: %s',
    async (_, config, withheld, cookie, page) => {
      const store = memoryStore()
      const { server, api } = await setup(adapter, { store, principal: null })
      onTestFinished(() => void vi.unstubAllGlobals())
      vi.stubGlobal('window', {})
      vi.stubGlobal('location', new URL(page ?? server.url))
      vi.stubGlobal('document', {
        cookie: cookie ?? 'a=1; XSRF-TOKEN=t',
        addEventListener() {},
        removeEventListener() {},
      })
      server.reply(503)
      const { data } = await api.post<AcceptedBody>('/', {}, { ...config, redrive: { mode: 'defer', waitMs: 0 } })
      expect((await store.get(data.taskId))?.withheldHeaders).toEqual(withheld)
    },
  )

  test('every attempt has the same headers, as axios alone would send them, and the key', async () => {
    const { server, api } = await setup(
      adapter,
      {},
      { headers: { common: { 'X-Common': 'c' }, post: { 'X-Post': 'p' } } },
    )
    const config = { headers: { 'X-Own': 'Zoë', 'X-Wide': 'a\u{1f600}b' }, auth: { username: 'me', password: 'pw' } }
    await api.post('/', { a: 1 }, { ...config, redrive: false })
    server.reply(503).reply(503)
    await api.post('/', { a: 1 }, config)
    const [alone, ...attempts] = server.requests.map(({ rawHeaders }) => pairs(rawHeaders))
    const key = attempts[0]?.find(([name]) => name === 'idempotency-key')
    expect(key).toBeDefined()
    for (const attempt of attempts) expect(attempt).toEqual([...(alone ?? []), key].sort())
  })

  test('what the caller took out stays out', async () => {
    const { server, api } = await setup(
      adapter,
      {},
      { headers: { common: { 'X-Common': 'c' } }, params: { tenant: 1 } },
    )
    api.interceptors.request.use((config) => {
      config.headers.delete('X-Common')
      config.headers.set('User-Agent', 'mine')
      delete config.params
      return config
    })
    server.reply(503)
    await api.post('/', {}, { headers: { Accept: null } })
    for (const { headers, url } of server.requests) {
      expect(headers['x-common']).toBeUndefined()
      expect(headers['user-agent']).toBe('mine')
      expect(url).toBe('/')
      // the http adapter sends none; fetch always sends its own
      expect(headers.accept).toBe(adapter === 'http' ? undefined : '*/*')
    }
    expect(server.hits).toBe(2)
  })

  test('credentials are laid over every retry, over `auth` too, and never shown to the caller', async () => {
    let count = 0
    const give = () => ({ authorization: `Bearer ${++count}`, 'x-tenant': 't' })
    const { server, api } = await setup(adapter, { give, answers: [503, 503, 503] })
    const error = await failure(
      api.get('/', { auth: { username: 'a', password: 'b' }, headers: { 'X-Tenant': 'own' } }),
    )
    const basic = `Basic ${btoa('a:b')}`
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([basic, 'Bearer 1', 'Bearer 2'])
    expect(server.requests.map(({ headers }) => headers['x-tenant'])).toEqual(['own', 't', 't'])
    expect(JSON.stringify(error.config?.headers)).not.toContain('Bearer')
    expect(error.config?.auth).toEqual({ username: 'a', password: 'b' })
  })

  test('a 401 on the first attempt is given as it is; on a retry credentials are asked for again', async () => {
    const asked: boolean[] = []
    const { server, api } = await setup(adapter, {
      give: ({ unauthorized }) => {
        asked.push(unauthorized)
        return { authorization: unauthorized ? 'fresh' : 'stale' }
      },
    })
    server.reply(401)
    expect((await failure(api.get('/'))).response?.status).toBe(401)
    expect(asked).toEqual([])

    server.reply(503).reply(401).reply(200)
    const statuses: number[] = []
    const validateStatus = (status: number) => statuses.push(status) > 0 && status === 200
    expect((await api.get('/', { validateStatus })).status).toBe(200)
    expect(asked).toEqual([false, true])
    expect(statuses).toEqual([200])
    expect(server.requests.at(-1)?.headers.authorization).toBe('fresh')
  })

  test.each([{ perCall: true }, { perCall: false }])(
    'a 401 on the first attempt is mended where the call, or its instance, asks for it',
    async ({ perCall }) => {
      const asked: boolean[] = []
      const give = ({ unauthorized }: { readonly unauthorized: boolean }) => {
        asked.push(unauthorized)
        return { authorization: 'fresh' }
      }
      const redrive = { credentials: 'on-401' } as const
      const { server, api } = await setup(adapter, { give }, {}, perCall ? undefined : redrive)
      const config = { headers: { Authorization: 'stale' }, ...(perCall ? { redrive } : {}) }
      server.reply(401).reply(200)
      expect((await api.post('/', { a: 1 }, config)).status).toBe(200)
      expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(['stale', 'fresh'])
      expect(new Set(keysOf(server)).size).toBe(1)

      server.reply(401).reply(401).reply(200)
      expect((await failure(api.post('/', { a: 1 }, config))).response?.status).toBe(401)
      expect(server.hits).toBe(4)
      expect(asked).toEqual([true, true])
    },
  )

  test('S12 another origin gets none of it, by an absolute URL or another baseURL', async () => {
    const other = await startServer()
    const { queue, server } = await setup(adapter, { give: () => ({ authorization: 'Bearer of-the-api' }) })
    const api = axios.create({ adapter, baseURL: server.url, withCredentials: true })
    attachToAxios(api, queue)
    for (const config of [{}, { baseURL: other.url }]) {
      other.reply(503).reply(200)
      await api.get(`${config.baseURL ? '' : other.url}/hook`, config)
    }
    server.reply(503).reply(200)
    await api.get('/own')
    expect(other.requests.map(({ headers }) => headers.authorization)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ])
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([undefined, 'Bearer of-the-api'])
  })
})

/** Lower-case name and value, sorted. */
function pairs(raw: readonly string[]): [string, string][] {
  const list: [string, string][] = []
  for (let i = 0; i < raw.length; i += 2) list.push([raw[i]?.toLowerCase() ?? '', raw[i + 1] ?? ''])
  return list.sort()
}
