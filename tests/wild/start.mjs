// Installs what a row names, pinned, into a folder of its own under target/wild, where a second run finds it; and starts it on the loopback.
import { spawn } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { at } from '../../scripts/lib/paths.mjs'
import { run, StepError } from '../../scripts/lib/steps.mjs'
import { isDebianRoot, updateDebian } from '../../scripts/setup/debian.mjs'
import { makePython } from '../../scripts/setup/python.mjs'
import { plain } from './wire.mjs'

const READY_WITHIN_MS = 60_000
const INSTALLED_WITHIN_MS = 300_000
const here = fileURLToPath(new URL('.', import.meta.url))

export function listen(server, port = 0) {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve(server.address().port))
  })
}

async function freePort() {
  const server = createTcpServer()
  const port = await listen(server)
  await new Promise((resolve) => server.close(resolve))
  return port
}

const installers = {
  async npm(folder, packages) {
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n')
    const args = ['install', '--no-audit', '--no-fund', '--no-package-lock', '--legacy-peer-deps', ...packages]
    await run('npm', args, { cwd: folder, limitMs: INSTALLED_WITHIN_MS })
  },
  async pypi(folder, packages) {
    const requirements = join(folder, 'requirements.txt')
    writeFileSync(requirements, `${packages.join('\n')}\n`)
    await makePython(join(folder, 'venv'), requirements)
  },
  /** Unpacked, not installed: nothing of the machine's own changes, and no service starts. */
  async debian(folder, packages) {
    if (!isDebianRoot()) throw new StepError('needs a Debian, as root')
    await updateDebian()
    const archives = join(folder, 'archives')
    mkdirSync(join(archives, 'partial'), { recursive: true })
    const own = ['-o', `Dir::Cache::archives=${archives}`, '-o', 'APT::Sandbox::User=root']
    const how = ['--download-only', '--reinstall', '--no-install-recommends', '-y', '-qq']
    await run('apt-get', [...own, 'install', ...how, ...packages], { limitMs: INSTALLED_WITHIN_MS })
    for (const name of readdirSync(archives).filter((each) => each.endsWith('.deb'))) {
      await run('dpkg-deb', ['-x', join(archives, name), folder])
    }
    rmSync(archives, { recursive: true })
  },
}

/** The folder, which rows of one package share, and the version in it. */
export async function install(row) {
  const version = await versionOf(row)
  const folder = at('target', 'wild', row.packages[0].replaceAll(/[^\w.-]+/g, '-'))
  const stamp = join(folder, 'installed.json')
  // Debian's are not pinned by the row: a newer one is unpacked anew
  const wanted = JSON.stringify([row.from, row.packages, ...(row.from === 'debian' ? [version] : [])])
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return { folder, version }
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await installers[row.from](folder, row.packages)
  writeFileSync(stamp, wanted)
  return { folder, version }
}

/** As the row pins it, or as Debian has it. */
async function versionOf({ from, packages: [main] }) {
  if (from === 'debian') {
    const { stdout } = await run('apt-cache', ['policy', main])
    return /Candidate: (?:\d+:)?([\d.]+)/.exec(stdout)?.[1] ?? 'unknown'
  }
  return main.slice(main.lastIndexOf(from === 'npm' ? '@' : '==') + (from === 'npm' ? 1 : 2))
}

/** Servers under way. They have process groups of their own, so a signal to this process does not reach them. */
const running = new Set()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
process.once('exit', () => {
  for (const pid of running) process.kill(-pid, 'SIGKILL')
})

const programs = {
  npm: ({ folder }) => [process.execPath, ['app.mjs'], folder],
  pypi: ({ folder, port }, row) => [
    join(folder, 'venv', 'bin', 'python'),
    row.serve === 'waitress'
      ? ['-m', 'waitress', `--listen=127.0.0.1:${port}`, 'app:app']
      : ['-m', 'uvicorn', '--host', '127.0.0.1', '--port', `${port}`, 'app:app'],
  ],
  debian: (place, row) => row.command(place),
}

/** The server of a row, and the origin behind it if it is a gateway. */
export async function start(row, folder) {
  const ledger = join(folder, 'ledger.txt')
  writeFileSync(ledger, '')
  const origin = row.from === 'debian' ? await startOrigin(ledger) : undefined
  const port = await freePort()
  const place = { folder, port, origin: origin?.port }
  if (row.from === 'npm') copyFileSync(join(here, 'work.mjs'), join(folder, 'work.mjs'))
  if (row.from === 'pypi') copyFileSync(join(here, 'work.py'), join(folder, 'work.py'))
  if (row.app) writeFileSync(join(folder, row.from === 'npm' ? 'app.mjs' : 'app.py'), row.app)
  for (const [name, text] of Object.entries(row.files?.(place) ?? {})) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  const [program, args] = programs[row.from](place, row)
  const libraries = ['usr/lib/x86_64-linux-gnu', 'usr/lib/aarch64-linux-gnu', 'usr/lib'].map((name) =>
    join(folder, name),
  )
  const env = { ...process.env, PORT: `${port}`, LEDGER: ledger, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  if (row.from === 'debian') env.LD_LIBRARY_PATH = libraries.join(':')
  // a group of its own, so that its workers end with it
  const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  if (child.pid !== undefined) running.add(child.pid)
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data) => {
      said = `${said}${data}`.slice(-2_000)
    })
  }
  const ended = new Promise((resolve) => {
    child.once('exit', () => {
      running.delete(child.pid)
      resolve()
    })
    child.once('error', (error) => {
      said = error.message
      resolve()
    })
  })
  const hasEnded = () => child.pid === undefined || child.exitCode !== null || child.signalCode !== null
  const server = {
    port,
    origin,
    runs: (id) =>
      readFileSync(ledger, 'utf8')
        .split('\n')
        .filter((line) => line === id).length,
    async close() {
      if (!hasEnded()) process.kill(-child.pid, 'SIGKILL')
      await ended
      await origin?.down()
    },
  }
  const until = performance.now() + READY_WITHIN_MS
  while ((await plain(port, { path: '/ready' })).status === 0) {
    if (hasEnded() || performance.now() > until) {
      await server.close()
      throw new StepError(`did not start: ${said.trim().split('\n').slice(-6).join('\n')}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return server
}

/** What is behind a gateway: a server that does `work`, and can go away and come back on its port. */
async function startOrigin(ledger) {
  process.env.LEDGER = ledger
  const { work } = await import('./work.mjs')
  let server
  const origin = {
    async up() {
      server = createServer(async (request, response) => {
        const chunks = await Array.fromAsync(request)
        const order = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString()) : {}
        const { status, body } = await work(order)
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      })
      origin.port = await listen(server, origin.port)
    },
    async down() {
      if (!server?.listening) return
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  await origin.up()
  return origin
}
