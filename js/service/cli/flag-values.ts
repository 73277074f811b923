import type { PartitionBy } from '../partitions.ts'

/** The settings as they were given: durations in milliseconds, sizes in bytes, rates a second. `settings.ts` makes `Settings` of them. */
export interface FlagValues {
  readonly store: string
  readonly name: string
  readonly host: string
  readonly port: number
  readonly adminPort: number | undefined
  readonly ui: boolean
  readonly tlsCert: string | undefined
  readonly tlsKey: string | undefined
  readonly tlsClientCa: string | undefined
  readonly tokens: string | readonly unknown[] | undefined
  readonly hostNames: readonly string[] | undefined
  readonly corsOrigin: readonly string[] | undefined
  readonly rate: number | undefined
  readonly metricsOpen: boolean
  readonly targets: readonly string[] | undefined
  readonly allowHttp: boolean
  readonly allowPrivate: readonly string[] | undefined
  readonly allowAnyPublicTarget: boolean
  readonly egressProxy: string | undefined
  readonly dnsServers: readonly string[] | undefined
  readonly connectTimeout: number
  readonly urlSecrets: 'refuse' | 'keep'
  readonly credentials: string | Readonly<Record<string, unknown>> | undefined
  readonly signing: string | Readonly<Record<string, unknown>> | undefined
  readonly concurrency: number
  readonly concurrencyPerOrigin: number
  readonly concurrencyPerTenant: number | undefined
  readonly limits: string | Readonly<Record<string, unknown>> | undefined
  readonly lease: number
  readonly attemptTimeout: number
  readonly partitions: number
  readonly partitionBy: PartitionBy
  readonly defaultPolicy: string | undefined
  readonly defaultRetryLimit: number | undefined
  readonly defaultBackoffBase: number | undefined
  readonly defaultBackoffExponent: number | undefined
  readonly defaultBackoffJitter: number | undefined
  readonly policies: string | readonly unknown[] | undefined
  readonly policiesLocked: boolean
  readonly capacity: number
  readonly capacityBytes: number
  readonly tenantCapacity: number | undefined
  readonly tenantCapacityBytes: number | undefined
  readonly tenants: string | Readonly<Record<string, unknown>> | undefined
  readonly retainEnded: number
  readonly retainDead: number
  readonly maxDead: number
  readonly maxBody: number
  readonly bodies: string | undefined
  readonly bodySources: string | Readonly<Record<string, unknown>> | undefined
  readonly inlineBody: number
  readonly maxUpload: number
  readonly uploadTtl: number
  readonly role: 'api' | 'worker' | 'all'
  readonly config: string | undefined
  readonly drain: number
  readonly drainDelay: number
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
  readonly logFormat: 'json' | 'text' | undefined
}
