/** The settings of the service: read from every place, checked together, and plain data from then on. */

import type { RetryPolicy } from 'redrive/core'
import { loadCore } from 'redrive/internal'
import { type BodySourcesOptions, checkBodySources } from '../bodies/body-sources.ts'
import { type CredentialsOptions, checkCredentials } from '../credentials.ts'
import { checkLimits, checkTenants, type LimitsOptions, type TenantsOptions } from '../limits.ts'
import { checkSigning, type SigningsOptions } from '../signing.ts'
import { readConfig } from './config-file.ts'
import { type DefaultFlags, defaultPolicyOf } from './defaults.ts'
import { type AnyTable, envOf } from './flag.ts'
import type { FlagValues } from './flag-values.ts'
import { FLAGS } from './flags.ts'
import { type Io, UsageError } from './io.ts'
import { type FileValues, readFlags, sortWords, strangers, type Words } from './read-flags.ts'
import { namedOf, policiesOf, type TokenEntry, tokensOf } from './records.ts'

/** Durations in milliseconds, sizes in bytes, rates a second. Paths are as they were given, from the folder of the process. */
export interface Settings
  extends Omit<
    FlagValues,
    | 'tokens'
    | 'policies'
    | 'credentials'
    | 'signing'
    | 'limits'
    | 'tenants'
    | 'bodySources'
    | 'config'
    | 'logFormat'
    | keyof DefaultFlags
  > {
  /** undefined: none are configured, and everything is allowed on loopback. An empty list allows nothing. */
  readonly tokens: readonly TokenEntry[] | undefined
  readonly policies: readonly RetryPolicy[]
  readonly credentials: CredentialsOptions
  readonly signing: SigningsOptions
  readonly limits: LimitsOptions
  readonly tenants: TenantsOptions
  readonly bodySources: BodySourcesOptions
  /** The policy of tasks that name none, to be laid over the defaults of the background. */
  readonly defaultPolicy: RetryPolicy
  readonly logFormat: 'json' | 'text'
  /** Files that were read, for the process to watch. */
  readonly files: readonly string[]
}

/** Variables that some command reads beside those of the table. */
const OF_CLIENTS = ['REDRIVE_URL', 'REDRIVE_TOKEN']

/** Sentences about variables that look like settings and are none. */
export const warningsOf = (env: Io['env']): string[] =>
  strangers(env, [...Object.keys(FLAGS as unknown as AnyTable).map(envOf), ...OF_CLIENTS])

/** `redrive serve`: every word is a flag. Throws a UsageError. May be called again, to read what has changed. */
export async function readSettings(io: Pick<Io, 'argv' | 'env' | 'cwd' | 'isTTY'>): Promise<Settings> {
  const words = sortWords(io.argv, FLAGS as unknown as AnyTable)
  const [strange] = words.positionals
  if (strange !== undefined)
    throw new UsageError(`serve: unexpected '${strange}'; settings are flags, see redrive --help`)
  return settingsOf(words, io)
}

/** The settings that sorted words come to, which may be of another command that takes some of them. */
export async function settingsOf(
  words: Words,
  { env, cwd, isTTY }: Pick<Io, 'env' | 'cwd' | 'isTTY'>,
): Promise<Settings> {
  const core = await loadCore()
  const file = await configOf(words, { env, cwd })
  const { values } = readFlags(FLAGS, { words, env, file, tools: core })
  const {
    tokens,
    policies,
    credentials,
    signing,
    limits,
    tenants,
    bodySources,
    config: _,
    logFormat = isTTY ? 'text' : 'json',
    defaultPolicy,
    defaultRetryLimit,
    defaultBackoffBase,
    defaultBackoffExponent,
    defaultBackoffJitter,
    ...rest
  } = values
  checkTogether(values)
  const known = policiesOf(policies, cwd)
  return {
    ...rest,
    logFormat,
    tokens: tokensOf(tokens, cwd),
    policies: known,
    credentials: namedOf(credentials, 'credentials', cwd, checkCredentials),
    signing: namedOf(signing, 'signing', cwd, checkSigning),
    limits: namedOf(limits, 'limits', cwd, checkLimits),
    tenants: namedOf(tenants, 'tenants', cwd, checkTenants),
    bodySources: namedOf(bodySources, 'bodySources', cwd, checkBodySources),
    defaultPolicy: defaultPolicyOf(
      { defaultPolicy, defaultRetryLimit, defaultBackoffBase, defaultBackoffExponent, defaultBackoffJitter },
      { policies: known, attemptTimeout: rest.attemptTimeout, core },
    ),
    files: [
      ...[file?.name, tokens, policies, credentials, signing, limits, tenants, bodySources],
      ...[rest.tlsCert, rest.tlsKey, rest.tlsClientCa],
    ].filter((path) => typeof path === 'string'),
  }
}

/** The configuration file that these words or the environment name, or that lies here. */
export async function configOf(words: Words, { env, cwd }: Pick<Io, 'env' | 'cwd'>): Promise<FileValues | undefined> {
  const { config } = readFlags({ config: FLAGS.config }, { words, env, tools: await loadCore() }).values as {
    readonly config: string | undefined
  }
  return readConfig(cwd, config)
}

/** Settings that are right by themselves and wrong together. */
function checkTogether(values: FlagValues): void {
  const { tlsCert, tlsKey, tlsClientCa, port, adminPort, ui, store, role, partitions } = values
  if (tlsCert !== undefined && tlsKey === undefined) throw new UsageError('--tls-key is missing: --tls-cert needs it')
  if (tlsKey !== undefined && tlsCert === undefined) throw new UsageError('--tls-cert is missing: --tls-key needs it')
  if (tlsClientCa !== undefined && tlsCert === undefined) {
    throw new UsageError('--tls-cert and --tls-key are missing: --tls-client-ca needs them')
  }
  if (adminPort === port && port !== 0) {
    throw new UsageError(`--admin-port: expected another port than --port, got ${port} for both`)
  }
  if (ui && role === 'worker') {
    throw new UsageError("--ui: expected --role api or all, got 'worker', which shows no tasks")
  }
  if (partitions > 1 && !store.startsWith('redis')) {
    throw new UsageError(
      `--partitions: expected 1 with --store ${store}, got ${partitions}; only a Redis can be divided`,
    )
  }
  if (store === 'memory:' && role !== 'all') {
    throw new UsageError(`--role: expected all with --store memory:, which no other process sees, got '${role}'`)
  }
}
