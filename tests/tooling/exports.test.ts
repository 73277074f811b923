import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { unusedExports } from '../../scripts/check/exports.mjs'
import { freshFolder } from '../folder.ts'

const files: Readonly<Record<string, string>> = {
  'package.json': '{ "name": "house", "type": "module" }',
  // an entry of the package
  'js/index.ts': "export { shown } from './queue/a.ts'\n",
  'js/queue/a.ts':
    'export const tried = 1\nexport const own = 2\nexport type Own = 1\nexport const shown: Own = own - 1\n',
  'tests/a.test.ts': "import { tried } from '../js/queue/a.ts'\nif (tried !== 1) throw new Error()\n",
}

function house(changed: Readonly<Record<string, string>> = {}): string {
  const folder = freshFolder()
  for (const [path, text] of Object.entries({ ...files, ...changed })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

test('an exported name that its own file alone uses is named; one of an entry or a test is not', {
  timeout: 60_000,
}, async () => {
  expect(await unusedExports(house())).toEqual(['js/queue/a.ts:2: own', 'js/queue/a.ts:3: Own'])
})

test('a script or a document that uses it is enough', { timeout: 60_000 }, async () => {
  const script = "const { own } = await import('../js/queue/a.ts')\nconsole.log(own)\n"
  const code = "import type { Own } from '../js/queue/a.ts'\nexport type Again = Own\n"
  expect(await unusedExports(house({ 'scripts/a.mjs': script, 'docs/a.ts': code }))).toEqual([])
})
