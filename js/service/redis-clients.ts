/** The clients of Redis, as a file of its own: it is loaded where a service keeps its tasks there, and is CommonJS, which `import()` alone would not take apart. */

export { createClient, createCluster, createSentinel } from '@redis/client'
