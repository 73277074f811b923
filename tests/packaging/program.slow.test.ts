// The program of @redrive/service, from its tarball, in a folder that has it and what it declares: as `npx @redrive/service` finds it.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { oldestNode } from '../../scripts/setup/oldest-node.mjs'
import { onLoopback } from '../loopback.ts'
import { startServer } from '../redis/servers.ts'
import { type Consumer, consumer, install, plainEnv } from './consumer.ts'

/** The program, where the package is installed. */
function installed(project: Consumer): string {
  install(project, '@redrive/service')
  const folder = join(project.folder, 'node_modules', '@redrive', 'service')
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { bin: { redrive: string } }
  return join(folder, bin.redrive)
}

interface Started {
  readonly url: string
  readonly child: ChildProcess
  readonly exit: Promise<number | null>
}

function start(command: string, args: readonly string[], cwd: string): Promise<Started> {
  // npx starts the program as a child of its own: a group of processes ends together
  const child = spawn(command, [...args, '--port', '0', '--log-format', 'json'], {
    cwd,
    env: plainEnv(),
    detached: true,
  })
  const exit = new Promise<number | null>((resolve) => child.on('exit', resolve).on('error', () => resolve(null)))
  onTestFinished(async () => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
    await exit
  })
  let said = ''
  return new Promise((resolve, reject) => {
    const heard = (data: Buffer): void => {
      said += data
      const line = said.split('\n').find((each) => each.includes('"listening"'))
      if (line && said.includes('"ready"')) resolve({ url: JSON.parse(line).url, child, exit })
    }
    child.stdout.on('data', heard)
    child.stderr.on('data', heard)
    exit.then((code) => reject(new Error(`it ended with ${code}: ${said}`)))
  })
}

async function shop() {
  const keys: (string | undefined)[] = []
  const origin = await onLoopback((request, response) => {
    keys.push(request.headers['idempotency-key'] as string | undefined)
    response.writeHead(keys.length === 1 ? 503 : 200).end()
  })
  return { url: `${origin}/orders`, keys }
}

/** Hands it an order whose first attempt fails, waits for the end, and stops it; gives the exit code. */
async function delivers({ url, child, exit }: Started): Promise<number | null> {
  const { url: targetUrl, keys } = await shop()
  const policy = { strategy: 'fixed', initialDelayMs: 1, jitterType: 'NONE' }
  const answer = await fetch(`${url}/retry-tasks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': 'order-1' },
    body: JSON.stringify({ targetUrl, method: 'POST', json: { sku: 1 }, policy }),
  })
  expect(answer.status).toBe(201)
  const { taskId } = (await answer.json()) as { taskId: string }
  const ended = await fetch(`${url}/retry-tasks/${taskId}`, { headers: { prefer: 'wait=30' } })
  expect(await ended.json()).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 2 })
  expect(keys).toEqual(['order-1', 'order-1'])
  process.kill(-(child.pid ?? 0), 'SIGTERM')
  return exit
}

for (const [name, node] of [
  [`Node ${process.versions.node}`, process.execPath],
  ['the oldest Node', oldestNode()],
] as const) {
  test(`on ${name} it starts, delivers an order, plans a curve and ends`, async () => {
    using project = consumer({})
    const cli = installed(project)
    const { stdout: version } = await promisify(execFile)(node, [cli, '--version'])
    expect(version).toMatch(/^\d+\.\d+\.\d+\n$/)
    const { stdout: plan } = await promisify(execFile)(node, [cli, 'plan', '--preset', 'zizq', '--json'])
    expect(JSON.parse(plan)).toMatchObject({ policy: { policyId: 'zizq' } })
    expect(await delivers(await start(node, [cli, 'serve'], project.folder))).toBe(0)
    expect(existsSync(join(project.folder, 'redrive.db'))).toBe(true)
  })
}

test('with --ui it shows the inspector, whose files are all in the package', async () => {
  using project = consumer({})
  const cli = installed(project)
  const { url } = await start(process.execPath, [cli, 'serve', '--ui'], project.folder)
  const texts = new Map<string, string>()
  const open = ['', 'page.css', 'icon.svg', 'ui.js']
  // as a browser goes on: from each file to those that it names
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (texts.has(name)) continue
    const answer = await fetch(`${url}/ui/${name}`)
    expect([name, answer.status]).toEqual([name, 200])
    texts.set(name, await answer.text())
    if (name.endsWith('.js')) {
      for (const [, other = ''] of texts.get(name)?.matchAll(/"\.\/([\w.-]+\.js)"/g) ?? []) open.push(other)
    }
  }
  expect(texts.get('')).toContain('<redrive-inspector')
  expect([...texts.keys()]).toContain('ui-worker.js')
  // files of the package that it has no use for
  for (const name of ['cli.js', 'service.js', 'package.json'])
    expect((await fetch(`${url}/ui/${name}`)).status).toBe(404)
})

test('npx runs it where it is installed with what it declares and nothing else, over Redis too', async () => {
  using project = consumer({ 'package.json': JSON.stringify({ dependencies: { '@redrive/service': '*' } }) })
  // as npm links the program of a package
  mkdirSync(join(project.folder, 'node_modules', '.bin'))
  symlinkSync(installed(project), join(project.folder, 'node_modules', '.bin', 'redrive'))
  const server = await startServer()
  onTestFinished(() => server.end())
  const npx = process.platform === 'win32' ? 'npx.cmd' : 'npx'
  // npx ends by the signal itself
  await delivers(
    await start(npx, ['--offline', '--no', '@redrive/service', 'serve', '--store', server.url], project.folder),
  )
})

test('the library starts a service in a few lines', async () => {
  using project = consumer({
    'main.mjs': `
      import { createService } from '@redrive/service'
      import { sqliteStore } from 'redrive/sqlite'
      const service = createService({ store: sqliteStore({ path: 'tasks.db', everyone: true }) })
      await service.ready
      const answer = await service.fetch(new Request('http://localhost/retry-policies/svix'))
      console.log(JSON.stringify({ status: answer.status, policyId: (await answer.json()).policyId }))
      await service.close()`,
  })
  install(project, '@redrive/service')
  expect(await project.node('main.mjs')).toEqual({ status: 200, policyId: 'svix' })
})
