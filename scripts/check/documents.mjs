// Documents name what is there: links lead somewhere, paths in backquotes exist, npm commands are scripts. Files move more
// often than documents are read.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { at, root } from '../lib/paths.mjs'
import { StepError } from '../lib/steps.mjs'
import { anchorOf } from './anchors.mjs'

const folders = 'js|src|tests|scripts|docs|examples|benches|fuzz|sim|xtask|pkg-template'
const inBackquotes = new RegExp(`\`((?:${folders})/[\\w./-]+)\``, 'g')
const link = /\]\(([^)\s]+)\)/g
const command = /npm run ([\w:]+)/g
const inCode = /\b(docs\/[\w./-]+\.(?:md|svg|json|yml))/g
/** Written by the build, so not there in a fresh clone. */
const isGenerated = (path) => /^js\/(core|stores\/redis)\/generated/.test(path)

/** The anchors of a document. */
const anchorsOf = (text) => [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading))

/**
 * @param {string} path of the document in the repository
 * @param {string} text
 * @param {{ read: (path: string) => string | undefined, scripts: readonly string[] }} there `read`: undefined where no such
 *   path is, '' for a folder
 * @returns {string[]} one line for each thing that it names and that is not there
 */
export function missing(path, text, { read, scripts }) {
  const faults = []
  const prose = text.replace(/^```[\s\S]*?^```/gm, '')
  for (const [, target] of prose.matchAll(link)) {
    if (/^[a-z]+:/.test(target)) continue
    const [file, anchor] = target.split('#')
    const found = file === '' ? text : read(join(dirname(path), file).replaceAll('\\', '/'))
    if (found === undefined || (anchor && !anchorsOf(found).includes(anchor))) faults.push(`${path}: no ${target}`)
  }
  for (const [, name] of prose.matchAll(inBackquotes)) {
    if (!isGenerated(name) && read(name) === undefined) faults.push(`${path}: no ${name}`)
  }
  if (!path.startsWith('examples/')) {
    for (const [, name] of text.matchAll(command))
      if (!scripts.includes(name)) faults.push(`${path}: no npm run ${name}`)
  }
  return faults
}

export function checkDocuments() {
  const scripts = Object.keys(JSON.parse(readFileSync(at('package.json'), 'utf8')).scripts)
  const read = (path) => {
    const file = at(path)
    if (!existsSync(file)) return undefined
    return path.endsWith('.md') ? readFileSync(file, 'utf8') : ''
  }
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root })
  const names = listed
    .toString()
    .split('\0')
    .filter((name) => name !== '' && existsSync(at(name)))
  const faults = names
    .filter((name) => name.endsWith('.md'))
    .flatMap((name) => missing(name, readFileSync(at(name), 'utf8'), { read, scripts }))
  for (const name of names.filter((each) => /\.(ts|mjs|rs|toml)$/.test(each) && !each.startsWith('tests/tooling/'))) {
    for (const [, path] of readFileSync(at(name), 'utf8').matchAll(inCode)) {
      if (read(path) === undefined) faults.push(`${name}: no ${path}`)
    }
  }
  if (faults.length > 0) throw new StepError(faults.join('\n'))
}
