// The program `redrive serve` as its operator meets it: what it says when it starts, refuses, reloads and stops.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sqliteStore } from '../../../js/stores/sqlite.ts'
import { onLoopback } from '../../loopback.ts'
import { startCluster, startServer } from '../../redis/servers.ts'
import { eventually } from '../eventually.ts'
import { target } from './loopback.ts'
import { CLI, entry, folder, json, post, run, sha256, start, WITH_UI } from './program.ts'

const TOKEN = 'rd_aaaaaaaaaaaaaaaaaaaaaaaaaa'
const OTHER = 'rd_bbbbbbbbbbbbbbbbbbbbbbbbbb'
/** Of `unshare`: what it starts is process 1 of a namespace, and ends with it. */
const AS_FIRST = ['--user', '--map-root-user', '--pid', '--fork', '--kill-child']

describe('a start', () => {
  test('with no option keeps tasks in ./redrive.db, says so, and delivers what it is posted', async () => {
    const cwd = folder()
    const shop = await target()
    const { url, lines } = await start([], cwd)
    expect(lines.map(({ event }) => event)).toEqual(['store', 'listening', 'dev_mode', 'targets', 'policy', 'ready'])
    expect(lines[0]).toMatchObject({ store: 'sqlite:redrive.db', durability: 'strict' })
    const answer = await post(`${url}/retry-tasks`, { targetUrl: shop.url, method: 'POST', json: { sku: 1 } })
    expect(answer.status).toBe(201)
    const { taskId } = await json(answer)
    const ended = await fetch(`${url}/retry-tasks/${taskId}`, { headers: { prefer: 'wait=10' } })
    expect(await json(ended)).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 1 })
    expect(shop.seen).toMatchObject([{ body: '{"sku":1}' }])
    expect(existsSync(join(cwd, 'redrive.db'))).toBe(true)
  })

  test.each([
    [['--host', '0.0.0.0'], /--host 0\.0\.0\.0: without tokens the service listens on loopback only/],
    [['--host', '0.0.0.0', '--tokens', 'tokens.json'], /say where requests may go, by --targets/],
    [['--tls-cert', 'none.pem', '--tls-key', 'none.pem'], /--tls-cert: none\.pem cannot be read/],
    [['--tokens', 'none.json'], /none\.json/],
    [['--targets', 'https://10.0.0.1'], /^redrive: targets: 'https:\/\/10\.0\.0\.1' .*open its range/],
    [['--tenants', 'tenants.json'], /^redrive: targets: 'https:\/\/10\.0\.0\.2' .*open its range/],
    [['--bodies', 'file:tokens.json'], /^redrive: --bodies: \S+tokens\.json cannot be a folder of bodies \(EEXIST\)/],
    [['--policies', 'preset.json'], /'svix' is the name of a preset/],
    [['--policies', 'slash.json'], /expected a policyId of 1 to 64 letters.*got 'a\/b'/],
    [
      ['--tls-cert', 'tokens.json', '--tls-key', 'tokens.json'],
      /--tls-cert tokens\.json, --tls-key tokens\.json: no PEM/,
    ],
    [['--default-backoff-base', '15s'], /--default-backoff-exponent and --default-backoff-jitter are missing/],
  ])('with %j is refused with exit code 2 and one line, and makes no file', async (args, line) => {
    const tenants = { acme: { targets: ['https://10.0.0.2'] } }
    const policies = { 'preset.json': [{ policyId: 'svix' }], 'slash.json': [{ policyId: 'a/b' }] }
    const cwd = folder({ 'tokens.json': [entry(TOKEN, 'acme')], 'tenants.json': tenants, ...policies })
    const { code, stderr, stdout } = await run([...args, '--port', '0'], cwd)
    expect(stderr).toMatch(line)
    expect(stderr.trim().split('\n')).toHaveLength(1)
    expect([code, stdout]).toEqual([2, ''])
    expect(existsSync(join(cwd, 'redrive.db'))).toBe(false)
  })

  test('on a port that is taken says which, with exit code 1', async () => {
    const { url } = await start()
    const { port } = new URL(url)
    const { code, stderr } = await run(['--port', port])
    expect(stderr).toBe(`redrive: port ${port} is taken: another process listens on it; name another with --port\n`)
    expect(code).toBe(1)
    const admin = await run(['--port', '0', '--admin-port', port])
    expect(admin.stderr).toMatch(/; name another with --admin-port\n$/)
  })

  test('without its Redis says so, with exit code 1, and never the password', async () => {
    const { code, stderr } = await run(['--port', '0', '--store', 'redis://user:hunter2@127.0.0.1:1/0'])
    expect(stderr).toMatch(/^redrive: redis:\/\/127\.0\.0\.1:1\/0 cannot be reached/)
    const other = await run(['--port', '0', '--store', 'redis-cluster://user:hun@ter2@127.0.0.1:1'])
    expect(other.stderr).toMatch(/^redrive: redis-cluster:\/\/127\.0\.0\.1:1 cannot be reached/)
    expect(stderr).not.toContain('hunter2')
    expect(code).toBe(1)
  })

  test('with a wrong login or database of its Redis says so, with exit code 1', async () => {
    const redis = await startServer()
    onTestFinished(() => redis.end())
    const refused = async (url: string, why: string) => {
      const { code, stderr } = await run(['--port', '0', '--store', url])
      const ending = new RegExp(`refuses .*${why}.*check the user, password or database in --store\n$`)
      expect([code, stderr]).toEqual([1, expect.stringMatching(ending)])
      expect(stderr).not.toMatch(/geheim|start it/)
    }
    await refused(`${redis.url}/99`, 'DB index is out of range')
    await redis.ask('CONFIG', 'SET', 'requirepass', 'right')
    await refused(redis.url.replace('//', '//:geheim@'), 'WRONGPASS')
    await refused(redis.url, 'NOAUTH')
  })

  test('on a store that it may not use ends, as a program and as a library that is closed', async () => {
    const redis = await startServer({ maxmemory: '10mb', maxmemoryPolicy: 'allkeys-lru' })
    onTestFinished(() => redis.end())
    await redis.ask('ACL', 'SETUSER', 'weak', 'on', '>pw', '~*', '&*', '+@all', '-fcall', '-evalsha')
    const weak = redis.url.replace('redis://', 'redis://weak:pw@')
    const words = {
      [redis.url]: /maxmemory-policy is allkeys-lru/,
      [weak]: /its user may not do what the store has to/,
    }
    for (const [url, why] of Object.entries(words)) {
      for (const more of [[], ['--partitions', '3']]) {
        const { code, stderr } = await run(['--port', '0', '--store', url, ...more])
        expect([code, stderr]).toEqual([1, expect.stringMatching(why)])
      }
      if (url === redis.url) await redis.ask('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
    }
    await redis.ask('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
    const library = await run([redis.url], folder(), {}, fileURLToPath(new URL('closed-service.ts', import.meta.url)))
    expect(library).toMatchObject({ code: 0, stdout: 'STORAGE_UNSAFE\n' })
  })

  test('on a file that cannot be opened says so in a line that steers no terminal', async () => {
    const { code, stderr } = await run(['--store', 'sqlite:gone/\u001b[31m.db', '--port', '0'])
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^redrive: [ -~]+\n$/) })
    expect(stderr).toContain('it cannot be opened')
  })

  test('on a file of a later layout ends with exit code 3', async () => {
    const cwd = folder()
    const store = sqliteStore({ path: join(cwd, 'redrive.db'), everyone: true })
    await store.counts()
    await store.close()
    const file = new DatabaseSync(join(cwd, 'redrive.db'))
    file.exec('PRAGMA user_version = 99')
    file.close()
    const { code, stderr } = await run(['--port', '0'], cwd)
    expect([code, stderr]).toEqual([3, expect.stringMatching(/was written by a later version/)])
  })

  test('on a file that a queue of one principal has tasks in is refused', async () => {
    const cwd = folder()
    const store = sqliteStore({ path: join(cwd, 'redrive.db') })
    await store.enqueue([
      {
        taskId: '01a00000-0000-7000-8000-000000000001',
        ...{ idempotencyKey: 'k', fingerprint: 'f', method: 'POST', targetUrl: 'https://api.example.com/' },
        ...{ headers: {}, withheldHeaders: [], requestInit: {}, lane: 'https://api.example.com', principal: null },
        ...{ policy: { policyId: 'default' }, deadlineInMs: 1e6, dueInMs: 1e6, attemptNumber: 0, phase: -1 },
        ...{ previousDelayMs: 0, priority: 0, home: null, schema: 1 },
      },
    ])
    await store.close()
    const { code, stderr } = await run(['--port', '0'], cwd)
    expect(stderr).toMatch(/sqlite:redrive\.db: .*everyone/)
    expect(code).toBe(1)
  })
})

describe('tokens and listeners', () => {
  test('a token decides who sees what; a file of tokens that changes takes effect, and one that is wrong changes nothing', async () => {
    const cwd = folder({ 'tokens.json': [entry(TOKEN, 'acme')] })
    const { url, logged, lines } = await start(['--tokens', 'tokens.json', '--targets', 'https://api.example.com'], cwd)
    const as = (token: string) => ({ authorization: `Bearer ${token}` })
    const statusOf = async (token: string) => (await fetch(`${url}/retry-tasks`, { headers: as(token) })).status
    expect([await statusOf(TOKEN), await statusOf(OTHER)]).toEqual([200, 401])
    writeFileSync(join(cwd, 'tokens.json'), JSON.stringify([entry(OTHER, 'umbrella')]))
    await logged('reloaded')
    expect([await statusOf(TOKEN), await statusOf(OTHER)]).toEqual([401, 200])
    writeFileSync(join(cwd, 'tokens.json'), '[{ "sha256": "no" }]')
    expect(await logged('reload_refused')).toMatchObject({ level: 'error' })
    expect(await statusOf(OTHER)).toBe(200)
    expect(JSON.stringify(lines)).not.toContain(OTHER)
  })

  test('a second port takes over what is for operators', async () => {
    const { url, logged } = await start(['--admin-port', '0'])
    const { url: adminUrl } = await logged('listening_admin')
    const paths = ['/retry-tasks', '/healthz', '/metrics', '/pauses']
    const statuses = (base: unknown) => Promise.all(paths.map(async (path) => (await fetch(`${base}${path}`)).status))
    expect(await statuses(url)).toEqual([200, 404, 404, 404])
    expect(await statuses(adminUrl)).toEqual([404, 200, 200, 200])
    // spelt another way it is no other path
    const encoded = ['/%6detrics', '/pause%73', '/retry-tasks/..%2fmetrics', '/x/../metrics']
    for (const path of encoded) expect([path, await statusOfRaw(url, path)]).toEqual([path, 404])
  })

  test('a name that is not its own is refused, and so is a page of another origin', async () => {
    const { url } = await start()
    const named = (path: string) => statusOfRaw(url, path, { host: 'evil.example' })
    expect(await named('/retry-tasks')).toBe(421)
    // a probe asks by the address of its container
    expect([await named('/healthz'), await named('/readyz')]).toEqual([200, 200])
    expect((await fetch(`${url}/retry-tasks`, { headers: { origin: 'https://evil.example' } })).status).toBe(403)
  })
})

/** Asks for a path as it stands: `fetch` would tidy it up first. */
const statusOfRaw = (base: string, path: string, headers = {}): Promise<number> =>
  new Promise((resolve, reject) => {
    get({ port: new URL(base).port, host: '127.0.0.1', path, headers }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    }).on('error', reject)
  })

describe('roles', () => {
  test("what an 'api' has taken a 'worker' sends, which is asked for its health alone", async () => {
    const cwd = folder()
    const shop = await target()
    const api = await start(['--role', 'api'], cwd)
    const answer = await post(`${api.url}/retry-tasks`, { targetUrl: shop.url, method: 'PUT', body: 'x' })
    expect(answer.status).toBe(201)
    const { taskId } = await json(answer)
    expect(await json(await fetch(`${api.url}/retry-tasks/${taskId}`))).toMatchObject({ status: 'PENDING' })
    const worker = await start(['--role', 'worker'], cwd)
    await eventually(async () => shop.seen.length).toBe(1)
    expect((await fetch(`${worker.url}/readyz`)).status).toBe(200)
    expect((await fetch(`${worker.url}/retry-tasks`)).status).toBe(404)
  })
})

describe('the inspector', () => {
  const withUi = (...args: string[]) =>
    start(['--ui', ...args], folder(), { UI_FOLDER: folder({ 'ui.js': '' }) }, WITH_UI)

  test('is shown with --ui, and the start says where', async () => {
    const { url, lines, logged } = await withUi()
    expect(lines.map(({ event }) => event).slice(0, 3)).toEqual(['store', 'listening', 'inspector'])
    const { url: page } = await logged('inspector')
    expect(page).toBe(`${url}/ui`)
    // it leads on to the page
    expect(await (await fetch(String(page))).text()).toContain('<redrive-inspector src="..">')
    expect(await json(await fetch(url))).toMatchObject({ links: { ui: '/ui' } })
  })

  test('moves to the port of operators, which answers all that it asks', async () => {
    const { url, logged } = await withUi('--admin-port', '0')
    const { url: adminUrl } = await logged('listening_admin')
    expect((await logged('inspector')).url).toBe(`${adminUrl}/ui`)
    const paths = ['/ui/', '/ui/ui.js', '/retry-tasks', '/stats', '/pauses']
    const statuses = (base: unknown) => Promise.all(paths.map(async (path) => (await fetch(`${base}${path}`)).status))
    expect(await statuses(url)).toEqual([404, 404, 200, 200, 404])
    expect(await statuses(adminUrl)).toEqual([200, 200, 200, 200, 200])
  })

  test('is announced under a name that is answered to', async () => {
    const { url, logged } = await withUi('--host-names', 'retry.example.com,localhost')
    expect((await logged('inspector')).url).toBe(`http://retry.example.com:${new URL(url).port}/ui`)
  })

  test('whose files are missing ends the start, which says which, and makes no file', async () => {
    const cwd = folder()
    const { code, stderr, stdout } = await run(['--ui', '--port', '0'], cwd)
    // this checkout: the package has them
    expect(stderr).toMatch(
      /^redrive: --ui: ui\.js is missing in \S+js\/service\/ui, where the files of the inspector should be/,
    )
    expect(stderr.trim().split('\n')).toHaveLength(1)
    expect([code, stdout]).toEqual([1, ''])
    expect(existsSync(join(cwd, 'redrive.db'))).toBe(false)
  })
})

describe('a stop', () => {
  test('SIGTERM lets what is in flight end, keeps the rest, and ends with 0', async () => {
    const cwd = folder()
    const shop = await target()
    const { url, child, exit } = await start([], cwd)
    for (let i = 0; i < 5; i++) await post(`${url}/retry-tasks`, { targetUrl: shop.url, method: 'POST', body: `${i}` })
    await post(`${url}/retry-tasks`, { targetUrl: shop.url, method: 'POST', body: 'later', delayMs: 3_600_000 })
    child.kill('SIGTERM')
    expect(await exit).toBe(0)
    const again = await start([], cwd)
    await eventually(async () => new Set(shop.seen.map((each) => each['idempotency-key'])).size).toBe(5)
    expect(await json(await fetch(`${again.url}/stats`))).toMatchObject({ counts: { pending: 1, exhausted: 0 } })
  })

  test.skipIf(spawnSync('unshare', [...AS_FIRST, 'true']).status !== 0)(
    'SIGTERM ends a start, also that of the first process of a container',
    async () => {
      const silent = createServer().listen(0, '127.0.0.1')
      onTestFinished(() => void silent.close())
      await once(silent, 'listening')
      const asked = once(silent, 'connection')
      const { port } = silent.address() as AddressInfo
      const args = ['--store', `redis://127.0.0.1:${port}`, '--port', '0']
      const child = spawn('unshare', [...AS_FIRST, process.execPath, CLI, ...args], { cwd: folder() })
      onTestFinished(() => void child.kill('SIGKILL'))
      await asked
      const [first] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').split(' ')
      process.kill(Number(first), 'SIGTERM')
      const [code] = await once(child, 'exit')
      expect(code).toBe(143)
    },
  )

  test('a second signal ends it at once, with 1', async () => {
    const hanging = await onLoopback(() => {})
    const { url, child, exit, logged } = await start(['--drain', '60s'])
    await post(`${url}/retry-tasks`, { targetUrl: hanging, method: 'POST', body: 'x' })
    await eventually(async () => (await json(await fetch(`${url}/stats`))).counts).toMatchObject({ inFlight: 1 })
    child.kill('SIGTERM')
    await logged('stopping')
    child.kill('SIGTERM')
    expect(await exit).toBe(1)
  })

  test('while it stops, readiness says no and a caller who waits for a task is answered', async () => {
    const { url, child, exit } = await start(['--drain-delay', '300ms'])
    const answer = await post(`${url}/retry-tasks`, { targetUrl: 'http://127.0.0.1:1/', method: 'POST', body: 'x' })
    const { taskId } = await json(answer)
    const waiting = fetch(`${url}/retry-tasks/${taskId}`, { headers: { prefer: 'wait=60' } })
    await eventually(async () => (await fetch(`${url}/readyz`)).status).toBe(200)
    child.kill('SIGTERM')
    await eventually(async () => (await fetch(`${url}/readyz`)).status).toBe(503)
    expect(await json(await waiting)).toMatchObject({ taskId, status: expect.stringMatching(/PENDING|IN_FLIGHT/) })
    expect(await exit).toBe(0)
  })
})

test('every partition of a Redis has a runner, over the nodes of a cluster, and a service with another number does not start', async () => {
  const cluster = await startCluster({ maxmemoryPolicy: 'noeviction' })
  onTestFinished(() => cluster.end())
  const store = `redis-cluster://${cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`
  const { url: targetUrl, seen } = await target(() => (seen.length % 3 === 0 ? 503 : 200))
  const cwd = folder()
  const flags = ['--store', store, '--partitions', '3', '--partition-by', 'policy', '--concurrency', '10']
  const { url, lines, child, exit } = await start(flags, cwd)
  expect(lines).toContainEqual(
    expect.objectContaining({ event: 'partitions', partitions: 3, partitionBy: 'policy', concurrency: 4 }),
  )
  const policy = { strategy: 'fixed', initialDelayMs: 10, jitterType: 'NONE' }
  const ids = await Promise.all(
    Array.from({ length: 24 }, async (_, n) => {
      await post(`${url}/retry-policies`, { policyId: `p${n}`, ...policy })
      const task = { targetUrl, method: 'POST', body: 'x', idempotencyKey: `key-${n}`, policyId: `p${n}` }
      return (await json(await post(`${url}/retry-tasks`, task))).taskId as string
    }),
  )
  for (const taskId of ids) {
    const ended = await fetch(`${url}/retry-tasks/${taskId}`, { headers: { prefer: 'wait=20' } })
    expect(await json(ended)).toMatchObject({ taskId, status: 'SUCCEEDED' })
  }
  expect(new Set(seen.map((each) => each['idempotency-key'])).size).toBe(24)
  expect(await json(await fetch(`${url}/stats`))).toMatchObject({ counts: { succeeded: 24 } })
  const metrics = await (await fetch(`${url}/metrics`)).text()
  const sent = metrics.split('\n').filter((line) => line.startsWith('retry_attempts_total{'))
  const queues = new Set(sent.map((line) => /queue="([^"]+)"/.exec(line)?.[1]))
  expect([...queues].sort()).toEqual(['service.0', 'service.1', 'service.2'])
  const sizes = await Promise.all(cluster.nodes.map(async (node) => Number(await node.ask('DBSIZE'))))
  expect(sizes.filter((size) => size > 0).length).toBeGreaterThan(1)
  child.kill('SIGTERM')
  expect(await exit).toBe(0)
  const other = await run(['--port', '0', '--store', store], cwd)
  expect(other.code).toBe(1)
  expect(other.stderr).toMatch(
    /--partitions 3 --partition-by policy, and --partitions 1 would look for them where they are not/,
  )
})

test('more than one are for Redis', async () => {
  const { code, stderr } = await run(['--port', '0', '--partitions', '2'])
  expect(code).toBe(2)
  expect(stderr).toMatch(
    /^redrive: --partitions: expected 1 with --store sqlite:redrive\.db, got 2; only a Redis can be divided/,
  )
})

test('credentials and keys are read from files of their own, again on SIGHUP, and what there is is said by name', async () => {
  const { origin, url, seen } = await target()
  const tokens = [{ sha256: sha256('rd_a'), tenant: 'acme', scopes: ['tasks:write', 'tasks:read'] }]
  const credential = (name: string) => {
    const headers = { authorization: { from: `env:${name}`, prefix: 'Bearer ' } }
    return { api: { origins: [origin], tenants: ['acme'], headers } }
  }
  const cwd = folder({
    'tokens.json': tokens,
    'credentials.json': credential('ONE'),
    'redrive.config.json': { signing: { hooks: { keys: [{ from: 'file:whsec' }], tenants: '*' } } },
    whsec: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
  })
  const files = '--tokens tokens.json --credentials credentials.json'
  const args = `${files} --allow-http --allow-private 127.0.0.1/32 --targets :${new URL(url).port}`.split(' ')
  const service = await start(args, cwd, { ONE: 'the-first', TWO: 'the-second' })
  expect(service.lines.find(({ event }) => event === 'credentials')).toMatchObject({ names: ['api'] })
  expect(service.lines.find(({ event }) => event === 'signing')).toMatchObject({ names: ['hooks'] })
  const task = { targetUrl: url, json: 1, credential: 'api', signing: 'hooks' }
  const send = () => post(`${service.url}/retry-tasks`, task, { authorization: 'Bearer rd_a' })
  expect((await send()).status).toBe(201)
  await eventually(() => seen.length).toBe(1)
  writeFileSync(join(cwd, 'credentials.json'), JSON.stringify(credential('TWO')))
  service.child.kill('SIGHUP')
  await service.logged('reloaded')
  expect((await send()).status).toBe(201)
  await eventually(() => seen.length).toBe(2)
  expect(seen.map(({ authorization }) => authorization)).toEqual(['Bearer the-first', 'Bearer the-second'])
  expect(seen[1]?.['webhook-signature']).toMatch(/^v1,/)
  expect(JSON.stringify(service.lines)).not.toMatch(/the-first|the-second/)
})
