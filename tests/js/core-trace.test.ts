/** The wasm decides what the native core decided: see tests/vectors/README.md. */

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { instantiate } from '../../js/core/file.ts'
import { replay } from './core-trace.ts'

const lines = readFileSync(new URL('../vectors/core-trace.txt', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
const engine = await instantiate()

test('S21 four simulated worlds, call by call, get the answers of the native core', () => {
  expect(lines.length).toBeGreaterThan(2_000)
  const named = new Set(lines.map((line) => line.split(' ')[0]))
  const calls = ['admit', 'settle', 'poll', 'cancel', 'pause', 'resume', 'setOnline', 'flush', 'dropLane']
  for (const name of [...calls, 'adopt', 'hold', 'gates', 'heard', 'visit', 'admits', 'state']) {
    expect(named, name).toContain(name)
  }
  let at = 0
  for (const answered of replay(engine, lines)) {
    expect(answered, `line ${at + 1}`).toBe(lines[at])
    at += 1
  }
  expect(at).toBe(lines.length)
})

test('the replay notices a call that went otherwise', () => {
  const started = lines.findIndex((line) => line.startsWith('poll') && / = [1-9]/.test(line))
  const skipped = lines.toSpliced(started, 1)
  const differs = [...replay(engine, skipped)].findIndex((answered, at) => answered !== skipped[at])
  expect(differs).toBeGreaterThanOrEqual(started)
})
