// What a consumer's output weighs: bytes after gzip, file by file, as a server would send them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect } from 'vitest'
import type { Consumer } from './consumer.ts'

/** JavaScript that is loaded, as bytes after gzip; absent where nothing is bundled. */
export interface Weight {
  /** Before the first call has failed. */
  readonly before?: number
  /** Once it has been tried again. */
  readonly after?: number
  /** Files of WebAssembly in the output; absent where there is no output. */
  readonly wasmFiles?: number
}

/** What a bundle may weigh. A constant beside its test: whoever makes the package heavier finds it there. */
export type Budget = Required<Pick<Weight, 'before' | 'after'>>

const gzipped = (bytes: Uint8Array) => gzipSync(bytes, { level: 9 }).length
const weightOf = (files: readonly string[]) => files.reduce((sum, file) => sum + gzipped(readFileSync(file)), 0)
const isScript = (name: string) => /\.[cm]?js$/.test(name)

/** Weighs a folder of files that a page has asked for, and holds it to `budget`. */
export function weighPage(
  project: Consumer,
  folder: string,
  asked: { readonly before: readonly string[]; readonly after: readonly string[] },
  budget: Budget,
): Weight {
  const weigh = (paths: readonly string[]) =>
    weightOf(paths.filter(isScript).map((path) => join(project.folder, folder, path)))
  return held(project, folder, { before: weigh(asked.before), after: weigh(asked.after) }, budget)
}

/** Weighs everything in a folder that a server runs, and holds it to `budget`. */
export function weighProgram(project: Consumer, folder: string, budget: Budget, wasmFiles = 0): Weight {
  const scripts = project.files(folder).filter(isScript)
  const bytes = weightOf(scripts.map((name) => join(project.folder, folder, name)))
  return held(project, folder, { before: bytes, after: bytes }, budget, wasmFiles)
}

function held(project: Consumer, folder: string, weight: Budget, budget: Budget, expected = 0): Weight {
  const wasmFiles = project.files(folder).filter((name) => name.endsWith('.wasm')).length
  expect(wasmFiles, 'files of WebAssembly in the output').toBe(expected)
  expect(weight.before, 'bytes before the first failure').toBeLessThanOrEqual(budget.before)
  expect(weight.after, 'bytes after it').toBeLessThanOrEqual(budget.after)
  return { ...weight, wasmFiles }
}
