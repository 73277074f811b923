// js/stores/redis/lua/*.lua -> js/stores/redis/generated/lua.ts: the same text without comments and spaces that mean nothing, which
// every process that opens a store would carry along, with
// values in place of constants, and indexes in place of the names of a row's fields.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { at } from '../lib/paths.mjs'
import { step } from '../lib/steps.mjs'

const folder = at('js', 'stores', 'redis', 'lua')
const file = at('js', 'stores', 'redis', 'generated', 'lua.ts')

/** `do --@ fresh` and `do --@ main` become functions that scripts.ts has run. Otherwise a `--` begins a comment wherever it stands: no text of these files has one in quotes, and a line that might is refused. */
function bare(line) {
  const block = /^do --@ (fresh|main)$/.exec(line)
  if (block) return block[1] === 'main' ? 'main=function()' : 'fresh[#fresh+1]=function()'
  const at = line.indexOf('--')
  if (at < 0) return line.trim()
  if (/['"]/.test(line.slice(at)) && /['"]/.test(line.slice(0, at))) throw new Error(`is this a comment? ${line}`)
  return line.slice(0, at).trim()
}

/** The lists that a comment `--@ row: id seq ...` declares: what the fields of variables called `row` or `rowNext` are. */
function fieldsIn(text) {
  const lists = [...text.matchAll(/^--@ (\w+): (.+)$/gm)]
  return new Map(lists.map(([, name, fields]) => [name, fields.trim().split(/\s+/)]))
}

function withIndexes(text, lists) {
  let done = text
  for (const [name, fields] of lists) {
    const indexOf = (field, whole) => {
      const at = fields.indexOf(field)
      if (at < 0) throw new Error(`${whole}: no field of '${name}' has this name`)
      return at + 1
    }
    const one = `${name}(?:[A-Z]\\w*)?`
    const access = `(warm\\(${one}\\)|${one})\\.(\\w+)`
    done = done
      .replace(new RegExp(`\\bindex\\(${access}\\)`, 'g'), (whole, _, field) => indexOf(field, whole))
      .replace(new RegExp(`\\b${access}\\b`, 'g'), (whole, variable, field) => `${variable}[${indexOf(field, whole)}]`)
  }
  return done
}

const CONSTANTS = /^local ([A-Z][A-Z_]+(?:, [A-Z][A-Z_]+)*) = ((?:-?\d+|'[^']*')(?:, (?:-?\d+|'[^']*'))*)$/gm

/** Constants: `local DUE, ENDED = 1, 2`, of numbers and texts. A script may have 200 locals, so values stand in their place. */
function constantsIn(text) {
  const constants = new Map()
  for (const [whole, names, values] of text.matchAll(CONSTANTS)) {
    const list = values.split(', ')
    for (const [i, name] of names.split(', ').entries()) {
      if (constants.has(name) || list[i] === undefined)
        throw new Error(`${whole}: '${name}' has another value, or none`)
      constants.set(name, list[i])
    }
  }
  return constants
}

const withValues = (text, constants) =>
  text
    .replace(CONSTANTS, '')
    .replace(/\b[A-Z][A-Z_]+\b/g, (word) => constants.get(word) ?? word)
    .replace(/\n+/g, '\n')

const stripped = (text) =>
  text
    .split('\n')
    .map(bare)
    .filter((line) => line !== '')
    .join('\n')

/** Spaces beside signs mean nothing, but within quotes, in `1 ..`, which would be a number, and in `- -`, which would be a comment. */
const dense = (text) =>
  text
    .split(/('[^'\n]*')/)
    .map((part, i) => (i % 2 === 1 ? part : part.replace(SIGNS, '$1$2$3')))
    .join('')
const SIGNS = / *(~=|[<>=]=|[=,(){}[\]<>+*/^]) *|(?<!\d) *(\.\.) *(?!\d)|(?<!-) *(-) *(?!-)/g

/** The generated module. */
export function luaModule() {
  const names = readdirSync(folder)
    .filter((name) => name.endsWith('.lua'))
    .sort()
  const texts = names.map((name) => readFileSync(join(folder, name), 'utf8'))
  const lists = fieldsIn(texts.join('\n'))
  const constants = constantsIn(texts.map(stripped).join('\n'))
  const parts = names.map((name, i) => {
    const text = dense(withIndexes(withValues(stripped(texts[i]), constants), lists))
    return `export const ${name.replace('.lua', '').toUpperCase()}: string = String.raw\`${text}\`\n`
  })
  return ['// Made by scripts/build/lua.mjs of js/stores/redis/lua.', '', ...parts].join('\n')
}

/** Writes it if it has changed. True if it did. */
export function buildLua() {
  const text = luaModule()
  mkdirSync(join(file, '..'), { recursive: true })
  let old
  try {
    old = readFileSync(file, 'utf8')
  } catch {
    old = undefined // not built yet
  }
  if (old === text) return false
  writeFileSync(file, text)
  return true
}

export const buildLuaStep = () => step('scripts of Redis', async () => (buildLua() ? undefined : 'unchanged'))
