// The REST API against its own document: Spectral reads it, and schemathesis calls every operation by it, with what it allows and
// with what it does not, one call after another and in chains. REDRIVE_API_CASES: cases an operation, 100 by default.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { openapiTools } from '../../scripts/setup/openapi.mjs'
import { folder, type Program, start } from '../js/service/program.ts'
import { startServer } from '../redis/servers.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const cases = process.env.REDRIVE_API_CASES ?? '100'
const TOKEN = 'rd_cccccccccccccccccccccccccc'

/** Tokens make the document's demands on `Authorization` true; an admin may do everything, for any tenant. */
async function service(args: readonly string[]): Promise<{ readonly program: Program; readonly document: string }> {
  const sha256 = createHash('sha256').update(TOKEN).digest('hex')
  const cwd = folder({ 'tokens.json': [{ sha256, tenant: null, name: 'tests', scopes: ['admin'] }] })
  // an endpoint that there is nothing for says so by 501, which is no fault here
  const program = await start(['--tokens', 'tokens.json', '--bodies', 'file:bodies', ...args], cwd)
  const document = join(cwd, 'openapi.json')
  writeFileSync(document, await (await fetch(`${program.url}/openapi.json`)).text())
  return { program, document }
}

function run(
  command: string,
  args: readonly string[],
): Promise<{ readonly code: number | null; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      // it leaves what it found where it runs
      cwd: folder({ 'schemathesis.toml': readFileSync(join(here, 'schemathesis.toml'), 'utf8') }),
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output }))
  })
}

async function redisUrl(): Promise<string> {
  const server = await startServer()
  onTestFinished(() => server.end())
  return server.url
}

test('the document passes every rule of Spectral for OpenAPI', async () => {
  const { document } = await service([])
  const { code, output } = await run(process.execPath, [
    openapiTools.spectral,
    'lint',
    document,
    '--ruleset',
    join(here, '.spectral.yaml'),
    '--fail-severity',
    'hint',
  ])
  expect(output).toMatch(/No results with a severity of 'hint' or higher found!/)
  expect(code).toBe(0)
})

test.each(['sqlite', 'redis'])(
  'every operation answers as the document says, over %s, and none with 500',
  async (kind) => {
    const args = kind === 'redis' ? ['--store', await redisUrl()] : []
    const { program, document } = await service(args)
    const { code, output } = await run(openapiTools.schemathesis, [
      ...['run', document, '--url', program.url, '--checks', 'all', '--max-examples', cases, '--seed', '20'],
      ...['--header', `Authorization: Bearer ${TOKEN}`, '--no-color', '--generation-database', 'none'],
      // an answer that never ends: tests/js/service/events.slow.test.ts has it
      ...['--exclude-path', '/events'],
    ])
    // its summary names every failure
    expect(code === 0 ? '' : output.slice(-12_000)).toBe('')
    expect(output).toMatch(/Tested: 3\d\b/)
    const failed = program.lines.filter(({ event, status }) => event === 'request' && Number(status) >= 500)
    expect(failed).toEqual([])
    expect(program.lines.filter(({ event }) => event === 'request').length).toBeGreaterThan(32)
  },
)
