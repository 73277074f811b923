// Whether all that is linked may be used as it is, and is named in the package. `cargo deny` judges the tools' crates too.
import { readFileSync } from 'node:fs'
import { linkedCrates } from '../build/notices.mjs'
import { at, root } from '../lib/paths.mjs'
import { run, StepError } from '../lib/steps.mjs'

export async function checkLicences() {
  const lines = readFileSync(at('pkg', 'THIRD_PARTY_NOTICES'), 'utf8').split('\n')
  const crates = await linkedCrates()
  const missing = crates.filter(({ name, version }) => !lines.includes(`${name} ${version}`))
  if (missing.length > 0)
    throw new StepError(`not in THIRD_PARTY_NOTICES: ${missing.map(({ name }) => name).join(', ')}; npm run build`)
  const deny = await run('cargo', ['deny', '--version'], { cwd: root, allowFailure: true })
  if (deny.code !== 0) return `${crates.length} linked crates; without cargo-deny, which would judge those of the tools`
  await run('cargo', ['deny', '--all-features', 'check', 'licenses', 'bans', 'sources'], { cwd: root })
  return `${crates.length} linked crates, and those of the tools by cargo deny`
}
