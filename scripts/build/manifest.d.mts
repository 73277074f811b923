interface Env {
  readonly REDRIVE_REPOSITORY?: string
}
/** Address of the repository, without `.git`. */
export declare function repository(env?: Env): string
/** The package.json of the package. */
export declare function manifest(env?: Env): Readonly<Record<string, unknown>>
