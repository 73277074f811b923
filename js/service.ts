/**
 * The package `@redrive/service`: the retry service as a library, for a server of one's own. `npx @redrive/service serve` is the same service as a program.
 *
 * ```ts
 * const service = createService({ store: sqliteStore({ path: 'redrive.db', everyone: true }), targets: ['https://api.example.com'] })
 * await service.ready
 * const answer = await service.fetch(request)
 * ```
 */

export type { ApiToken, RateSettings, Scope } from './service/api/context.ts'
export type { BodySourceOptions, BodySourcesOptions } from './service/bodies/body-sources.ts'
export { type BodyStore, BodyStoreError } from './service/bodies/body-store.ts'
export { openBodies } from './service/bodies/open-bodies.ts'
export type { CredentialOptions, CredentialsOptions, HeaderSource } from './service/credentials.ts'
export type { LimitOptions, LimitsOptions, TenantOptions, TenantsOptions } from './service/limits.ts'
export type { TenantList } from './service/named.ts'
export { createService } from './service/service.ts'
export type {
  ReloadableOptions,
  Service,
  ServiceLogEntry,
  ServiceOptions,
  TargetOptions,
} from './service/service-options.ts'
export type { SigningKeySource, SigningOptions, SigningsOptions } from './service/signing.ts'
