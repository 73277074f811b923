// Installs servers that speak as S3 does, for the tests of bodies: s3s-fs (Rust), which verifies signatures, and moto (Python), which knows
// most of what S3 answers. Each is built once, into .tools.
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fingerprint, unlessFresh } from '../lib/inputs.mjs'
import { at, root } from '../lib/paths.mjs'
import { run, step } from '../lib/steps.mjs'
import { makePython } from './python.mjs'

/** The last whose compiler is not younger than that of rust-toolchain.toml. */
const S3S_FS = '0.14.1'
const requirements = at('tests', 'bodies', 'requirements.txt')
const folder = at('.tools', 's3')

/** The programs that the tests start. */
export const s3Tools = {
  s3sFs: join(folder, 'bin', process.platform === 'win32' ? 's3s-fs.exe' : 's3s-fs'),
  moto: join(folder, 'python', 'bin', 'moto_server'),
}

async function install() {
  mkdirSync(folder, { recursive: true })
  const target = join(folder, 'target')
  const which = ['s3s-fs', '--version', S3S_FS, '--locked', '--features', 'binary']
  await run('cargo', ['install', '--quiet', ...which, '--root', folder, '--target-dir', target], { cwd: root })
  rmSync(target, { recursive: true, force: true })
  cpSync(requirements, join(folder, 'requirements.txt'))
  await makePython(join(folder, 'python'), join(folder, 'requirements.txt'))
}

export const s3Step = () =>
  step('s3s-fs and moto', async () => {
    const stamp = {
      stampFile: join(folder, '.stamp'),
      print: fingerprint([requirements], [S3S_FS]),
      outputs: Object.values(s3Tools),
    }
    return (await unlessFresh(stamp, install)) ? undefined : 'already there'
  })
