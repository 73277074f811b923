/** A real workerd whose Worker passes each call on to a Durable Object with SQLite. */
import { convertV4MiniflareOptions, Miniflare } from 'miniflare'

export interface Objects {
  /** Runs what the object calls `name`, in an object of that name by itself. Says what is wrong, or null. */
  run(name: string): Promise<string | null>
  names(): Promise<readonly string[]>
  close(): Promise<void>
}

/** No test waits for real time: one that takes longer hangs. */
const HANGS_AFTER_MS = 60_000

/** `script`: a Worker that exports the class `TestObject`, and answers `/names` and `/run?NAME`. */
export async function startObjects(script: string): Promise<Objects> {
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: [{ type: 'ESModule', path: 'worker.js', contents: script }],
      compatibilityDate: '2026-07-01',
      durableObjects: { OBJECTS: { className: 'TestObject', useSQLite: true } },
    }),
  )
  const ask = async <T>(path: string): Promise<T> => {
    const response = await miniflare.dispatchFetch(`http://worker${path}`)
    const text = await response.text()
    if (response.status !== 200) throw new Error(text)
    return JSON.parse(text) as T
  }
  return {
    async run(name) {
      let alarm: ReturnType<typeof setTimeout> | undefined
      const hangs = new Promise<string>((resolve) => {
        alarm = setTimeout(() => resolve(`hangs for ${HANGS_AFTER_MS} ms`), HANGS_AFTER_MS)
      })
      try {
        return await Promise.race([ask<string | null>(`/run?${encodeURIComponent(name)}`), hangs])
      } finally {
        clearTimeout(alarm)
      }
    },
    names: () => ask('/names'),
    close: () => miniflare.dispose(),
  }
}
