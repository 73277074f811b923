interface Env {
  readonly REDRIVE_REPOSITORY?: string
}
/** Address of the repository, without `.git`. */
export declare function repository(env?: Env): string
/** The package.json of a package. */
export declare function manifest(
  name?: 'redrive' | 'service' | 'ui',
  env?: Env,
): Readonly<Record<string, unknown>> & { readonly dependencies?: Readonly<Record<string, string>> }
