// docs/guarantees.md names the command that proves each guarantee: each has one, and each such command runs a test.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const page = readFileSync(join(root, 'docs', 'guarantees.md'), 'utf8')
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>
}

const [, promised = '', table = ''] =
  /## Guarantees\n([\s\S]*?)\n### The command[^\n]*\n([\s\S]*?)\n## /.exec(page) ?? []
const guarantees = [...promised.matchAll(/^\*\*([^*]+)\.\*\*/gm)].map(([, name]) => name)
const rows = table
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .slice(1)
  .map((line) => line.slice(2, -2).split(' | '))

const textOf = (folder: string, ending: string): string =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => readFileSync(join(root, folder, name), 'utf8'))
    .join('\n')
const inTypeScript = textOf('tests/js', '.test.ts')
const inRust = textOf('tests', '.rs') + textOf('src', '.rs')

/** Whether a command runs at least one test of that name, or is a program of its own. */
function proves(command: string): boolean {
  const [, script = '', rest = ''] = /^npm run (\S+)(?: -- (.*))?$/.exec(command) ?? []
  if (scripts[script] === undefined) return false
  const [, words] = /^-t '(.+)'$/.exec(rest) ?? []
  if (script === 'test:js') {
    return words === undefined
      ? existsSync(join(root, rest))
      : new RegExp(`['"\`][^'"\`\n]*${words}`).test(inTypeScript)
  }
  return script === 'test:rust' ? new RegExp(`fn ${rest}`).test(inRust) : true
}

test('each guarantee has a row', () => {
  expect(guarantees.length).toBeGreaterThan(10)
  expect(rows.map(([name]) => name)).toEqual(guarantees)
})

test('each command that is named proves something', () => {
  const commands = rows.flatMap(([, , words = '']) =>
    [...words.matchAll(/`([^`]+)`/g)].map(([, command = '']) => command),
  )
  expect(commands.length).toBeGreaterThan(guarantees.length)
  expect(commands.filter((command) => !proves(command))).toEqual([])
})

test('a command that runs no test is noticed', () => {
  expect(['npm run test:js -- -t S99 ', "npm run test:js -- -t 'S99 '", 'npm run tests'].filter(proves)).toEqual([])
})
