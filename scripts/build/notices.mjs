// The licences of others ask that their texts lie beside the code that came out of theirs. The crates are those that cargo
// links into the modules, so a new one cannot be forgotten; Rust's own std is in every module and in no list of cargo's.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { at, moduleCrates, root, wasmTarget } from '../lib/paths.mjs'
import { run, StepError } from '../lib/steps.mjs'
import { wasmCargo } from '../setup/rust.mjs'

/** Licences that what is linked may have, each enough by itself; the first that is offered is taken. */
export const allowed = ['MIT', 'Apache-2.0', 'Apache-2.0 WITH LLVM-exception', 'BSD-3-Clause', 'Zlib', 'Unicode-3.0']

/** How crates name the file of each. */
const files = {
  MIT: /^LICENSE[-_.]MIT(\.(md|txt))?$|^MIT-LICENSE|^license-mit/i,
  'Unicode-3.0': /^LICENSE[-_.]UNICODE/i,
  'Apache-2.0': /^LICENSE[-_.]APACHE(-2\.0)?(\.(md|txt))?$/i,
}
const anyLicence = /^(LICEN[CS]E|COPYING)(\.(md|txt))?$/i

/**
 * The licences under which code may be used whose manifest says `expression` (SPDX): one of those joined by OR, all of those
 * joined by AND. undefined: none that is allowed.
 */
export function chosen(expression) {
  const alternatives = expression
    .replaceAll('/', ' OR ') // as manifests wrote it before SPDX
    .replace(/^\((.*)\)$/, '$1')
    .split(/\s+OR\s+(?![^(]*\))/)
  const usable = alternatives.map((each) => {
    const parts = each.split(/\s+AND\s+/).map((part) => part.replace(/^\((.*)\)$/, '$1').trim())
    const licences = parts.map((part) => (part.includes(' OR ') ? chosen(part)?.[0] : part))
    return licences.every((licence) => allowed.includes(licence)) ? licences : undefined
  })
  return usable.filter(Boolean).sort((a, b) => allowed.indexOf(a[0]) - allowed.indexOf(b[0]))[0]
}

/** The crates linked into the modules: normal dependencies, without macros, which leave nothing of their own. */
export async function linkedCrates() {
  const cargo = await wasmCargo()
  const features = Object.entries(moduleCrates).map(([name, crate]) => `${crate}/${name}-module`)
  const words = [
    'metadata',
    '--format-version',
    '1',
    '--locked',
    '--filter-platform',
    wasmTarget,
    '--features',
    features.join(),
  ]
  const { stdout } = await run(cargo[0], [...cargo.slice(1), ...words], { cwd: root })
  return linkedIn(JSON.parse(stdout))
}

export function linkedIn({ packages, resolve }) {
  const byId = new Map(packages.map((each) => [each.id, each]))
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]))
  const isMacro = ({ targets }) => targets.some(({ kind }) => kind.includes('proc-macro'))
  const crates = Object.values(moduleCrates)
  const own = packages.filter(({ name, source }) => crates.includes(name) && source === null).map(({ id }) => id)
  const seen = new Set(own)
  for (const id of seen) {
    for (const { pkg, dep_kinds: kinds } of nodes.get(id).deps) {
      if (kinds.some(({ kind }) => kind === null) && !isMacro(byId.get(pkg))) seen.add(pkg)
    }
  }
  for (const id of own) seen.delete(id)
  return [...seen].map((id) => byId.get(id)).sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** The texts that go with a crate under these licences. */
function textsOf({ name, version, authors, manifest_path: manifest }, licences) {
  const folder = dirname(manifest)
  const there = existsSync(folder) ? readdirSync(folder) : []
  return licences.map((licence) => {
    const file = there.find((each) => files[licence]?.test(each)) ?? there.find((each) => anyLicence.test(each))
    if (!file && licence === 'MIT') return mitOf(authors.length > 0 ? authors : [`the authors of ${name}`])
    if (!file) throw new StepError(`${name} ${version}: no text of its licence ${licence} in its crate`)
    return readFileSync(join(folder, file), 'utf8').trim()
  })
}

/** Some crates are published without the text: it is the same for all but the names. */
const mitOf = (holders) =>
  readFileSync(at('LICENSE-MIT'), 'utf8')
    .trim()
    .replace(/^Copyright.*$/m, `Copyright (c) ${holders.join(', ')}`)

/** The texts of npm packages, by their folders, as crates have theirs. */
function packageNotices(folders) {
  return folders.map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(at(folder, 'package.json'), 'utf8'))
    const licences = typeof license === 'string' ? chosen(license) : undefined
    if (!licences)
      throw new StepError(`${name} ${version}: its licence '${license}' is not one of ${allowed.join(', ')}`)
    const there = readdirSync(at(folder))
    const file = there.find((each) => anyLicence.test(each)) ?? there.find((each) => files[licences[0]]?.test(each))
    const text = file
      ? readFileSync(at(folder, file), 'utf8').trim()
      : licences[0] === 'MIT' && mitOf([`the authors of ${name}`])
    if (!text) throw new StepError(`${name} ${version}: no text of its licence ${licences[0]} in its package`)
    return { what: `${name} ${version}`, licence: licences.join(' AND '), text }
  })
}

/**
 * Groups crates of one text, since most of them share it. `what`: the files of a package that hold code of others. `bundled`: folders of the npm packages
 * that are in them, beside the crates.
 */
export async function notices(what, bundled = []) {
  const groups = new Map()
  const add = ({ what: part, licence, text }) => {
    const group = groups.get(text) ?? { licence, parts: [] }
    group.parts.push(part)
    groups.set(text, group)
  }
  for (const crate of await linkedCrates()) {
    const licences = crate.license && chosen(crate.license)
    if (!licences)
      throw new StepError(
        `${crate.name} ${crate.version}: its licence '${crate.license}' is not one of ${allowed.join(', ')}`,
      )
    const text = textsOf(crate, licences).join('\n\n')
    add({ what: `${crate.name} ${crate.version}`, licence: licences.join(' AND '), text })
  }
  packageNotices(bundled).forEach(add)
  const rust =
    'The standard library of Rust (https://github.com/rust-lang/rust), MIT OR Apache-2.0, is part of each module of WebAssembly.'
  const texts = [...groups].map(([text, { licence, parts }]) => `${parts.join('\n')}\n\n${licence}\n\n${text}`)
  const head = `${what} contain code of what is listed below. All other code of the package is its own.\n\n${rust}\nIts text of Apache-2.0 is that of LICENSE-APACHE.`
  return `${[head, ...texts].join(`\n\n${'-'.repeat(78)}\n\n`)}\n`
}
