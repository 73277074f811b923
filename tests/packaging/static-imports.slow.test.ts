// What an entry brings along at once. A service worker gets nothing later, and a page is to get the core later.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { unpacked } from './pack.ts'

/** The code of a file of the package and of all that it imports statically, by name. */
function graphOf(entry: string, found: Map<string, string> = new Map()): Map<string, string> {
  if (found.has(entry)) return found
  if (entry.includes('.wasm')) return found
  const code = readFileSync(join(unpacked, entry), 'utf8')
  found.set(entry, code)
  for (const [, file = ''] of code.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)) graphOf(file, found)
  return found
}
const filesWith = (entry: string, word: string) =>
  [...graphOf(entry)].filter(([, code]) => code.includes(word)).map(([file]) => file)

test.each(['service-worker.js', 'compat-workbox.js'])(
  '%s, for service workers, has core and store with it, and imports nothing later',
  (entry) => {
    expect(filesWith(entry, 'WebAssembly.instantiate')).not.toEqual([])
    expect(filesWith(entry, 'indexedDB')).not.toEqual([])
    expect(filesWith(entry, 'import(')).toEqual([])
  },
)

test('no entry brings metrics along but the one for them', () => {
  expect(filesWith('prometheus.js', 'retry_attempts_total')).toEqual(['prometheus.js'])
  for (const entry of ['index.js', 'index.page.js', 'index.workerd.js', 'fetch.js', 'axios.js', 'service-worker.js']) {
    expect(filesWith(entry, 'retry_attempts_total')).toEqual([])
  }
})

test.each(['index.js', 'index.page.js', 'background-sync.js'])('%s has neither core nor store with it', (entry) => {
  expect(graphOf(entry).size).toBeGreaterThan(2)
  expect(filesWith(entry, 'WebAssembly.instantiate')).toEqual([])
  expect(filesWith(entry, 'indexedDB')).toEqual([])
})

test('what a page runs at once is one file, from which all others import: bundlers have nothing to cut apart', () => {
  const [page = ''] = [...graphOf('fetch.js').keys()].filter((file) => file.startsWith('page-'))
  expect([...graphOf('fetch.js').keys()]).toEqual(['fetch.js', page])
  const named = [...graphOf('index.page.js').keys()].filter((file) => file.startsWith('named-'))
  expect(new Set(graphOf('index.page.js').keys())).toEqual(new Set(['index.page.js', page, ...named]))
  expect(named).toHaveLength(1)
})

test('the edge’s entries are the Workers’ with another name for the modules, and share all else', () => {
  for (const name of ['index', 'core', 'compat-axios-retry']) {
    const [workers, edge] = [graphOf(`${name}.workerd.js`), graphOf(`${name}.edge-light.js`)]
    expect(edge.size).toBe(workers.size)
    expect(
      [...edge.values()]
        .join()
        .match(/"\.\/[\w-]+\.wasm[^"]*"/g)
        ?.sort(),
    ).toEqual(['"./redrive-keys.wasm?module"', '"./redrive.wasm?module"'])
    const own = [...edge.keys()].filter((file) => !workers.has(file))
    expect(own.filter((file) => !/^edge-|\.edge-light\./.test(file))).toEqual([])
    expect(own.length).toBeLessThan(5)
  }
})
