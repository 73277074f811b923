// The workflow that publishes, as far as it can be tried without publishing: what npm needs for provenance, and its steps
// that do nothing outside this machine.

import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { manifest } from '../../scripts/build/manifest.mjs'
import { freshFolder } from '../folder.ts'
import { root, unpacked, unpackedOf } from './pack.ts'

interface Step {
  readonly name?: string
  readonly uses?: string
  readonly run?: string
  readonly 'working-directory'?: string
  readonly with?: Readonly<Record<string, unknown>>
  readonly env?: Readonly<Record<string, string>>
}
interface Job {
  readonly steps: readonly Step[]
  /** Absent: the job runs actions alone. */
  readonly container?: { readonly image: string }
  readonly permissions?: Readonly<Record<string, string>>
  readonly needs?: readonly string[]
  readonly environment?: string
  readonly env?: Readonly<Record<string, string>>
  readonly 'runs-on': string
}
const folder = join(root, '.github', 'workflows')
const workflows = readdirSync(folder).map((name) => parse(readFileSync(join(folder, name), 'utf8'), { merge: true }))
const workflow = parse(readFileSync(join(folder, 'publish.yml'), 'utf8'))
const jobs: Readonly<Record<'test' | 'fuzz' | 'publish', Job>> = workflow.jobs
const named = (name: string, { steps }: Job = jobs.test): Step => {
  const found = steps.filter((step) => step.name === name)
  expect(found, `steps named ${name}`).toHaveLength(1)
  return found[0] as Step
}
const version = /^version = "(.*)"/m.exec(readFileSync(join(root, 'Cargo.toml'), 'utf8'))?.[1]

test('it runs on a version tag only, and by itself may do nothing', () => {
  expect(workflow.on).toEqual({ push: { tags: ['v*'] } })
  expect(workflow.permissions).toEqual({})
})

test('only the job that publishes may say who it is, and it installs and builds nothing', () => {
  const { publish, ...others } = jobs
  expect(publish.permissions).toEqual({ 'id-token': 'write' })
  expect(publish['runs-on']).toMatch(/^ubuntu-/) // npm wants a runner of GitHub's own
  expect(publish.environment).toBe('npm')
  for (const { permissions, environment } of Object.values(others)) {
    expect([permissions, environment]).toEqual([{ contents: 'read' }, undefined])
  }
  const said = JSON.stringify(publish.steps)
  expect(said).not.toMatch(/checkout|npm (ci|install|i|run|exec)|npx|cargo|rustup|curl|apt/)
  expect(JSON.stringify(others)).not.toContain('secrets.')
})

test('it publishes the very tarballs that were tested, with provenance, once all was checked, tested and fuzzed', () => {
  const { test, fuzz, publish } = jobs
  expect(publish.needs).toEqual(['test', 'fuzz'])
  const order = ['tag', 'test', 'pack'].map((name) => test.steps.indexOf(named(name)))
  expect(order).toEqual(order.toSorted((a, b) => a - b))
  expect(named('test').run).toBe('bash .ci/run')
  expect(existsSync(join(root, '.ci', 'run'))).toBe(true)
  expect(named('fuzz', fuzz).run).toContain('npm run fuzz')
  expect(publish.steps.at(-1)).toBe(named('publish', publish))
  expect(named('publish', publish).run).toContain(
    'npm publish "./$name.tgz" --provenance --access public --ignore-scripts',
  )
  expect(named('same', publish).env?.SHA256).toMatch(/^\$\{\{ needs\.test\.outputs\.sha256 \}\}$/)
})

test('actions and images are named by their content: a tag can be moved', () => {
  const all = workflows.flatMap(({ jobs }) => Object.values(jobs as Record<string, Job>))
  expect(all.length).toBeGreaterThan(4)
  const actions = all.flatMap(({ steps }) => steps.flatMap(({ uses }) => uses ?? []))
  expect(actions.length).toBeGreaterThan(4)
  for (const action of actions) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/)
  const running = all.filter(({ steps }) => steps.some(({ run }) => run !== undefined))
  expect(running.length).toBeGreaterThan(3)
  for (const { container } of running) expect(container?.image).toMatch(/^node:[\w.-]+@sha256:[0-9a-f]{64}$/)
})

test('the tarballs that are packed are those whose sum is told', () => {
  const folder = freshFolder()
  for (const name of ['redrive', '@redrive/service', '@redrive/ui'] as const) {
    cpSync(unpackedOf(name), join(folder, name.replace('redrive', 'pkg').replace(/@pkg\//, 'pkg-')), {
      recursive: true,
    })
  }
  cpSync(join(root, 'pkg-maps'), join(folder, 'pkg-maps'), { recursive: true })
  const GITHUB_OUTPUT = join(folder, 'output')
  const env = { ...process.env, GITHUB_OUTPUT }
  execFileSync('bash', ['-e', '-c', named('pack').run ?? ''], { cwd: folder, env, stdio: 'pipe' })
  const SHA256 = /^sha256=([0-9a-f]{64})$/m.exec(readFileSync(GITHUB_OUTPUT, 'utf8'))?.[1]
  const check = (sum = '') =>
    spawnSync('bash', ['-e', '-c', named('same', jobs.publish).run ?? ''], {
      cwd: join(folder, 'packed'),
      env: { ...env, SHA256: sum },
    })
  expect(check(SHA256).status).toBe(0)
  expect(check('0'.repeat(64)).status).not.toBe(0)
})

test('Firefox starts there: it refuses to run as root in the home of another', () => {
  expect(jobs.test.env).toMatchObject({ HOME: '/root' })
})

test.for([
  [`v${version}`, 0],
  ['v99.0.0', 1],
] as const)('the tag %s ends its step with %i', ([tag, status]) => {
  const env = { PATH: process.env.PATH, GITHUB_REF_NAME: tag }
  expect(spawnSync('bash', ['-e', '-c', named('tag').run ?? ''], { cwd: root, env }).status).toBe(status)
})

test('the package names the repository it is published from, and where that is said', () => {
  expect(jobs.test.env?.REDRIVE_REPOSITORY).toMatch(/^\$\{\{ github\.server_url \}\}\/\$\{\{ github\.repository \}\}$/)
  const { homepage, repository, bugs, ...rest } = manifest('redrive', {
    REDRIVE_REPOSITORY: 'https://github.com/owner/name',
  })
  expect([homepage, repository, bugs]).toEqual([
    'https://github.com/owner/name#readme',
    { type: 'git', url: 'git+https://github.com/owner/name.git' },
    { url: 'https://github.com/owner/name/issues' },
  ])
  const packed = JSON.parse(readFileSync(join(unpacked, 'package.json'), 'utf8'))
  expect(packed).toEqual(manifest())
  expect({ ...packed, ...rest }).toEqual(packed)
})

test.each(['github:owner/name', 'https://github.com/owner/name.git/', 'https://github.com/owner'])(
  'an address of another form, %s, ends the build',
  (REDRIVE_REPOSITORY) => {
    expect(() => manifest('redrive', { REDRIVE_REPOSITORY })).toThrow(/repository: expected https:.*got/)
  },
)
