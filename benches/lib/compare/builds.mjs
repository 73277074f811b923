// A build to compare, from what a person calls it: a folder that holds the package, a checkout that was built, or a name that
// git knows, which is checked out and built below target/compare/.
import { constants, cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { at, root } from '../../../scripts/lib/paths.mjs'
import { run, step } from '../../../scripts/lib/steps.mjs'

const holdsPackage = (folder) => existsSync(join(folder, 'index.js')) && existsSync(join(folder, 'redrive.wasm'))
const holdsSources = (folder) => ['js', 'benches', 'node_modules'].every((name) => existsSync(join(folder, name)))

/** @returns {Promise<{ name: string, pkg: string, tree?: string }>} `tree`: the checkout whose sources the package was made from */
export async function buildOf(name) {
  const folder = resolve(name)
  if (holdsPackage(folder)) {
    const tree = dirname(folder)
    return { name, pkg: folder, ...(holdsSources(tree) ? { tree } : {}) }
  }
  if (holdsPackage(join(folder, 'pkg'))) return { name, pkg: join(folder, 'pkg'), tree: folder }
  if (existsSync(folder)) throw new Error(`${name} is a folder without a package: run \`npm run build\` there first`)
  return checkedOut(name)
}

async function checkedOut(name) {
  const git = (...args) => run('git', args, { cwd: root })
  const { stdout } = await git('rev-parse', '--verify', '--quiet', `${name}^{commit}`).catch(() => {
    throw new Error(`${name} is neither a folder with a package nor a name that git knows`)
  })
  const commit = stdout.trim().slice(0, 12)
  const tree = at('target', 'compare', commit)
  await step(`${name} is ${commit}: built in target/compare`, async () => {
    if (!existsSync(tree)) {
      // unpacked beside its place: what is there is whole
      const next = `${tree}.next`
      rmSync(next, { recursive: true, force: true })
      mkdirSync(next, { recursive: true })
      await git('archive', `--output=${join(next, 'tree.tar')}`, commit)
      await run('tar', ['-xf', 'tree.tar'], { cwd: next })
      carryOver(next)
      renameSync(next, tree)
    }
    await run(process.execPath, [join('scripts', 'build.mjs')], { cwd: tree })
  })
  return { name: `${name} (${commit})`, pkg: join(tree, 'pkg'), tree }
}

/** What need not be fetched or compiled again; its build sees by the contents what it can use. */
function carryOver(tree) {
  const same = (file) => readFileSync(at(file), 'utf8') === readFileSync(join(tree, file), 'utf8')
  if (existsSync(at('.tools'))) symlinkSync(at('.tools'), join(tree, '.tools'))
  if (same('package-lock.json')) symlinkSync(at('node_modules'), join(tree, 'node_modules'))
  const made = [
    'pkg',
    'pkg-service',
    'pkg-ui',
    'pkg-maps',
    'js/core/generated',
    'target/pkg.stamp',
    'target/pkg-meta.json',
    'target/wasm',
    'target/tools',
  ]
  for (const path of made.filter((path) => existsSync(at(path)))) {
    cpSync(at(path), join(tree, path), { recursive: true, preserveTimestamps: true, mode: constants.COPYFILE_FICLONE })
  }
}
