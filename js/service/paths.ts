/** Which paths are for operators and probes, and which a process that only sends answers. */

export type PathFilter = (path: string) => boolean

/** Paths by their beginnings, each whole or followed by '/'. */
type Paths = readonly string[]

/** Paths that show or change what is everyone's. */
export const adminPaths: Paths = [
  ...['/metrics', '/healthz', '/readyz', '/openapi.json', '/operations', '/pauses', '/flush'],
  '/ui',
  ...['/dead-letters/redrive', '/dead-letters/export', '/dead-letters/purge'],
]

export const workerPaths: Paths = ['/metrics', '/healthz', '/readyz', '/openapi.json']

export const servesPath = (paths: Paths, path: string): boolean =>
  paths.some((each) => path === each || path.startsWith(`${each}/`))
