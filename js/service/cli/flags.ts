/**
 * Every setting of the service, once: `--help`, the twins in the environment, the keys of the configuration file and their schema, and
 * the table of the documentation are all made of this table. A setting `maxBody` is the flag `--max-body`, the variable
 * `REDRIVE_MAX_BODY` and the key `maxBody`.
 */

import { parseCidr } from '../addresses.ts'
import { s3Place } from '../bodies/s3-url.ts'
import { isNameServer } from '../name-servers.ts'
import { MOST_PARTITIONS } from '../partitions.ts'
import { withoutLogin } from '../redis-urls.ts'
import { parsePattern } from '../targets.ts'
import { type FlagRow, type FlagTable, rowsOf } from './flag.ts'
import type { FlagValues } from './flag-values.ts'
import * as kinds from './kinds.ts'
import { namedRecords, records } from './kinds.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const YEAR = 365 * DAY
const MIB = 2 ** 20
const GIB = 2 ** 30

const STORE = /^(sqlite:.+|rediss?:\/\/[^/]+.*|redis-sentinel:\/\/[^/]+.*|redis-cluster:\/\/[^/]+\/?|memory:)$/
/** Throws a TypeError that says more. */
function isStore(value: string): boolean {
  if (!STORE.test(value)) return false
  const isRight = !/^rediss?:/.test(value) || (URL.canParse(value) && /^\/?\d{0,5}$/.test(new URL(value).pathname))
  if (isRight) return true
  const shown = withoutLogin(value).replace(/[?#].*$/s, '…')
  throw new TypeError(`expected redis[s]://HOST:PORT/NUMBER-OF-THE-DATABASE, got '${shown}'`)
}

const port = kinds.whole(0, 65_535, 'a port')
const origin = kinds.text('an origin', { placeholder: 'ORIGIN', ok: kinds.isOrigin })
const target = kinds.text('a target', { placeholder: 'TARGET', ok: (value) => !!parsePattern(value) })
const network = kinds.text('a network', { placeholder: 'CIDR', ok: (value) => !!parseCidr(value, 'allowPrivate') })
const nameServer = kinds.text('an address', { placeholder: 'ADDRESS', ok: isNameServer })
const hostName = kinds.text('a name', { placeholder: 'NAME', ok: kinds.isHost })
const proxy = (value: string) => /^https?:\/\/./.test(value) && URL.canParse(value)

/** Throws a TypeError that says more. */
const isBodies = (value: string) =>
  /^file:./.test(value) || (value.startsWith('s3:') && s3Place(value, {}) !== undefined)

/** In the order of the help. */
export const FLAGS: FlagTable<FlagValues> = {
  store: {
    group: 'Store',
    kind: kinds.text(
      'sqlite:PATH, redis://HOST, rediss://HOST, redis-sentinel://HOSTS/NAME, redis-cluster://HOSTS or memory:',
      {
        placeholder: 'URL',
        ok: isStore,
      },
    ),
    default: 'sqlite:redrive.db',
    help: 'Where tasks are kept: sqlite:PATH, redis[s]://…, redis-sentinel://…, redis-cluster://… or memory:',
  },
  name: {
    group: 'Store',
    kind: kinds.text("1 to 64 letters, digits, '.', '_' and '-'", {
      placeholder: 'NAME',
      ok: (value) => /^[\w.-]{1,64}$/.test(value),
    }),
    default: 'default',
    help: 'Name of the queue within the store; processes of one name share their tasks',
  },
  bodies: {
    group: 'Store',
    kind: kinds.text('file:FOLDER or s3://BUCKET/PREFIX', { placeholder: 'URL', ok: isBodies }),
    unless: 'with their tasks',
    help: 'Where large bodies are kept: file:FOLDER, for one host, or s3://BUCKET/PREFIX?region=…&endpoint=…',
  },
  bodySources: {
    group: 'Store',
    kind: namedRecords('buckets of bodies', { $ref: '#/$defs/bodySource' }),
    unless: 'none',
    help: 'JSON file with buckets, by s3://BUCKET/PREFIX, in which tasks may name bodies of their own',
  },
  inlineBody: {
    group: 'Store',
    kind: kinds.size(0, 64 * MIB, '64KiB'),
    default: 64 * 1024,
    help: 'Largest body that stays with its task, where --bodies is given',
  },
  maxUpload: {
    group: 'Store',
    kind: kinds.size(0, 1024 * GIB, '1GiB'),
    default: GIB,
    help: 'Largest body that POST /bodies takes, and that a task may name in a bucket',
  },
  uploadTtl: {
    group: 'Store',
    kind: kinds.duration(60_000, 10 * YEAR, '35d'),
    default: 35 * DAY,
    help: 'How long an uploaded body may be named, and how long a folder keeps any body',
  },
  host: {
    group: 'Listening',
    kind: kinds.text('a host name or an IP address', {
      placeholder: 'HOST',
      ok: (host) => kinds.isHost(host) && !host.startsWith('['),
    }),
    default: '127.0.0.1',
    help: 'Address to listen on; other than loopback needs tokens',
  },
  port: { group: 'Listening', kind: port, default: 7733, help: 'Port to listen on; 0 takes a free one' },
  adminPort: {
    group: 'Listening',
    kind: port,
    unless: 'none',
    help: 'Second port, to which probes, /metrics, /openapi.json, /ui, /operations, /pauses, /flush and bulk work on dead letters move',
  },
  ui: {
    group: 'Listening',
    kind: kinds.toggle,
    default: false,
    help: 'Shows the inspector, a page that watches and steers the queue, at /ui; with --admin-port on that port',
  },
  tlsCert: { group: 'Listening', kind: kinds.file, help: 'Certificate chain in PEM; needs --tls-key' },
  tlsKey: { group: 'Listening', kind: kinds.file, help: 'Its private key in PEM' },
  tlsClientCa: {
    group: 'Listening',
    kind: kinds.file,
    help: 'Certificates of which one must have signed that of each client (mTLS)',
  },
  tokens: {
    group: 'Who may call',
    kind: records('tokens', { $ref: '#/$defs/token' }),
    help: 'JSON file with the tokens that may call; `redrive token` makes entries. None: loopback only, for everyone',
  },
  hostNames: {
    group: 'Who may call',
    kind: kinds.listOf(hostName, 'host names with commas between them, such as retry.example.com'),
    unless: 'localhost and the address',
    help: 'Names under which the service may be called; any other gets 421',
  },
  corsOrigin: {
    group: 'Who may call',
    kind: kinds.listOf(origin, 'origins with commas between them, such as https://app.example.com'),
    unless: 'none',
    help: 'Origins whose pages may call',
  },
  rate: { group: 'Who may call', kind: kinds.rate, unless: 'none', help: 'Requests of one token, per process' },
  metricsOpen: { group: 'Who may call', kind: kinds.toggle, default: false, help: 'Shows /metrics without a token' },
  targets: {
    group: 'Where requests may go',
    kind: kinds.listOf(
      target,
      'origins with commas between them, such as https://api.example.com,https://*.example.org',
    ),
    unless: 'none',
    help: 'Origins that requests may go to, and no others: https://*.example.com for all below a name, :8443 for a port',
  },
  allowHttp: {
    group: 'Where requests may go',
    kind: kinds.toggle,
    default: false,
    help: 'Lets requests go over http, unencrypted',
  },
  allowPrivate: {
    group: 'Where requests may go',
    kind: kinds.listOf(network, 'networks with commas between them, such as 10.1.0.0/16'),
    unless: 'none',
    help: 'Private networks that requests may go to',
  },
  allowAnyPublicTarget: {
    group: 'Where requests may go',
    kind: kinds.toggle,
    default: false,
    help: 'Lets requests go to any public address, where --targets names none',
  },
  egressProxy: {
    group: 'Where requests may go',
    kind: kinds.text('the http(s) URL of a proxy', { placeholder: 'URL', ok: proxy }),
    unless: 'none',
    help: 'Proxy that all requests go through; the addresses behind it are then its own to check',
  },
  dnsServers: {
    group: 'Where requests may go',
    kind: kinds.listOf(nameServer, 'addresses with commas between them, such as 10.0.0.53,[fd00::53]:5353'),
    unless: "the system's",
    help: 'Name servers that are asked where names lead, after the hosts file',
  },
  connectTimeout: {
    group: 'Where requests may go',
    kind: kinds.duration(1, 60_000, '3s'),
    default: 3_000,
    help: 'Longest wait for a connection',
  },
  urlSecrets: {
    group: 'Where requests may go',
    kind: kinds.choice('refuse', 'keep'),
    default: 'refuse',
    help: 'Whether a task whose URL carries a secret is refused, or stored with it',
  },
  credentials: {
    group: 'Sending',
    kind: namedRecords('credentials', { $ref: '#/$defs/credential' }),
    unless: 'none',
    help: 'JSON file with the credentials that tasks may name, and where each is read',
  },
  signing: {
    group: 'Sending',
    kind: namedRecords('signing keys', { $ref: '#/$defs/signing' }),
    unless: 'none',
    help: 'JSON file with the keys that sign the tasks which name them, as Standard Webhooks has it',
  },
  concurrency: {
    group: 'Sending',
    kind: kinds.whole(1, 10_000),
    default: 200,
    help: 'Most requests in flight, over all processes',
  },
  concurrencyPerOrigin: {
    group: 'Sending',
    kind: kinds.whole(1, 10_000),
    default: 20,
    help: 'Most requests in flight to one origin',
  },
  concurrencyPerTenant: {
    group: 'Sending',
    kind: kinds.whole(1, 10_000),
    unless: 'none, but leaves places for others',
    help: 'Most requests in flight of one tenant, over all processes',
  },
  limits: {
    group: 'Sending',
    kind: namedRecords('limits of targets', { $ref: '#/$defs/limit' }),
    unless: 'none',
    help: 'JSON file with the concurrency and the rate of single targets, over all processes',
  },
  attemptTimeout: {
    group: 'Sending',
    kind: kinds.duration(1, HOUR),
    default: 30_000,
    help: 'Time limit of an attempt, where its policy has none',
  },
  lease: {
    group: 'Sending',
    kind: kinds.duration(1_000, HOUR),
    default: 30_000,
    help: 'How long a process that died keeps its tasks from the others; renewed at a third',
  },
  partitions: {
    group: 'Sending',
    kind: kinds.whole(1, MOST_PARTITIONS),
    default: 1,
    help: 'Parts that a Redis is divided into, each with a runner of its own and its share of every limit; cannot be changed later',
  },
  partitionBy: {
    group: 'Sending',
    kind: kinds.choice('tenant', 'policy', 'lane'),
    default: 'tenant',
    help: 'What the part of a task goes by; keys and orders hold within a part',
  },
  defaultPolicy: {
    group: 'Default policy',
    kind: kinds.text('the name of a policy', { placeholder: 'NAME' }),
    unless: 'default',
    help: 'Policy of tasks that name none: a preset, or one of --policies. Not with the three of --default-backoff-*',
  },
  defaultRetryLimit: {
    group: 'Default policy',
    kind: kinds.whole(0, 10_000),
    unless: "the policy's",
    help: 'Retries of that policy; one attempt comes before them',
  },
  defaultBackoffBase: {
    group: 'Default policy',
    kind: kinds.duration(0, YEAR, '15s'),
    unless: 'none',
    help: 'B of the wait before retry n: B + n^E seconds + n * rand(0..J). All three, or none',
  },
  defaultBackoffExponent: {
    group: 'Default policy',
    kind: kinds.fraction(0, 8),
    unless: 'none',
    help: 'E of that wait',
  },
  defaultBackoffJitter: {
    group: 'Default policy',
    kind: kinds.duration(0, YEAR, '30s'),
    unless: 'none',
    help: 'J of that wait',
  },
  policies: {
    group: 'Default policy',
    kind: records('policies', { $ref: '#/$defs/policy' }),
    unless: 'none',
    help: 'JSON file with a list of policies, which win over those that the API was given',
  },
  policiesLocked: {
    group: 'Default policy',
    kind: kinds.toggle,
    default: false,
    help: 'Refuses changes of policies over the API',
  },
  capacity: {
    group: 'Limits',
    kind: kinds.whole(1, 1_000_000),
    default: 1_000_000,
    help: 'Most tasks that wait, are in flight or are dead letters; beyond that new ones get 503',
  },
  capacityBytes: {
    group: 'Limits',
    kind: kinds.size(0, 2 ** 50, '4GiB'),
    default: 4 * GIB,
    help: 'Most bytes of their bodies',
  },
  tenantCapacity: {
    group: 'Limits',
    kind: kinds.whole(1, 1_000_000),
    unless: 'no limit',
    help: 'Most of them that one tenant may have; beyond that its new ones get 429. Callbacks count, and are never refused for it',
  },
  tenantCapacityBytes: {
    group: 'Limits',
    kind: kinds.size(0, 2 ** 50, '64MiB'),
    unless: 'no limit',
    help: 'Most bytes of the bodies of one tenant',
  },
  tenants: {
    group: 'Limits',
    kind: namedRecords('tenants', { $ref: '#/$defs/tenant' }),
    unless: 'none',
    help: 'JSON file with what single tenants may have, and where they may send',
  },
  maxBody: {
    group: 'Limits',
    kind: kinds.size(0, 64 * MIB, '1MiB'),
    default: MIB,
    help: 'Largest body of a task',
  },
  retainEnded: {
    group: 'Limits',
    kind: kinds.duration(0, 10 * YEAR, '1d'),
    default: DAY,
    help: 'How long a task is kept after it succeeded, with its key, or was cancelled',
  },
  retainDead: {
    group: 'Limits',
    kind: kinds.duration(0, 10 * YEAR, '30d'),
    default: 30 * DAY,
    help: 'How long a dead letter is kept',
  },
  maxDead: {
    group: 'Limits',
    kind: kinds.whole(0, 1_000_000),
    default: 100_000,
    help: 'Most dead letters; beyond that the oldest goes of the tenant that has most',
  },
  role: {
    group: 'Process',
    kind: kinds.choice('api', 'worker', 'all'),
    default: 'all',
    help: 'Takes tasks only (api), sends them only (worker), or both',
  },
  config: {
    group: 'Process',
    kind: kinds.file,
    unless: 'redrive.config.json or .mjs, if there',
    help: 'File with any of these settings',
    inFile: false,
  },
  drain: {
    group: 'Process',
    kind: kinds.duration(0, HOUR, '10s'),
    default: 10_000,
    help: 'How long requests in flight may go on after SIGTERM',
  },
  drainDelay: {
    group: 'Process',
    kind: kinds.duration(0, HOUR, '5s'),
    default: 0,
    help: 'How long new tasks are still taken after SIGTERM, for load balancers that lag',
  },
  logLevel: {
    group: 'Process',
    kind: { ...kinds.choice('debug', 'info', 'warn', 'error'), placeholder: 'LEVEL' },
    default: 'info',
    help: 'Least severe line of the log: debug, info, warn or error',
  },
  logFormat: {
    group: 'Process',
    kind: kinds.choice('json', 'text'),
    unless: 'text on a terminal, else json',
    help: 'One JSON object a line, or text',
  },
}

/** The rows of the table in docs/service.md. */
export const flagRows = (): readonly FlagRow[] => rowsOf(FLAGS)
