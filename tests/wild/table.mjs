// The table of docs/wild.md. A run of a few rows replaces their lines alone.
import { readFileSync, writeFileSync } from 'node:fs'
import { at } from '../../scripts/lib/paths.mjs'

const page = at('docs', 'wild.md')
const block = /(<!-- wild -->\n\n(?:\|.*\n){2})([\s\S]*?)(\n<!-- \/wild -->)/

const cell = (text) => String(text).replaceAll('|', '\\|').replaceAll('\n', ' ')
const guessOf = ({ guess, guessed }) => {
  if (guess === undefined) return ''
  return guessed
    ? 'right'
    : `wrong: ${[guess.status || 'no answer', ...guess.headers.map((name) => `\`${name}\``)].join(', ')}`
}

const lineOf = (result, day) => {
  const cells = [
    `${result.row} ${result.version}`,
    result.case,
    result.sends,
    result.did,
    result.right,
    guessOf(result),
    day,
  ]
  return `| ${cells.map(cell).join(' | ')} |`
}

/** @param {readonly string[]} order the names of all rows */
export function writeTable(order, results, failed) {
  const day = new Date().toISOString().slice(0, 10)
  const text = readFileSync(page, 'utf8')
  const [, head, old, end] = block.exec(text)
  const oldLines = old.split('\n').filter((line) => line !== '')
  const isOf = (name) => (line) => new RegExp(`^\\| ${RegExp.escape(name)} (?:[\\d.]+|unknown) \\|`).test(line)
  const lines = order.flatMap((name) => {
    if (failed.some(({ row }) => row === name)) return [`| ${name} unknown | all | | not measured | | | ${day} |`]
    const measured = results.filter(({ row }) => row === name)
    return measured.length > 0 ? measured.map((result) => lineOf(result, day)) : oldLines.filter(isOf(name))
  })
  writeFileSync(
    page,
    text.replace(block, () => `${head}${lines.map((line) => `${line}\n`).join('')}${end}`),
  )
}
