// The program `redrive serve` beside what may go wrong around it: its log has no reader, or a SIGHUP comes before it has read its
// files, or they have changed.
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { startServer } from '../../redis/servers.ts'
import { freePort } from '../../servers/free-port.ts'
import { eventually } from '../eventually.ts'
import { target } from './loopback.ts'
import { entry, folder, json, post, start } from './program.ts'
import { certificate } from './sending.ts'

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
  const isReady = () => fetch(`${url}/readyz`).catch(() => undefined)
  await eventually(isReady).toMatchObject({ status: 200 })
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

test('SIGHUP reads everything again, and what was taken out of the configuration is closed', async () => {
  const slow = { policyId: 'slow', strategy: 'fixed', initialDelayMs: 1_000 }
  const open = { tokens: [entry('rd_a', 'acme')], targets: ['https://api.example.com'], allowPrivate: ['10.0.0.0/8'] }
  const cwd = folder({ 'redrive.config.json': { ...open, policies: [slow] } })
  const { url, child, logged, lines } = await start([], cwd)
  const as = { authorization: 'Bearer rd_a' }
  const statusOf = async (targetUrl: string) =>
    (await post(`${url}/retry-tasks`, { targetUrl, method: 'PUT', body: 'x' }, as)).status
  child.kill('SIGHUP')
  await logged('reloaded')
  expect((await fetch(`${url}/retry-policies/slow`, { headers: as })).status).toBe(200)
  expect(await statusOf('https://other.example.com/')).toBe(422)
  const { tokens, allowPrivate } = open
  writeFileSync(join(cwd, 'redrive.config.json'), JSON.stringify({ tokens, allowPrivate }))
  await eventually(() => lines.filter(({ event }) => event === 'reloaded').length).toBeGreaterThan(1)
  expect([await statusOf('https://other.example.com/'), await statusOf('https://10.0.0.1/')]).toEqual([201, 201])
  writeFileSync(join(cwd, 'redrive.config.json'), JSON.stringify({ tokens }))
  await eventually(() => statusOf('https://10.0.0.1/')).toBe(422)
})

test('a file that a reload has named is watched from then on, and a certificate that is none has changed nothing', async () => {
  const { key, cert } = certificate('IP:127.0.0.1')
  const tokens = { 'a.json': [entry('rd_a', 'a')], 'b.json': [entry('rd_b', 'b')] }
  const cwd = folder({ ...tokens, 'key.pem': key, 'cert.pem': cert })
  const config = (tokens: string) =>
    writeFileSync(join(cwd, 'redrive.config.json'), JSON.stringify({ tokens, tlsCert: 'cert.pem', tlsKey: 'key.pem' }))
  config('a.json')
  const { url, logged } = await start([], cwd)
  const statusOf = (token: string) =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` }
      const given = { rejectUnauthorized: false, headers, agent: false }
      get(`${url}/retry-tasks`, given, (answer) => resolve(answer.resume().statusCode)).on('error', reject)
    })
  expect(await statusOf('rd_a')).toBe(200)
  config('b.json')
  await eventually(() => statusOf('rd_b')).toBe(200)
  writeFileSync(join(cwd, 'b.json'), JSON.stringify([entry('rd_c', 'c')]))
  await eventually(() => statusOf('rd_b')).toBe(401)
  writeFileSync(join(cwd, 'b.json'), JSON.stringify([entry('rd_d', 'd')]))
  writeFileSync(join(cwd, 'cert.pem'), 'none')
  expect((await logged('reload_refused')).message).toMatch(/^--tls-cert cert\.pem, .*: nothing was changed$/)
  expect([await statusOf('rd_c'), await statusOf('rd_d')]).toEqual([200, 401])
})
