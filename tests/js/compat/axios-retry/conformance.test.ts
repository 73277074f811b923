/**
 * What axios-retry does, case by case, against axios-retry itself and against our interface of it, with the real axios and a real server.
 * Its own spec asks these things too (`original-spec.mjs` runs that); the words and the code are ours. A case in which we differ on
 * purpose has to fail for ours, and docs/compat-axios-retry.md has to list it.
 */

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { chain } from './chain.cases.ts'
import { hooks } from './hooks.cases.ts'
import { retries } from './retries.cases.ts'
import { SUBJECTS } from './subject.ts'
import { times } from './times.cases.ts'
import { values } from './values.cases.ts'

const cases = Object.entries({ ...retries, ...hooks, ...chain, ...times, ...values })

/** The cases in the first column of the page's table. */
const page = readFileSync(new URL('../../../../docs/compat-axios-retry.md', import.meta.url), 'utf8')
const table = page.slice(page.indexOf('<!-- differences -->'), page.indexOf('<!-- /differences -->'))
const differing = [...table.matchAll(/^\| (.+?) \|/gm)].map(([, name]) => name).slice(1)

test('the page lists cases that there are', () => {
  expect(differing.length).toBeGreaterThan(0)
  expect(differing.filter((name) => !cases.some(([each]) => each === name))).toEqual([])
})

test('the page says how many there are', () => {
  expect(page).toContain(`${cases.length} cases`)
})

describe.each(cases)('%s', (name, run) => {
  test('axios-retry', () => run(SUBJECTS['axios-retry']))

  const isSame = !differing.includes(name)
  test(`redrive/compat/axios-retry${isSame ? '' : ': differs on purpose'}`, async () => {
    const running = run(SUBJECTS['redrive/compat/axios-retry'])
    if (isSame) await running
    else await expect(running).rejects.toThrow()
  })
})
