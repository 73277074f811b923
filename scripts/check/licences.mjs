// Whether all that is linked or declared may be used as it is, and what is linked is named in the packages. `cargo deny` judges the tools' crates too.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { manifest } from '../build/manifest.mjs'
import { allowed, chosen, linkedCrates } from '../build/notices.mjs'
import { at, root } from '../lib/paths.mjs'
import { run, StepError } from '../lib/steps.mjs'

/** Licences that a package may have which is declared: nothing of it is in ours. */
const usable = [...allowed, 'ISC', '0BSD']

/** Where `folder` finds an npm package: there, or in a folder above. */
function placeOf(name, folder) {
  const place = join(folder, 'node_modules', name)
  if (existsSync(join(place, 'package.json'))) return place
  if (folder === root) throw new StepError(`${name} is declared and not installed: npm install`)
  return placeOf(name, dirname(folder))
}

/** All that a package of ours has installed with it but for ourselves, as 'NAME VERSION' -> its licence. */
export function declared(name) {
  const found = new Map()
  const visit = (dependencies, folder) => {
    for (const each of Object.keys(dependencies ?? {})) {
      if (each === 'redrive') continue
      const place = placeOf(each, folder)
      const about = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8'))
      const title = `${about.name} ${about.version}`
      if (found.has(title)) continue
      found.set(title, about.license)
      visit(about.dependencies, place)
    }
  }
  visit(manifest(name).dependencies, root)
  return found
}

export async function checkLicences() {
  const crates = await linkedCrates()
  for (const folder of ['pkg', 'pkg-service', 'pkg-ui']) {
    const lines = readFileSync(at(folder, 'THIRD_PARTY_NOTICES'), 'utf8').split('\n')
    const missing = crates.filter(({ name, version }) => !lines.includes(`${name} ${version}`))
    if (missing.length > 0)
      throw new StepError(
        `not in ${folder}/THIRD_PARTY_NOTICES: ${missing.map(({ name }) => name).join(', ')}; npm run build`,
      )
  }
  const counts = ['service', 'ui'].map((name) => {
    const all = declared(name)
    const refused = [...all].filter(([, licence]) => !usable.includes(licence) && !chosen(String(licence)))
    if (refused.length > 0)
      throw new StepError(`@redrive/${name} asks for ${refused.map((each) => each.join(': ')).join(', ')}`)
    return `@redrive/${name} asks for ${all.size} packages`
  })
  const told = [`${crates.length} linked crates`, ...counts].join('; ')
  const deny = await run('cargo', ['deny', '--version'], { cwd: root, allowFailure: true })
  if (deny.code !== 0) return `${told}; without cargo-deny, which would judge the crates of the tools`
  await run('cargo', ['deny', '--all-features', 'check', 'licenses', 'bans', 'sources'], { cwd: root })
  return `${told}; the crates of the tools by cargo deny`
}
