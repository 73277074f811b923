/** The tables of docs/grpc.md, held against the code: what they say is said, and what they refuse is refused in their words. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { serviceConfig, UnsupportedPolicyError } from '../../../js/adapters/grpc.ts'
import type { RetryPolicy } from '../../../js/api/policy.ts'
import { POLICY_RULES } from '../../../js/options/policy-rules.ts'
import { root } from '../../packaging/pack.ts'

const page = readFileSync(join(root, 'docs', 'grpc.md'), 'utf8')

/** The rows under a head, each as its policies and the other cell. */
function rows(head: string): readonly (readonly [policies: readonly string[], text: string])[] {
  const [, table = ''] = page.split(`| ${head} |\n|---|---|\n`)
  const lines = table.split('\n\n')[0]?.split('\n') ?? []
  expect(lines.length, head).toBeGreaterThan(5)
  return lines.map((line) => {
    const [policies = '', text = ''] = line.slice(2, -2).split(' | ')
    return [[...policies.matchAll(/`([^`]+)`/g)].map(([, policy]) => policy ?? ''), text]
  })
}

const policyOf = (text: string): Partial<RetryPolicy> => {
  // an object of this realm: one of the other would be no array to the checks
  return structuredClone(runInNewContext(`({ ${text} })`)) as Partial<RetryPolicy>
}

const said = rows('policy | service config')
const refused = rows('policy | what to do')

test.each(said)('%s is %s', ([text = '', ...none], told) => {
  expect(none).toEqual([])
  const json = JSON.stringify(serviceConfig(policyOf(text), { warn: false }))
  for (const [, part = ''] of told.matchAll(/`("[^`]+)`/g)) expect(json).toContain(part.replaceAll(': ', ':'))
  if (told.startsWith('no `retryPolicy`')) expect(json).toBe('{"methodConfig":[{"name":[{}]}]}')
  if (told.startsWith('nothing')) expect(json).toBe(JSON.stringify(serviceConfig({})))
})

test.each(refused.flatMap(([policies, text]) => policies.map((policy) => [policy, text] as const)))(
  '%s is refused: %s',
  (text, fix) => {
    const error = thrownBy(() => serviceConfig(policyOf(text)))
    expect(error).toBeInstanceOf(UnsupportedPolicyError)
    expect(error).toMatchObject({ field: text.split(':')[0], message: expect.stringMatching(new RegExp(`: ${fix}$`)) })
  },
)

test('each field of a policy has a row', () => {
  const told = [...said, ...refused].flatMap(([policies]) => policies.map(policyOf)).flatMap(Object.keys)
  expect([...new Set([...told, 'policyId'])].sort()).toEqual(Object.keys(POLICY_RULES).sort())
})

function thrownBy(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}
