// Regular expressions, each tried on hostile text. One with two unbounded parts takes a time that grows with the square of the
// text, and the texts that they are tried on in use are those of others: URLs, headers, messages of errors.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { Worker } from 'node:worker_threads'
import { parseAst } from 'vite'
import { filesUnder } from '../lib/inputs.mjs'
import { at, root } from '../lib/paths.mjs'
import { StepError } from '../lib/steps.mjs'

const LENGTH = 100_000
/** Time of the processor: a linear search takes one or two; one that is not takes seconds. */
const LIMIT_MS = 50
/** Beyond it the worker that tries is stopped. */
const STOP_MS = 3_000

/** @typedef {{ path: string, line: number, source: string, flags: string }} Found */

/**
 * The regular expressions of a module: literals, and `RegExp` of literal texts.
 * @returns {{ found: Found[], unreadable: string[] }} `unreadable`: made of what is known only when it runs
 */
export function regexpsIn(path, code) {
  const lines = (offset) => code.slice(0, offset).split('\n').length
  const found = []
  const unreadable = []
  const visit = (node) => {
    if (!node || typeof node !== 'object') return
    if (Array.isArray(node)) return node.forEach(visit)
    if (node.type === 'Literal' && node.regex) {
      const { pattern, flags } = node.regex
      found.push({ path, line: lines(node.start), source: pattern, flags })
    }
    if (/^(New|Call)Expression$/.test(node.type) && node.callee?.name === 'RegExp') {
      const [source, flags] = node.arguments.map(textOf)
      const known = source !== undefined && (node.arguments.length < 2 || flags !== undefined)
      if (known) found.push({ path, line: lines(node.start), source, flags: flags ?? '' })
      else unreadable.push(`${path}:${lines(node.start)}: RegExp of a text that is made when it runs: write a literal`)
    }
    for (const [key, child] of Object.entries(node)) if (key !== 'loc') visit(child)
  }
  visit(parseAst(code, { lang: path.endsWith('.ts') ? 'ts' : 'js' }))
  return { found, unreadable }
}

function textOf(node) {
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value
  if (node.type === 'TaggedTemplateExpression' && node.quasi.expressions.length === 0)
    return node.quasi.quasis[0].value.raw
  return undefined
}

/** Characters of many kinds: between them they match every class that a pattern of ours can name. */
const ALPHABET = [...'aZ0 \t\n\r\0_-./@?#&=:;,"%\\é\ud800']

/** Pieces to repeat: what the pattern names literally, and pairs of these. */
export function piecesOf(source) {
  const literal = [...source.matchAll(/(?:\\?[/.@:;,"'=&?#%-]|\w)+/g)].map(([text]) => text.replaceAll('\\', ''))
  // a quantifier, group or class between them: what they match in a row
  const joined = source.replace(/\\[bBdDsSwW]|\(\?[:=!<]*|[\^$*+?(){}|[\]\\]/g, '')
  const own = new Set([...source.replace(/\\[bBdDsSwW]/g, '')].filter((each) => !'^$*+?(){}|[]\\'.includes(each)))
  const single = [...new Set([...ALPHABET, ...own])]
  const pairs = [...own].slice(0, 5).flatMap((a) => [...own, 'a', ' '].slice(0, 6).map((b) => a + b))
  return [...new Set([...single, ...literal, joined, ...pairs])].filter(Boolean)
}

/** Time of the processor that this process has had, with its workers. Other programs may take as long as they like. */
function cpuMs() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

const tries = `
  const { parentPort } = require('node:worker_threads')
  ${cpuMs}
  parentPort.on('message', ({ source, flags, pieces, length, limitMs }) => {
    const regexp = new RegExp(source, flags)
    for (const piece of pieces) {
      const row = piece.repeat(Math.ceil(length / piece.length)).slice(0, length)
      for (const text of [row + '\\n!', '!' + row + '\\0']) {
        let leastMs = Infinity
        for (let i = 0; i < 3 && leastMs > limitMs; i++) {
          const begun = cpuMs()
          text.replace(regexp, '')
          leastMs = Math.min(leastMs, cpuMs() - begun)
        }
        if (leastMs > limitMs) return parentPort.postMessage({ piece, leastMs })
      }
      parentPort.postMessage({ piece })
    }
    parentPort.postMessage({})
  })`

/** A worker that listens: what it took to start is no regular expression's fault. */
async function startWorker() {
  const worker = new Worker(tries, { eval: true })
  await once(worker, 'online')
  return worker
}

/**
 * Tries one in the worker, which is of no more use where that took longer than `stopMs`.
 * @returns {Promise<{ ms: number, piece?: string }>} no time where each text was quick
 */
function tryOne(worker, { source, flags }, { length, limitMs, stopMs }) {
  return new Promise((resolve, reject) => {
    let last = 'its first text'
    let begunMs
    let timer
    const end = (result) => {
      clearTimeout(timer)
      worker.removeAllListeners('message').removeAllListeners('error')
      resolve(result)
    }
    const look = () => {
      const leftMs = begunMs + stopMs - cpuMs()
      if (leftMs <= 0) end({ piece: `what comes after ${last}`, ms: Number.POSITIVE_INFINITY })
      else timer = setTimeout(look, leftMs)
    }
    const next = () => {
      clearTimeout(timer)
      begunMs = cpuMs()
      timer = setTimeout(look, stopMs)
    }
    worker.on('error', reject).on('message', ({ piece, leastMs }) => {
      last = JSON.stringify(piece)
      if (leastMs !== undefined) end({ piece: last, ms: leastMs })
      else if (piece === undefined) end({ ms: 0 })
      else next()
    })
    next()
    worker.postMessage({ source, flags, pieces: piecesOf(source), length, limitMs })
  })
}

/**
 * Tries each on texts made of its own pieces, timed by the processor's time, so that no other program's work counts. The
 * least of three times counts, as a collection of garbage may fall into one.
 * @param {readonly Found[]} regexps
 * @returns {Promise<string[]>} a line for each that is slow
 */
export async function slowOnes(regexps, { length = LENGTH, limitMs = LIMIT_MS, stopMs = STOP_MS } = {}) {
  const told = []
  let worker = await startWorker()
  for (const regexp of regexps) {
    const { piece, ms } = await tryOne(worker, regexp, { length, limitMs, stopMs })
    if (ms > stopMs) {
      await worker.terminate()
      worker = await startWorker()
    }
    const took = ms > stopMs ? `more than ${stopMs}` : Math.round(ms)
    const { path, line, source, flags } = regexp
    if (ms > 0) told.push(`${path}:${line}: /${source}/${flags} takes ${took} ms for ${length} characters of ${piece}`)
  }
  await worker.terminate()
  return told
}

/** Code that reads texts of others. */
const folders = ['js', 'pkg-template', 'examples'].map((name) => at(name))

/** @returns {Promise<string>} how many there are; throws where one is slow, or cannot be read */
export async function checkRegexps() {
  const files = filesUnder(folders).filter(
    (name) => /\.(ts|mjs|js)$/.test(name) && !/\.d\.ts$|generated|node_modules/.test(name),
  )
  const read = files.map((path) => regexpsIn(relative(root, path).replaceAll('\\', '/'), readFileSync(path, 'utf8')))
  const unreadable = read.flatMap((each) => each.unreadable)
  const found = read.flatMap((each) => each.found)
  const slow = [...unreadable, ...(await slowOnes(found))]
  if (slow.length > 0) throw new StepError(`${slow.join('\n')}\nhave one unbounded part, or search with indexOf`)
  return `${found.length} on ${LENGTH} characters each`
}
