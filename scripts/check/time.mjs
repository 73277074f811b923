// Only js/platform/clock.ts reads the time or arms a timer, so that tests can replace both.
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { parseAst } from 'vite'
import { filesUnder } from '../lib/inputs.mjs'
import { at, root } from '../lib/paths.mjs'
import { StepError } from '../lib/steps.mjs'

/** Where time and timers may be the host's own, and why. */
const EXCEPTIONS = new Map([
  ['js/platform/clock.ts', 'it is the clock'],
  ['js/runner/wake-timer.ts', 'it looks whether fake timers are on'],
  ['js/testing/fast-forward.ts', 'it moves fake timers'],
  ['js/core/generated/queue/glue.js', "the browser's wake-up timer is the core's: gloo-timers"],
])

const GLOBALS = ['globalThis', 'self', 'window']
const TIMERS = ['setTimeout', 'setInterval']
const MEMBERS = ['Date.now', 'performance.now', 'AbortSignal.timeout']

/** Lists what a module uses of the host's time and timers, one line each: `js/a.ts:3: Date.now`. */
export function timeUses(path, code) {
  const uses = []
  const add = (node, what) => uses.push(`${path}:${code.slice(0, node.start).split('\n').length}: ${what}`)
  const visit = (node) => {
    if (!node || typeof node !== 'object') return
    if (Array.isArray(node)) return node.forEach(visit)
    if (node.type === 'Identifier' && TIMERS.includes(node.name)) add(node, node.name)
    if (node.type === 'MemberExpression' && !node.computed) {
      const owner = node.object.property ?? node.object
      const name = `${owner.name}.${node.property.name}`
      if (MEMBERS.includes(name)) add(node, name)
      if (GLOBALS.includes(owner.name)) visit(node.property)
      // a member of another object is its own
      return visit(node.object)
    }
    const isDate = /^(New|Call)Expression$/.test(node.type) && node.callee.name === 'Date'
    // called without `new`, it takes no notice of what it is given
    if (isDate && (node.arguments.length === 0 || node.type === 'CallExpression')) add(node, 'the Date of now')
    for (const [key, child] of Object.entries(node)) {
      const isName = key === 'key' && !node.computed && !node.shorthand
      if (!isName) visit(child)
    }
  }
  visit(parseAst(code, { lang: path.endsWith('.ts') ? 'ts' : 'js' }))
  return uses
}

export function checkTime() {
  const paths = filesUnder([at('js')])
    .map((path) => relative(root, path).replaceAll('\\', '/'))
    .filter((path) => /\.[jt]s$/.test(path) && !path.endsWith('.d.ts'))
  const found = new Map(paths.map((path) => [path, timeUses(path, readFileSync(at(path), 'utf8'))]))
  const faults = [
    ...paths.filter((path) => !EXCEPTIONS.has(path)).flatMap((path) => found.get(path)),
    ...[...EXCEPTIONS.keys()]
      .filter((path) => !found.get(path)?.length)
      .map((path) => `${path}: an exception that needs none`),
  ]
  if (faults.length > 0)
    throw new StepError(`${faults.join('\n')}\nuse a Clock, or the systemClock of js/platform/clock.ts`)
}
