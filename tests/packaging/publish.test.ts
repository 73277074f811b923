// The workflow that publishes, as far as it can be tried without publishing: what npm needs for provenance, and its steps
// that do nothing outside this machine.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { root, unpacked } from './pack.ts'

interface Step {
  readonly name?: string
  readonly uses?: string
  readonly run?: string
  readonly 'working-directory'?: string
  readonly with?: Readonly<Record<string, unknown>>
  readonly env?: Readonly<Record<string, string>>
}
const workflow = parse(readFileSync(join(root, '.github', 'workflows', 'publish.yml'), 'utf8'))
const { publish } = workflow.jobs
const steps: readonly Step[] = publish.steps
const named = (name: string): Step => {
  const found = steps.filter((step) => step.name === name)
  expect(found, `steps named ${name}`).toHaveLength(1)
  return found[0] as Step
}
const version = /^version = "(.*)"/m.exec(readFileSync(join(root, 'Cargo.toml'), 'utf8'))?.[1]

test('it runs on a version tag only, with no right but to read and to say who it is', () => {
  expect(workflow.on).toEqual({ push: { tags: ['v*'] } })
  expect(workflow.permissions).toEqual({ contents: 'read' })
  expect(publish.permissions).toEqual({ contents: 'read', 'id-token': 'write' })
})

test('it publishes pkg/ with provenance, last, after everything was checked and tested', () => {
  expect(publish['runs-on']).toMatch(/^ubuntu-/) // npm wants a runner of GitHub's own
  expect(steps.at(-1)).toBe(named('publish'))
  expect(named('publish')).toMatchObject({
    'working-directory': 'pkg',
    run: 'npm publish --provenance --access public',
  })
  expect(steps.indexOf(named('test'))).toBeLessThan(steps.indexOf(named('publish')))
  expect(named('test').run).toBe('bash .ci/run')
  expect(existsSync(join(root, '.ci', 'run'))).toBe(true)
  const setup = steps.find(({ uses }) => uses?.startsWith('actions/setup-node@'))
  expect(setup?.with?.['registry-url']).toBe('https://registry.npmjs.org')
})

test('Firefox starts there: it refuses to run as root in the home of another', () => {
  expect(publish.env).toEqual({ HOME: '/root' })
})

test.for([
  [`v${version}`, 0],
  ['v99.0.0', 1],
] as const)('the tag %s ends its step with %i', ([tag, status]) => {
  const env = { PATH: process.env.PATH, GITHUB_REF_NAME: tag }
  expect(spawnSync('bash', ['-e', '-c', named('tag').run ?? ''], { cwd: root, env }).status).toBe(status)
})

test('the package names the repository it is published from, and is otherwise the one that was tested', () => {
  const folder = mkdtempSync(join(tmpdir(), 'redrive-publish-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  cpSync(unpacked, folder, { recursive: true })
  const env = { ...process.env, GITHUB_SERVER_URL: 'https://github.com', GITHUB_REPOSITORY: 'owner/name' }
  execFileSync('bash', ['-e', '-c', named('name').run ?? ''], { cwd: folder, env, stdio: 'pipe' })
  const manifest = (from: string) => JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'))
  const { repository, ...rest } = manifest(folder)
  expect(repository).toEqual({ type: 'git', url: 'git+https://github.com/owner/name.git' })
  expect(rest).toEqual(manifest(unpacked))
})
