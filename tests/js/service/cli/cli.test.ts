import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { duration, exactBytes, exactDuration } from '../../../../js/display/format.ts'
import { schemaOfConfig } from '../../../../js/service/cli/config-file.ts'
import { FLAGS } from '../../../../js/service/cli/flags.ts'
import { nearest } from '../../../../js/service/cli/nearest.ts'
import { run } from './setup.ts'

test.each([
  ['srve', "'srve' is no command; did you mean serve?"],
  ['plam', "'plam' is no command; did you mean plan?"],
  ['tsk list', "'tsk' is no command; did you mean task?"],
  ['task lsit', "'task lsit' is no command; did you mean task list?"],
  ['dead rdrive', "'dead rdrive' is no command; did you mean dead redrive?"],
  ['task', 'task what? there are task get, task list, task cancel, task due, task attempts, task explain'],
  ['task --json', 'task what? there are task get, task list, task cancel, task due, task attempts, task explain'],
  ['xyzzy', "'xyzzy' is no command; there are serve, help, plan, token, doctor, task, dead, policy, health"],
  ['help xyzzy', "'xyzzy' is no command; there are serve, help, plan, token, doctor, task, dead, policy, health"],
])('%s names the command that was meant', async (line, message) => {
  expect(await run(line)).toMatchObject({ code: 2, out: '', err: `redrive: ${message}\n`, settings: undefined })
})

test('without a command, and with serve, the service starts', async () => {
  const { settings } = await run('serve --port 5')
  expect(settings).toEqual((await run('--port 5')).settings)
  expect(settings?.port).toBe(5)
})

test('the version is printed, and nothing starts', async () => {
  for (const line of ['--version', '-v', 'serve --version']) {
    expect(await run(line)).toMatchObject({ code: 0, out: '1.2.3\n', settings: undefined })
  }
})

test.each([
  [0, '0'],
  [0.4, '0ms'],
  [999.4, '999ms'],
  [999.6, '1s'],
  [1_540, '1.5s'],
  [9_960, '10s'],
  [45_999, '46s'],
  [59_499, '59s'],
  [59_500, '1m'],
  [200_000, '3m 20s'],
  [3_599_600, '1h'],
  [7_500_000, '2h 5m'],
  [86_399_999, '1d'],
  [390_640_000, '4d 13h'],
])('%d ms is %s', (ms, text) => {
  expect(duration(ms)).toBe(text)
})

test.each([
  [0, '0', exactDuration],
  [1_500, '1500ms', exactDuration],
  [90_000, '90s', exactDuration],
  [86_400_000, '1d', exactDuration],
  [0, '0', exactBytes],
  [1_000, '1000', exactBytes],
  [65_536, '64KiB', exactBytes],
  [4 * 2 ** 30, '4GiB', exactBytes],
])('%#: %d is %s without a loss', (count, text, said) => {
  expect(said(count)).toBe(text)
})

test.each([
  ['prot', 'port'],
  ['body', 'max-body'],
  ['max', 'max-body'],
  ['portt', 'port'],
  ['zzz', undefined],
  ['', undefined],
])('nearest to %s is %s', (given, best) => {
  expect(nearest(given, ['port', 'host', 'max-body'])).toBe(best)
})

test('the schema of the configuration has every key, with its default, and no others', () => {
  const { properties, additionalProperties } = schemaOfConfig() as {
    readonly properties: Readonly<Record<string, { readonly default?: unknown; readonly description?: string }>>
    readonly additionalProperties: boolean
  }
  expect(additionalProperties).toBe(false)
  expect([...Object.keys(properties), 'config'].sort()).toEqual(['$schema', ...Object.keys(FLAGS)].sort())
  expect(properties.lease).toMatchObject({ default: 30_000, description: FLAGS.lease.help })
})

const PROGRAM = fileURLToPath(new URL('../../../../js/cli.ts', import.meta.url))

/** A process of its own. `reads`: its output is closed after so many bytes. */
function program(argv: readonly string[], reads = Number.POSITIVE_INFINITY) {
  const child = spawn(process.execPath, [PROGRAM, ...argv], { stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    if (out.length > reads) child.stdout.destroy()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  return new Promise<{ code: number | null; out: string; err: string }>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, out, err }))
  })
}

test.for(['22.18.0', '20.19.0', '21.99.0', '9.0.0'])('Node %s is refused in one sentence', (version) => {
  const older = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${older}`, PROGRAM, 'serve'],
    { encoding: 'utf8' },
  )
  const said = `redrive: this is Node ${version}, and redrive needs 22.19 or later\n`
  expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: '', stderr: said })
})

test('the program prints, and ends with the code of its command', async () => {
  const [plan, wrong, help] = await Promise.all([
    program(['plan', '--preset', 'aws', '--json']),
    program(['--port', 'x']),
    program(['--help']),
  ])
  expect(plan).toMatchObject({ code: 0, err: '' })
  expect(JSON.parse(plan.out)).toMatchObject({ longestMs: 2_998 })
  expect(wrong).toEqual({ code: 2, out: '', err: "redrive: --port: expected a port from 0 to 65535, got 'x'\n" })
  expect(help).toMatchObject({ code: 0, err: '' })
})

test('a reader that has seen enough ends it without a word', async () => {
  const { code, err } = await program(['plan', '--preset', 'background', '--retries', '1000', '--json'], 10)
  expect({ code, err }).toEqual({ code: 0, err: '' })
})
