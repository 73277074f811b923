// A consumer of the package is a test and one line of the table that a run ends with: what was run, and what it cost.
import { appendFileSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'vitest'
import { root } from './pack.ts'
import type { Weight } from './weigh.ts'

/** What a consumer is, and what it cost once it works. */
export interface Line extends Weight {
  /** Name and version, as in 'Vite 8.3.8'. */
  readonly tool: string
  /** What was done with it, as in 'build, page'. */
  readonly what: string
  /** Whether it belongs to the half that is asked for. */
  readonly isAsked: boolean
  readonly ok: boolean
}

/** Where the lines of a run are, a JSON object each. */
export const linesFile: string = join(root, 'target', 'test', 'packaging.ndjson')

/** A test that adds its line, also where it fails. `work` gives what was loaded, where that can be told. */
export function tries(tool: string, what: string, work: () => Promise<Weight> | Promise<void>): void {
  test(`${tool}: ${what}`, async ({ task }) => {
    const isAsked = task.file.filepath.includes('/packaging/all/')
    const say = (line: Pick<Line, 'ok'> & Weight) => {
      mkdirSync(dirname(linesFile), { recursive: true })
      appendFileSync(linesFile, `${JSON.stringify({ tool, what, isAsked, ...line })}\n`)
    }
    try {
      say({ ...(await work()), ok: true })
    } catch (error) {
      say({ ok: false })
      throw error
    }
  })
}
