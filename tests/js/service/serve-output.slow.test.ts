// The program `redrive serve` beside what may go wrong around it: its log has no reader, or a SIGHUP comes before it has read its files.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { startServer } from '../../redis/servers.ts'
import { freePort } from '../../servers/free-port.ts'
import { eventually } from '../eventually.ts'
import { target } from './loopback.ts'
import { folder, json, post, start } from './program.ts'

const CLI = fileURLToPath(new URL('../../../js/cli.ts', import.meta.url))
const LOST = /^redrive: the log cannot be written \(.+\): lines are lost\n$/

/** Runs the program as "$@" of a command of the shell. */
function shell(command: string, ...args: readonly string[]) {
  const { REDRIVE_SIZE: _, ...env } = process.env
  const child = spawn('sh', ['-c', command, 'sh', process.execPath, CLI, ...args], { cwd: folder(), env })
  onTestFinished(() => void child.kill('SIGKILL'))
  let stderr = ''
  child.stderr.on('data', (data) => {
    stderr += data
  })
  child.stdout.resume()
  return { child, exit: new Promise((resolve) => child.on('exit', resolve)), stderr: () => stderr }
}

test('a log that cannot be written is said once, and the service goes on', async () => {
  const port = await freePort()
  const { child, exit, stderr } = shell('exec "$@" > /dev/full', '--port', `${port}`, '--store', 'memory:')
  const url = `http://127.0.0.1:${port}`
  await eventually(() =>
    fetch(`${url}/readyz`).then(
      ({ status }) => status,
      () => 0,
    ),
  ).toBe(200)
  for (let i = 0; i < 3; i++) expect((await fetch(`${url}/stats`)).status).toBe(200)
  expect(stderr()).toMatch(LOST)
  child.kill('SIGTERM')
  expect(await exit).toBe(0)
})

test('a reader of the log that leaves ends nothing: what is in flight ends, and so does the service at a SIGTERM', async () => {
  const shop = await target()
  const { url, child, exit, stderr } = await start(['--store', 'memory:'])
  child.stdout?.destroy()
  for (let i = 0; i < 5; i++) {
    const answer = await post(`${url}/retry-tasks`, { targetUrl: shop.url, method: 'POST', body: `${i}` })
    expect(answer.status).toBe(201)
  }
  await eventually(() => shop.seen.length).toBe(5)
  expect(stderr()).toMatch(LOST)
  child.kill('SIGTERM')
  expect(await exit).toBe(0)
})

test('a reader of the log that stalls does not keep the service from its end', async () => {
  const { url, child, exit } = await start(['--store', 'memory:'])
  child.stdout?.pause()
  for (let i = 0; i < 50; i++) await Promise.all(Array.from({ length: 20 }, () => fetch(`${url}/stats`)))
  child.kill('SIGTERM')
  const ended = await Promise.race([exit, new Promise((resolve) => setTimeout(resolve, 10_000, 'runs on'))])
  expect(ended).toBe(0)
})

test('a list whose reader leaves ends quietly', async () => {
  const { exit, stderr } = shell('{ "$@"; echo $? > code; } | true; exit $(cat code)', 'help')
  expect([await exit, stderr()]).toEqual([0, ''])
})

test('SIGHUP while it starts is heeded once it has started', async () => {
  const redis = await startServer()
  onTestFinished(() => redis.end())
  const config = `import { subscribe } from 'node:diagnostics_channel'
    if (!globalThis.isHeard) subscribe('net.client.socket', () => {
      if (!globalThis.isHeard) process.kill(process.pid, 'SIGHUP')
      globalThis.isHeard = true
    })
    export default { store: '${redis.url}' }`
  const { url, child, exit, logged } = await start([], folder({ 'redrive.config.mjs': config }))
  await logged('reloaded')
  expect(await json(await fetch(`${url}/healthz`))).toMatchObject({ status: 'ok' })
  child.kill('SIGTERM')
  expect(await exit).toBe(0)
})
