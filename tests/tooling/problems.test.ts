import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const page = read('docs/problems.md')

/** The members of a union of texts, as it stands in its file. */
function members(file: string, type: string): readonly string[] {
  const [, union = ''] = new RegExp(`export type ${type} =\\n((?: +\\| '\\w+'\\n)+)`).exec(read(file)) ?? []
  return [...union.matchAll(/'(\w+)'/g)].map(([, name = '']) => name)
}

test.for([
  ['js/api/task.ts', 'ExhaustedReason'],
  ['js/api/task.ts', 'NotRetriedReason'],
  ['js/api/events.ts', 'DegradedCode'],
] as const)('docs/problems.md has each of %s, %s', ([file, type]) => {
  const names = members(file, type)
  expect(names.length).toBeGreaterThan(5)
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
})

/** Codes of the service, of Workers' bindings, of service workers and of the lab, which have pages of their own. */
const ELSEWHERE =
  /^(SECRET_UNREADABLE|STORE_UNKNOWN|NAME_\w+|BODY_STORE_UNAVAILABLE|TRANSPORT_CLOSED|PARTITIONS_DIFFER|POLICY_UNSUPPORTED|DEFERRED|OBJECT_MISCONFIGURED|BINDING_INVALID|SYNC_UNFINISHED|CORE_TRAPPED|TARGET_REFUSED)$/

test('docs/problems.md has the code of each error that a queue throws, and none that there is not', () => {
  const files = readdirSync(join(root, 'js'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )
  const text = files.map((name) => read(join('js', name))).join('\n')
  const thrown = new Set(
    [...text.matchAll(/(?:super|RedriveError)\(\s*'([A-Z][A-Z_]+)'|'(STORAGE_[A-Z_]+)'/g)].map(([, a, b]) => a ?? b),
  )
  expect([...thrown].filter((code = '') => !ELSEWHERE.test(code) && !page.includes(`\`${code}\``))).toEqual([])
  const [, codes = ''] = /## Errors: `code`\n([\s\S]*?)\n## /.exec(page) ?? []
  const said = [...codes.matchAll(/`([A-Z_]+)`/g)].map(([, code]) => code)
  expect(said.filter((code) => !thrown.has(code))).toEqual([])
})
