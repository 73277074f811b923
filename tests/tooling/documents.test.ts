import { expect, test } from 'vitest'
import { missing } from '../../scripts/check/documents.mjs'

const files: Readonly<Record<string, string>> = {
  'docs/gates.md': '# Gates\n\n## A server that fails, at random\n',
  'js/queue': '',
  'js/queue/queue.ts': '',
}
const there = { read: (path: string) => files[path], scripts: ['test', 'sim:core'] }
const faults = (text: string, path = 'docs/page.md') => missing(path, text, there)

test.for([
  'See [gates](gates.md), [its end](gates.md#a-server-that-fails-at-random) and [this](#here).\n\n## Here\n',
  'The class is in `js/queue/queue.ts`, beside others of `js/queue`.',
  'Run `npm run sim:core -- --seeds 3`, read [the RFC](https://www.rfc-editor.org/rfc/rfc9110).',
  'Printed by the build: `js/core/generated/codes.ts`.',
  '```js\nconst link = [text](nowhere.md)\n```\n',
])('what is there may be named: %s', (text) => {
  expect(faults(text)).toEqual([])
})

test.for<readonly [string, string]>([
  ['See [gates](gate.md).', 'docs/page.md: no gate.md'],
  ['See [gates](gates.md#ramp).', 'docs/page.md: no gates.md#ramp'],
  ['See [below](#there).\n\n## Here\n', 'docs/page.md: no #there'],
  ['The class is in `js/queue.ts`.', 'docs/page.md: no js/queue.ts'],
  ['```\nnpm run test:sim\n```\n', 'docs/page.md: no npm run test:sim'],
])('what is not there is a fault: %s', ([text, fault]) => {
  expect(faults(text)).toEqual([fault])
})

test('examples have npm scripts of their own', () => {
  expect(faults('npm run dev', 'examples/next/README.md')).toEqual([])
})
