/** The contract that every store passes, unchanged, on the IndexedDB of a real browser. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundleForPage } from '../../bundle.ts'
import { bySize, SIZE } from '../../size.ts'
import type { Engine, Tab } from '../engines.ts'
import { listenDuringTests, scripted } from '../origins.ts'

/** Of random commands beside the reference. Each opens a database of its own. */
const RUNS = bySize(64, 64, 200)
/** No test of the suite waits for real time: one that takes longer hangs. */
const HANGS_AFTER_MS = 120_000

export function contractIn(engines: readonly (readonly [string, () => Promise<Engine>])[]): void {
  let script = ''
  const origin = scripted(() => script)
  listenDuringTests(origin)
  beforeAll(async () => {
    script = await bundleForPage('browser/contract/in-page.ts', {
      define: {
        'globalThis.process': JSON.stringify({ env: { REDRIVE_RUNS: String(RUNS), REDRIVE_SIZE: SIZE } }),
        'process.env': JSON.stringify({ REDRIVE_SIZE: SIZE }),
      },
      instead: { vitest: 'browser/contract/vitest.ts' },
    })
  })

  describe.each(engines)('%s', (_, launch) => {
    let engine: Engine
    let tab: Tab
    let names: readonly string[] = []

    beforeAll(async () => {
      engine = await launch()
      tab = await engine.open(origin.url)
      names = await tab.run('contract.names()')
    })
    afterAll(() => engine?.close())

    const of = (start: string): readonly string[] => names.filter((name) => name.startsWith(start))

    test('every test of the contract passes', { timeout: 300_000 }, async () => {
      expect(of('indexeddb: ').length, 'tests of the contract').toBeGreaterThan(100)
      expect(await failures(tab, of('indexeddb: '))).toEqual([])
    })

    test('what a store takes for granted of a transaction is so', async () => {
      expect(of('connection > ').length).toBeGreaterThan(5)
      expect(await failures(tab, of('connection > '))).toEqual([])
    })

    test('S20 rows that other code has written stop no other', { timeout: 600_000 }, async () => {
      expect(of('rows > ').length).toBeGreaterThan(3)
      expect(await failures(tab, of('rows > '))).toEqual([])
    })

    test('a store that trims in silence does not pass, so a failure is seen here', async () => {
      const [said, ...others] = await failures(tab, of('broken: time > S17 beyond'))
      expect(said).toContain('expected undefined to deeply equal')
      expect(others).toEqual([])
    })
  })
}

async function failures(tab: Tab, names: readonly string[]): Promise<readonly string[]> {
  const failed: string[] = []
  for (const name of names) {
    let alarm: ReturnType<typeof setTimeout> | undefined
    const hangs = new Promise<string>((resolve) => {
      alarm = setTimeout(() => resolve(`hangs for ${HANGS_AFTER_MS} ms`), HANGS_AFTER_MS)
    })
    const failure = await Promise.race([tab.run<string | null>(`contract.run(${JSON.stringify(name)})`), hangs])
    clearTimeout(alarm)
    if (failure) failed.push(`${name}: ${failure}`)
  }
  return failed
}
