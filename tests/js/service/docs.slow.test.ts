// Every command of docs/service.md is run as it stands. Only ports, ids and
// addresses of other machines are replaced.
import { spawn } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { startServer } from '../../redis/servers.ts'
import { freePort } from '../../servers/free-port.ts'
import { pageOf, root } from './doc-blocks.ts'
import { folder, json, type Program, post, start, WITH_UI } from './program.ts'

const { page, blocks, ran, block, rest } = pageOf('service.md')

/** The answer that is shown below the command with these words. */
function shownAfter(...words: readonly string[]): Record<string, unknown> {
  const at = blocks.findIndex(({ language, code }) => language === 'sh' && words.every((word) => code.includes(word)))
  const next = blocks[at + 1]
  expect(next?.language).toBe('json')
  if (next) ran.add(next)
  return JSON.parse(next?.code ?? '')
}

/** `npx @redrive/service`, as the package would be found, is the program of this checkout. */
function shimmed(): string {
  const path = folder({
    npx: `#!/bin/sh\nshift\nexec "${process.execPath}" "${join(root, 'js', 'cli.ts')}" "$@"\n`,
  })
  chmodSync(join(path, 'npx'), 0o755)
  return path
}

interface Shell {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
}

/** Runs commands in bash; resolves with what they printed. What they leave in the background ends with them. */
function sh(code: string, { cwd, env = {} }: Shell): Promise<string> {
  const { PATH = '' } = process.env
  const child = spawn('bash', ['-ec', `trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n${code}`], {
    cwd,
    env: { PATH: `${shimmed()}:${join(process.execPath, '..')}:${PATH}`, NO_PROXY: '*', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const written = { stdout: '', stderr: '' }
  child.stdout.on('data', (data) => {
    written.stdout += data
  })
  child.stderr.on('data', (data) => {
    written.stderr += data
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (exitCode) => {
      if (exitCode === 0) resolve(written.stdout)
      else reject(new Error(`${code} ended with ${exitCode}: ${written.stderr}${written.stdout}`))
    })
  })
}

/** The words after `npx @redrive/service serve`. */
const argsIn = (command: string): string[] => command.trim().split(' ').slice(3)

const portOf = ({ url }: Program): string => new URL(url).port

test('the quick start: a task is handed over, read back, explained, repeated and told apart, as it is shown', async () => {
  const cwd = folder()
  expect(block('sh', 'npx @redrive/service serve\n')).toBe('npx @redrive/service serve\n')
  const service = await start([], cwd)
  const other = String(await freePort())
  const real = (code: string, task = ''): string =>
    code
      .replaceAll('7733', portOf(service))
      .replaceAll('7734', other)
      .replace(/^TASK=.*$/m, `TASK=${task}`)
  const shell = { cwd, env: { REDRIVE_URL: service.url } }

  const first = JSON.parse(await sh(real(block('sh', '7733/healthz')), shell))
  expect(first).toMatchObject({ status: 'PENDING', durability: 'strict', deduplicated: false })
  const ended = JSON.parse(await sh(real(block('sh', 'prefer: wait=10'), first.taskId), shell))
  expect(ended).toMatchObject({ taskId: first.taskId, status: 'SUCCEEDED', lastStatus: 200 })

  const order = block('sh', '"sku": 1')
  const second = JSON.parse(await sh(real(order), shell))
  expect(second).toMatchObject({ status: 'PENDING', idempotencyKey: 'order-1', deduplicated: false })
  const refused = `connect ECONNREFUSED 127.0.0.1:${other}`
  await expect
    .poll(async () => JSON.stringify(await explained(service, second.taskId)), { timeout: 20_000 })
    .toContain(refused)
  const told = await sh(real(block('sh', 'task explain'), second.taskId), shell)
  const [head, ...rows] = real(block('text', 'ECONNREFUSED')).trim().split('\n')
  expect(told.split('\n')[0]).toBe(head)
  for (const row of rows.slice(0, 3)) expect(told).toContain(row.replace(/^\S+ \S+ +/, '').split(';')[0])
  expect(rows.at(-1)).toMatch(/waits for its own delay until/)

  const succeeded = await sh(`TASK=${second.taskId}\n${real(block('sh', 'createServer'))}`, shell)
  expect(succeeded).toMatch(/^status +succeeded$/m)
  expect(JSON.parse(await sh(real(order), shell))).toMatchObject({ taskId: second.taskId, deduplicated: true })
  const conflict = JSON.parse(await sh(real(order.replace('"sku": 1', '"sku": 2')), shell))
  expect(conflict).toMatchObject({
    status: 422,
    type: 'urn:redrive:problem:idempotency-conflict',
    taskId: second.taskId,
  })
})

test('many tasks in one request: the outcomes are those that are shown', async () => {
  const service = await start()
  const answer = JSON.parse(await sh(block('sh', 'x-ndjson').replace('7733', portOf(service)), { cwd: folder() }))
  expect(answer).toMatchObject(shownAfter('x-ndjson'))
})

test('a backup of a running service has its tasks, and its metrics have the families that the page names', async () => {
  const cwd = folder()
  const service = await start([], cwd)
  const answer = await post(`${service.url}/retry-tasks`, { targetUrl: 'https://api.example.com/', delayMs: 60_000 })
  const { taskId } = await json(answer)
  await sh(block('sh', 'VACUUM INTO'), { cwd })
  const restored = await start(['--store', 'sqlite:backup.db'], cwd)
  expect(await json(await fetch(`${restored.url}/retry-tasks`))).toMatchObject({
    tasks: [{ taskId, status: 'PENDING' }],
  })
  const metrics = await (await fetch(`${service.url}/metrics`)).text()
  const families = [...new Set(page.match(/`redrive_\w+`/g))].map((name) => name.slice(1, -1))
  expect(families.length).toBeGreaterThan(4)
  expect(families.filter((name) => !metrics.includes(`# TYPE ${name} `))).toEqual([])
})

const explained = async ({ url }: Program, taskId: string): Promise<unknown> =>
  (await fetch(`${url}/retry-tasks/${taskId}/explain`)).json()

/** A folder with the tokens that the page has made, and the token. */
async function withTokens(): Promise<{ readonly cwd: string; readonly token: string }> {
  const cwd = folder()
  const printed = await sh(block('sh', '@redrive/service token'), { cwd })
  const [token = ''] = printed.match(/\brd_\w+/) ?? []
  const [entry] = JSON.parse(printed.slice(printed.indexOf('[')))
  const [shown] = JSON.parse(block('json', '"sha256"'))
  expect({ ...entry, sha256: '' }).toEqual({ ...shown, sha256: '' })
  writeFileSync(join(cwd, 'tokens.json'), JSON.stringify([entry]))
  return { cwd, token }
}

/** The call of the page from another machine, to a service on this one. */
function remote(service: Program, { cwd, token }: { readonly cwd: string; readonly token: string }): Promise<string> {
  const port = portOf(service)
  const code = block('sh', 'REDRIVE_TOKEN')
    .replace('7733', port)
    .replace('curl -s', `curl -s --resolve retry.example.com:${port}:127.0.0.1`)
  return sh(code, { cwd, env: { REDRIVE_TOKEN: token } })
}

test('for other machines: a token that was made lets its bearer in, under the name that was given', async () => {
  const made = await withTokens()
  const args = argsIn(block('sh', 'npx @redrive/service serve --host 0.0.0.0'))
  const service = await start(args.with(args.indexOf('0.0.0.0'), '127.0.0.1'), made.cwd)
  expect(JSON.parse(await remote(service, made))).toMatchObject({ status: 'PENDING', durability: 'strict' })
  expect(JSON.parse(await remote(service, { ...made, token: 'rd_none' }))).toMatchObject({ status: 401 })
})

test('many hosts: the doctor finds the Redis safe, and a task that one process takes is known to the other', async () => {
  const redis = await startServer({ appendonly: true, maxmemoryPolicy: 'noeviction' })
  onTestFinished(() => redis.end())
  const made = await withTokens()
  const real = (code: string): string => code.replace('redis://redis:6379', redis.url).replace('0.0.0.0', '127.0.0.1')
  expect(await sh(real(block('sh', '@redrive/service doctor')), made)).toContain('noeviction')
  const args = argsIn(real(block('sh', 'npx @redrive/service serve --store')))
  const [one, two] = await Promise.all([start(args, made.cwd), start(args, made.cwd)])
  const { taskId, durability } = JSON.parse(await remote(one, made))
  expect(durability).toBe('relaxed')
  const listed = await sh(
    `curl -s -H 'host: retry.example.com' -H "authorization: Bearer ${made.token}" ${two.url}/retry-tasks`,
    made,
  )
  expect(JSON.parse(listed)).toMatchObject({ tasks: [{ taskId, status: 'PENDING' }] })
})

test('in a browser: the start shows the inspector at the address that is named', async () => {
  const args = argsIn(block('sh', '@redrive/service serve --ui'))
  const service = await start(args, folder(), { UI_FOLDER: folder({ 'ui.js': '' }) }, WITH_UI)
  const [, address = ''] = /`--ui` shows the inspector at `(\S+)`/.exec(page) ?? []
  expect(await (await fetch(address.replace('7733', portOf(service)))).text()).toContain('<redrive-inspector')
})

test('as a library: the snippet prints what its comment says', async () => {
  const cwd = folder()
  const from = (name: string) => pathToFileURL(join(root, 'js', name)).href
  const code = block('js', 'createService')
    .replace("'@redrive/service'", `'${from('service.ts')}'`)
    .replace("'redrive/sqlite'", `'${from('stores/sqlite.ts')}'`)
  writeFileSync(join(cwd, 'main.mjs'), code)
  expect(await sh(`"${process.execPath}" main.mjs`, { cwd })).toBe(`${/console\.log.*\/\/ (.*)/.exec(code)?.[1]}\n`)
})

test('there is no block that no test has run', () => {
  expect(rest()).toEqual([])
})
