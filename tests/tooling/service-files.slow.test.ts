// The files of examples/service, without a Docker daemon and without systemd: each setting in them is read as the service reads it, what
// they say of one another agrees, and the service starts with what compose.yaml gives it.
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { COMMANDS } from '../../js/service/cli/commands.ts'
import { type AnyTable, envOf } from '../../js/service/cli/flag.ts'
import { FLAGS } from '../../js/service/cli/flags.ts'
import { tokensOf } from '../../js/service/cli/records.ts'
import { readSettings, type Settings, warningsOf } from '../../js/service/cli/settings.ts'
import { folder, json, post, run, start } from '../js/service/program.ts'
import { root } from '../packaging/pack.ts'
import { startServer } from '../redis/servers.ts'

type Env = Readonly<Record<string, string>>

const here = join(root, 'examples', 'service')
const text = (name: string): string => readFileSync(join(here, name), 'utf8')

/** The instructions of the Dockerfile: each its words, without comments and line ends. */
const instructions: readonly (readonly [name: string, rest: string])[] = text('Dockerfile')
  .replace(/^#.*\n/gm, '')
  .replace(/\\\n\s*/g, '')
  .trim()
  .split('\n')
  .map((line) => [line.split(' ', 1)[0] ?? '', line.slice(line.indexOf(' ') + 1)])

const instruction = (name: string): string => instructions.find(([each]) => each === name)?.[1] ?? ''

const pairs = (line: string): Env => Object.fromEntries(line.split(/\s+/).map((pair) => pair.split(/=(.*)/, 2)))
const image = pairs(instruction('ENV'))

interface Container {
  readonly environment?: Env
  readonly command?: readonly string[]
  readonly volumes?: readonly string[]
  readonly networks?: readonly string[]
  readonly secrets?: readonly string[]
  readonly ports?: readonly string[]
  readonly stop_grace_period?: string
}
interface Compose {
  readonly services: Readonly<Record<'redrive' | 'worker' | 'redis', Container>>
  readonly networks: Readonly<Record<string, unknown>>
  readonly volumes: Readonly<Record<string, unknown>>
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
}
const compose = parse(text('compose.yaml').replace(/\$\{\w+:-([^}]*)\}/g, '$1'), { merge: true }) as Compose
const { redrive, worker, redis } = compose.services

const unit = text('redrive.service').replace(/^#.*\n/gm, '')
const valueIn = (key: string): string => new RegExp(`^${key}=(.*)$`, 'm').exec(unit)?.[1] ?? ''
const unitEnv = pairs([...unit.matchAll(/^Environment=(.*)$/gm)].map(([, pair]) => pair).join(' '))

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}
interface Pod {
  readonly terminationGracePeriodSeconds: number
  readonly containers: readonly {
    readonly startupProbe: Probe
    readonly livenessProbe: Probe
    readonly readinessProbe: Probe
    readonly env: readonly { readonly name: string; readonly value: string }[]
    readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
    readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
  }[]
}
const [configMap, service, statefulSet] = parseAllDocuments(text('kubernetes.yaml')).map((each) => each.toJS())
const { terminationGracePeriodSeconds, containers } = statefulSet.spec.template.spec as Pod
const [container] = containers as [Pod['containers'][0]]
const podEnv: Env = { ...image, ...Object.fromEntries(container.env.map(({ name, value }) => [name, value])) }

const containerEnv = (container: Container): Env => ({ ...image, ...container.environment })

/** Files that are elsewhere in a container are in the folder of the test. */
async function settingsOf(env: Env): Promise<Settings> {
  const cwd = folder({ 'tokens.json': text('tokens.example.json') })
  const { REDRIVE_TOKENS: tokens } = env
  return readSettings({
    argv: [],
    env: { ...env, ...(tokens && { REDRIVE_TOKENS: 'tokens.json' }) },
    cwd,
    isTTY: false,
  })
}

const environments: readonly (readonly [string, Env])[] = [
  ['the Dockerfile', image],
  ['the service of compose.yaml', containerEnv(redrive)],
  ['the workers of compose.yaml', containerEnv(worker)],
  ['the unit', unitEnv],
  ['the pod', podEnv],
]

test.for(environments)('every setting of %s is one, with a value that it may have', async ([, env]) => {
  const given = Object.keys(env).filter((name) => name.startsWith('REDRIVE_'))
  expect(given.length).toBeGreaterThan(3)
  expect(warningsOf(env)).toEqual([])
  const { drain, store } = await settingsOf(env)
  expect([drain, store]).toEqual([env.REDRIVE_DRAIN === '10s' ? 10_000 : 8_000, env.REDRIVE_STORE])
})

test('settings and commands in the README are there', () => {
  const readme = text('README.md')
  const variables = Object.keys(FLAGS as unknown as AnyTable).map(envOf)
  const named = [...new Set(readme.match(/\bREDRIVE_(?!NAME\b)[A-Z_]+/g))]
  expect(named.length).toBeGreaterThan(3)
  expect(named.filter((name) => !variables.includes(name))).toEqual([])
  const commands = [...readme.matchAll(/(?:npx @redrive\/service|redrive redrive) (\w+)/g)].map(([, name = '']) => name)
  expect(commands.length).toBeGreaterThan(1)
  expect(commands.filter((name) => !COMMANDS.some((each) => each.name === name))).toEqual([])
})

test('the image runs the program of the package, as a user without rights, on the port and in the folder of its settings', () => {
  const { bin } = JSON.parse(readFileSync(join(root, 'pkg-template', 'service', 'package.json'), 'utf8')) as {
    bin: Env
  }
  expect(JSON.parse(instruction('ENTRYPOINT'))).toEqual(Object.keys(bin))
  expect(JSON.parse(instruction('CMD'))).toEqual(['serve'])
  expect(instruction('USER')).toBe('node')
  expect(instruction('EXPOSE')).toBe(image.REDRIVE_PORT)
  const data = dirname(image.REDRIVE_STORE?.replace('sqlite:', '') ?? '')
  expect([instruction('VOLUME'), instruction('WORKDIR')]).toEqual([data, data])
  expect(instruction('RUN')).toContain(`--owner=node --group=node --mode=700 ${data}`)
  const [program, command] = JSON.parse(instruction('HEALTHCHECK').replace(/^.* CMD /, ''))
  expect(Object.keys(bin)).toContain(program)
  expect(COMMANDS.map(({ name }) => name)).toContain(command)
})

test('the image by itself does not start: it would let in all who reach it', async () => {
  const { code, stderr } = await run(['serve'], folder(), { ...image, REDRIVE_STORE: 'memory:' })
  expect([code, stderr]).toEqual([2, expect.stringContaining('without tokens the service listens on loopback only')])
})

test('the parts of compose.yaml fit: names, ports, networks, secrets, and a Redis that keeps what it is given', () => {
  const { REDRIVE_STORE = '', REDRIVE_TOKENS, REDRIVE_HOST_NAMES = '' } = containerEnv(redrive)
  expect(new URL(REDRIVE_STORE).hostname in compose.services).toBe(true)
  expect(REDRIVE_TOKENS).toBe(`/run/secrets/${Object.keys(compose.secrets)[0]}`)
  expect(redrive.secrets).toEqual(Object.keys(compose.secrets))
  expect(REDRIVE_HOST_NAMES.split(',')).toEqual(expect.arrayContaining(['redrive', 'localhost', '127.0.0.1']))
  expect(redrive.ports).toEqual([`127.0.0.1:7733:${image.REDRIVE_PORT}`])
  expect(redis.command?.join(' ')).toMatch(/--appendonly yes .*--maxmemory-policy noeviction/)
  for (const { networks = [], volumes = [] } of [redrive, worker, redis]) {
    expect(Object.keys(compose.networks)).toEqual(expect.arrayContaining([...networks]))
    expect(Object.keys(compose.volumes)).toEqual(expect.arrayContaining(volumes.map((volume) => volume.split(':')[0])))
  }
  expect(redis.networks).toEqual(['store'])
  expect(compose.networks.store).toEqual({ internal: true })
})

test('the parts of kubernetes.yaml fit: names, ports, probes, tokens and disk', () => {
  const ports = Object.fromEntries(container.ports.map(({ name, containerPort }) => [name, `${containerPort}`]))
  expect(ports).toEqual({ api: image.REDRIVE_PORT, admin: podEnv.REDRIVE_ADMIN_PORT })
  const { template, selector, serviceName, volumeClaimTemplates } = statefulSet.spec
  expect(template.metadata.labels).toMatchObject(service.spec.selector)
  expect(template.metadata.labels).toMatchObject(selector.matchLabels)
  expect([serviceName, podEnv.REDRIVE_HOST_NAMES?.split(',')[0]]).toEqual([service.metadata.name, serviceName])
  expect(service.spec.ports.map(({ port, targetPort }: Record<string, unknown>) => `${port} ${targetPort}`)).toEqual([
    `${ports.api} api`,
  ])
  expect(template.metadata.annotations['prometheus.io/port']).toBe(ports.admin)
  const { startupProbe, livenessProbe, readinessProbe } = container
  expect([startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet)).toEqual(
    ['/healthz', '/healthz', '/readyz'].map((path) => ({ path, port: 'admin' })),
  )
  const [data, tokens] = container.volumeMounts
  expect([data?.name, data?.mountPath]).toEqual([volumeClaimTemplates[0].metadata.name, instruction('VOLUME')])
  expect(podEnv.REDRIVE_TOKENS).toBe(`${tokens?.mountPath}/${Object.keys(configMap.data)[0]}`)
  const entries = JSON.parse(configMap.data['tokens.json'])
  expect(JSON.parse(text('tokens.example.json'))).toEqual(expect.arrayContaining(entries))
})

test('whatever ends a service gives it the time that it takes', async () => {
  const seconds = (given = ''): number => Number(/^(\d+)s$/.exec(given)?.[1])
  for (const [env, grace] of [
    [containerEnv(redrive), redrive.stop_grace_period],
    [containerEnv(worker), worker.stop_grace_period],
    [unitEnv, valueIn('TimeoutStopSec')],
    [podEnv, `${terminationGracePeriodSeconds}s`],
  ] as const) {
    const { drain, drainDelay } = await settingsOf(env)
    expect(seconds(grace)).toBeGreaterThan((drain + drainDelay) / 1_000 + 5)
  }
})

test('the unit starts what the package installs, and writes only where it may', () => {
  expect(valueIn('ExecStart')).toMatch(/ redrive serve$/)
  expect(unitEnv.REDRIVE_STORE).toBe(`sqlite:/var/lib/${valueIn('StateDirectory')}/redrive.db`)
  expect(valueIn('WorkingDirectory')).toBe(`/var/lib/${valueIn('StateDirectory')}`)
  expect([valueIn('ProtectSystem'), valueIn('NoNewPrivileges'), valueIn('CapabilityBoundingSet')]).toEqual([
    'strict',
    'yes',
    '',
  ])
  expect(unit).not.toMatch(/^MemoryDenyWriteExecute/m)
})

test('the tokens of the example are entries, and those of no token', () => {
  const tokens = tokensOf('tokens.example.json', here)
  expect(tokens?.map(({ name, tenant }) => [name, tenant])).toEqual([
    ['backend', 'acme'],
    ['operator', null],
  ])
  for (const { sha256 } of tokens ?? []) expect(sha256).toMatch(/^(.)\1+$/)
})

test('with the settings of compose.yaml, but for addresses, a service and a worker share a Redis, are healthy, and end when told to', async () => {
  const server = await startServer({ appendonly: true, maxmemory: '256mb', maxmemoryPolicy: 'noeviction' })
  onTestFinished(() => server.end())
  const cwd = folder()
  copyFileSync(join(here, 'tokens.example.json'), join(cwd, 'tokens.json'))
  const made = await run(['token', '--tenant', 'acme', '--scope', 'tasks:read,tasks:write', '--json'], cwd)
  const { token, entry } = JSON.parse(made.stdout)
  writeFileSync(join(cwd, 'tokens.json'), JSON.stringify([entry]))
  const own = { REDRIVE_HOST: '127.0.0.1', REDRIVE_STORE: server.url, REDRIVE_TOKENS: 'tokens.json', REDRIVE_PORT: '' }
  const [taker, sender] = await Promise.all(
    [redrive, worker].map((container) => start([], cwd, { ...containerEnv(container), ...own })),
  )
  if (!taker || !sender) throw new Error('two were started')
  const task = { targetUrl: 'https://api.example.com/orders', json: { sku: 1 }, delayMs: 60_000 }
  const answer = await post(`${taker.url}/retry-tasks`, task, { authorization: `Bearer ${token}` })
  expect([answer.status, await json(answer)]).toEqual([201, expect.objectContaining({ durability: 'relaxed' })])
  const refused = await post(
    `${taker.url}/retry-tasks`,
    { ...task, targetUrl: 'https://redis:6379/' },
    { authorization: `Bearer ${token}` },
  )
  expect(refused.status).toBe(422)
  expect((await fetch(`${sender.url}/retry-tasks`)).status).toBe(404)
  for (const { url } of [taker, sender]) {
    const healthy = await run(['health', '--ready'], cwd, { ...containerEnv(redrive), REDRIVE_PORT: new URL(url).port })
    expect([healthy.code, healthy.stdout]).toEqual([0, 'ok\n'])
  }
  for (const { child, exit } of [taker, sender]) {
    child.kill('SIGTERM')
    expect(await exit).toBe(0)
  }
})
